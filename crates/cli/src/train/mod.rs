//! `toprank train`: from files to a model.

pub(crate) mod flags;
mod folds;
pub(crate) mod run;
pub mod screen;
pub(crate) mod workers;

use serde_json::{Value, json};
use toprank::core::Policy;
use toprank::data::Names;
use toprank::metrics::{Measure, evaluate};
use toprank::train::rank::auto::BlendAbout;
use toprank::train::rank::models;
use toprank::train::{Calibrate, Config, Model, Outcome, Run, Trained, TrainerKind, Workers, forecast};

use self::flags::{Rank, SettingFlags};
pub use self::run::absolute;
use self::run::{Begun, Origin, RunFlags, result_json, result_text};
use self::workers::{Division, WorkerFlags, print_plan};
use crate::evaluate::write_per_list;
use crate::failure::Failure;
use crate::reading::Reading;
use crate::table::{Style, counted};
use crate::{Common, interrupt, note, print, print_json};

const EXAMPLES: &str = "\
Examples:
  toprank train --data train.txt --valid vali.txt --objective ndcg@10 --model mlp --seed 1 -o model.toprank
  toprank train --data train.txt --valid vali.txt --model trees --trees 300 --leaves 31 -o model.toprank
  toprank train --data train.csv --label label --objective auprc --folds 5 -o model.toprank
  toprank train --resume model.toprank";

const AFTER_HELP: &str = "\
Examples:
  toprank train --data train.txt --valid vali.txt --objective ndcg@10 --model mlp --seed 1 -o model.toprank
  toprank train --data train.txt --valid vali.txt --objective song:gamma=0.3 --model linear -o model.toprank
  toprank train --data train.txt --valid vali.txt --model trees --objective lambdamart:k=10 --trees 300 --leaves 31 -o model.toprank
  toprank train --data train.csv --label label --objective auprc --model mlp --folds 5 --seed 1 -o model.toprank
  toprank train --data train.csv --smiles smiles --valid vali.csv --objective auprc --model gin:hidden=64 -o model.toprank
  toprank train --data train.txt --pairs preferences.csv --objective ranknet --model trees -o model.toprank
  toprank train --config run.toml --learning-rate 0.003 --curves curves
  toprank train --data new.txt --from model.toprank --model trees --trees 50 -o newer.toprank
  toprank train --resume model.toprank

--objective takes a metric (see `toprank metrics`) and trains with the objective that serves it best, or an objective by name (see
`toprank objectives`). A config file has the settings as keys: objective = \"ndcg@10\", learning-rate = 0.001, warm-up = 5; flags
override it.

While it trains, MODEL.checkpoint beside the model holds everything that is needed to resume: Ctrl-C stops after the present step,
--resume continues, and the model is the same to the byte as if the run had never been interrupted. With --valid the model of the
best epoch is kept. Otherwise the number of epochs is chosen by five folds of the training data (above 20,000 rows, on a fifth of them),
and the model is then trained on all rows; with --epochs or --trees it is trained for just so many. With --model trees a boosting round is an epoch. All inputs must be what they were;
files outside the folder of the model need --trust-paths. A new run does not overwrite the checkpoint of another one without
--force, and MODEL.lock keeps two runs from writing the same model at once.

With --smiles (molecules) or --graph, --nodes and --edges, items are graphs, which --model gin scores. A table without a list
column is one list: binary data. Several label columns (--labels) or a Mulan ARFF file are multi-label data: one list and one
output per label. --class names a column of classes: one list and one output per class, each against the rest, and with
--objective multiclass trees, linear models and perceptrons learn all classes together, by softmax cross-entropy.

With --workers N several workers train together, and the model is that of one worker, to the byte; each computes on its part of the
rows. Without --meet they are threads of this process, which is for tests. With --meet they are processes, on one machine or
several, that see the same files and are started with the same command:
  mpirun -n 4 toprank train --data train.toprank-data --model trees --meet 127.0.0.1:29400 -o model.toprank
The first one writes the files. If a worker ends early all end with an error, and any number of workers can resume. Data in the
memory-mapped format (`toprank convert`) take the least memory: of a table every process reads all rows.

