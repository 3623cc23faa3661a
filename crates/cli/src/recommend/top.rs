//! `toprank recommend top`: the best unseen items of a user.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toprank::data::{Source, titles};
use toprank::train::Recommender;
use toprank::train::recommend::{Filter, Top as Best};

use crate::failure::Failure;
use crate::table::{Style, Table, csv_cell};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank recommend top rec.toprank --user 196 --k 10
  toprank recommend top rec.toprank --user 196 --user 22 --json
  toprank recommend top rec.toprank --history 50,181,172 --item-names u.item
  toprank recommend top rec.toprank --all --k 20 -o top.csv
  toprank recommend top rec.toprank --all --only in-stock.txt --exclude 50,181 -o top.parquet

Items that a user has interacted with in any part of the data (train, validation, test) are not recommended again, unless --repeat
allows it. A user without training interactions gets the most popular items, with the number of their interactions as scores. A new
user is described by --history: an embedding is fitted to these items with the model's objective while everything else stays fixed;
models that read histories (ease, knn, als, sequence, auto) score from it as it is. The last item is the most recent one.

--item-names FILE is a table of items and titles: the first column is the item, the title is the column named title or name, else the
second one; columns are separated by comma, tab, | or ::. Items that it does not name are shown by their own name.

--only FILE and --exclude say what may be recommended: a file has an item in each line. Items that the model does not know are counted.";

/// List the best unseen items of users
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
#[command(group(clap::ArgGroup::new("who").required(true).args(["user", "history", "all"])))]
pub struct Top {
    /// Model file of a recommender
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Name of a user; may be repeated
    #[arg(long, value_name = "NAME")]
    user: Vec<String>,
    /// History of a new user: items, oldest first, separated by commas
    #[arg(long, value_name = "ITEMS", value_delimiter = ',')]
    history: Vec<String>,
    /// Recommend to all users
    #[arg(long)]
    all: bool,
    /// Number of items to list per user
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    k: u32,
    /// Table of items and their titles, to be shown beside them
    #[arg(long, value_name = "FILE")]
    item_names: Option<PathBuf>,
    /// Recommend only items of this file, one in each line
    #[arg(long, value_name = "FILE")]
    only: Option<PathBuf>,
    /// Items that nobody is recommended, separated by commas; @FILE has one in each line
    #[arg(long, value_name = "ITEMS")]
    exclude: Option<String>,
    /// Items that a user has interacted with may be recommended again
    #[arg(long)]
    repeat: bool,
    /// Write user,rank,item,score (and title) to this file: CSV, or Parquet if it ends in .parquet; - is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A recommended item of a user, as it is written.
struct Line<'a> {
    user: &'a str,
    rank: u32,
    item: &'a str,
    score: f64,
}

