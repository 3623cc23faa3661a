/*!
LETOR text: queries, documents, graded labels, features of the kinds web search has.

Hidden truth. A query has a topic (8 numbers), a mood (how easy its documents are) and a length; a document has
a topic, a quality and a length. With match m = ⟨topics⟩, quality c and log length l

```text
relevance = m + c·σ(2m) + ½·min(m, c) − ¼·l² + mood + noise
label     = number of the thresholds (0.2, 1.1, 2.2, 3.1) below it; with probability `noise` one step off
```

so no feature and no weighted sum of features orders the documents correctly: quality helps documents that match,
and very short and very long documents score lower. Features come in eight kinds, in turn; each has its own strength and scale:

| kind        | value                                                      |
|-------------|------------------------------------------------------------|
| view        | m, c or l seen through noise                               |
| bm25        | ≥ 0, increases with m, zero for documents without the terms |
| count       | integer with a heavy tail, increases with m and l     |
| probability | in (0, 1), increases with c                                |
| language    | negative log probability of the query, decreases with m; may be missing |
| query       | the same for all documents of a query                      |
| useless     | noise                                                      |
| weak        | relevance itself, through much noise; may be missing       |

The last feature (of three or more) is constant. Missing values are written `nan`, which every reader knows.
List lengths are log-normal with deviation 0.6 of the logarithm, at least 1.
*/

use toprank_core::stream::Random;
use toprank_core::{Param, ParamError, Stream};

use super::draws::{chance, length, log_normal, noise, sigmoid};
use super::output::{Output, Parts, Sheet};
use super::settings::{MOST, SEED, SPLIT, Settings};
use super::{GenerateError, Generator, Written};

pub(super) const GENERATOR: Generator = Generator {
    name: "letor",
    about: "queries with graded documents, train.txt vali.txt test.txt in LETOR text",
    files: &["train.txt", "vali.txt", "test.txt"],
    page: "Graded labels 0..4 from a hidden non-linear relevance of query and document; features of the kinds web\n\
           search has (views, BM25, counts, probabilities, per query, useless, constant), noisy, some missing; skewed\n\
           list lengths; some lists without a relevant document; document names in the comment.",
    params: &[
        Param {
            name: "lists",
            default: "1000",
            range: "1 to 4e9",
            about: "queries in all three files together",
        },
        Param {
            name: "length",
            default: "30",
            range: "1 to 10000",
            about: "mean number of documents of a query",
        },
        Param { name: "features", default: "46", range: "1 to 10000", about: "features of a document" },
        Param {
            name: "missing",
            default: "0.02",
            range: "0 to 1",
            about: "fraction of missing values in the features that may miss (two of eight kinds)",
        },
        Param {
            name: "noise",
            default: "0.1",
            range: "0 to 1",
            about: "fraction of labels that are one step off",
        },
        SPLIT,
        SEED,
    ],
    make,
};

const TOPICS: usize = 8;
const THRESHOLDS: [f64; 4] = [0.2, 1.1, 2.2, 3.1];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    View(Hidden),
    Bm25,
    Count,
    Probability,
    Language,
    Query(usize),
    Useless,
    Weak,
    Constant,
}

#[derive(Clone, Copy, PartialEq)]
enum Hidden {
    Match,
    Quality,
    Length,
}

/// How one feature is made, the same for all documents.
struct Feature {
    kind: Kind,
    /// `" 17:"`, ready to be copied.
    key: Vec<u8>,
    /// Deviation of the noise it is seen through.
    blur: f64,
    scale: f64,
    shift: f64,
}

/// What is hidden of one document.
struct Document {
    fit: f64,
    quality: f64,
    log_length: f64,
    relevance: f64,
}

struct Letor {
    features: Vec<Feature>,
    missing: f64,
    label_noise: f64,
    mean_length: f64,
    parts: Parts,
    lists: Stream,
}

fn make(settings: &Settings, output: Output) -> Result<Written, GenerateError> {
    let lists = settings.whole("lists", 1.0, MOST)?;
    let width = settings.whole("features", 1.0, 10_000.0)?;
    let mean_length = settings.number("length", 1.0, 10_000.0)?;
    // One list is made in memory.
    if mean_length * width as f64 > 1e7 {
        let found = format!("{}", mean_length * width as f64);
        return Err(ParamError::new("length × features", &found, "at most 10000000").into());
    }
    let seed = settings.seed()?;
    let (parts, files) = Parts::new(settings.ends(lists)?, "txt", "");
    let letor = Letor {
        features: (0..width).map(|f| feature(seed, f, width)).collect(),
        missing: settings.number("missing", 0.0, 1.0)?,
        label_noise: settings.number("noise", 0.0, 1.0)?,
        mean_length,
        parts,
        lists: Stream::new(seed, "letor lists"),
    };
    output.write(&files, lists, |q, sheet| letor.list(q, sheet))
}

