//! The catalog of objectives, joined from the tables of the families. A new objective is one file, one page and its two lines in
//! the family's `mod.rs`; the command's listing, its help and the contract tests read only this.

use toprank_core::Entry;

use crate::objective::Objective;
use crate::{bilevel, compositional, contrastive, lambda, listwise, minmax, pairwise, pointwise};

/// One entry of the catalog.
#[derive(Clone, Copy)]
pub struct Listing {
    /// Name, family, page, parameters, constructor.
    pub entry: Entry<dyn Objective>,
    /// The objective with parameters other than the defaults, as a user writes it. Each example changes the result (a test
    /// checks it), and together they set every parameter.
    pub examples: &'static [&'static str],
}

/// The table of a family, in the `mod.rs` that declares its modules: each line has a module, which holds `PARAMS`, `EXAMPLES` and
/// `make`, the objective's name, whose page is `pages/NAME.md`, and what it is in one line.
macro_rules! family {
    ($family:literal: $($($module:ident)::+ = $name:literal: $about:literal;)+) => {
        /// The objectives of this family.
        pub(crate) const FAMILY: &[$crate::catalog::Listing] = &[$(
            $crate::catalog::Listing {
                entry: toprank_core::Entry {
                    name: $name,
                    family: $family,
                    about: $about,
                    page: include_str!(concat!("../pages/", $name, ".md")),
                    params: $($module)::+::PARAMS,
                    make: $($module)::+::make,
                },
                examples: $($module)::+::EXAMPLES,
            },
        )+];
    };
}
pub(crate) use family;

/// The families in the order of the listing.
const FAMILIES: &[&[Listing]] = &[
    compositional::FAMILY,
    bilevel::FAMILY,
    minmax::FAMILY,
    pointwise::FAMILY,
    pairwise::FAMILY,
    lambda::FAMILY,
    listwise::FAMILY,
    contrastive::FAMILY,
];

/// Every objective.
pub static OBJECTIVES: &[Listing] = &joined::<{ count() }>();

const fn count() -> usize {
    let (mut total, mut family) = (0, 0);
    while family < FAMILIES.len() {
        total += FAMILIES[family].len();
        family += 1;
    }
    total
}

/// The families one after the other; by loops, because iterators do not run at compile time.
const fn joined<const N: usize>() -> [Listing; N] {
    let mut all = [FAMILIES[0][0]; N];
    let (mut next, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut line = 0;
        while line < FAMILIES[family].len() {
            all[next] = FAMILIES[family][line];
            (next, line) = (next + 1, line + 1);
        }
        family += 1;
    }
    all
}

/// Other names under which objectives are known, some with parameters that they set.
pub static ALIASES: &[(&str, &str)] = &[("softmax", "listnet:target=linear"), ("lambdamart", "lambdarank")];

/// Every name and alias.
pub fn names() -> impl Iterator<Item = &'static str> {
    OBJECTIVES.iter().map(|line| line.entry.name).chain(ALIASES.iter().map(|alias| alias.0))
}

/// The entry of a name or an alias.
pub fn find(name: &str) -> Option<&'static Listing> {
    let meant = alias(name).unwrap_or(name);
    let name = meant.split(':').next().unwrap_or(meant);
    OBJECTIVES.iter().find(|line| line.entry.name == name)
}

/// What an alias stands for.
pub(crate) fn alias(name: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, meant)| *meant)
}
