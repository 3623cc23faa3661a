//! `toprank recommend top`: the best unseen items of a user.

use std::path::PathBuf;

use serde_json::{Value, json};
use toprank::train::Recommender;
use toprank::train::recommend::Top as Best;

use crate::failure::Failure;
use crate::table::{Style, Table, csv_cell};
use crate::{Common, note, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank recommend top rec.toprank --user 196 --k 10
  toprank recommend top rec.toprank --user 196 --user 22 --json
  toprank recommend top rec.toprank --history 50,181,172
  toprank recommend top rec.toprank --all --k 20 -o top.csv

Items that a user has interacted with in any part of the data (train, validation, test) are not recommended again. A user without
training interactions gets the most popular items, with the number of their interactions as scores. A new user is described by
--history: an embedding is fitted to these items with the model's objective while everything else stays fixed. The last item is
the most recent one, which matters if the model was trained with --recency.";

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
    /// Write user,rank,item,score as CSV to this file; - is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Top {
    /// Loads, ranks, prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let recommender = Recommender::load_mapped(&self.model)?;
        let k = self.k as usize;
        let users = &recommender.data().users;
        let found: Vec<(String, Best)> = if self.history.is_empty() {
            let numbers: Vec<u32> = match self.all {
                true => (0..users.len() as u32).collect(),
                false => self.user.iter().map(|name| recommender.user(name)).collect::<Result<_, _>>()?,
            };
            let names = numbers.iter().map(|&user| users.get(user as usize).to_string());
            names.zip(recommender.tops(&numbers, k)).collect()
        } else {
            let history: Vec<&str> = self.history.iter().map(String::as_str).collect();
            vec![("new".into(), recommender.top_of_history(&history, k)?)]
        };
        let unknown = found.iter().filter(|(_, best)| best.by_popularity).count();
        if unknown > 0 {
            note(common, format!("{unknown} of {} without history: the most popular items", found.len()));
        }
        if common.json {
            let lines: Vec<Value> = found
                .iter()
                .map(|(user, best)| {
                    let items: Vec<Value> =
                        best.items.iter().map(|i| json!({"item": i.item, "score": i.score})).collect();
                    json!({"user": user, "items": items, "by_popularity": best.by_popularity})
                })
                .collect();
            return print_json(&json!({"k": k, "top": lines}));
        }
        if let Some(path) = &self.output {
            let mut text = String::from("user,rank,item,score\n");
            for (user, best) in &found {
                for (rank, item) in (1..).zip(&best.items) {
                    text += &format!("{},{rank},{},{}\n", csv_cell(user), csv_cell(&item.item), item.score);
                }
            }
            return Ok(toprank::data::sink::write_file(path, |out| out.write_all(text.as_bytes()))?);
        }
        let mut table = Table::new(["user", "rank", "item", "score"]).words(2);
        for (user, best) in &found {
            for (rank, item) in (1..).zip(&best.items) {
                table.row([user.clone(), rank.to_string(), item.item.clone(), format!("{:.4}", item.score)]);
            }
        }
        print(&table.render(Style::Table))
    }
}
