//! `toprank quickstart`: the README's first command.

#![cfg(feature = "neural")]

mod common;

use common::Toprank;

#[test]
fn quickstart_prints_its_commands_and_a_comparison_and_leaves_models_and_curves() {
    let shell = Toprank::new();
    let text = shell.ok("quickstart --lists 40 -o demo --quiet");
    assert_eq!(text.matches("$ toprank train ").count(), 3, "{text}");
    assert_eq!(text.matches("$ toprank predict ").count(), 3, "{text}");
    assert!(text.contains("$ toprank compare ") && text.contains("ndcg@10"), "{text}");
    for name in ["ranknet", "listnet", "song-v2"] {
        assert!(shell.has(&format!("demo/{name}.toprank")));
        assert!(shell.has(&format!("demo/{name}.curves/curve.svg")));
    }
    assert!(shell.has("demo/differences.svg"));
    // Its own folder may be overwritten.
    let again = shell.ok("quickstart --lists 30 -o demo --quiet");
    assert!(again.contains("--force") && again.contains("$ toprank compare "), "{again}");
    let error = shell.fails(2, "quickstart --json");
    assert!(error.contains("--json"), "{error}");
}
