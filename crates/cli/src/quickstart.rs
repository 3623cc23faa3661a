//! `toprank quickstart`: a task from data to a verdict, on generated data, each command as a user would type it.

use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use toprank::core::Policy;
use toprank::metrics::{Measure, evaluate};

use crate::failure::Failure;
use crate::judged::{Basis, Ranking};
use crate::reading::Reading;
use crate::{Cli, Common, interrupt, print};

const AFTER_HELP: &str = "\
Examples:
  toprank quickstart
  toprank quickstart --task fraud --seed 7 -o demo

Every command is printed before it runs, so that it can be typed again with other files. The data are made by `toprank generate` with
its defaults but for sizes and split; all settings of the models that are not in the printed commands are the defaults.

Tasks:
  search          rank documents for queries: the best single feature, a linear model (least squares), trees for ndcg@10
  fraud           find rare positives in a table: the best single column, a linear model and trees for the area under the
                  precision-recall curve
  recommendation  recommend items to users: popularity, matrix factorisation for ndcg@10
  graph           rank pages by random walks: number of links, an untuned walk, a walk whose weights are learned";

/// Take a tour of a task: data, a baseline, models, and a verdict whether they differ
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Quickstart {
    /// What to do
    #[arg(long, value_enum, value_name = "TASK", default_value = "search")]
    task: Task,
    /// Folder for all files, which must be new, empty or that of an earlier quickstart [default: quickstart, quickstart-TASK]
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Number of lists to generate: queries, rows of the table, users, graphs [default: by task]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(20..))]
    lists: Option<u32>,
    /// Seed of data and models
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A task, told in commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Rank documents for queries
    Search,
    /// Find rare positives in a table
    Fraud,
    /// Recommend items to users
    Recommendation,
    /// Rank pages by random walks over links
    Graph,
}

/// Files of a task, separated by blanks, and what they are.
type Kept = (&'static str, &'static str);

/// What is said of a task after its commands.
struct Ending {
    files: &'static [Kept],
    /// Commands for data of one's own.
    next: [&'static str; 3],
}

const SEARCH: Ending = Ending {
    files: &[
        (
            "data/train.txt data/vali.txt data/test.txt",
            "LETOR text: label, query, features; one document per line",
        ),
        ("linear.toprank trees.toprank", "the models; `toprank inspect FILE` describes them"),
        ("linear.txt trees.txt", "their scores, one per line of test.txt"),
        ("trees.curves/curve.csv trees.curves/curve.svg", "loss and ndcg@10 of the trees after every round"),
        ("differences.svg", "the plot: trees minus linear, query by query"),
    ],
    next: [
        "toprank train --data train.txt --valid vali.txt --objective ndcg@10 --model trees -o model.toprank",
        "toprank predict model.toprank --data test.txt -o scores.txt",
        "toprank evaluate --data test.txt --scores scores.txt -m ndcg@10,map,mrr",
    ],
};

const FRAUD: Ending = Ending {
    files: &[
        ("data/train.csv data/vali.csv data/test.csv", "tables: features f1, f2, … and a label 0 or 1"),
        ("linear.toprank trees.toprank", "the models; `toprank inspect FILE` describes them"),
        ("linear.txt trees.txt", "their scores, one per row of test.csv"),
        ("curves.svg", "the plot: precision and recall, ROC of the trees"),
    ],
    next: [
        "toprank train --data train.csv --label LABEL --objective auprc --model trees --folds 5 -o model.toprank",
        "toprank threshold --data train.csv --label LABEL --scores model.toprank.oof.txt --recall 0.8",
        "toprank predict model.toprank --data test.csv --label LABEL --probability -o probabilities.txt",
    ],
};

const RECOMMENDATION: Ending = Ending {
    files: &[
        ("data/interactions.csv", "user, item, rating, time"),
        ("mf.toprank", "the recommender, with the interactions that it was trained on"),
        ("mf.curves/curve.csv mf.curves/curve.svg", "the plot: loss and ndcg@10 after every epoch"),
    ],
    next: [
        "toprank recommend train --data interactions.csv --split leave-last --objective ndcg@10 -o rec.toprank",
        "toprank recommend evaluate rec.toprank --against popularity -m ndcg@10,recall@20",
        "toprank recommend top rec.toprank --user NAME --k 10",
    ],
};

const GRAPH: Ending = Ending {
    files: &[
        (
            "data/nodes.tsv data/edges.tsv data/judgements.tsv",
            "per query: pages, links, judgements of some pages",
        ),
        ("parts/train.tsv parts/test.tsv", "the judgements, divided by query"),
        ("walk.toprank", "the learned walk; `toprank inspect FILE` describes it"),
        ("weights.svg", "the plot: the learned weights of page and link features"),
    ],
    next: [
        "toprank pagerank rank --edges edges.csv --top 20",
        "toprank pagerank train --graphs FOLDER --objective ndcg@10 -o walk.toprank",
        "toprank pagerank predict walk.toprank --graphs FOLDER -o scores.tsv",
    ],
};

/// The file that says what the others are; a folder with it is quickstart's own.
const README: &str = "README.txt";
const FIRST_LINE: &str = "Written by toprank quickstart, which replaces these files when it runs again.";

impl Task {
    const ALL: [Task; 4] = [Task::Search, Task::Fraud, Task::Recommendation, Task::Graph];

