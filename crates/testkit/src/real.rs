/*!
Real data sets: where they are, and tests that need them.

The sets may not be passed on, so a clone does not hold them. They are looked for in the folder named by
`TOPRANK_REAL_DATA`, else in `../shared/data` beside the checkout of the build. Tests on them are listed in
[`real_data_tests!`](crate::real_data_tests); without the folder at the build `cargo test` counts them as ignored.
*/

use std::path::PathBuf;

/// A file of the real data sets, or `None` with a message on standard error where it is not on this machine.
///
/// ```
/// if let Some(path) = toprank_testkit::real_data("letor/mq2008/S1.txt.gz") {
///     assert!(path.is_file());
/// }
/// ```
pub fn real_data(file: &str) -> Option<PathBuf> {
    let built = || PathBuf::from(env!("TOPRANK_REAL_DATA_FOLDER"));
    let path = std::env::var_os("TOPRANK_REAL_DATA").map_or_else(built, PathBuf::from).join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("real data {file} is not here; set TOPRANK_REAL_DATA to the folder that holds it");
    None
}

/// A file of the real data sets, for tests of [`real_data_tests!`](crate::real_data_tests).
///
/// # Panics
/// If the folder of real data is there and the file is not.
pub fn real_file(file: &str) -> PathBuf {
    real_data(file).unwrap_or_else(|| panic!("{file} is missing in the folder of real data"))
}

/// Makes tests of functions that need real data; they are called `real_data::NAME`. Where the data are not on this
/// machine they are ignored, so that `cargo test` counts them.
///
/// ```
/// fn the_set_has_its_rows() {
///     assert!(toprank_testkit::real_file("letor/mq2008/S1.txt.gz").is_file());
/// }
///
/// toprank_testkit::real_data_tests! { the_set_has_its_rows }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! real_data_tests {
    ($($name:ident),+ $(,)?) => {
        mod real_data {
            $($crate::real_data_test!($name);)+
        }
    };
}

/// One test of [`real_data_tests!`](crate::real_data_tests).
#[cfg(not(no_real_data))]
#[doc(hidden)]
#[macro_export]
macro_rules! real_data_test {
    ($name:ident) => {
        #[test]
        fn $name() {
            super::$name();
        }
    };
}

/// One test of [`real_data_tests!`](crate::real_data_tests), on a machine without the data.
#[cfg(no_real_data)]
#[doc(hidden)]
#[macro_export]
macro_rules! real_data_test {
    ($name:ident) => {
        #[test]
        #[ignore = "real data are not here: set TOPRANK_REAL_DATA to the folder that holds them"]
        fn $name() {
            super::$name();
        }
    };
}
