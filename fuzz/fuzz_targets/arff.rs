//! No bytes make the arff reader panic, and what it accepts keeps the promises of lists.
#![no_main]

toprank_testkit::fuzz_reader!(format "arff");
