//! No bytes make our part of the arrow reader panic, and what it accepts keeps the promises of lists.
#![no_main]

toprank_testkit::fuzz_reader!(format "arrow");
