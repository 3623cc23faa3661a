//! `toprank gradient`: loss and gradient of an objective on given scores.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toprank::core::{Lists, Policy, Stream};
use toprank::data::{Dataset, sink};
use toprank::objectives::{Batch, Goal, Gradients, Reduction};

use crate::failure::Failure;
use crate::judged::{Basis, Judged, ScoreSource};
use crate::progress::Progress;
use crate::reading::Reading;
use crate::table::{Style, Table, counted, csv_cell};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank gradient --data test.txt --scores scores.txt --objective song:gamma=1:margin=1 -o gradient.csv
  toprank gradient --data test.txt --scores scores.txt --objective lambdarank@30 --sum --hessian -o - | head
  toprank gradient --data test.txt --feature 5 --objective listnet --json

The file has the header row,list,gradient (and hessian): row counts the rows of the data file from 1, list is the list's
name. It has one line per row, in the order of the file; multi-label data and interactions have one line per row and list. The
gradient is that of the printed loss, the mean over lists (--sum: their sum); higher scores rank higher, so a negative gradient
means that this score should rise. A list that cannot contribute, for example one without a relevant item, has loss 0 and
gradient 0. `toprank objectives` lists the objectives.";

/// Print an objective's loss and write its gradient with respect to every score
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Gradient {
    /// Data with labels (see `toprank formats`); repeat it or give a pattern for several files
    #[arg(long, value_name = "FILE", required = true)]
    data: Vec<String>,
    #[command(flatten)]
    scores: ScoreSource,
    /// Objective with its parameters (see `toprank objectives`)
    #[arg(long, value_name = "OBJECTIVE", help_heading = "Gradient")]
    objective: String,
    /// Write the gradient to a CSV file (- is standard output)
    #[arg(long, short, value_name = "FILE", help_heading = "Gradient")]
    output: Option<PathBuf>,
    /// Add a column with the diagonal of the Hessian, or an upper bound of it, for Newton steps
    #[arg(long, requires = "output", help_heading = "Gradient")]
    hessian: bool,
    /// Sum the loss over lists instead of averaging it
    #[arg(long, help_heading = "Gradient")]
    sum: bool,
    /// Seed of objectives that draw random numbers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Gradient")]
    seed: u64,
    #[command(flatten)]
    reading: Reading,
}