With --pairs FILE a pairwise objective (ranknet, ranksvm, squared-hinge, margin, bpr) learns from preference pairs instead of
labels, which the training data need not have: a table with the columns list, better, worse and, if pairs are weighted, weight.
Items are called by their names if the data have any (--item, #docid comments), otherwise by their position in the list, from 1.
Validation uses labels, as ever.

With --folds K the data are divided into K folds (binary and multi-label data by rows, stratified by label; queries by list). K
models are each evaluated on the fold they were not trained on, and the model that is kept is then trained on all rows. Beside it
stand MODEL.folds.json (values per fold, mean, pooled) and MODEL.oof.txt: the out-of-fold score of every row on the scale of the
kept model, as `evaluate`, `threshold` and `compare` read it. The calibration that `predict --probability` applies is fitted to
out-of-fold or validation scores.";

/// Train a model to rank: networks, or boosted trees
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = AFTER_HELP)]
pub struct Train {
    #[command(flatten)]
    settings: SettingFlags<Rank>,
    #[command(flatten)]
    run: RunFlags,
    /// Metrics of the folds [default: that of validation and those usual for the data]; more columns of lists.csv in --curves
    #[arg(long, short, value_name = "METRICS", help_heading = "Run", hide_short_help = true)]
    metrics: Option<String>,
    #[command(flatten)]
    workers: WorkerFlags,
    #[command(flatten)]
    reading: Reading,
}

impl Train {
    /// Reads, trains, writes the model.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let (flags, own) = (&self.settings.settings, json!(self.metrics));
        let division = self.workers.begin()?;
        let run = RunFlags { follows: division.follows(), ..self.run.clone() };
        let quiet = Common { quiet: common.quiet || run.follows, ..common.clone() };
        let common = &quiet;
        let Some(mut begun) = run.begin(common, TrainerKind::Rank, flags, &self.reading, own)? else {
            return Ok(());
        };
        if division.follows() {
            begun.origin.curves = None;
        }
        if begun.settings.from.is_some() && begun.config.folds() > 0 {
            return Err(Failure::usage(
                "--folds evaluates models that start from scratch: expected no --from with it",
            ));
        }
        let Origin { paths, reading, .. } = &begun.origin;
        let Some((train, valid)) = reading.training_data(paths, common.quiet)? else {
            return Err(Failure::usage("no data: expected --data"));
        };
        begun.config = begun.config.suited_to(train.lists())?;
        let (config, origin) = (&begun.config, &begun.origin);
        if let (true, Division::Threads(size)) = (self.workers.plan, &division) {
            return print_plan(common, &forecast(config, &train, *size)?);
        }
        let auto = models::is_auto(config.model());
        if valid.is_none() && config.folds() == 0 && !auto {
            if matches!(Calibrate::parse(config.calibrate())?, Calibrate::By(_)) {
                return Err(Failure::usage(
                    "--calibrate is fitted to scores of rows that the model was not trained on: expected --valid or --folds",
                ));
            }
            let chosen =
                ["folds", "part", "average"].contains(&config.early_stopping()) && config.patience() > 0;
            let epochs = if config.model().starts_with("trees") { "boosting rounds" } else { "epochs" };
            note(
                common,
                match (chosen, config.early_stopping()) {
                    (true, "folds") => format!(
                        "no --valid: the number of {epochs} is chosen by five folds of the training data"
                    ),
                    (true, "average") => format!(
                        "no --valid: the number of {epochs} is chosen by five folds of the training data, whose models are averaged \
                         with the one on all rows"
                    ),
                    (true, _) => format!(
                        "no --valid: the number of {epochs} is chosen on a fifth of the training data"
                    ),
                    (false, _) => "no --valid: the model of the last epoch is kept".to_string(),
                },
            );
        }
        let metrics: Option<String> = serde_json::from_value(origin.own.clone()).unwrap_or_default();
        let (names, valid_names) =
            (train.list_names().cloned(), valid.as_ref().and_then(|valid| valid.list_names()).cloned());
        let from = origin.paths.from.as_ref().map(|from| Model::load(from.as_ref())).transpose()?;
        let value = begun.origin_value()?;
        let mut screen = begun.screen(common, config, valid.is_some());
        interrupt::by_request();
        let run = Run {
            config,
            train,
            valid,
            from: from.as_ref(),
            fold_metrics: metrics.as_deref(),
            files: Some(begun.files(&value)).filter(|_| !division.follows()),
            workers: Workers::default(),
        };
        let follows = division.follows();
        let trained = match division {
            Division::Threads(1) => run.train(&mut screen),
            Division::Threads(size) => run.train_by(size, &mut screen),
            Division::Processes(workers) => Run { workers, ..run }.train(&mut screen),
        };
        let trained =
            trained.map_err(|error| begun.explain(error, &screen, &|q| name_of(names.as_ref(), q, 0)))?;
        if follows {
            return Ok(());
        }
        let seconds = screen.started.elapsed().as_secs_f64();
        screen.finish(trained.model.header().reached.best)?;
        if let Some(results) = &trained.folds {
            folds::save(results, origin.output(), &trained.train)?;
        }
        trained.finish(&begun.lock)?;
        write_lists(config, origin, &trained, metrics.as_deref(), valid_names.as_ref())?;
        report(common, &begun, &trained, seconds)
    }
}

