//! Whether a model can start from what another one has learned (`--from`).

use toprank_core::{Block, ParamError, Spec};

/// Refuses to start a model from one of another kind.
pub(crate) fn check_kind(model: &str, from: &str) -> Result<(), ParamError> {
    let kind = |text: &str| Spec::parse(text).map(|spec| spec.name);
    if kind(model)? == kind(from)? {
        return Ok(());
    }
    let expected = format!("of the kind {from}, as the model to warm-start from");
    Err(ParamError::new("the model", model, &expected))
}

/// Refuses to start parameters from those of other layers, and names the first that differs.
pub(crate) fn check_blocks(
    (model, blocks): (&str, &[Block]),
    (from, theirs): (&str, &[Block]),
) -> Result<(), ParamError> {
    let most = blocks.len().max(theirs.len());
    let shape = |block: Option<&Block>| block.map(|block| (block.name.clone(), block.shape.clone()));
    let Some(at) = (0..most).find(|&at| shape(blocks.get(at)) != shape(theirs.get(at))) else {
        return Ok(());
    };
    let words = |block: Option<&Block>| {
        block.map_or("nothing".to_string(), |block| format!("{} of shape {:?}", block.name, block.shape))
    };
    let (ours, theirs) = (words(blocks.get(at)), words(theirs.get(at)));
    let expected = format!("{from}, as the model to warm-start from, which has {theirs} instead of {ours}");
    Err(ParamError::new("the model", model, &expected))
}

#[cfg(test)]
mod tests {
    use toprank_core::Role;

    use super::*;

    #[test]
    fn what_differs_is_named() {
        check_kind("mlp:hidden=8", "mlp:hidden=16").unwrap();
        let error = check_kind("linear", "mlp:hidden=16").unwrap_err().to_string();
        assert_eq!(
            error,
            "the model must be of the kind mlp:hidden=16, as the model to warm-start from, but is linear"
        );
        let block = |name: &str, shape: &[usize]| Block {
            name: name.into(),
            shape: shape.to_vec(),
            role: Role::Weight,
            last_layer: false,
        };
        let (a, b) = ([block("in", &[3, 8]), block("out", &[8, 1])], [block("in", &[3, 8])]);
        check_blocks(("m", &a), ("m", &a)).unwrap();
        let error = check_blocks(("m:a=1", &b), ("m:a=2", &a)).unwrap_err().to_string();
        let words = "the model must be m:a=2, as the model to warm-start from, which has out of shape [8, 1] instead of nothing";
        assert_eq!(error, format!("{words}, but is m:a=1"));
    }
}
