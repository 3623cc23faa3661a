/*!
Recommendation: users are lists, all items are the candidates, any objective of the catalog trains vectors.

```text
interactions ─▶ split (leave-last, random, given) ─▶ Interactions: train, valid, test as choices
draws ─▶ rows ─▶ scores ─▶ objective ─▶ slopes ─▶ row-sparse Adam          Trainer, of vectors (VectorTrainer)
interactions ─▶ weights between items, in closed form or by epochs         Trainer, of an item model (ItemTrainer)
budget ─▶ several item models ─▶ the best blend of them on validation      Trainer, of a blend (AutoTrainer)
best unseen items of every user, all items ranked ─▶ metrics, coverage …    evaluate_part
tables, names, choices in one file                                          Recommender
```

Nothing has the size users × items: an objective keeps its state per relevant pair, a batch holds drawn items, a ranking a
block of users.

```
use toprank_data::{ReadOptions, Source, formats, split};
use toprank_train::recommend::{Interactions, Trainer};
use toprank_train::{Settings, TrainerKind, TrainingLoop};
let lines: String = (0..40).map(|k| format!("u{},i{},1,{k}\n", k % 8, (k * 7 + k / 8) % 20)).collect();
let source = Source::bytes("t.csv", format!("user,item,rating,time\n{lines}").into_bytes());
let options = ReadOptions { format: Some("interactions".into()), ..ReadOptions::default() };
let data = Interactions::split(&formats::read(&source, &options).unwrap(), "leave-last", 1).unwrap();
let settings = Settings { model: Some("mf:width=4".into()), epochs: Some(3), ..Settings::default() };
let mut trainer = Trainer::new(&settings.resolve(TrainerKind::Recommend).unwrap(), &data).unwrap();
trainer.run(&mut (), None).unwrap();
let recommender = trainer.recommender().unwrap();
assert_eq!(recommender.top("u3", 2).unwrap().items.len(), 2);
```
*/

pub mod auto;
pub(crate) mod config;
mod diversity;
mod evaluate;
mod file;
mod fold_in;
mod interactions;
mod item_trainer;
mod parts;
mod recency;
mod rows;
mod similar;
#[cfg(test)]
mod tests;
mod trainer;
mod vector_trainer;
mod warm_start;

pub use auto::AutoTrainer;
pub use config::{Feedback, check_settings};
pub use diversity::DiversityFigure;
pub use evaluate::{BeyondAccuracy, FirstItems, History, PartEvaluation, evaluate_part};
pub use file::{About, Filter, HistoryParts, Part, Recommended, Recommender, Top};
pub use interactions::{Interactions, Known};
pub use item_trainer::ItemTrainer;
pub use toprank_embeddings::TableStorage;
pub(crate) use trainer::Kind;
pub use trainer::{Trainer, table_bytes};
pub(crate) use vector_trainer::Parameters;
pub use vector_trainer::VectorTrainer;
pub use warm_start::NewRows;
