//! The toprank command.

fn main() {}
