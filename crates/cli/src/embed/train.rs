//! `toprank embed train`: from rows and classes to an embedding.

use serde_json::{Value, json};
use toprank::train::embed::{Classes, Prepared, Trainer, Views};
use toprank::train::{Config, Embedder, Files, Outcome, TrainerKind};

use super::{Wanted, read_all};
use crate::failure::Failure;
use crate::reading::Reading;
use crate::table::counted;
use crate::train::flags::{Embed, SettingFlags};
use crate::train::run::{Begun, Origin, RunFlags, about_inputs, result_json, result_text};
use crate::{Common, note, print, print_json};

const EXAMPLES: &str = "\
Examples:
  toprank embed train --data letters.csv --class letter --objective map -o emb.toprank
  toprank embed train --data train.csv --valid valid.csv --class id --objective multi-similarity --memory 1024 -o emb.toprank
  toprank embed train --resume emb.toprank";

const AFTER_HELP: &str = "\
Examples:
  toprank embed train --data letters.csv --class letter --objective map -o emb.toprank
  toprank embed train --data digits.csv --split 50/0/50 --objective smooth-ap --model mlp:hidden=64 --dimensions 16 -o emb.toprank
  toprank embed train --data train.csv --valid valid.csv --class id --objective multi-similarity --memory 1024 -o emb.toprank
  toprank embed train --data images.csv --views two:noise=0.3:mask=0.2 --objective global-contrastive -o emb.toprank
  toprank embed train --data newer.csv --class id --from emb.toprank --epochs 10 -o newer.toprank
  toprank embed train --resume emb.toprank

Classes: the column that --class names (strings or numbers), else each value of the label. --split divides the classes, so that no
class is in two parts; the model file holds which class is in which part, and `toprank retrieve --part test` evaluates by them.
After every epoch each row of the validation classes is searched among the others, and the model that is best by --valid-metric is
kept.

A batch holds --batch-classes classes and --class-rows rows of each; every row is drawn once before any is drawn again. Each row of it is a
query over the other rows. --memory N adds the last N vectors of earlier batches as candidates (cross-batch memory). --views two
learns without classes: each row is shown twice, with noise and masked features, and is to find its other view; candidates=across
compares first views with second views only (the two-way form). Classes serve validation alone then.

--similarity euclidean compares vectors of any length by minus their squared distance (nca, log-nca and sup-con are then the printed
forms of the X-risk paper); objectives with bounds made for cosines need their own, or are refused. Searches and exports follow.

--from MODEL starts from the network of another embedding of the same kind and dimension; its features are found by their names, and
its transforms are kept.

While it trains, MODEL.checkpoint beside the model holds everything that is needed to resume: Ctrl-C stops after the present step,
--resume continues, and the model is the same to the byte as if the run had never been interrupted.";

/// Train a network that turns rows into vectors
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = AFTER_HELP)]
pub struct Train {
    #[command(flatten)]
    settings: SettingFlags<Embed>,
    #[command(flatten)]
    run: RunFlags,
    #[command(flatten)]
    reading: Reading,
}

/// The classes of a run: train, validation and test.
pub(crate) fn parts(origin: &Origin, config: &Config, quiet: bool) -> Result<[Classes; 3], Failure> {
    let views = Views::parse(config.views())?.is_some();
    let (paths, class) = (&origin.paths, origin.paths.class.as_deref());
    let classes = |files: &Files, wanted| -> Result<Classes, Failure> {
        let data = read_all(&files.0, class, &origin.reading, wanted, quiet)?;
        // Views need no classes: rows without any are one class.
        let nameless = data.list_names.is_none() && data.lists.labels.iter().all(|y| y.is_nan());
        let classes = if views && nameless { Classes::unlabelled(data) } else { Classes::of(data) };
        classes.map_err(|error| Failure::data(error).about(files.0.join(", ")))
    };
    let Some(files) = &paths.data else { return Err(Failure::usage("no data: expected --data")) };
    let all = classes(files, if views { Wanted::ClassesIfAny } else { Wanted::Classes })?;
    if let Some(valid) = &paths.valid {
        return Ok([all, classes(valid, Wanted::Classes)?, Classes::default()]);
    }
    let fractions = paths.split.as_deref().unwrap_or(if all.len() > 1 { "80/20/0" } else { "100/0/0" });
    Ok(all.split(fractions, paths.split_seed.unwrap_or(1))?)
}

impl Train {
    /// Reads, trains, writes the model.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let flags = &self.settings.settings;
        let begun = self.run.begin(common, TrainerKind::Embed, flags, &self.reading, Value::Null)?;
        let Some(begun) = begun else { return Ok(()) };
        let (config, origin) = (&begun.config, &begun.origin);
        if origin.paths.split.is_some() && origin.paths.valid.is_some() {
            return Err(Failure::usage("--split divides the classes of --data: expected no --valid with it"));
        }
        let [train, valid, test] = parts(origin, config, common.quiet)?;
        let (valid, test) = (Some(valid), test.names());
        let prepared = match &origin.paths.from {
            None => Prepared::new(config, train, valid, &test),
            Some(path) => Prepared::warm_started(config, Embedder::load(path.as_ref())?, train, valid, &test),
        };
        let data = prepared.map_err(|error| about_inputs(error, &origin.paths))?;
        let validated = data.classes().1 > 0;
        if !validated {
            note(common, "no classes for validation: the model of the last epoch is kept");
        }
        let mut trainer = Trainer::new(config, &data).map_err(|error| about_inputs(error, &origin.paths))?;
        let mut save = |trainer: &Trainer| trainer.embedder().save(origin.output());
        let name = |row: usize| format!("row {row} of the training part");
        let (outcome, seconds) = begun.train(common, &mut trainer, validated, &mut save, &name)?;
        report(common, &begun, &trainer.embedder(), outcome, seconds)
    }
}

fn report(
    common: &Common,
    begun: &Begun,
    embedder: &Embedder,
    outcome: Outcome,
    seconds: f64,
) -> Result<(), Failure> {
    let (header, output) = (embedder.header(), begun.origin.output());
    let (config, reached, parts) = (&header.config, &header.reached, &header.parts);
    if common.json {
        let mut result = result_json(output, config, reached, outcome, seconds);
        result.extend([
            ("rows".to_string(), json!(reached.rows)),
            ("classes".into(), json!(parts)),
            ("parameters".into(), json!(embedder.parameters())),
        ]);
        return print_json(&result);
    }
    let on = format!("validation, {} never seen in training", counted(parts.valid.len(), "class"));
    print(&format!(
        "{} trained with {} on {}, {}: {} epochs, {} steps, {seconds:.1} s\n{}model: {}\n",
        config.model(),
        config.algorithm(),
        counted(reached.rows, "row"),
        counted(parts.train.len(), "class"),
        reached.epochs,
        reached.steps,
        result_text(config, reached, "epoch", &on),
        output.display()
    ))
}