impl Top {
    /// Loads, ranks, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let recommender = Recommender::load_mapped(&self.model)?;
        let titles = self.item_names.as_ref().map(|path| titles::read(&Source::path(path))).transpose()?;
        let excluded = self.excluded(common, &recommender)?;
        let filter = Filter { excluded: &excluded, repeat: self.repeat };
        let k = self.k as usize;
        let users = &recommender.data().users;
        let found: Vec<(String, Best)> = if self.history.is_empty() {
            let numbers: Vec<u32> = match self.all {
                true => (0..users.len() as u32).collect(),
                false => self.user.iter().map(|name| recommender.user(name)).collect::<Result<_, _>>()?,
            };
            let names = numbers.iter().map(|&user| users.get(user as usize).to_string());
            names.zip(recommender.tops_filtered(&numbers, k, &filter)).collect()
        } else {
            let history: Vec<&str> = self.history.iter().map(String::as_str).collect();
            vec![("new".into(), recommender.top_of_history_filtered(&history, k, &filter)?)]
        };
        let unknown = found.iter().filter(|(_, best)| best.by_popularity).count();
        if unknown > 0 {
            note(common, format!("{unknown} of {} without history: the most popular items", found.len()));
        }
        if common.json {
            let item = |i: &toprank::train::recommend::Recommended| match &titles {
                None => json!({"item": i.item, "score": i.score}),
                Some(titles) => json!({"item": i.item, "title": titles.get(&i.item), "score": i.score}),
            };
            let lines: Vec<Value> = found
                .iter()
                .map(|(user, best)| {
                    let items: Vec<Value> = best.items.iter().map(item).collect();
                    json!({"user": user, "items": items, "by_popularity": best.by_popularity})
                })
                .collect();
            return print_json(&json!({"k": k, "top": lines}));
        }
        let of_user = |(user, best): &'_ (String, Best)| -> Vec<(String, u32, String, f64)> {
            let ranked = (1..).zip(&best.items);
            ranked.map(|(rank, i)| (user.clone(), rank, i.item.clone(), i.score)).collect()
        };
        let owned: Vec<(String, u32, String, f64)> = found.iter().flat_map(of_user).collect();
        let lines: Vec<Line> = owned
            .iter()
            .map(|(user, rank, item, score)| Line { user, rank: *rank, item, score: *score })
            .collect();
        match &self.output {
            Some(path) if path.extension().is_some_and(|ending| ending == "parquet") => {
                write_parquet(path, &lines, titles.as_ref())
            }
            Some(path) => write_csv(path, &lines, titles.as_ref()),
            None => {
                let title = titles.as_ref().map(|_| "title");
                let head = ["user", "rank", "item", "score"].into_iter().chain(title);
                let mut table = Table::new(head).words(2);
                for line in &lines {
                    let title = titles.as_ref().map(|titles| title_of(titles, line.item).to_string());
                    let score = format!("{:.4}", line.score);
                    let cells = [line.user.to_string(), line.rank.to_string(), line.item.to_string(), score];
                    table.row(cells.into_iter().chain(title));
                }
                print(&table.render(Style::Table))
            }
        }
    }

    /// Items that are not recommended, ascending.
    fn excluded(&self, common: &Common, recommender: &Recommender) -> Result<Vec<u32>, Failure> {
        let items = &recommender.data().items;
        let numbers: HashMap<&str, u32> = items.iter().zip(0..).collect();
        let known = |names: &[String], flag: &str| {
            let found: Vec<u32> =
                names.iter().filter_map(|name| numbers.get(name.as_str()).copied()).collect();
            match names.len() - found.len() {
                0 => {}
                unknown => note(
                    common,
                    format!("{flag}: {unknown} of {} items are unknown to the model", names.len()),
                ),
            }
            found
        };
        let mut excluded = match self.exclude.as_deref() {
            None => Vec::new(),
            Some(text) => match text.strip_prefix('@') {
                Some(path) => known(&names_of(Path::new(path))?, "--exclude"),
                None => known(&text.split(',').map(String::from).collect::<Vec<_>>(), "--exclude"),
            },
        };
        if let Some(path) = &self.only {
            let only = known(&names_of(path)?, "--only");
            if only.is_empty() {
                let path = path.display();
                return Err(Failure::data(format!(
                    "{path}: no item of the model; expected an item in each line"
                )));
            }
            let mut allowed = vec![false; items.len()];
            for item in only {
                allowed[item as usize] = true;
            }
            excluded.extend((0..items.len() as u32).filter(|&item| !allowed[item as usize]));
        }
        excluded.sort_unstable();
        excluded.dedup();
        Ok(excluded)
    }
}

/// The lines of a file, without empty ones.
fn names_of(path: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path.display(), &error))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect())
}

/// The title of an item; its own name where there is none.
fn title_of<'a>(titles: &'a HashMap<String, String>, item: &'a str) -> &'a str {
    titles.get(item).map_or(item, String::as_str)
}

fn write_csv(path: &Path, lines: &[Line], titles: Option<&HashMap<String, String>>) -> Result<(), Failure> {
    Ok(toprank::data::sink::write_file(path, |out| {
        let title = if titles.is_some() { ",title" } else { "" };
        writeln!(out, "user,rank,item,score{title}")?;
        for Line { user, rank, item, score } in lines {
            write!(out, "{},{rank},{},{score}", csv_cell(user), csv_cell(item))?;
            match titles {
                None => writeln!(out)?,
                Some(titles) => writeln!(out, ",{}", csv_cell(title_of(titles, item)))?,
            }
        }
        Ok(())
    })?)
}

#[cfg(feature = "parquet")]
fn write_parquet(
    path: &Path,
    lines: &[Line],
    titles: Option<&HashMap<String, String>>,
) -> Result<(), Failure> {
    use toprank::data::formats::parquet::{Values, write_columns};
    let mut columns = vec![
        ("user", Values::Text(lines.iter().map(|line| line.user).collect())),
        ("rank", Values::Integers(lines.iter().map(|line| line.rank).collect())),
        ("item", Values::Text(lines.iter().map(|line| line.item).collect())),
        ("score", Values::Floats(lines.iter().map(|line| line.score).collect())),
    ];
    if let Some(titles) = titles {
        let titles = lines.iter().map(|line| title_of(titles, line.item)).collect();
        columns.push(("title", Values::Text(titles)));
    }
    Ok(toprank::data::sink::write_file(path, |out| write_columns(columns, out))?)
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(path: &Path, _: &[Line], _: Option<&HashMap<String, String>>) -> Result<(), Failure> {
    let path = path.display();
    Err(Failure::usage(format!(
        "{path}: this build is without Parquet; expected a file of CSV, such as top.csv"
    )))
}
