//! What every network promises.

mod architecture;
mod attention;
mod gin;
mod gradients;
mod layers;
mod onnx;
mod promises;
mod reference;
mod shards;

use toprank_core::{Differentiable, Features, Graphs, ModelInput, Stream, Tape};

use crate::parse;

/// Every network with every option, small. Lists of 1 to 5 items, so that there is padding.
pub const CASES: &[&str] = &[
    "linear",
    "linear:output=sigmoid",
    "mlp:hidden=7-5",
    "mlp:hidden=7-5:output=tanh",
    "mlp:hidden=6:activation=gelu:output=sigmoid",
    "mlp:hidden=6:activation=leaky-relu",
    "mlp:hidden=6:activation=elu",
    "mlp:hidden=6:activation=gelu",
    "mlp:hidden=6-4:activation=silu",
    "mlp:hidden=6:activation=tanh",
    "mlp:hidden=6:activation=sigmoid",
    "mlp:hidden=6-5-4:norm=layer",
    "mlp:hidden=6-5:norm=batch:activation=tanh",
    "mlp:hidden=5:embed=periodic",
    "mlp:hidden=6-4:embed=auto:frequency=0.5:noise=0.1:activation=silu",
    "mlp:hidden=8-8:dropout=0.3",
    "mlp:hidden=6:noise=0.5",
    "mlp:hidden=6-4:norm=batch:dropout=0.2:noise=0.2:activation=gelu",
    "context:width=6:heads=1:blocks=1:hidden=5:dropout=0",
    "context:width=6:heads=3:blocks=2:hidden=5:dropout=0.2:noise=0.3:activation=silu:output=sigmoid",
];

pub const WIDTH: usize = 4;

/// Rows that are graphs, row i graph i.
pub struct Items(pub Graphs);

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

/// Random rows of `WIDTH` features.
pub struct Table(pub Vec<f32>);

impl Table {
    pub fn new(rows: usize) -> Table {
        Table(random(rows * WIDTH, "table"))
    }
}

impl Features for Table {
    fn rows(&self) -> usize {
        self.0.len() / WIDTH
    }

    fn width(&self) -> usize {
        WIDTH
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        for (row, out) in rows.iter().zip(out.chunks_mut(WIDTH)) {
            out.copy_from_slice(&self.0[*row as usize * WIDTH..][..WIDTH]);
        }
    }
}

/// Numbers in [−1, 1).
pub fn random(count: usize, purpose: &str) -> Vec<f32> {
    let mut random = Stream::new(5, purpose).open();
    (0..count).map(|_| (2.0 * random.unit() - 1.0) as f32).collect()
}

/// Lists of the given lengths over the first rows of a table.
pub struct Shard {
    table: Table,
    rows: Vec<u32>,
    offsets: Vec<usize>,
}

impl Shard {
    pub fn new(lengths: &[usize]) -> Shard {
        let count: usize = lengths.iter().sum();
        let mut offsets = vec![0];
        offsets.extend(lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        Shard { table: Table::new(count.max(1)), rows: (0..count as u32).collect(), offsets }
    }

    pub fn input(&self) -> ModelInput<'_> {
        ModelInput { features: &self.table, rows: &self.rows, offsets: &self.offsets }
    }
}

pub fn network(text: &str, outputs: usize) -> Box<dyn Differentiable> {
    parse(text).unwrap().build(WIDTH, outputs).unwrap()
}

/// Parameters after the start, moved a little so that no bias is exactly 0 and no scale exactly 1.
pub fn parameters(network: &dyn Differentiable) -> Vec<f32> {
    let mut parameters = vec![0.0; network.parameters()];
    network.init(Stream::new(3, "init"), &mut parameters);
    let moves = random(parameters.len(), "moves");
    parameters.iter_mut().zip(moves).for_each(|(p, m)| *p += 0.1 * m);
    parameters
}

pub fn scores(
    network: &dyn Differentiable,
    parameters: &[f32],
    input: &ModelInput,
    train: Option<Stream>,
) -> Vec<f64> {
    let mut scores = vec![0.0; input.rows.len() * network.outputs()];
    network.forward(parameters, input, train, &mut Tape::default(), &mut scores).unwrap();
    scores
}

/// As in prediction.
pub fn predicted(network: &dyn Differentiable, parameters: &[f32], input: &ModelInput) -> Vec<f64> {
    let mut scores = vec![0.0; input.rows.len() * network.outputs()];
    network.score(parameters, input, &mut Tape::default(), &mut scores).unwrap();
    scores
}

/// Gradient of Σ dscore · score.
pub fn gradient(
    network: &dyn Differentiable,
    parameters: &[f32],
    input: &ModelInput,
    train: Option<Stream>,
    dscore: &[f64],
) -> Vec<f32> {
    gradient_with(&mut Tape::default(), network, parameters, input, train, dscore)
}

pub fn gradient_with(
    tape: &mut Tape,
    network: &dyn Differentiable,
    parameters: &[f32],
    input: &ModelInput,
    train: Option<Stream>,
    dscore: &[f64],
) -> Vec<f32> {
    let mut scores = vec![0.0; dscore.len()];
    let mut gradient = vec![0.0; parameters.len()];
    network.forward(parameters, input, train, tape, &mut scores).unwrap();
    network.backward(parameters, tape, dscore, &mut gradient).unwrap();
    gradient
}

pub fn derivatives(count: usize) -> Vec<f64> {
    random(count, "derivatives").into_iter().map(f64::from).collect()
}

#[track_caller]
pub fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-3, |size: f64, e| size.max(e.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance * size, "{what}: {f} instead of {e} at {i} (of size {size})");
    }
}

pub fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}
