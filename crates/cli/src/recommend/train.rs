//! `toprank recommend train`: from interactions to a recommender.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use toprank::data::ReadOptions;
use toprank::train::recommend::{self, Interactions, Known, NewRows, TableStorage, Trainer};
use toprank::train::store::fingerprint::Input;
use toprank::train::{Config, Files, Outcome, Recommender, TrainError, TrainerKind};

use super::evaluate::protocol;
use crate::failure::Failure;
use crate::reading::Reading;
use crate::table::{Style, counted};
use crate::train::absolute;
use crate::train::flags::{Recommend, SettingFlags};
use crate::train::run::{Begun, Origin, RunFlags, about_inputs, result_json, result_text};
use crate::{Common, inspect, note, print, print_json};

const EXAMPLES: &str = "\
Examples:
  toprank recommend train --data u.data --split leave-last --objective ndcg@20 --model mf --seed 1 -o rec.toprank
  toprank recommend train --data train.txt --valid valid.txt --test test.txt --input-format adjacency -o rec.toprank
  toprank recommend train --resume rec.toprank";

const AFTER_HELP: &str = "\
Examples:
  toprank recommend train --data u.data --split leave-last --objective ndcg@20 --model neumf --seed 1 -o rec.toprank
  toprank recommend train --data ratings.csv --split random:fractions=80/10/10 --objective song --model mf:width=32 -o rec.toprank
  toprank recommend train --data train.txt --valid valid.txt --test test.txt --input-format adjacency -o rec.toprank
  toprank recommend train --data u.data --objective bpr --sampler pairs:batch=4096:group=10:items=10 -o rec.toprank
  toprank recommend train --data u.data --model two-tower --item-features items.csv -o rec.toprank
  toprank recommend train --data u.data --objective song --warm-up 20 --warm-up-learning-rate 0.01 --learning-rate 0.004 -o rec.toprank
  toprank recommend train --data newer.data --from rec.toprank --epochs 10 -o newer.toprank
  toprank recommend train --data seq.txt --split leave-last --objective ndcg@10 --model auto --budget 5m -o rec.toprank
  toprank recommend train --resume rec.toprank

Splits: leave-last (each user's last item by time is test, the one before it validation), temporal (the latest interactions of all
users together are test, those before them validation: what will be asked for after a point in time), random (each user's items by
fractions), none; or parts given by --valid and --test. Early stopping ranks, after every epoch, all items the user has not interacted with in
training, and keeps the model that is best by --valid-metric. The test part is not looked at. --valid-items N ranks the held-out items
among N drawn unseen ones instead, the same ones after every epoch, and looks at no other: it is faster where there are many items.
Such values are not those of full rankings, and the report says so.

--model auto fits several item models (see `toprank models auto`) and keeps the blend of them that is best by the metric on the
validation part. --budget TIME is turned into a list of members before the first is fitted, by stored times of one thread, so that the
same command gives the same bytes; a run that is over its budget ends its list there and says which --members give the same model.

--from MODEL starts from the vectors and weights of another recommender of the same kind, dimension and features. Users and items are
found by their names; those that it does not know start at random, and are counted.

A batch (--sampler) holds relevant pairs and, for each drawn user, some other items:
  pairs:batch=B:group=G:items=N        every pair once an epoch, G of a user together, N other items with them
  strata:batch=U:relevant=R:others=N   U users, R pairs and N other items of each
  lists:batch=U                        U users with all items
What the objective counts of them is weighted so that it refers to all items. pairs and strata take popular=P: other items are
drawn in proportion to their number of interactions to the power P, with importance weights (unless correct=false).

Recent interactions weigh more: with --recency H an interaction weighs half as much as one that came H interactions of the same
user later, where the order in time is known (times in the data, or the order of the file with --split leave-last) and the parts
are not random.

--feedback ratings learns from ratings (gain and relevance by the objective: song:gain=linear, ap:relevant=4) instead of from the
bare interaction. Features of users or items (two-tower) are tables with a column user or item that holds the name and columns of
numbers; they are standardised, missing ones are the mean.

The tables of vectors, their means in the optimiser and the best ones so far take 16 bytes a number (mf:width=64, a million users
and items: 1 GB). --tables says where they are during training: memory, a FOLDER on a disk (in memory-mapped temporary files, so
that they may be larger than memory), or auto: in memory unless they would take more than half of it (of the machine or its
container), else in the folder of the model. The model is the same to the byte.

