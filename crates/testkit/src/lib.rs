//! **What do tests share?** Real data sets where they are at hand, attacks that every reader must survive, replayed fuzz
//! seeds, an allocator that counts, and the files of the workspace.

pub mod alloc;
pub mod attacks;
pub mod fuzz;
pub mod real;
pub mod tree;

pub use attacks::{ATTACKS, Attack, Owes};
pub use real::{real_data, real_file};
