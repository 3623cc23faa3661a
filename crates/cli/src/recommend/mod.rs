//! `toprank recommend`: which items should a user be shown next?

mod compare;
mod evaluate;
mod top;
mod train;

pub(crate) use train::read;

use serde_json::json;
use toprank::train::Recommender;

use crate::failure::Failure;
use crate::table::{Style, counted, settings};
use crate::{Common, inspect, print, print_json};

const AFTER_HELP: &str = "\
Examples:
  toprank generate interactions --users 1000 -o demo
  toprank recommend train --data demo/interactions.csv --split leave-last --objective ndcg@20 -o rec.toprank
  toprank recommend evaluate rec.toprank --metrics ndcg@10,ndcg@20,recall@20
  toprank recommend compare popularity rec.toprank --metrics ndcg@10
  toprank recommend top rec.toprank --user u196 --k 10
  toprank recommend top rec.toprank --history i7,i42,i99 --k 10

Data are interactions: one line per user, item[, rating[, time]] (MovieLens u.data as it is), or one line per user with all items
(--input-format adjacency). A user's list consists of all items; those the user interacted with are relevant, all others can be
recommended. Any objective of `toprank objectives` can train the embeddings of users and items.

Evaluation ranks all unseen items of a user (full ranking). The model file holds the names, the training interactions and those
that were held out, so `evaluate` and `top` need no other file.";

/// Recommend items to users: train, evaluate by full ranking, compare, list the best unseen items
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Recommend {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    Train(Box<train::Train>),
    Evaluate(evaluate::Evaluate),
    Compare(compare::Compare),
    Top(top::Top),
}

impl Recommend {
    /// Runs the subcommand.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        match &self.command {
            Command::Train(command) => command.run(common),
            Command::Evaluate(command) => command.run(common),
            Command::Compare(command) => command.run(common),
            Command::Top(command) => command.run(common),
        }
    }
}

/// Describes a recommender, for `toprank inspect`.
pub fn show(file: &str, common: &Common) -> Result<(), Failure> {
    let recommender = Recommender::load_mapped(file.as_ref())?;
    let (header, data) = (recommender.header(), recommender.data());
    let pairs = [("train", &data.train), ("valid", &data.valid), ("test", &data.test)];
    if common.json {
        let pairs: serde_json::Map<String, serde_json::Value> =
            pairs.iter().map(|(name, part)| ((*name).to_string(), json!(part.pairs()))).collect();
        let mut value = json!({
            "file": file, "config": header.config, "reached": header.reached, "users": header.users,
            "items": header.items, "pairs": pairs, "parameters": recommender.parameters(),
        });
        if let Some(blend) = &header.blend {
            value["blend"] = inspect::blend_json(blend);
        }
        return print_json(&value);
    }
    let mut text = format!(
        "{file}: a recommender, its self-test passes\n{}, {}, {}\n",
        counted(header.users, "user"),
        counted(header.items, "item"),
        counted(recommender.parameters(), "parameter"),
    );
    for (name, part) in pairs {
        text += &format!("{name}: {}\n", counted(part.pairs(), "pair"));
    }
    if let Some((epoch, value)) = header.reached.best {
        text +=
            &format!("best {} on validation: {value:.4}, in epoch {epoch}\n", header.config.valid_metric());
    }
    text += "\n";
    if let Some(blend) = &header.blend {
        text += &format!("{}\n", inspect::members(blend).render(Style::Table));
    }
    print(&(text + &settings(&json!(header.config)).render(Style::Table)))
}