While it trains, MODEL.checkpoint beside the model holds everything that is needed to resume: Ctrl-C stops after the present step,
--resume continues, and the model is the same to the byte as if the run had never been interrupted.";

/// Train a recommender: matrix factorisation, NeuMF, two towers, EASE, ALS and other item models
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = AFTER_HELP)]
pub struct Train {
    #[command(flatten)]
    settings: SettingFlags<Recommend>,
    #[command(flatten)]
    run: RunFlags,
    /// Where the tables of vectors are during training: auto, memory or a folder; does not change the model [default: auto, or
    /// as before with --resume]
    #[arg(long, value_name = "WHERE", help_heading = "Run", hide_short_help = true)]
    tables: Option<String>,
    #[command(flatten)]
    reading: Reading,
}

/// Where tables are during training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Tables {
    #[default]
    Auto,
    Memory,
    Folder(PathBuf),
}

impl Tables {
    fn parse(text: &str) -> Result<Tables, Failure> {
        Ok(match text {
            "auto" => Tables::Auto,
            "memory" => Tables::Memory,
            folder => Tables::Folder(absolute(folder)?.into()),
        })
    }

    fn place(
        &self,
        common: &Common,
        config: &Config,
        output: &Path,
        data: &Interactions,
    ) -> Result<TableStorage, Failure> {
        Ok(match self {
            Tables::Memory => TableStorage::Memory,
            Tables::Folder(folder) => TableStorage::Folder(folder.clone()),
            Tables::Auto => {
                let bytes = recommend::table_bytes(config, data)?;
                let beside = output.parent().filter(|folder| *folder != Path::new(""));
                let place = TableStorage::fitting(bytes, beside.unwrap_or(Path::new(".")));
                if let TableStorage::Folder(folder) = &place {
                    let folder = folder.display();
                    note(
                        common,
                        format!(
                            "the tables take {bytes} bytes, more than half of the memory: they are memory-mapped in {folder}"
                        ),
                    );
                }
                place
            }
        })
    }
}

/// The interactions of a run, divided into parts.
pub(crate) fn read(origin: &Origin, seed: u64, quiet: bool) -> Result<Interactions, Failure> {
    let paths = &origin.paths;
    let read = |files: &Files| {
        let mut reading = origin.reading.clone();
        // A table with a plain extension is a file of interactions here.
        if reading.input_format.is_none() && files.0.iter().all(|path| plain_table(path)) {
            reading.input_format = Some("interactions".into());
        }
        reading.read_all(&files.0, Vec::new(), quiet)
    };
    let Some(train) = &paths.data else { return Err(Failure::usage("no data: expected --data")) };
    let files = train.0.join(", ");
    let train = read(train)?;
    let parts = if paths.valid.is_none() && paths.test.is_none() {
        Interactions::split(&train, paths.split.as_deref().unwrap_or("leave-last"), seed)
    } else {
        let [valid, test] = [&paths.valid, &paths.test].map(|files| files.as_ref().map(read).transpose());
        Interactions::given(&train, valid?.as_ref(), test?.as_ref())
    };
    let mut data = parts.map_err(|error| Failure::from(error).about(files))?;
    data.user_features = features(origin, "user", paths.user_features.as_ref(), &data.users)?;
    data.item_features = features(origin, "item", paths.item_features.as_ref(), &data.items)?;
    Ok(data)
}

fn features(
    origin: &Origin,
    side: &str,
    path: Option<&String>,
    names: &toprank::data::Names,
) -> Result<Option<Known>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let named = if side == "user" { &origin.reading.list } else { &origin.reading.item };
    let options = ReadOptions {
        item: Some(named.clone().unwrap_or_else(|| side.into())),
        features: origin.reading.features.clone(),
        unlabelled: true,
        ..ReadOptions::default()
    };
    let table = toprank::data::formats::read(&toprank::data::Source::path(path), &options)?;
    let input = if side == "user" { Input::UserFeatures } else { Input::ItemFeatures };
    let known = Known::of_table(&table, names, input);
    Ok(Some(known.map_err(|error| about_inputs(error, &origin.paths))?))
}

/// True if a file is a CSV or TSV table by name: then it holds interactions here, whatever it may hold elsewhere.
fn plain_table(path: &str) -> bool {
    let name = path.trim_end_matches(".gz").trim_end_matches(".zst");
    [".csv", ".tsv", ".data", ".dat", ".inter"].iter().any(|ending| name.ends_with(ending))
}

