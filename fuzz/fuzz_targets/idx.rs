//! No bytes make the idx reader panic, and what it accepts keeps the promises of lists.
#![no_main]

toprank_testkit::fuzz_reader!(format "idx");
