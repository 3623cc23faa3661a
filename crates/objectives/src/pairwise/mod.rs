//! Losses of pairs: every pair whose labels differ should stand in order.

pub mod ranknet;