impl Train {
    /// Reads, trains, writes the model.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        let flags = &self.settings.settings;
        let tables = self.tables.as_deref().map(Tables::parse).transpose()?;
        let own = json!(tables.clone().unwrap_or_default());
        let begun = self.run.begin(common, TrainerKind::Recommend, flags, &self.reading, own)?;
        let Some(begun) = begun else { return Ok(()) };
        let (config, origin) = (&begun.config, &begun.origin);
        let paths = &origin.paths;
        // Said before any data are read.
        let towers = config.model().split(':').next() == Some("two-tower");
        if !towers && (paths.user_features.is_some() || paths.item_features.is_some()) {
            return Err(Failure::usage(format!(
                "--user-features and --item-features are read by --model two-tower, but the model is {}",
                config.model()
            )));
        }
        if paths.split.is_some() && (paths.valid.is_some() || paths.test.is_some()) {
            return Err(Failure::usage(
                "--split divides the data of --data: expected no --valid and no --test with it",
            ));
        }
        let data = read(origin, config.seed(), common.quiet)?;
        recommend::check_settings(&begun.settings, config, &data)?;
        let validated = data.valid.pairs() > 0;
        if !validated {
            note(common, "no interactions for validation: the model of the last epoch is kept");
        }
        let kept: Tables = serde_json::from_value(origin.own.clone()).unwrap_or_default();
        let place = tables.unwrap_or(kept).place(common, config, origin.output(), &data)?;
        let mut trainer = Trainer::new_in(config, &data, &place).map_err(|error| match error {
            TrainError::Tables(_) => Failure::failed(format!(
                "{error}; name another folder with --tables FOLDER, or keep the tables in memory with --tables memory"
            )),
            error => about_inputs(error, &origin.paths),
        })?;
        let new = match &origin.paths.from {
            None => None,
            Some(path) => {
                let from = Recommender::load_mapped(path.as_ref())?;
                let new = trainer.start_from(&from).map_err(|error| about_inputs(error, &origin.paths))?;
                note(common, warm_start(&new, &data));
                Some(new)
            }
        };
        let mut saved = None;
        let mut save = |trainer: &Trainer| saved.insert(trainer.recommender()?).save(origin.output());
        let name = |user: usize| data.users.get(user).to_string();
        let (outcome, seconds) = begun.train(common, &mut trainer, validated, &mut save, &name)?;
        let recommender = saved.map_or_else(|| trainer.recommender(), Ok)?;
        report(common, &begun, &recommender, new, outcome, seconds)
    }
}

/// What a warm start found.
fn warm_start(new: &NewRows, data: &Interactions) -> String {
    format!(
        "warm start: {} of {} and {} of {} are new to the model and start at random",
        new.users,
        counted(data.users.len(), "user"),
        new.items,
        counted(data.items.len(), "item")
    )
}

fn report(
    common: &Common,
    begun: &Begun,
    recommender: &Recommender,
    new: Option<NewRows>,
    outcome: Outcome,
    seconds: f64,
) -> Result<(), Failure> {
    let (header, data, output) = (recommender.header(), recommender.data(), begun.origin.output());
    let (config, reached) = (&header.config, &header.reached);
    let protocol = protocol(Some(config.valid_items()).filter(|items| *items > 0));
    if common.json {
        let pairs =
            json!({"train": data.train.pairs(), "valid": data.valid.pairs(), "test": data.test.pairs()});
        let mut result = result_json(output, config, reached, outcome, seconds);
        result.extend([
            ("users".to_string(), json!(header.users)),
            ("items".into(), json!(header.items)),
            ("pairs".into(), pairs),
            ("parameters".into(), json!(recommender.parameters())),
            ("protocol".into(), json!(protocol)),
            ("blend".into(), json!(header.blend.as_ref().map(inspect::blend_json))),
            ("from".into(), json!(new.map(|new| json!({"new_users": new.users, "new_items": new.items})))),
        ]);
        return print_json(&result);
    }
    let members = header.blend.as_ref().map_or(String::new(), |blend| {
        format!("{}members: {}\n", inspect::members(blend).render(Style::Table), config.members())
    });
    print(&format!(
        "{} trained with {} on {}, {}, {}: {} epochs, {} steps, {seconds:.1} s\n{members}{}model: {}\n",
        config.model(),
        if config.algorithm() == "own" { "a loss of its own" } else { config.algorithm() },
        counted(header.users, "user"),
        counted(header.items, "item"),
        counted(data.train.pairs(), "pair"),
        reached.epochs,
        reached.steps,
        result_text(config, reached, "epoch", &format!("validation ({protocol})")),
        output.display()
    ))
}
