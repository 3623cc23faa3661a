//! What networks of graphs promise.

use toprank_core::{
    Differentiable, Features, GraphFeature, GraphShape, Graphs, ModelInput, Role, Stream, Tape,
};

use super::gradients::{assert_gradient, differences, learned};
use super::reference::Reference;
use super::{Items, assert_near, derivatives, gradient, parameters, predicted, random, scores, wide};
use crate::{find, parse};

const CASES: &[&str] = &[
    "gin:layers=2:hidden=4:dropout=0",
    "gin:layers=3:hidden=3:dropout=0.3:pool=mean:output=tanh",
    "gin:layers=2:hidden=4:dropout=0:norm=none",
    "gin:layers=1:hidden=3:dropout=0.5:norm=none:pool=mean",
];
const TRAIN: Option<Stream> = Some(Stream { seed: 9, purpose: 7, list: 0, step: 0 });

fn shape(edges: bool) -> GraphShape {
    GraphShape {
        nodes: vec![GraphFeature::Code(4), GraphFeature::Number],
        edges: if edges { vec![GraphFeature::Code(3), GraphFeature::Number] } else { Vec::new() },
    }
}

/// Graphs of 1 to 6 nodes: paths with a chord, one with an edge to itself and one edge twice, the first without edges.
fn items(count: usize, edges: bool) -> Items {
    let mut draws = Stream::new(4, "graphs").open();
    let mut graphs = Graphs::empty(shape(edges));
    for g in 0..count {
        let nodes = 1 + (g * 5) % 6;
        for _ in 0..nodes {
            let code = (4.0 * draws.unit()) as u32 as f32;
            graphs.node_values.extend([code, (draws.unit() - 0.5) as f32]);
        }
        let mut ends: Vec<[u32; 2]> = (1..nodes as u32).map(|v| [v - 1, v]).collect();
        if nodes > 3 {
            ends.extend([[0, 2], [1, 1], [3, 0], [0, 3]]);
        }
        for end in ends {
            graphs.ends.push(end);
            if edges {
                graphs.edge_values.extend([(3.0 * draws.unit()) as u32 as f32, draws.unit() as f32]);
            }
        }
        graphs.close();
    }
    assert_eq!(graphs.fault(), None);
    Items(graphs)
}

fn input<'a>(items: &'a Items, rows: &'a [u32], offsets: &'a [usize]) -> ModelInput<'a> {
    ModelInput { features: items, rows, offsets }
}

fn network(text: &str, edges: bool, outputs: usize) -> Box<dyn Differentiable> {
    parse(text).unwrap().build_for_graphs(&shape(edges), outputs).unwrap()
}

/// As in `gradients.rs`; a norm divides by the spread of few nodes, so that f32 loses a few digits there.
#[test]
fn scores_and_gradients_equal_the_reference_and_its_differences_through_messages_norms_and_pools() {
    for edges in [true, false] {
        let items = items(7, edges);
        let rows = [0, 1, 2, 3, 4, 5, 6, 3];
        let input = input(&items, &rows, &[0, 8]);
        for text in CASES {
            for (outputs, train) in [(1, TRAIN), (2, None)] {
                let network = network(text, edges, outputs);
                let mut at = parameters(&*network);
                // Variances stay positive.
                at.iter_mut().zip(random(network.parameters(), "more")).for_each(|(p, m)| *p += 0.2 * m);
                let exact = wide(&at);
                let dscore = derivatives(rows.len() * outputs);
                let reference = |at: &[f64]| {
                    Reference::new(text, network.blocks(), at, train).scores_of_graphs(&items.0, &rows)
                };
                let what = format!("{text}, {outputs} outputs, edges {edges}");
                assert_near(&scores(&*network, &at, &input, train), &reference(&exact), 1e-5, &what);
                let found = gradient(&*network, &at, &input, train, &dscore);
                let loss = |at: &[f64]| reference(at).iter().zip(&dscore).map(|(s, d)| s * d).sum();
                for (name, here) in learned(network.blocks()) {
                    let expected = differences(&exact, here.clone(), loss);
                    assert_gradient(&found, here, &expected, 1e-4, &format!("{what}, {name}"));
                }
            }
        }
    }
}

/// The trainer divides what shards report by the number of graphs, not of nodes.
#[test]
fn with_the_statistics_that_a_shard_reports_it_scores_in_prediction_as_in_training() {
    let items = items(40, true);
    let rows: Vec<u32> = (0..40).collect();
    let input = input(&items, &rows, &[0, 25, 40]);
    let nodes = (0..40).map(|g| items.0.nodes_of(g).len()).sum::<usize>() as f32;
    for text in ["gin:layers=1:hidden=4:dropout=0", "gin:layers=3:hidden=3:dropout=0:pool=mean"] {
        let network = network(text, true, 1);
        let mut at = parameters(&*network);
        let reported = gradient(&*network, &at, &input, TRAIN, &derivatives(40));
        let mut first = 0;
        for block in network.blocks() {
            let here = first..first + block.parameters();
            first = here.end;
            if block.role == Role::Statistic {
                // The running variance is the unbiased one; the norm of a shard divides by the number of nodes.
                let biased = if block.name.ends_with("variance") { (nodes - 1.0) / nodes } else { 1.0 };
                at[here.clone()]
                    .iter_mut()
                    .zip(&reported[here])
                    .for_each(|(to, sum)| *to = sum / 40.0 * biased);
            }
        }
        let expected = scores(&*network, &at, &input, TRAIN);
        assert_near(&scores(&*network, &at, &input, None), &expected, 1e-4, text);
    }
}

