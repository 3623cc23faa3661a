//! The formulas of the pages in f64, read aloud and free to be slow: the definition that the layers are compared with.

use toprank_core::{Block, Graphs, Spec, Stream};

use crate::Pass;
use crate::layers::{Dropout, InPlace, add_noise};

type Rows = Vec<Vec<f64>>;

/// A network of the catalog with parameters in f64.
pub struct Reference<'a> {
    spec: Spec,
    blocks: &'a [Block],
    at: &'a [f64],
    train: Option<Stream>,
}

impl<'a> Reference<'a> {
    pub fn new(text: &str, blocks: &'a [Block], at: &'a [f64], train: Option<Stream>) -> Reference<'a> {
        Reference { spec: Spec::parse(text).unwrap(), blocks, at, train }
    }

    /// Scores of rows of features.
    pub fn scores(&self, features: &[Vec<f32>], offsets: &[usize]) -> Vec<f64> {
        let mut rows = features.to_vec();
        let noise: f64 = self.option("noise", "0").parse().unwrap();
        if let Some(random) = self.pass().random(1).filter(|_| noise > 0.0) {
            let mut flat: Vec<f32> = rows.concat();
            add_noise(&mut flat, noise, random);
            rows = flat.chunks(rows[0].len()).map(<[f32]>::to_vec).collect();
        }
        let x: Rows = rows.iter().map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect();
        let raw = match self.spec.name.as_str() {
            "linear" => self.dense("output", &x),
            "mlp" => self.mlp(x),
            "context" => self.context(&x, offsets),
            name => panic!("no reference of {name}"),
        };
        self.output(raw)
    }

    /// Scores of graphs.
    pub fn scores_of_graphs(&self, graphs: &Graphs, numbers: &[u32]) -> Vec<f64> {
        let raw = self.gin(graphs, numbers);
        self.output(raw)
    }

    fn output(&self, raw: Rows) -> Vec<f64> {
        let squash = |x: f64| match self.option("output", "linear").as_str() {
            "linear" => x,
            "sigmoid" => 1.0 / (1.0 + (-x).exp()),
            "tanh" => x.tanh(),
            other => panic!("{other}"),
        };
        raw.into_iter().flatten().map(squash).collect()
    }

    fn option(&self, name: &str, default: &str) -> String {
        self.spec.args.get(name).unwrap_or(default).to_string()
    }

    fn number(&self, name: &str, default: usize) -> usize {
        self.option(name, &default.to_string()).parse().unwrap()
    }

    fn pass(&self) -> Pass {
        let mut pass = Pass::default();
        pass.begin(&[], self.train, false);
        pass
    }

    fn block(&self, name: &str) -> Option<&[f64]> {
        let mut first = 0;
        for block in self.blocks {
            if block.name == name {
                return Some(&self.at[first..first + block.parameters()]);
            }
            first += block.parameters();
        }
        None
    }

    fn dense(&self, name: &str, x: &Rows) -> Rows {
        let weight = self.block(&format!("{name}.weight")).expect(name);
        let outputs = weight.len() / x.first().map_or(1, Vec::len);
        let none = vec![0.0; outputs];
        let bias = self.block(&format!("{name}.bias")).unwrap_or(&none);
        let sum = |row: &Vec<f64>, j: usize| {
            row.iter().enumerate().map(|(i, x)| x * weight[i * outputs + j]).sum::<f64>()
        };
        x.iter().map(|row| (0..outputs).map(|j| bias[j] + sum(row, j)).collect()).collect()
    }

    fn layer_norm(&self, name: &str, x: &Rows) -> Rows {
        let (gamma, beta) =
            (self.block(&format!("{name}.gamma")).unwrap(), self.block(&format!("{name}.beta")).unwrap());
        let normed = |row: &Vec<f64>| {
            let count = row.len() as f64;
            let mean = row.iter().sum::<f64>() / count;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            (0..row.len()).map(|i| gamma[i] * (row[i] - mean) / (variance + 1e-5).sqrt() + beta[i]).collect()
        };
        x.iter().map(normed).collect()
    }

    fn batch_norm(&self, name: &str, mut x: Rows) -> Rows {
        let of = |part: &str| self.block(&format!("{name}.{part}")).unwrap();
        for i in 0..x.first().map_or(0, Vec::len) {
            let count = x.len() as f64;
            let (mut mean, mut variance) = (of("running_mean")[i], of("running_variance")[i]);
            if self.train.is_some() {
                mean = x.iter().map(|row| row[i]).sum::<f64>() / count;
                variance = x.iter().map(|row| (row[i] - mean).powi(2)).sum::<f64>() / count;
            }
            for row in &mut x {
                row[i] = of("gamma")[i] * (row[i] - mean) / (variance + 1e-5).sqrt() + of("beta")[i];
            }
        }
        x
    }

    fn activation(&self, x: Rows) -> Rows {
        let f = |x: f64| match self.option("activation", "relu").as_str() {
            "relu" => x.max(0.0),
            "leaky-relu" => {
                if x > 0.0 {
                    x
                } else {
                    0.01f32 as f64 * x
                }
            }
            "elu" => {
                if x > 0.0 {
                    x
                } else {
                    x.exp_m1()
                }
            }
            "gelu" => 0.5 * x * (1.0 + libm::erf(x / 2f64.sqrt())),
            "silu" => x / (1.0 + (-x).exp()),
            "tanh" => x.tanh(),
            "sigmoid" => 1.0 / (1.0 + (-x).exp()),
            other => panic!("{other}"),
        };
        x.into_iter().map(|row| row.into_iter().map(f).collect()).collect()
    }

    /// With the mask that the layer draws; how it is drawn is tested by itself.
    fn dropout(&self, x: Rows, default: &str, number: u32) -> Rows {
        let rate: f64 = self.option("dropout", default).parse().unwrap();
        let width = x.first().map_or(1, Vec::len);
        let mut mask = vec![1.0; x.len() * width];
        Dropout::new(rate, number).forward(&mut mask, &mut self.pass());
        let times =
            |(row, mask): (Vec<f64>, &[f32])| row.iter().zip(mask).map(|(x, m)| x * f64::from(*m)).collect();
        x.into_iter().zip(mask.chunks(width)).map(times).collect()
    }

    /// Sixteen waves of every feature, three sums of them, and the features.
    fn periodic(&self, x: Rows) -> Rows {
        let of = |part: &str| self.block(&format!("embedding.{part}")).unwrap();
        let width = x.first().map_or(0, Vec::len);
        let wave = |feature: usize, k: usize, x: f64| {
            let turns = of("frequency")[feature * 16 + k] * x + of("phase")[feature * 16 + k];
            (std::f64::consts::TAU * turns).cos()
        };
        let mixed = |row: &[f64], d: usize, feature: usize| {
            let weight = |k: usize| of("mix")[(d * width + feature) * 16 + k];
            of("bias")[d * width + feature]
                + (0..16).map(|k| weight(k) * wave(feature, k, row[feature])).sum::<f64>()
        };
        let embedded = |row: Vec<f64>| -> Vec<f64> {
            let mixes = (0..3).flat_map(|d| (0..width).map(move |feature| (d, feature)));
            mixes.map(|(d, feature)| mixed(&row, d, feature)).chain(row.iter().copied()).collect()
        };
        x.into_iter().map(embedded).collect()
    }

    fn mlp(&self, mut x: Rows) -> Rows {
        if self.option("embed", "none") != "none" {
            x = self.periodic(x);
        }
        let layers = self.option("hidden", "256-128").split('-').count();
        for layer in 0..layers {
            x = self.dense(&format!("layers.{layer}.linear"), &x);
            x = match self.option("norm", "none").as_str() {
                "layer" => self.layer_norm(&format!("layers.{layer}.layer_norm"), &x),
                "batch" => self.batch_norm(&format!("layers.{layer}.batch_norm"), x),
                _ => x,
            };
            x = self.dropout(self.activation(x), "0", 2 + layer as u32);
        }
        self.dense("output", &x)
    }

    fn context(&self, x: &Rows, offsets: &[usize]) -> Rows {
        let add = |x: Rows, y: Rows| -> Rows {
            x.into_iter().zip(y).map(|(x, y)| x.iter().zip(y).map(|(x, y)| x + y).collect()).collect()
        };
        let mut x = self.dense("input", x);
        let mut number = 1;
        let mut drop = |x: Rows| {
            number += 1;
            self.dropout(x, "0.1", number)
        };
        for block in 0..self.number("blocks", 2) {
            let part = |name: &str| format!("blocks.{block}.{name}");
            let attended = self.attention(&part(""), &self.layer_norm(&part("attention_norm"), &x), offsets);
            x = add(x, drop(self.dense(&part("mix"), &attended)));
            let hidden = self.dense(&part("hidden"), &self.layer_norm(&part("hidden_norm"), &x));
            let hidden = drop(self.activation(hidden));
            x = add(x, drop(self.dense(&part("back"), &hidden)));
        }
        self.dense("output", &self.layer_norm("norm", &x))
    }

    fn attention(&self, part: &str, x: &Rows, offsets: &[usize]) -> Rows {
        let [q, k, v] = ["query", "key", "value"].map(|name| self.dense(&format!("{part}{name}"), x));
        let (width, heads) = (x.first().map_or(0, Vec::len), self.number("heads", 2));
        let size = width / heads;
        let mut out = vec![vec![0.0; width]; x.len()];
        for list in offsets.windows(2) {
            for head in 0..heads {
                let columns = head * size..(head + 1) * size;
                for i in list[0]..list[1] {
                    let dot = |j: usize| {
                        columns.clone().map(|c| q[i][c] * k[j][c]).sum::<f64>() / (size as f64).sqrt()
                    };
                    let raised: Vec<f64> = (list[0]..list[1]).map(|j| dot(j).exp()).collect();
                    let total: f64 = raised.iter().sum();
                    for c in columns.clone() {
                        out[i][c] = (list[0]..list[1]).zip(&raised).map(|(j, p)| p / total * v[j][c]).sum();
                    }
                }
            }
        }
        out
    }

    /// Nodes have a code of 4 and a number, edges a code of 3 and a number, or nothing.
    fn gin(&self, graphs: &Graphs, numbers: &[u32]) -> Rows {
        let hidden = self.number("hidden", 300);
        let embedded = |table: &[f64], values: &[f32], codes: usize| -> Vec<f64> {
            let (code, number) = (values[0] as usize, f64::from(values[1]));
            (0..hidden).map(|j| table[code * hidden + j] + number * table[codes * hidden + j]).collect()
        };
        let (mut h, mut graph_of, mut firsts): (Rows, Vec<usize>, Vec<usize>) = Default::default();
        for (place, &g) in numbers.iter().enumerate() {
            firsts.push(h.len());
            for node in graphs.nodes_of(g as usize) {
                h.push(embedded(self.block("nodes.weight").unwrap(), graphs.node(node), 4));
                graph_of.push(place);
            }
        }
        let layers = self.number("layers", 5);
        for layer in 0..layers {
            let part = |name: &str| format!("layers.{layer}.{name}");
            let epsilon = self.block(&part("epsilon")).unwrap()[0];
            let mut x: Rows = h.iter().map(|h| h.iter().map(|x| (1.0 + epsilon) * x).collect()).collect();
            for (first, &g) in firsts.iter().zip(numbers) {
                for edge in graphs.edges_of(g as usize) {
                    let e = match self.block(&part("edges.weight")) {
                        Some(table) => embedded(table, graphs.edge(edge), 3),
                        None => vec![0.0; hidden],
                    };
                    let [a, b] = graphs.ends[edge].map(|end| first + end as usize);
                    for (from, to) in [(a, b), (b, a)].into_iter().take(if a == b { 1 } else { 2 }) {
                        (0..hidden).for_each(|i| x[to][i] += (h[from][i] + e[i]).max(0.0));
                    }
                }
            }
            let norm = |name: &str, x: Rows| match self.option("norm", "batch").as_str() {
                "batch" => self.batch_norm(&part(name), x),
                _ => x,
            };
            let inner = self.activation(norm("first_norm", self.dense(&part("first"), &x)));
            let out = norm("second_norm", self.dense(&part("second"), &inner));
            h = if layer + 1 < layers { self.activation(out) } else { out };
            h = self.dropout(h, "0.5", 1 + layer as u32);
        }
        let mut pooled = vec![vec![0.0; hidden]; numbers.len()];
        for (h, &g) in h.iter().zip(&graph_of) {
            let nodes = graphs.nodes_of(numbers[g] as usize).len() as f64;
            let factor = if self.option("pool", "sum") == "mean" { 1.0 / nodes } else { 1.0 };
            pooled[g].iter_mut().zip(h).for_each(|(p, h)| *p += factor * h);
        }
        self.dense("output", &pooled)
    }
}