    fn ending(self) -> &'static Ending {
        match self {
            Task::Search => &SEARCH,
            Task::Fraud => &FRAUD,
            Task::Recommendation => &RECOMMENDATION,
            Task::Graph => &GRAPH,
        }
    }

    /// Lists to generate, so that the whole takes seconds and the differences are far from chance.
    fn lists(self) -> u32 {
        match self {
            Task::Search => 2500,
            Task::Fraud => 20_000,
            Task::Recommendation => 1500,
            Task::Graph => 2000,
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Task::Search => "quickstart",
            Task::Fraud => "quickstart-fraud",
            Task::Recommendation => "quickstart-recommendation",
            Task::Graph => "quickstart-graph",
        }
    }
}

impl Quickstart {
    /// Runs one command after the other.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        crate::heap::keep();
        if common.json {
            return Err(Failure::usage(
                "quickstart prints the output of several commands; expected no --json",
            ));
        }
        let folder = self.output.clone().unwrap_or_else(|| self.task.folder().into());
        clear(&folder)?;
        let ending = self.task.ending().text(&folder);
        toprank::data::sink::write_file(&folder.join(README), |out| write!(out, "{FIRST_LINE}\n\n{ending}"))?;
        let lists = self.lists.unwrap_or(self.task.lists()).to_string();
        let tour = Tour { common, folder, lists, seed: self.seed.to_string() };
        match self.task {
            Task::Search => tour.search()?,
            Task::Fraud => tour.fraud()?,
            Task::Recommendation => tour.recommendation()?,
            Task::Graph => tour.graph()?,
        }
        print(&format!("\n{ending}"))
    }
}

impl Ending {
    fn text(&self, folder: &Path) -> String {
        let mut text = format!("What is in {}:\n", folder.display());
        let plots = cfg!(feature = "plots");
        for (names, about) in self.files {
            let shown: Vec<&str> = names
                .split(' ')
                .filter(|name| plots || Path::new(name).extension().is_none_or(|kind| kind != "svg"))
                .collect();
            if !shown.is_empty() {
                text += &format!("  {:<50}  {about}\n", shown.join(" "));
            }
        }
        text + "\nNext, with your own data:\n  " + &self.next.join("\n  ") + "\n"
    }
}