#[test]
fn the_order_of_nodes_and_edges_does_not_matter() {
    let items = items(12, true);
    let mut turned = Graphs::empty(shape(true));
    let mut draws = Stream::new(8, "turn").open();
    for g in 0..12 {
        let nodes = items.0.nodes_of(g);
        let mut order: Vec<usize> = nodes.clone().collect();
        draws.shuffle(&mut order);
        let place = |end: u32| order.iter().position(|v| *v == nodes.start + end as usize).unwrap() as u32;
        for &v in &order {
            turned.node_values.extend_from_slice(items.0.node(v));
        }
        let mut edges: Vec<usize> = items.0.edges_of(g).collect();
        draws.shuffle(&mut edges);
        for edge in edges {
            let [a, b] = items.0.ends[edge].map(place);
            turned.ends.push(if draws.unit() < 0.5 { [a, b] } else { [b, a] });
            turned.edge_values.extend_from_slice(items.0.edge(edge));
        }
        turned.close();
    }
    let turned = Items(turned);
    let rows: Vec<u32> = (0..12).collect();
    for text in CASES {
        let network = network(text, true, 2);
        let at = parameters(&*network);
        let found = scores(&*network, &at, &input(&turned, &rows, &[0, 12]), None);
        let expected = scores(&*network, &at, &input(&items, &rows, &[0, 12]), None);
        assert_near(&found, &expected, 1e-5, text);
    }
}

#[test]
fn a_graph_scores_the_same_alone_among_others_and_in_chunks() {
    let items = items(600, true);
    let rows: Vec<u32> = (0..600).collect();
    for text in CASES {
        let network = network(text, true, 1);
        let at = parameters(&*network);
        let all = predicted(&*network, &at, &input(&items, &rows, &[0, 600]));
        let together = scores(&*network, &at, &input(&items, &rows, &[0, 600]), None);
        assert_near(&all, &together, 1e-5, text);
        for g in [0, 5, 599] {
            let alone = scores(&*network, &at, &input(&items, &rows[g..=g], &[0, 1]), None);
            assert_near(&alone, &all[g..=g], 1e-5, text);
        }
    }
}

#[test]
fn every_parameter_changes_scores_or_gradients_and_the_defaults_are_the_defaults() {
    let items = items(9, true);
    let rows: Vec<u32> = (0..9).collect();
    let input = input(&items, &rows, &[0, 9]);
    let dscore = derivatives(9);
    let run = |text: &str| {
        let network = network(text, true, 1);
        let mut at = vec![0.0; network.parameters()];
        network.init(Stream::new(3, "init"), &mut at);
        gradient(&*network, &at, &input, TRAIN, &dscore)
    };
    let base = "gin:layers=2:hidden=4:dropout=0";
    let plain = run(base);
    let line = find("gin").unwrap();
    for text in [
        "gin:layers=3:hidden=4:dropout=0",
        "gin:layers=2:hidden=5:dropout=0",
        "gin:layers=2:hidden=4:dropout=0:pool=mean",
        "gin:layers=2:hidden=4:dropout=0:norm=none",
        "gin:layers=2:hidden=4:dropout=0.5",
        "gin:layers=2:hidden=4:dropout=0:output=sigmoid",
    ] {
        assert_ne!(run(text), plain, "{text} does what {base} does");
    }
    let all: String = line.params.iter().map(|p| format!(":{}={}", p.name, p.default)).collect();
    assert_eq!(run("gin"), run(&format!("gin{all}")));
}

#[test]
fn the_code_of_other_categories_adds_nothing_until_something_is_learned_for_it() {
    let network = network("gin:layers=2:hidden=4", true, 1);
    let mut at = vec![0.0; network.parameters()];
    network.init(Stream::new(3, "init"), &mut at);
    let mut first = 0;
    for block in network.blocks() {
        let values = &at[first..first + block.parameters()];
        first += block.parameters();
        if block.name == "nodes.weight" || block.name.ends_with("edges.weight") {
            assert!(values[..4].iter().all(|v| *v == 0.0), "{}", block.name);
            assert!(values[4..].iter().all(|v| *v != 0.0), "{}", block.name);
        }
        assert_eq!(block.last_layer, block.name.starts_with("output."));
    }
}

fn predict_error(network: &dyn Differentiable, at: &[f32], input: &ModelInput) -> String {
    network.score(at, input, &mut Tape::default(), &mut [0.0]).unwrap_err().to_string()
}

#[test]
fn what_does_not_fit_is_an_error() {
    struct Numbers;
    impl Features for Numbers {
        fn rows(&self) -> usize {
            1
        }
        fn width(&self) -> usize {
            1
        }
        fn gather(&self, _: &[u32], out: &mut [f32]) {
            out.fill(0.0);
        }
    }
    let network = network("gin:layers=1:hidden=2", true, 1);
    let at = parameters(&*network);
    let mut scores = [0.0];
    let rows = ModelInput { features: &Numbers, rows: &[0], offsets: &[0, 1] };
    let error = network.score(&at, &rows, &mut Tape::default(), &mut scores).unwrap_err().to_string();
    assert_eq!(error, "rows without graphs, expected items that are graphs");
    let items = items(2, true);
    let error = predict_error(&*network, &at, &input(&items, &[2], &[0, 1]));
    assert_eq!(error, "graph 2, expected a number below 2, the number of graphs");
    let error = parse("mlp").unwrap().build_for_graphs(&shape(true), 1).err().unwrap().to_string();
    assert_eq!(
        error,
        "a model of feature rows for items that are graphs, expected a graph network: --model gin"
    );
}
