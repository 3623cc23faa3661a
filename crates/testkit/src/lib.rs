//! **What do tests share?** Real data sets where they are at hand, attacks that every reader must survive, replayed fuzz
//! seeds, and an allocator that counts.

pub mod alloc;
pub mod attacks;
pub mod fuzz;
pub mod real;

pub use attacks::{ATTACKS, Attack, Owes, swapped_files};
pub use real::{real_data, real_file};
