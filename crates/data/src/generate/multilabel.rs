/*!
Multi-label data: several labels over the same rows, correlated, of decreasing frequency, some unknown.

```text
s_l     = Σ_k w_lk z_k + ½·z_a z_b + ½·ε        w_l, a, b drawn once per label; z hidden in the row
label l = 1 if s_l is above the value that a fraction positives/(1 + l/2) of the rows exceeds, l = 0, 1, …
```

Labels correlate since they look at the same hidden numbers. A CSV cell of an unknown label is empty; in ARFF it
is `?`, and an XML file of the same stem names the labels (Mulan).
*/

use toprank_core::stream::Random;
use toprank_core::{Param, ParamError, Stream};

use super::draws::{chance, noise};
use super::output::{File, Output, Parts};
use super::settings::{MOST, SEED, SPLIT, Settings};
use super::views::{HIDDEN, Hidden, Views, hidden, threshold};
use super::{GenerateError, Generator, Written};

pub(super) const GENERATOR: Generator = Generator {
    name: "multilabel",
    about: "rows with several labels, some unknown, train vali test as CSV or ARFF",
    files: &[
        "train.csv",
        "vali.csv",
        "test.csv",
        "train.arff",
        "vali.arff",
        "test.arff",
        "train.xml",
        "vali.xml",
        "test.xml",
    ],
    page: "Columns f1, f2, …, label1, label2, … Labels are correlated, of decreasing frequency (`positives` is the fraction of\n\
           the first), and a fraction `unjudged` is empty. --to arff writes ARFF with the label names in an XML file.",
    params: &[
        Param { name: "rows", default: "5000", range: "1 to 4e9", about: "rows in all three files together" },
        Param { name: "features", default: "20", range: "1 to 10000", about: "features of a row" },
        Param { name: "labels", default: "6", range: "1 to 1000", about: "labels of a row" },
        Param {
            name: "positives",
            default: "0.3",
            range: "0.001 to 0.999",
            about: "fraction of rows with the first label",
        },
        Param { name: "unjudged", default: "0.05", range: "0 to 1", about: "fraction of unknown labels" },
        Param {
            name: "missing",
            default: "0.02",
            range: "0 to 1",
            about: "fraction of empty cells in every fourth feature",
        },
        Param { name: "to", default: "csv", range: "csv or arff", about: "format of the files" },
        SPLIT,
        SEED,
    ],
    make,
};

struct Label {
    weights: [f64; HIDDEN],
    product: [usize; 2],
    border: f64,
}

impl Label {
    fn new(seed: u64, l: u64, share: f64) -> Label {
        let mut random = Stream::new(seed, "multilabel labels").of_list(l as u32).open();
        let weights = std::array::from_fn(|_| 0.5 * noise(&mut random));
        let product = [random.below(HIDDEN), random.below(HIDDEN)];
        let mut label = Label { weights, product, border: 0.0 };
        label.border = threshold(Stream::new(seed, "multilabel threshold").at_step(l), share, |random| {
            let z = hidden(random);
            label.score(&z, random)
        });
        label
    }

    fn score(&self, z: &Hidden, random: &mut Random) -> f64 {
        let sum: f64 = self.weights.iter().zip(z).map(|(w, z)| w * z).sum();
        sum + 0.5 * z[self.product[0]] * z[self.product[1]] + 0.5 * noise(random)
    }
}

fn make(settings: &Settings, output: Output) -> Result<Written, GenerateError> {
    let rows = settings.whole("rows", 1.0, MOST)?;
    let features = settings.whole("features", 1.0, 10_000.0)?;
    let count = settings.whole("labels", 1.0, 1000.0)?;
    let positives = settings.number("positives", 0.001, 0.999)?;
    let unjudged = settings.number("unjudged", 0.0, 1.0)?;
    let missing = settings.number("missing", 0.0, 1.0)?;
    let seed = settings.seed()?;
    let ends = settings.ends(rows)?;
    let arff = match settings.text("to") {
        "csv" => false,
        "arff" => true,
        other => return Err(ParamError::new("to", other, "csv or arff").into()),
    };
    let (parts, files) =
        if arff { arff_files(ends, features, count) } else { csv_files(ends, features, count) };
    let absent = if arff { "?" } else { "" };
    let labels: Vec<Label> =
        (0..count).map(|l| Label::new(seed, l, positives / (1.0 + 0.5 * l as f64))).collect();
    let views = Views::new(seed, features, missing);
    let stream = Stream::new(seed, "multilabel rows");
    let mut written = output.write(&files, rows, |row, sheet| {
        let mut random = stream.of_list(row as u32).open();
        let text = sheet.file(parts.file_of(row));
        let z = hidden(&mut random);
        views.write(&z, absent, &mut random, text);
        for (l, label) in labels.iter().enumerate() {
            if l > 0 {
                text.byte(b',');
            }
            let positive = label.score(&z, &mut random) > label.border;
            if chance(&mut random, unjudged) {
                text.text(absent);
            } else {
                text.byte(b'0' + u8::from(positive));
            }
        }
        text.end_row();
    })?;
    // A list is a label over all rows of a file.
    written.files.iter_mut().filter(|file| file.rows > 0).for_each(|file| file.lists = count);
    Ok(written)
}

fn csv_files(ends: [u64; 3], features: u64, labels: u64) -> (Parts, Vec<File>) {
    let names = (1..=features).map(|f| format!("f{f}")).chain((1..=labels).map(|l| format!("label{l}")));
    Parts::new(ends, "csv", &(names.collect::<Vec<_>>().join(",") + "\n"))
}

fn arff_files(ends: [u64; 3], features: u64, labels: u64) -> (Parts, Vec<File>) {
    let mut head = String::from("@relation toprank\n\n");
    head.extend((1..=features).map(|f| format!("@attribute f{f} numeric\n")));
    head.extend((1..=labels).map(|l| format!("@attribute label{l} {{0,1}}\n")));
    head.push_str("\n@data\n");
    let (parts, mut files) = Parts::new(ends, "arff", &head);
    let names: Vec<String> = (1..=labels).map(|l| format!("  <label name=\"label{l}\"></label>\n")).collect();
    let names = names.concat();
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<labels xmlns=\"http://mulan.sourceforge.net/labels\">\n{names}</labels>\n"
    );
    for i in 0..files.len() {
        files.push(File { name: files[i].name.replace(".arff", ".xml"), head: xml.clone() });
    }
    (parts, files)
}
