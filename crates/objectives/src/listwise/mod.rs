//! Losses of whole lists: distributions over orders, smooth ranks, relaxed sorts.

pub mod listnet;
