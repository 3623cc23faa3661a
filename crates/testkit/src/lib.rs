//! **What do tests share?** Real data sets where they are at hand, attacks that every reader must survive, replayed fuzz
//! seeds, re-signed model files, allocators that count or refuse, and the files of the workspace.

pub mod alloc;
pub mod attacks;
pub mod fuzz;
pub mod real;
pub mod resigned;
pub mod tree;

pub use attacks::{ATTACKS, Attack, Owes, swapped_files};
pub use real::{real_data, real_file};
pub use resigned::StoredFile;
