//! Losses of single items.
