//! The networks and their catalog. A new network is a file beside this one, a page, and its two lines here.

use toprank_core::{Architecture, Differentiable, Entry, GraphShape, ModelError, ParamError, catalog};

use crate::Network;
use crate::squash::Output;

pub mod context;
pub mod gin;
pub mod linear;
pub mod mlp;

/// Each network by its name, type and one-line description: its page is `pages/NAME.md`, its module has `PARAMS`, its type `read`.
macro_rules! networks {
    ($($name:literal, $module:ident::$network:ident, $about:literal;)*) => {
        /// Every network.
        pub static MODELS: &[Entry<dyn Architecture>] = &[$(Entry {
            name: $name,
            family: "networks",
            about: $about,
            page: include_str!(concat!("../pages/", $name, ".md")),
            params: $module::PARAMS,
            make: |spec| Ok(Box::new($module::$network::read(spec)?)),
        }),*];

        /// The network that `text` names, as something that composes layers.
        fn composer(text: &str) -> Result<Box<dyn Compose>, ParamError> {
            let (spec, _) = catalog::make("model", MODELS, text)?;
            match spec.name.as_str() {
                $($name => Ok(Box::new($module::$network::read(&spec)?)),)*
                name => unreachable!("{name} is not in the catalog it was found in"),
            }
        }
    };
}

networks! {
    "linear", linear::LinearModel, "a weighted sum of the features";
    "mlp", mlp::Mlp, "a multi-layer perceptron, which scores each item by itself";
    "context", context::Context, "self-attention over the items of a list, then a score for each item";
    "gin", gin::Gin, "message passing over items that are graphs, such as molecules";
}

/// The layers of a network, and the activation of its output.
pub(crate) struct Built {
    pub network: Network,
    pub output: Output,
}

/// A kind of network: composes layers for the data at hand.
pub(crate) trait Compose {
    /// For rows of `width` features; neither number is 0.
    fn compose(&self, width: usize, outputs: usize) -> Result<Built, ModelError>;

    /// As a model to train.
    fn model(&self, width: usize, outputs: usize) -> Result<Box<dyn Differentiable>, ModelError> {
        for (size, what) in [(width, "features"), (outputs, "outputs")] {
            if size == 0 {
                return Err(ModelError::new(format!("a network without {what}"), "at least 1"));
            }
        }
        let Built { network, output } = self.compose(width, outputs)?;
        Ok(output.after(Box::new(network)))
    }

    /// For items that are graphs with these features.
    fn compose_for_graphs(&self, _shape: &GraphShape, _outputs: usize) -> Result<Built, ModelError> {
        Err(ModelError::new("a network of feature rows for items that are graphs", "a graph network: gin"))
    }
}

/// The network that `text` names, for rows of `width` features.
pub(crate) fn build(text: &str, width: usize, outputs: usize) -> Result<Built, ModelError> {
    known(text)?.compose(width, outputs)
}

/// The network that `text` names, for graphs with these features.
pub(crate) fn build_for_graphs(text: &str, shape: &GraphShape, outputs: usize) -> Result<Built, ModelError> {
    known(text)?.compose_for_graphs(shape, outputs)
}

fn known(text: &str) -> Result<Box<dyn Compose>, ModelError> {
    composer(text).map_err(|error| ModelError::new(error.found, error.expected))
}

/// The entry of a name.
pub fn find(name: &str) -> Option<&'static Entry<dyn Architecture>> {
    MODELS.iter().find(|line| line.name == name)
}

/// Reads a network as users name it.
///
/// ```
/// let mlp = toprank_neural::parse("mlp:hidden=64-32:dropout=0.1").unwrap().build(136, 1).unwrap();
/// assert_eq!(mlp.parameters(), (136 + 1) * 64 + (64 + 1) * 32 + (32 + 1));
/// let error = toprank_neural::parse("mlp:hiden=64").err().unwrap();
/// let expected = "unknown parameter of mlp \"hiden\"; did you mean \"hidden\"?";
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
            ("linear:bias=1", "unknown parameter of linear \"bias\"; expected one of noise, output"),
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
            ("context:blocks=0", "blocks must be an integer from 1 to 64, but is 0"),
            ("context:width=10:heads=4", "heads must be a divisor of width (10), but is 4"),
        ] {
            assert_eq!(parse(text).err().map(|e| e.to_string()).as_deref(), Some(message), "{text}");
        }
    }

    #[test]
    fn every_page_says_formula_source_cost_and_every_parameter_with_its_default() {
        for line in MODELS {
            for part in ["```text", "Source:", "Cost:", "Initialisation:", "toprank_neural::parse"] {
                assert!(line.page.contains(part), "the page of {} lacks {part:?}", line.name);
            }
            for param in line.params {
                let row = format!("| `{}` | `{}` | {} |", param.name, param.default, param.range);
                assert!(line.page.contains(&row), "the page of {} lacks {row:?}", line.name);
            }
        }
    }
}