fn feature(seed: u64, f: u64, width: u64) -> Feature {
    let mut random = Stream::new(seed, "letor features").of_list(f as u32).open();
    let kind = match f % 8 {
        _ if width >= 3 && f + 1 == width => Kind::Constant,
        0 => Kind::View([Hidden::Match, Hidden::Quality, Hidden::Length][random.below(3)]),
        1 => Kind::Bm25,
        2 => Kind::Count,
        3 => Kind::Probability,
        4 => Kind::Language,
        5 => Kind::Query(random.below(TOPICS)),
        6 => Kind::Useless,
        _ => Kind::Weak,
    };
    let blur = match kind {
        Kind::Weak => 2.5 + 2.0 * random.unit(),
        _ => 0.8 + 1.7 * random.unit(),
    };
    let scale = log_normal(&mut random, 1.0, 0.7);
    let shift = noise(&mut random);
    Feature { kind, key: format!(" {}:", f + 1).into_bytes(), blur, scale, shift }
}

impl Letor {
    fn list(&self, q: u64, sheet: &mut Sheet) {
        let mut random = self.lists.of_list(q as u32).open();
        let topic: [f64; TOPICS] = std::array::from_fn(|_| noise(&mut random));
        // A hard query (mood below about −2) has no relevant document.
        let mood = 0.8 * noise(&mut random) - 0.3;
        let words = 1.0 + (3.0 * random.unit() + 1.5 * random.unit()).floor();
        let documents = length(&mut random, 1, self.mean_length, 0.6);
        let text = sheet.file(self.parts.file_of(q));
        text.lists += 1;
        for d in 0..documents {
            let document = document(&mut random, &topic, mood);
            let label = self.label(&mut random, document.relevance);
            text.whole(label);
            text.text(" qid:");
            text.whole(q + 1);
            for feature in &self.features {
                text.bytes.extend_from_slice(&feature.key);
                let may_miss = matches!(feature.kind, Kind::Language | Kind::Weak);
                if may_miss && chance(&mut random, self.missing) {
                    text.text("nan");
                } else {
                    let decimals = if feature.kind == Kind::Count { 0 } else { 6 };
                    text.decimal(feature.value(&document, &topic, words, &mut random), decimals);
                }
            }
            text.text(" # docid = q");
            text.whole(q + 1);
            text.text("-d");
            text.whole(d + 1);
            text.end_row();
        }
    }

    fn label(&self, random: &mut Random, relevance: f64) -> u64 {
        let label = THRESHOLDS.iter().filter(|&&threshold| relevance > threshold).count() as u64;
        let draw = random.unit();
        if draw >= self.label_noise {
            label
        } else if draw < 0.5 * self.label_noise {
            label.saturating_sub(1)
        } else {
            (label + 1).min(4)
        }
    }
}

fn document(random: &mut Random, topic: &[f64; TOPICS], mood: f64) -> Document {
    let fit: f64 = topic.iter().map(|t| t * noise(random)).sum::<f64>() * (1.0 / (TOPICS as f64).sqrt());
    let quality = noise(random);
    let log_length = noise(random);
    let relevance = fit + quality * sigmoid(2.0 * fit) + 0.5 * fit.min(quality)
        - 0.25 * log_length * log_length
        + mood
        + 0.3 * noise(random);
    Document { fit, quality, log_length, relevance }
}

impl Feature {
    fn value(&self, document: &Document, topic: &[f64; TOPICS], words: f64, random: &mut Random) -> f64 {
        let Document { fit, quality, log_length, relevance } = *document;
        match self.kind {
            Kind::View(seen) => {
                let hidden = match seen {
                    Hidden::Match => fit,
                    Hidden::Quality => quality,
                    Hidden::Length => log_length,
                };
                self.scale * (hidden + self.blur * noise(random)) + self.shift
            }
            Kind::Bm25 => (3.0 * words * self.scale * (fit + self.blur * noise(random) + 0.5)).max(0.0),
            Kind::Count => {
                let log_mean = 1.0 + self.shift + 0.7 * fit + 0.5 * log_length + self.blur * noise(random);
                libm::floor(libm::exp(log_mean))
            }
            Kind::Probability => sigmoid(quality + self.shift + self.blur * noise(random)),
            Kind::Language => -words * libm::exp(1.5 + 0.2 * (self.blur * noise(random) - fit)),
            Kind::Query(t) => self.scale * topic[t] + self.shift + words,
            Kind::Useless => self.scale * noise(random),
            Kind::Weak => relevance + self.blur * noise(random),
            Kind::Constant => 1.0,
        }
    }
}