fn name_of(names: Option<&Names>, q: usize, first: usize) -> String {
    names.map_or_else(|| (q + first).to_string(), |names| names.get(q).to_string())
}

/// Writes the metrics of every validation list beside the learning curves.
fn write_lists(
    config: &Config,
    origin: &Origin,
    trained: &Trained,
    metrics: Option<&str>,
    names: Option<&Names>,
) -> Result<(), Failure> {
    let (Some(folder), Some((valid, scores))) = (&origin.curves, &trained.valid) else { return Ok(()) };
    let lists = valid.lists();
    if scores.len() != lists.entries() {
        return Ok(());
    }
    let asked: Vec<&str> = [config.valid_metric()].into_iter().chain(metrics).collect();
    let measures = Measure::parse_all(&asked.join(","), &Policy::default())?;
    let names: Vec<String> = (0..lists.len()).map(|q| name_of(names, q, 1)).collect();
    let evaluation = evaluate(lists, scores, &measures).map_err(Failure::data)?;
    write_per_list(&folder.join("lists.csv"), &names, &evaluation.results)
}

fn report(common: &Common, begun: &Begun, trained: &Trained, seconds: f64) -> Result<(), Failure> {
    let (model, outcome, output) = (&trained.model, trained.outcome, begun.origin.output());
    let header = model.header();
    let (config, reached) = (&header.config, &header.reached);
    if common.json {
        let mut result = result_json(output, config, reached, outcome, seconds);
        result.extend([
            ("lists".to_string(), json!(reached.lists)),
            ("rows".into(), json!(reached.rows)),
            ("parameters".into(), json!(model.scoring().parameters())),
            (
                "workers".into(),
                json!({
                    "number": trained.traffic.workers,
                    "calls": trained.traffic.calls,
                    "bytes": trained.traffic.bytes,
                }),
            ),
            ("calibrated".into(), json!(!header.calibration.is_empty())),
            ("folds".into(), trained.folds.as_ref().map_or(Value::Null, folds::json)),
        ]);
        if let Some(blend) = &header.blend {
            result.insert("blend".into(), crate::inspect::blend_json(blend));
        }
        return print_json(&result);
    }
    if let Some(blend) = &header.blend {
        return report_blend(begun, trained, blend, seconds);
    }
    let trees = model.scoring().trees();
    let work = match trees {
        None => {
            let epochs = counted(reached.epochs as usize, "epoch");
            format!("{epochs}, {}", counted(reached.steps as usize, "step"))
        }
        Some(trees) => {
            let kept = counted(trees.ensemble().trees.len(), "tree");
            format!("{}, {kept} kept", counted(reached.epochs as usize, "round"))
        }
    };
    let mut text = trained.folds.as_ref().map(folds::table).unwrap_or_default();
    text += &format!(
        "{} trained with {} on {}, {}: {work}, {seconds:.1} s\n",
        config.model(),
        config.algorithm(),
        counted(reached.lists, "list"),
        counted(reached.rows, "row"),
    );
    let epoch = if trees.is_some() { "round" } else { "epoch" };
    text += &result_text(config, reached, epoch, "validation");
    if outcome == Outcome::StoppedEarly {
        text +=
            &format!("early stopping: no improvement for {}\n", counted(config.patience() as usize, epoch));
    }
    if trained.folds.is_some() {
        let [scores, results] = folds::files(output);
        text += &format!("out-of-fold scores: {}\nresults: {}\n", scores.display(), results.display());
    }
    let probability =
        if header.calibration.is_empty() { "" } else { ", calibrated: gives probabilities too" };
    text += &format!("model: {}{probability}\n", output.display());
    print(&text)
}

/// What a portfolio came to.
fn report_blend(begun: &Begun, trained: &Trained, blend: &BlendAbout, seconds: f64) -> Result<(), Failure> {
    let (model, output) = (&trained.model, begun.origin.output());
    let reached = &model.header().reached;
    let mut text = trained.folds.as_ref().map(folds::table).unwrap_or_default();
    text += &crate::inspect::members(blend).render(Style::Table);
    text += &format!(
        "{} trained on {}, {}: {seconds:.1} s\n",
        counted(blend.members.len(), "member"),
        counted(reached.lists, "list"),
        counted(reached.rows, "row"),
    );
    if trained.folds.is_some() {
        let [scores, results] = folds::files(output);
        text += &format!("out-of-fold scores: {}\nresults: {}\n", scores.display(), results.display());
    }
    let probability = if model.gives_probabilities() { ", calibrated: gives probabilities too" } else { "" };
    text += &format!("model: {}{probability}\n", output.display());
    print(&text)
}
