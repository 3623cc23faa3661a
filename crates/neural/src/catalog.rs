//! The table of networks. A new one is one file, one page and one line here.

use toprank_core::{Architecture, Entry, ParamError, catalog};

use crate::{context, gin, linear, mlp};

/// A line whose page is `pages/NAME.md` and whose module has `PARAMS` and `make`.
macro_rules! line {
    ($name:literal, $module:ident, $about:literal) => {
        Entry {
            name: $name,
            family: "networks",
            about: $about,
            page: include_str!(concat!("pages/", $name, ".md")),
            params: $module::PARAMS,
            make: $module::make,
        }
    };
}

/// Every network.
pub static MODELS: &[Entry<dyn Architecture>] = &[
    line!("linear", linear, "a weighted sum of the features"),
    line!("mlp", mlp, "layers of weighted sums with a bend between them, each item by itself"),
    line!("context", context, "self-attention over the items of a list, then a score for each"),
    line!(
        "gin",
        gin,
        "items that are graphs, as molecules: nodes hear their neighbours, a graph is the sum of its nodes"
    ),
];

/// The line of a name.
pub fn find(name: &str) -> Option<&'static Entry<dyn Architecture>> {
    MODELS.iter().find(|line| line.name == name)
}

/// Reads a network as users name it.
///
/// ```
/// let mlp = toprank_neural::parse("mlp:hidden=64-32:dropout=0.1").unwrap().build(136, 1).unwrap();
/// assert_eq!(mlp.parameters(), (136 + 1) * 64 + (64 + 1) * 32 + (32 + 1));
/// let error = toprank_neural::parse("mlp:hiden=64").err().unwrap();
/// let expected = "a parameter of mlp must be one of hidden, activation, dropout, norm, noise, output, start, but is hiden";
/// assert_eq!(error.to_string(), expected);
/// ```
pub fn parse(text: &str) -> Result<Box<dyn Architecture>, ParamError> {
    Ok(catalog::make("model", MODELS, text)?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_parameter_and_what_is_allowed() {
        for (text, message) in [
            ("", "model must be name[:key=value]…, but is "),
            ("mpl", "unknown model \"mpl\"; did you mean \"mlp\"?"),
            ("linear:bias=1", "a parameter of linear must be one of noise, output, but is bias"),
            ("mlp@3", "the cut-off of mlp must be left out: it has none, but is 3"),
            (
                "mlp:hidden=0",
                "hidden must be widths from 1 to 65536 joined by -, for example 256-128, but is 0",
            ),
            (
                "mlp:hidden=8--4",
                "hidden must be widths from 1 to 65536 joined by -, for example 256-128, but is 8--4",
            ),
            ("mlp:dropout=1", "dropout must be in [0, 1), but is 1"),
            ("mlp:noise=-1", "noise must be in [0, ∞), but is -1"),
            ("mlp:norm=group", "norm must be one of none, layer, batch, but is group"),
            (
                "mlp:activation=relo",
                "activation must be one of relu, leaky-relu, elu, gelu, silu, tanh, sigmoid, but is relo",
            ),
            ("context:blocks=0", "blocks must be a whole number from 1 to 64, but is 0"),
            ("context:width=10:heads=4", "heads must be a divisor of width (10), but is 4"),
        ] {
            assert_eq!(parse(text).err().map(|e| e.to_string()).as_deref(), Some(message), "{text}");
        }
    }

    #[test]
    fn every_page_says_formula_source_cost_and_every_parameter_with_its_default() {
        for line in MODELS {
            for part in ["```text", "Source:", "Cost:", "Starts:", "toprank_neural::parse"] {
                assert!(line.page.contains(part), "the page of {} lacks {part:?}", line.name);
            }
            for param in line.params {
                let row = format!("| `{}` | `{}` | {} |", param.name, param.default, param.range);
                assert!(line.page.contains(&row), "the page of {} lacks {row:?}", line.name);
            }
        }
    }
}
