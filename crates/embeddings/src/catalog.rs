//! The table of models of vectors. A new one is one file, one page and one line here.

use toprank_core::{Entry, ParamError, catalog};

use crate::model::EmbeddingKind;
use crate::{mf, neumf, two_tower};

/// A line whose page is `pages/NAME.md` and whose module has `PARAMS` and `make`.
macro_rules! line {
    ($name:literal, $module:ident, $about:literal) => {
        Entry {
            name: $name,
            family: "embeddings",
            about: $about,
            page: include_str!(concat!("pages/", $name, ".md")),
            params: $module::PARAMS,
            make: $module::make,
        }
    };
}

/// Every model of vectors.
pub static MODELS: &[Entry<dyn EmbeddingKind>] = &[
    line!(
        "mf",
        mf,
        "matrix factorisation: the product of a user's and an item's vector, plus the item's offset"
    ),
    line!("neumf", neumf, "NeuMF: a weighted product of vectors beside a perceptron over both"),
    line!("two-tower", two_tower, "a perceptron over each side's vector and features, then their product"),
];

/// The line of a name.
pub fn find(name: &str) -> Option<&'static Entry<dyn EmbeddingKind>> {
    MODELS.iter().find(|line| line.name == name)
}

/// Reads a model as users name it.
///
/// ```
/// let model = toprank_embeddings::parse("neumf:width=16:layers=16-8").unwrap();
/// let error = toprank_embeddings::parse("nuemf").err().unwrap();
/// assert_eq!(error.to_string(), "unknown model \"nuemf\"; did you mean \"neumf\"?");
/// ```
pub fn parse(text: &str) -> Result<Box<dyn EmbeddingKind>, ParamError> {
    Ok(catalog::make("model", MODELS, text)?.1)
}
