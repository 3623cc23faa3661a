/*!
Learned walks: judged graphs become weights of features under which a random walk ranks nodes well.

```text
Settings ─▶ Config ─▶ PreparedGraphs (features divided by their largest values) ─▶ Trainer ─▶ WalkFile
                       full_batch: the methods, and the oracle that joins walk and objective
```

```
use toprank_train::walk::{PreparedGraphs, Trainer};
use toprank_train::{Settings, TrainerKind, TrainingLoop};
# let folder = tempfile::tempdir().unwrap();
# let args = toprank_core::Args(vec![("queries".into(), "20".into())]);
# toprank_data::generate::by_name("graphs").unwrap().run(&args, folder.path(), &mut |_, _| ()).unwrap();
let graphs = toprank_data::QueryGraphs::read(&toprank_data::graph::GraphFiles::folder(folder.path()).unwrap()).unwrap();
let config = Settings { steps: Some(5), ..Settings::default() }.resolve(TrainerKind::Walk).unwrap();
let prepared = PreparedGraphs::new(&config, &graphs, None).unwrap();
let mut trainer = Trainer::new(&config, &prepared).unwrap();
trainer.run(&mut (), None).unwrap();
let learned = trainer.learned().unwrap();
assert!(learned.found.loss <= learned.file.header.loss.0);
```
*/

pub(crate) mod config;
pub mod file;
pub mod full_batch;
mod trainer;

pub use file::{About, Judged, WalkFile};
pub use trainer::{LearnedWalk, PreparedGraphs, Trainer, TuningGraphs, theory};