/// Removes what an earlier quickstart left; a folder that is not its own is refused.
fn clear(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder.display(), &error))?;
    let readme = folder.join(README);
    let own = std::fs::read_to_string(&readme).is_ok_and(|text| text.starts_with(FIRST_LINE));
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file(folder.display(), &error))?;
    if !own && entries.count() > 0 {
        return Err(Failure::usage(format!(
            "{}: has files that quickstart did not write; expected a folder that is new, empty or of an earlier quickstart: name \
             another one with -o",
            folder.display()
        )));
    }
    let names = Task::ALL.into_iter().flat_map(|task| task.ending().files);
    for name in names.flat_map(|(names, _)| names.split(' ')) {
        for path in [folder.join(name), folder.join(format!("{name}.checkpoint"))] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Failure::file(path.display(), &error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The commands of a task, and the folder that they fill.
struct Tour<'a> {
    common: &'a Common,
    folder: PathBuf,
    lists: String,
    seed: String,
}

impl Tour<'_> {
    fn search(&self) -> Result<(), Failure> {
        let [train, valid, test] = ["train", "vali", "test"].map(|part| self.at(&format!("data/{part}.txt")));
        heading("1. Data: queries with judged documents, made here.")?;
        self.generate("letor", &["--lists", &self.lists, "--split", "40/20/40"])?;
        let baseline = self.best_feature(&train, None, "ndcg@10")?;
        let data = ["--data", &train, "--valid", &valid];
        let test = ["--data", &test];
        let squares = ["--objective", "squared", "--transforms", "missing:to=mean,standardise"];
        let linear = self.linear(
            "3. A linear model: least squares on standardised features.",
            &[&data[..], &squares].concat(),
            &test,
        )?;
        heading("4. Trees for the metric.")?;
        let curves = self.at("trees.curves");
        let metric = ["--objective", "ndcg@10", "--curves", &curves];
        let trees = self.model("trees", &[&data[..], &metric].concat(), &test)?;
        heading("5. Are the differences real? On the test queries, which no model has seen:")?;
        let plot = self.at("differences.svg");
        let mut words = ["compare", "-m", "ndcg@10", "--tests", "t", "--biggest", "0"].to_vec();
        words.extend(test);
        if cfg!(feature = "plots") {
            words.extend(["--plot", &plot]);
        }
        self.step(&[&words, &rankings(&baseline, linear.as_deref(), &trees)[..]].concat())?;
        if linear.is_some() {
            let model = self.at("linear-metric.toprank");
            let words =
                [&["train"], &data[..], &["--model", "linear", "--objective", "ndcg@10", "-o", &model]]
                    .concat();
            let line = line(&words);
            heading(&format!(
                "Was it the trees, or training for the metric? A linear model for the metric comes close here:\n  {line}"
            ))?;
        }
        Ok(())
    }

    fn fraud(&self) -> Result<(), Failure> {
        let [train, valid, test] = ["train", "vali", "test"].map(|part| self.at(&format!("data/{part}.csv")));
        heading("1. Data: a table in which 5 % of the rows are positive, made here.")?;
        self.generate("binary", &["--rows", &self.lists, "--split", "40/10/50"])?;
        let baseline = self.best_feature(&train, Some("label"), "auprc")?;
        let data = ["--data", &train, "--valid", &valid, "--label", "label", "--objective", "auprc"];
        let test = ["--data", &test, "--label", "label"];
        let linear = self.linear(
            "3. A linear model for the metric, the area under the precision-recall curve.",
            &data,
            &test,
        )?;
        heading("4. Trees for the metric.")?;
        let trees = self.model("trees", &data, &test)?;
        heading("5. Are the differences real? On the test rows, which no model has seen:")?;
        self.step(
            &[&["compare", "-m", "auprc"], &test[..], &rankings(&baseline, linear.as_deref(), &trees)]
                .concat(),
        )?;
        if cfg!(feature = "plots") {
            heading("6. How good are the trees, and at what price is a positive found?")?;
            let (scores, plot) = (self.at("trees.txt"), self.at("curves.svg"));
            let words = ["--scores", &scores, "-m", "auprc,auroc,p@100", "--plot", &plot];
            self.step(&[&["evaluate"], &test[..], &words].concat())?;
        }
        Ok(())
    }

    fn recommendation(&self) -> Result<(), Failure> {
        let [data, model, curves] =
            ["data/interactions.csv", "mf.toprank", "mf.curves"].map(|name| self.at(name));
        heading("1. Data: users and the items they chose, made here.")?;
        self.generate("interactions", &["--users", &self.lists, "--items", "600", "--length", "150"])?;
        heading("2. Matrix factorisation for the metric; 30 % of each user's items are held out.")?;
        let train = [
            "recommend",
            "train",
            "--data",
            &data,
            "--split",
            "random:fractions=60/10/30",
            "--objective",
            "ndcg@10",
        ];
        let settings = ["--model", "mf:width=8", "--learning-rate", "0.03", "--seed", &self.seed];
        self.step(&[&train[..], &settings, &["--curves", &curves, "-o", &model]].concat())?;
        heading(
            "3. Is it better than a naive baseline, the most popular items? All items that a user has not seen are ranked:",
        )?;
        self.step(&["recommend", "evaluate", &model, "--against", "popularity", "-m", "ndcg@10"])
    }

    fn graph(&self) -> Result<(), Failure> {
        let [data, parts, walk, plot] =
            ["data", "parts", "walk.toprank", "weights.svg"].map(|name| self.at(name));
        heading("1. Data: per query a graph of pages and links, some of the pages judged, made here.")?;
        self.generate("graphs", &["--queries", &self.lists])?;
        heading("2. 30 % of the queries are for training, the others are for the test.")?;
        let judgements = self.at("data/judgements.tsv");
        let split = ["--list", "query", "--item", "node", "--method", "30/70", "--seed", &self.seed];
        self.step(&[&["split", &judgements], &split[..], &["-o", &parts]].concat())?;
        let [train, test] = ["train", "test"].map(|part| self.at(&format!("parts/{part}.tsv")));
        heading("3. A walk over the links whose weights are learned from the judgements.")?;
        let mut words =
            ["pagerank", "train", "--graphs", &data, "--judgements", &train, "--objective", "margin"]
                .to_vec();
        if cfg!(feature = "plots") {
            words.extend(["--plot", &plot]);
        }
        self.step(&[&words[..], &["--seed", &self.seed, "-o", &walk]].concat())?;
        heading(
            "4. Is it better than a naive baseline, the number of links to a page (in-degree), and what did learning add to the walk (untuned)? On the test queries:",
        )?;
        self.step(&["pagerank", "evaluate", &walk, "--graphs", &data, "--judgements", &test, "-m", "ndcg@10"])
    }

    fn generate(&self, kind: &str, words: &[&str]) -> Result<(), Failure> {
        self.step(&[&["generate", kind], words, &["--seed", &self.seed, "-o", &self.at("data")]].concat())
    }

    /// The linear model, if this build has networks.
    fn linear(&self, say: &str, data: &[&str], test: &[&str]) -> Result<Option<String>, Failure> {
        if cfg!(not(feature = "neural")) {
            heading("3. The linear model is left out: this toprank was built without networks.")?;
            return Ok(None);
        }
        heading(say)?;
        self.model("linear", data, test).map(Some)
    }

    /// Trains a kind of model; `NAME=FILE` of its scores of the test data.
    fn model(&self, kind: &str, data: &[&str], test: &[&str]) -> Result<String, Failure> {
        let [model, scores] = ["toprank", "txt"].map(|ending| self.at(&format!("{kind}.{ending}")));
        self.step(&[&["train"], data, &["--model", kind, "--seed", &self.seed, "-o", &model]].concat())?;
        self.step(&[&["predict", &model], test, &["-o", &scores]].concat())?;
        Ok(format!("{kind}={scores}"))
    }

    /// The feature that ranks the data best by itself, as `toprank compare` takes it.
    fn best_feature(&self, file: &str, label: Option<&str>, metric: &str) -> Result<String, Failure> {
        let quiet = Common { quiet: true, ..self.common.clone() };
        let reading = Reading { label: label.map(String::from), ..Reading::default() };
        let basis = Basis::data(file, &reading, Vec::new(), &quiet)?;
        let names: Vec<String> = match &basis {
            Basis::Data { dataset, .. } => dataset.columns.iter().map(|column| column.name.clone()).collect(),
            Basis::Qrels { .. } => Vec::new(),
        };
        let measures = Measure::parse_all(metric, &Policy::default())?;
        let mut best = (String::new(), f64::NEG_INFINITY);
        for name in &names {
            let judged = basis.judge(&Ranking::Feature(name.clone()), false, &quiet)?;
            let found =
                evaluate(&judged.lists, &judged.scores, &measures).map_err(|error| basis.explain(&error))?;
            let mean = found.results[0].mean.unwrap_or(f64::NEG_INFINITY);
            if mean > best.1 {
                best = (name.clone(), mean);
            }
        }
        let (name, mean) = best;
        heading(&format!(
            "2. A naive baseline: of {} features, feature {name} alone ranks the training data best ({metric} {mean:.4}).",
            names.len()
        ))?;
        Ok(format!("best-feature=feature:{name}"))
    }

    fn at(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Prints a command and runs it.
    fn step(&self, words: &[&str]) -> Result<(), Failure> {
        // Between two steps of training an interrupt is only a request.
        if interrupt::asked() {
            return Err(Failure::interrupted("interrupted"));
        }
        print(&format!("$ {}\n", line(words)))?;
        let mut args = vec!["toprank"];
        args.extend(words);
        if self.common.quiet {
            args.push("--quiet");
        }
        let cli = Cli::try_parse_from(args).map_err(Failure::usage)?;
        cli.command.run(&cli.common)
    }
}

/// Says what comes next.
fn heading(text: &str) -> Result<(), Failure> {
    print(&format!("\n{text}\n"))
}

/// The runs to compare, the naive one first.
fn rankings<'a>(naive: &'a str, linear: Option<&'a str>, trees: &'a str) -> Vec<&'a str> {
    [naive].into_iter().chain(linear).chain([trees]).collect()
}

/// A command as it is typed.
fn line(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("toprank {}", words.join(" "))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