impl Gradient {
    /// Reads, computes, writes, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let goal = Goal::parse(&self.objective, &Policy::default())?;
        let ranking = self
            .scores
            .ranking()
            .ok_or_else(|| Failure::usage("no scores: expected --scores, --feature or --score-column"))?;
        let to_stdout = self.output.as_deref() == Some(Path::new("-"));
        if to_stdout && common.json {
            return Err(Failure::usage(
                "-o - and --json both want standard output; expected a file after -o",
            ));
        }
        let keep = self.scores.kept_column().into_iter().collect();
        let dataset = self.reading.read_all(&self.data, keep, common.quiet)?;
        let basis = Basis::Data {
            file: self.data.join(", "),
            dataset: Box::new(dataset),
            reading: Box::new(self.reading.clone()),
        };
        let judged = basis.judge(&ranking, false, common)?;
        let gradients = self.step(&goal, &judged, common).map_err(|error| basis.explain_goal(&error))?;
        if let (Some(path), Basis::Data { dataset, .. }) = (&self.output, &basis) {
            let _spinner = Progress::spinner(common.quiet, &format!("writing {}", path.display()));
            sink::write_file(path, |out| write(dataset, &judged, &gradients, out))?;
        }
        if common.json {
            return print_json(&self.report(&goal, &judged.lists, &gradients));
        }
        if to_stdout {
            let (loss, counts) = (gradients.loss, gradients.counts);
            note(
                common,
                format!(
                    "loss {loss:.6} over {}, {} without gradient",
                    counted(counts.all, "list"),
                    counts.idle
                ),
            );
            return Ok(());
        }
        print(&self.text(&goal, &judged.lists, &gradients))
    }

    fn step(
        &self,
        goal: &Goal,
        judged: &Judged,
        common: &Common,
    ) -> Result<Gradients, toprank::objectives::GoalError> {
        let _spinner = Progress::spinner(common.quiet, &format!("computing {}", goal.name()));
        let batch = Batch {
            stream: Stream::new(self.seed, "objective"),
            reduction: if self.sum { Reduction::Sum } else { Reduction::Mean },
            ..Batch::all(&judged.lists, &judged.scores)
        };
        let mut out = Gradients { want_hessian: self.hessian, ..Gradients::default() };
        goal.step(&batch, &mut goal.state(&judged.lists)?, &mut out)?;
        Ok(out)
    }

    fn reduction(&self) -> &'static str {
        if self.sum { "sum" } else { "mean" }
    }

    fn text(&self, goal: &Goal, lists: &Lists, gradients: &Gradients) -> String {
        let counts = gradients.counts;
        let mut table = Table::new(["objective", "loss", "lists", "with gradient", "without gradient"]);
        let numbers = [counts.all, counts.used, counts.idle].map(|count| count.to_string());
        let loss = format!("{:.6}", gradients.loss);
        table.row([goal.name().to_string(), loss].into_iter().chain(numbers));
        let mut text = table.render(Style::Table);
        let weighted = if lists.list_weights.is_some() { "; lists are weighted" } else { "" };
        text += &format!(
            "{} items; the loss is the {} over lists{weighted}\n",
            lists.entries(),
            self.reduction()
        );
        let rules = rules(goal);
        if !rules.is_empty() {
            let rules: Vec<String> = rules.iter().map(|(key, value)| format!("{key}={value}")).collect();
            text += &format!("policy: {}\n", rules.join(" "));
        }
        text
    }

    fn report(&self, goal: &Goal, lists: &Lists, gradients: &Gradients) -> Value {
        let counts = gradients.counts;
        let rules: Map<String, Value> =
            rules(goal).into_iter().map(|(key, value)| (key.to_string(), json!(value))).collect();
        json!({
            "objective": goal.name(),
            "loss": gradients.loss,
            "reduction": self.reduction(),
            "lists": {
                "total": counts.all,
                "used": counts.used,
                "without_gradient": counts.idle,
                "items": lists.entries(),
                "weighted": lists.list_weights.is_some(),
            },
            "policy": rules,
            "seed": goal.objective().needs().random.then_some(self.seed),
        })
    }
}

/// The rules that this objective takes.
fn rules(goal: &Goal) -> Vec<(&'static str, String)> {
    let takes = |key: &str| goal.listing().entry.params.iter().any(|param| param.name == key);
    goal.policy().fields().into_iter().filter(|(key, _)| takes(key)).collect()
}

fn write(
    dataset: &Dataset,
    judged: &Judged,
    gradients: &Gradients,
    out: &mut (dyn Write + Send),
) -> std::io::Result<()> {
    let lists = &judged.lists;
    let names: Vec<String> = judged.names.iter().map(|name| csv_cell(name)).collect();
    let lists_of_entries = (0..lists.len()).flat_map(|q| lists.range(q).map(move |entry| (q, entry)));
    let mut lines: Vec<(usize, usize, usize)> =
        lists_of_entries.map(|(q, entry)| (dataset.file_row(lists.row(entry)), q, entry)).collect();
    lines.sort_unstable();
    let hessian = gradients.want_hessian;
    writeln!(out, "row,list,gradient{}", if hessian { ",hessian" } else { "" })?;
    for (row, q, entry) in lines {
        write!(out, "{},{},{:?}", row + 1, names[q], gradients.gradient[entry])?;
        if hessian {
            write!(out, ",{:?}", gradients.hessian[entry])?;
        }
        writeln!(out)?;
    }
    Ok(())
}
