//! **How are a user and an item scored by their embeddings?** Embedding tables, models over them, an optimiser that updates only
//! the rows of a batch, and the ranking of all items for many users at once.
//!
//! ```text
//! table    numbers on the heap or in a memory-mapped file, used as a slice
//! plan     draws ─▶ every user and item once, which of them each entry reads, and the reverse
//! rows     their rows gathered from the tables; updated by row-sparse Adam
//! model    rows ─▶ scores of the entries;  ∂loss/∂score ─▶ ∂loss/∂rows, ∂loss/∂weights
//!          mf · neumf · two-tower (catalog.rs; one file and one page each)
//! items    the items of a history ─▶ scores of all items: ease · slim · gf-cf · knn · als · sequence · pop (items/mod.rs; one
//!          module and one page each)
//! rank     blocks of users × all items ─▶ the best unseen items of each user
//! pairs    users × a few items of each ─▶ scores, without a look at the other items
//! ```
//!
//! Invariants:
//! - nothing here has the size users × items;
//! - a model sees gathered rows, never a table: tables may be as large as memory, or memory-mapped (`table.rs`);
//! - sums over entries have a fixed order, every output row is written by one task: the same bytes at any number of threads;
//! - no label, no objective and no format of a file is known here.

mod catalog;
mod dots;
mod items;
mod layers;
mod mf;
mod model;
mod neumf;
mod pairs;
mod panels;
mod params;
mod plan;
mod rank;
mod rows;
mod storm;
mod table;
#[cfg(test)]
mod tests;
mod two_tower;

pub use catalog::{MODELS, find, parse};
pub use items::{FitState, ITEM_MODELS, ItemModel, ItemParameters};
pub use items::{check_memory, find as find_item_model, parse as parse_item_model};
pub use model::{BatchView, EmbeddingKind, EmbeddingModel, Shape, Slopes, Tape};
pub use pairs::PairScorer;
pub use plan::Plan;
pub use rank::{Best, BestItems, Ranker, pick, ready_items, ready_users};
pub use rows::{RowAdam, RowConstants, RowStep, Rows, Undo};
pub use storm::{RowSlopes, RowStorm};
pub use table::{Table, TableError, TableStorage};
