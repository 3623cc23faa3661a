//! Every entry of the catalog answers for itself how it is trained and what it reads.

use toprank_core::{GraphFeature, GraphShape, LabelDefaults, Spec, TrainingDefaults};

use super::WIDTH;
use crate::{MODELS, parse};

#[test]
fn every_network_has_defaults_that_a_user_could_write() {
    for entry in MODELS {
        let defaults = parse(entry.name).unwrap().defaults();
        let labels = defaults.labels.map(|labels| [labels.optimiser, labels.sparse_optimiser]);
        let once = [defaults.optimiser, defaults.schedule, defaults.sampler, defaults.average];
        for text in once.into_iter().chain(labels.into_iter().flatten()) {
            assert_eq!(Spec::parse(text).unwrap().to_string(), text, "{}", entry.name);
        }
        for spec in Spec::parse_all(defaults.transforms).unwrap() {
            assert!(defaults.transforms.contains(&spec.to_string()), "{}", entry.name);
        }
        let rates = [Some(defaults.rate), defaults.labels.map(|labels| labels.rate)];
        assert!(rates.into_iter().flatten().all(|rate| rate > 0.0 && rate <= 1.0), "{}", entry.name);
        assert!(defaults.epochs > 0 && defaults.clip >= 0.0, "{}", entry.name);
    }
}

#[test]
fn the_defaults_are_those_that_the_benchmarks_were_run_with() {
    let base = TrainingDefaults::BASE;
    let labels = LabelDefaults {
        rate: 0.01,
        optimiser: "adamw:decay=3",
        sparse_optimiser: "adamw:decay=1",
        schedule: "constant",
        average: "ema:decay=0.99",
        transforms: "missing:to=mean,robust,smooth-clip",
        parameters: &[("embed", "auto")],
    };
    for (name, expected) in [
        ("linear", TrainingDefaults { rate: 0.03, ..base }),
        ("mlp", TrainingDefaults { labels: Some(labels), ..base }),
        ("context", TrainingDefaults { rate: 0.001, sampler: "slates:batch=32:items=100", ..base }),
        ("gin", TrainingDefaults { rate: 0.001, transforms: "", ..base }),
    ] {
        assert_eq!(parse(name).unwrap().defaults(), expected, "{name}");
    }
}

#[test]
fn a_network_is_built_for_what_it_says_it_reads_and_couples_items_as_it_says() {
    let shape = GraphShape { nodes: vec![GraphFeature::Code(3)], edges: Vec::new() };
    for entry in MODELS {
        let architecture = parse(entry.name).unwrap();
        let rows = architecture.build(WIDTH, 1);
        let graphs = architecture.build_for_graphs(&shape, 1);
        assert_eq!(graphs.is_ok(), architecture.reads_graphs(), "{}", entry.name);
        assert_eq!(rows.is_ok(), !architecture.reads_graphs(), "{}", entry.name);
        let model = rows.or(graphs).ok().unwrap();
        assert_eq!(model.couples_items(), architecture.couples_items(), "{}", entry.name);
    }
}

#[test]
fn the_number_of_parameters_is_known_before_the_model_is_built() {
    let code = GraphFeature::Code(3);
    let shapes = [
        GraphShape { nodes: vec![code, GraphFeature::Number], edges: vec![GraphFeature::Code(5)] },
        GraphShape { nodes: vec![code], edges: Vec::new() },
    ];
    let more = [
        "mlp:hidden=7-3:norm=layer",
        "mlp:hidden=7-3:norm=batch",
        "mlp:hidden=7:activation=tanh",
        "context:width=6:heads=3:blocks=3:hidden=4",
        "gin:layers=2:hidden=5:norm=none",
        "gin:layers=3:hidden=4",
        "linear:output=sigmoid",
    ];
    for text in MODELS.iter().map(|entry| entry.name).chain(more) {
        let architecture = parse(text).unwrap();
        for outputs in [1, 4] {
            if architecture.reads_graphs() {
                for shape in &shapes {
                    let built = architecture.build_for_graphs(shape, outputs).ok().unwrap();
                    let known = architecture.parameters_for_graphs(shape, outputs);
                    assert_eq!(known, Some(built.parameters() as u128), "{text}");
                }
            } else {
                let built = architecture.build(WIDTH, outputs).ok().unwrap();
                assert_eq!(
                    architecture.parameters(WIDTH, outputs),
                    Some(built.parameters() as u128),
                    "{text}"
                );
            }
        }
        assert!(
            architecture.parameters(usize::MAX, usize::MAX).is_none_or(|count| count > 1 << 60),
            "{text}"
        );
    }
}
