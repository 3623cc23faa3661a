/*!
Embeddings: a network gives every row a vector, rows of a class lie together, any objective of the catalog trains it.

```text
rows and classes ─▶ split of the classes ─▶ transforms                                       Classes, Prepared
rows of some classes ─▶ vectors ─▶ similarities: every row is a list over the others ─▶ objective   Trainer
vectors of new rows; the nearest rows of a query, exactly; mAUPRC and Recall@k                 Embedder, Search
```

**Every row of a batch is a query** over the other rows of the batch (and over the memory of past ones), label 1 for those of
its class, itself left out. What an objective keeps refers to the list of all training rows, which a batch is a sample of.
A similarity is the cosine of two vectors, which then have length 1, or minus their squared distance ([`Similarity`]).
Batches hold the same number of rows of every drawn class: the sampler `strata` over classes as lists.

```
use toprank_core::{Lists, Policy};
use toprank_data::{Dataset, Matrix};
use toprank_metrics::Measure;
use toprank_train::embed::{Classes, Prepared, Search, Trainer};
use toprank_train::{Settings, TrainerKind, TrainingLoop};
// Four classes, told apart by the signs of two features among noise.
let row = |k: usize| [if k % 4 < 2 { 1.0 } else { -1.0 }, if k % 2 == 0 { 1.0 } else { -1.0 }, (k * 7 % 11) as f32];
let data = Dataset {
    lists: Lists::from_lengths(&[80], (0..80).map(|k| (k % 4) as f32).collect()),
    features: Matrix::Dense { width: 3, values: (0..80).flat_map(row).collect() },
    ..Dataset::default()
};
let config = Settings { model: Some("linear".into()), dimensions: Some(4), learning_rate: Some(0.05), ..Settings::default() };
let config = config.resolve(TrainerKind::Embed).unwrap();
let prepared = Prepared::new(&config, Classes::of(data.clone()).unwrap(), None, &[]).unwrap();
let mut trainer = Trainer::new(&config, &prepared).unwrap();
trainer.run(&mut (), None).unwrap();
let classes: Vec<u32> = data.lists.labels.iter().map(|y| *y as u32).collect();
let vectors = trainer.embedder().embed("t.csv", data, 0.0).unwrap();
let measures = Measure::parse_all("map,success@1", &Policy::default()).unwrap();
let evaluation = Search { queries: &vectors, gallery: None }.evaluate(&classes, &[], &measures).unwrap();
assert!(evaluation.results[0].mean.unwrap() > 0.9);
```
*/

mod classes;
pub(crate) mod config;
mod file;
mod memory;
mod pairing;
mod prepared;
mod search;
mod similarity;
#[cfg(test)]
mod tests;
mod trainer;
mod views;

pub use classes::Classes;
pub use file::{About, Embedder, Parts};
pub use prepared::{Prepared, TuningClasses};
pub use search::{Search, Vectors};
pub(crate) use similarity::LEAST;
pub use similarity::Similarity;
pub use toprank_embeddings::Best;
pub use trainer::Trainer;
pub use views::Views;
