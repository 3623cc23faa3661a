//! What networks of graphs promise.

use toprank_core::{
    Differentiable, Features, GraphFeature, GraphShape, Graphs, ModelInput, Role, Spec, Stream,
};

use super::{assert_near, derivatives, gradient, parameters, random, scores, wide};
use crate::networks::gin::Gin;
use crate::squash::Output;
use crate::{Network, find, parse};

const CASES: &[&str] = &[
    "gin:layers=2:hidden=4:dropout=0",
    "gin:layers=3:hidden=3:dropout=0.3:pool=mean:output=tanh",
    "gin:layers=2:hidden=4:dropout=0:norm=none",
    "gin:layers=1:hidden=3:dropout=0.5:norm=none:pool=mean",
];
const TRAIN: Option<Stream> = Some(Stream { seed: 9, purpose: 7, list: 0, step: 0 });

/// Rows that are graphs, row i graph i.
struct Items(Graphs);

impl Features for Items {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn width(&self) -> usize {
        1
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        rows.iter().zip(out).for_each(|(row, out)| *out = *row as f32);
    }

    fn graphs(&self) -> Option<&Graphs> {
        Some(&self.0)
    }
}

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

fn network_f64(text: &str, edges: bool, outputs: usize) -> Box<dyn Differentiable> {
    let spec = Spec::parse(text).unwrap();
    let module = Gin::read(&spec).unwrap().module(&shape(edges), outputs);
    Output::read(&spec).unwrap().after(Box::new(Network::new(module, 1, outputs).unwrap().in_f64()))
}

/// Differences as in `gradients.rs`.
#[test]
fn gradients_equal_central_differences_through_messages_norms_and_pools() {
    const STEP: f32 = 1.0 / 1_048_576.0;
    for edges in [true, false] {
        let items = items(7, edges);
        let rows = [0, 1, 2, 3, 4, 5, 6, 3];
        let input = input(&items, &rows, &[0, 8]);
        for text in CASES {
            for (outputs, train) in [(1, TRAIN), (2, None)] {
                let network = network_f64(text, edges, outputs);
                let at = parameters(&*network);
                let dscore = derivatives(rows.len() * outputs);
                let found = gradient(&*network, &at, &input, train, &dscore);
                let loss = |at: &[f32]| -> f64 {
                    scores(&*network, at, &input, train).iter().zip(&dscore).map(|(s, d)| s * d).sum()
                };
                let mut first = 0;
                for block in network.blocks() {
                    let here = first..first + block.parameters();
                    first = here.end;
                    if block.role == Role::Statistic {
                        continue;
                    }
                    let expected: Vec<f64> = here
                        .clone()
                        .map(|i| {
                            let (mut up, mut down) = (at.clone(), at.clone());
                            up[i] += STEP;
                            down[i] -= STEP;
                            (loss(&up) - loss(&down)) / f64::from(up[i] - down[i])
                        })
                        .collect();
                    let what = format!("{text}, {outputs} outputs, edges {edges}, {}", block.name);
                    // A norm divides by the spread of few nodes: differences lose two digits there.
                    assert_near(&wide(&found[here]), &expected, 2e-5, &what);
                }
            }
        }
    }
}

#[test]
fn the_f32_graph_gives_the_gradient_of_the_f64_graph() {
    let items = items(9, true);
    let rows: Vec<u32> = (0..9).collect();
    let input = input(&items, &rows, &[0, 9]);
    let dscore = derivatives(9);
    for text in CASES {
        let (single, double) = (network(text, true, 1), network_f64(text, true, 1));
        let at = parameters(&*single);
        let found = wide(&gradient(&*single, &at, &input, TRAIN, &dscore));
        let expected = wide(&gradient(&*double, &at, &input, TRAIN, &dscore));
        assert_near(&found, &expected, 1e-4, text);
    }
}

