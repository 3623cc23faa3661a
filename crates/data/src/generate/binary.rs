/*!
Imbalanced binary data: one list of rows, few of them positive.

```text
s     = z1·z2 + max(z3, z4) − ½·z5² + ½·z6 + noise·ε        z hidden, ε nearly normal
label = 1 if s is above the value that a fraction `positives` of the rows exceeds
```

A product, a maximum and a square: no weighted sum of the features orders the rows correctly.
*/

use toprank_core::stream::Random;
use toprank_core::{Param, Stream};

use super::draws::noise;
use super::output::{Output, Parts};
use super::settings::{MOST, SEED, SPLIT, Settings};
use super::views::{Hidden, Views, hidden, threshold};
use super::{GenerateError, Generator, Written};

pub(super) const GENERATOR: Generator = Generator {
    name: "binary",
    about: "imbalanced rows with a label 0 or 1, train.csv vali.csv test.csv",
    files: &["train.csv", "vali.csv", "test.csv"],
    page: "Columns f1, f2, …, label. The label comes from a hidden non-linear score with noise; `positives` is the share\n\
           of ones. Features are noisy views of what is hidden: mixed, heavy-tailed, shares, grades, useless; some cells\n\
           are empty.",
    params: &[
        Param {
            name: "rows",
            default: "10000",
            range: "1 to 4e9",
            about: "rows in all three files together",
        },
        Param { name: "features", default: "20", range: "1 to 10000", about: "features of a row" },
        Param {
            name: "positives",
            default: "0.05",
            range: "0.001 to 0.999",
            about: "fraction of rows with label 1",
        },
        Param {
            name: "noise",
            default: "0.5",
            range: "0 to 100",
            about: "deviation of the noise in the hidden score",
        },
        Param {
            name: "missing",
            default: "0.02",
            range: "0 to 1",
            about: "fraction of empty cells in the features that may miss (every fourth)",
        },
        SPLIT,
        SEED,
    ],
    make,
};

fn make(settings: &Settings, output: Output) -> Result<Written, GenerateError> {
    let rows = settings.whole("rows", 1.0, MOST)?;
    let features = settings.whole("features", 1.0, 10_000.0)?;
    let positives = settings.number("positives", 0.001, 0.999)?;
    let blur = settings.number("noise", 0.0, 100.0)?;
    let missing = settings.number("missing", 0.0, 1.0)?;
    let seed = settings.seed()?;
    let head: String = (1..=features).map(|f| format!("f{f},")).chain(["label\n".into()]).collect();
    let (parts, files) = Parts::new(settings.ends(rows)?, "csv", &head);
    let views = Views::new(seed, features, missing);
    let score = |z: &Hidden, random: &mut Random| {
        z[0] * z[1] + z[2].max(z[3]) - 0.5 * z[4] * z[4] + 0.5 * z[5] + blur * noise(random)
    };
    let border = threshold(Stream::new(seed, "binary threshold"), positives, |random| {
        let z = hidden(random);
        score(&z, random)
    });
    let stream = Stream::new(seed, "binary rows");
    let mut written = output.write(&files, rows, |row, sheet| {
        let mut random = stream.of_list(row as u32).open();
        let text = sheet.file(parts.file_of(row));
        let z = hidden(&mut random);
        let label = score(&z, &mut random) > border;
        views.write(&z, "", &mut random, text);
        text.byte(b'0' + u8::from(label));
        text.end_row();
    })?;
    // All rows of a file are one list.
    written.files.iter_mut().filter(|file| file.rows > 0).for_each(|file| file.lists = 1);
    Ok(written)
}
