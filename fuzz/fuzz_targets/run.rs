//! Any bytes are a run or an error; a run comes back after writing.
#![no_main]

toprank_testkit::fuzz_reader!(run "fuzz");