/// Reference implementation of the formula of the page, for one graph in prediction.
fn plain(network: &dyn Differentiable, at: &[f32], graphs: &Graphs, g: usize, layers: usize) -> f64 {
    let block = |name: &str| -> (Vec<f64>, usize) {
        let mut first = 0;
        for block in network.blocks() {
            if block.name == name {
                return (wide(&at[first..first + block.parameters()]), *block.shape.last().unwrap());
            }
            first += block.parameters();
        }
        panic!("no block {name}")
    };
    let linear = |name: &str, x: &[f64]| -> Vec<f64> {
        let ((weight, width), (bias, _)) = (block(&format!("{name}.weight")), block(&format!("{name}.bias")));
        (0..width)
            .map(|j| bias[j] + x.iter().enumerate().map(|(i, x)| x * weight[i * width + j]).sum::<f64>())
            .collect()
    };
    let norm = |name: &str, x: Vec<f64>| -> Vec<f64> {
        let of = |part: &str| block(&format!("{name}.{part}")).0;
        let (gamma, beta, mean, variance) =
            (of("gamma"), of("beta"), of("running_mean"), of("running_variance"));
        let one = |(i, x): (usize, f64)| gamma[i] * (x - mean[i]) / (variance[i] + 1e-5).sqrt() + beta[i];
        x.into_iter().enumerate().map(one).collect()
    };
    let embedded = |name: &str, code: usize, codes: usize, number: f64| -> Vec<f64> {
        let (table, width) = block(name);
        (0..width).map(|j| table[code * width + j] + number * table[codes * width + j]).collect()
    };
    let nodes = graphs.nodes_of(g);
    let mut h: Vec<Vec<f64>> = nodes
        .clone()
        .map(|v| embedded("nodes.weight", graphs.node(v)[0] as usize, 4, f64::from(graphs.node(v)[1])))
        .collect();
    for layer in 0..layers {
        let name = format!("layers.{layer}");
        let epsilon = block(&format!("{name}.epsilon")).0[0];
        let mut heard: Vec<Vec<f64>> =
            h.iter().map(|h| h.iter().map(|x| (1.0 + epsilon) * x).collect()).collect();
        for edge in graphs.edges_of(g) {
            let values = graphs.edge(edge);
            let e = embedded(&format!("{name}.edges.weight"), values[0] as usize, 3, f64::from(values[1]));
            let [a, b] = graphs.ends[edge].map(|end| end as usize);
            let mut tell = |from: usize, to: usize| {
                (0..e.len()).for_each(|i| heard[to][i] += (h[from][i] + e[i]).max(0.0));
            };
            tell(a, b);
            if a != b {
                tell(b, a);
            }
        }
        let relu = |x: Vec<f64>| -> Vec<f64> { x.into_iter().map(|x| x.max(0.0)).collect() };
        h = heard
            .iter()
            .map(|x| {
                let inner = relu(norm(&format!("{name}.first_norm"), linear(&format!("{name}.first"), x)));
                let out = norm(&format!("{name}.second_norm"), linear(&format!("{name}.second"), &inner));
                if layer + 1 < layers { relu(out) } else { out }
            })
            .collect();
    }
    let pooled: Vec<f64> = (0..h[0].len()).map(|i| h.iter().map(|h| h[i]).sum()).collect();
    linear("output", &pooled)[0]
}

#[test]
fn scores_are_those_of_the_formula() {
    let items = items(8, true);
    let rows: Vec<u32> = (0..8).collect();
    let network = network_f64("gin:layers=3:hidden=5", true, 1);
    let mut at = parameters(&*network);
    // Variances stay positive.
    at.iter_mut().zip(random(network.parameters(), "more")).for_each(|(p, m)| *p += 0.2 * m);
    let found = scores(&*network, &at, &input(&items, &rows, &[0, 8]), None);
    let expected: Vec<f64> = (0..8).map(|g| plain(&*network, &at, &items.0, g, 3)).collect();
    assert_near(&found, &expected, 1e-12, "gin");
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
        let mut all = vec![0.0; 600];
        network.score(&at, &input(&items, &rows, &[0, 600]), &mut all).unwrap();
        let together = scores(&*network, &at, &input(&items, &rows, &[0, 600]), None);
        assert_near(&all, &together, 1e-5, text);
        for g in [0, 5, 599] {
            let alone = scores(&*network, &at, &input(&items, &rows[g..=g], &[0, 1]), None);
            assert_near(&alone, &all[g..=g], 1e-5, text);
        }
    }
}

#[test]
fn pools_of_1_2_and_4_threads_give_the_same_bytes() {
    // Large enough that burn cuts its products among threads.
    let items = items(400, true);
    let rows: Vec<u32> = (0..400).collect();
    let network = network("gin:layers=2:hidden=96:dropout=0.2", true, 1);
    let at = parameters(&*network);
    let dscore = derivatives(400);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| gradient(&*network, &at, &input(&items, &rows, &[0, 400]), TRAIN, &dscore))
    };
    let one = run(1);
    assert!(one.iter().all(|g| g.is_finite()));
    for threads in [2, 4] {
        assert_eq!(run(threads), one, "{threads} threads");
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
    let error = network.score(&at, &rows, &mut scores).unwrap_err().to_string();
    assert_eq!(error, "rows without graphs, expected items that are graphs");
    let items = items(2, true);
    let error = network.score(&at, &input(&items, &[2], &[0, 1]), &mut scores).unwrap_err().to_string();
    assert_eq!(error, "graph 2, expected a number below 2, the number of graphs");
    let error = parse("mlp").unwrap().build_for_graphs(&shape(true), 1).err().unwrap().to_string();
    assert_eq!(
        error,
        "a model of feature rows for items that are graphs, expected a graph network: --model gin"
    );
}
