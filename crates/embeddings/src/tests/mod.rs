//! Promises of every model: true slopes, one score by two ways, the same bytes at any number of threads.

mod ranking;
mod rows;
mod storm;

use toprank_core::{Features, Stream};

use crate::model::{BatchView, EmbeddingModel, Shape, Slopes, Tape};
use crate::{MODELS, Plan, Rows, parse};

pub(super) const TEXTS: &[&str] = &[
    "mf:width=5",
    "neumf:width=5:layers=7",
    "neumf:width=4:layers=8-6-5",
    "two-tower:width=5:layers=6:out=4",
    "two-tower:width=4:layers=none:out=3",
    "two-tower:width=5:layers=7-5:out=4",
];

const USERS: usize = 6;
const ITEMS: usize = 11;

/// Features made up from the number of a row; one is missing.
pub(super) struct Known(pub usize);

impl Features for Known {
    fn rows(&self) -> usize {
        self.0
    }

    fn width(&self) -> usize {
        3
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(3)) {
            let row = row as f32;
            out.copy_from_slice(&[
                0.3 * row - 1.0,
                (1.7 * row).sin(),
                if row == 2.0 { f32::NAN } else { 0.5 },
            ]);
        }
    }
}

/// Tables, weights and a batch of a model.
pub(super) struct Scene<'a> {
    pub model: Box<dyn EmbeddingModel>,
    pub shape: Shape<'a>,
    pub tables: [Vec<f32>; 2],
    pub weights: Vec<f32>,
    pub plan: Plan,
}

impl<'a> Scene<'a> {
    pub fn new(text: &str, shape: Shape<'a>) -> Scene<'a> {
        let model = parse(text).unwrap().build(&shape).unwrap();
        let stream = Stream::new(3, "test");
        let mut tables = [shape.users, shape.items].map(Vec::<f32>::with_capacity);
        for (side, table) in tables.iter_mut().enumerate() {
            table.resize([shape.users, shape.items][side] * model.widths()[side], 0.0);
            model.init_rows(side, 0, stream, table);
            // Larger than fresh, and no number exactly 0: slopes of every part are seen.
            let mut random = stream.of_list(side as u32).open();
            for value in table.iter_mut() {
                *value += (random.unit() - 0.5) as f32;
            }
        }
        let mut weights = vec![0.0; model.blocks().iter().map(toprank_core::Block::parameters).sum()];
        model.init_weights(stream, &mut weights);
        let mut random = stream.of_list(9).open();
        for value in &mut weights {
            *value += 0.2 * (random.unit() - 0.4) as f32;
        }
        let mut plan = Plan::default();
        plan.lay(shape.items, &[0, 2, 5], &[0, 4, 5, 9], &[1, 3, 4, 10, 3, 0, 3, 4, 9]);
        Scene { model, shape, tables, weights, plan }
    }

    pub fn gathered(&self) -> [Rows; 2] {
        let mut rows = [Rows::default(), Rows::default()];
        let [users, items] = self.model.widths();
        rows[0].gather(&self.tables[0], users, &self.plan.users, None);
        rows[1].gather(&self.tables[1], items, &self.plan.items, None);
        rows
    }

    pub fn scores(
        &self,
        rows: &[Rows; 2],
        weights: &[f32],
        train: Option<Stream>,
        tape: &mut Tape,
    ) -> Vec<f64> {
        let mut scores = vec![0.0; self.plan.len()];
        let batch = self.batch(rows, weights);
        self.model.forward(&batch, train, tape, &mut scores);
        scores
    }

    fn batch<'m>(&'m self, rows: &'m [Rows; 2], weights: &'m [f32]) -> BatchView<'m> {
        BatchView {
            plan: &self.plan,
            users: &rows[0].values,
            items: &rows[1].values,
            shape: self.shape,
            weights,
        }
    }
}

pub(super) fn plain() -> Shape<'static> {
    Shape { users: USERS, items: ITEMS, ..Shape::default() }
}

fn slopes_are_right(scene: &Scene, train: Option<Stream>, what: &str) {
    let rows = scene.gathered();
    let mut tape = Tape::default();
    scene.scores(&rows, &scene.weights, train, &mut tape);
    // A loss with a different pull on every score.
    let pull: Vec<f64> = (0..scene.plan.len()).map(|e| (1.3 * e as f64 + 0.4).sin()).collect();
    let loss = |rows: &[Rows; 2], weights: &[f32]| {
        let scores = scene.scores(rows, weights, train, &mut Tape::default());
        scores.iter().zip(&pull).map(|(s, p)| s * p).sum::<f64>()
    };
    let mut slopes =
        [vec![9.0; rows[0].values.len()], vec![9.0; rows[1].values.len()], vec![9.0; scene.weights.len()]];
    let [users, items, weights] = &mut slopes;
    scene.model.backward(
        &scene.batch(&rows, &scene.weights),
        &mut tape,
        &pull,
        Slopes { users, items, weights },
    );
    let h = 2e-3;
    let mut activations = 0;
    for (part, slopes) in slopes.iter().enumerate() {
        for (at, &slope) in slopes.iter().enumerate() {
            let moved = |by: f32| {
                let (mut rows, mut weights) = (rows.clone(), scene.weights.clone());
                match part {
                    0 | 1 => rows[part].values[at] += by,
                    _ => weights[at] += by,
                }
                loss(&rows, &weights)
            };
            let numeric = (moved(h) - moved(-h)) / f64::from(2.0 * h);
            // Where a activation lies within reach the two sides differ: no derivative there.
            let here = moved(0.0);
            let sides = [moved(h) - here, here - moved(-h)].map(|change| change / f64::from(h));
            if (sides[0] - sides[1]).abs() > 1e-2 {
                activations += 1;
                continue;
            }
            assert!(
                (f64::from(slope) - numeric).abs() < 6e-3,
                "{what}, part {part}, number {at}: {slope} {numeric}"
            );
        }
    }
    let all: usize = slopes.iter().map(Vec::len).sum();
    assert!(20 * activations < all, "{what}: {activations} of {all} slopes were not looked at");
}

#[test]
fn slopes_equal_finite_differences() {
    let (users, items) = (Known(USERS), Known(ITEMS));
    let known = Shape { user_features: Some(&users), item_features: Some(&items), ..plain() };
    for text in TEXTS {
        slopes_are_right(&Scene::new(text, plain()), None, text);
        slopes_are_right(&Scene::new(text, known), None, &format!("{text} with features"));
    }
}

#[test]
fn slopes_go_through_dropout() {
    for text in ["neumf:width=4:layers=8:dropout=0.5", "neumf:width=4:layers=8-6:dropout=0.3"] {
        let scene = Scene::new(text, plain());
        let stream = Some(Stream::new(5, "network"));
        slopes_are_right(&scene, stream, text);
        let rows = scene.gathered();
        let tape = &mut Tape::default();
        let [with, again, without] =
            [stream, stream, None].map(|train| scene.scores(&rows, &scene.weights, train, tape));
        assert_eq!(with, again);
        assert_ne!(with, without);
    }
}

#[test]
fn scores_of_a_batch_are_those_of_a_ranking() {
    let items = Known(ITEMS);
    let known = Shape { item_features: Some(&items), ..plain() };
    for text in TEXTS {
        let scene = Scene::new(text, known);
        let scores = scene.scores(&scene.gathered(), &scene.weights, None, &mut Tape::default());
        let ranker =
            crate::Ranker::new(&*scene.model, known, &scene.weights, &scene.tables[0], &scene.tables[1]);
        let all = ranker.each(&scene.plan.users, |_, scores| scores.to_vec());
        for (entry, score) in scores.iter().enumerate() {
            let item = scene.plan.items[scene.plan.item_of[entry] as usize] as usize;
            let other = f64::from(all[scene.plan.user_of[entry] as usize][item]);
            assert!((score - other).abs() < 1e-4, "{text}, entry {entry}: {score} {other}");
        }
    }
}

#[test]
fn every_parameter_changes_something() {
    for line in MODELS {
        for param in line.params {
            let other = match param.name {
                "layers" => "5",
                "dropout" => "0.5",
                "scale" => "0.3",
                _ => "3",
            };
            let seen = |text: &str| {
                let scene = Scene::new(text, plain());
                let train = Some(Stream::new(1, "network"));
                scene.scores(&scene.gathered(), &scene.weights, train, &mut Tape::default())
            };
            assert_ne!(
                seen(line.name),
                seen(&format!("{}:{}={other}", line.name, param.name)),
                "{}",
                param.name
            );
        }
    }
}

#[test]
fn every_page_says_formula_source_cost_and_every_parameter_with_its_default() {
    for line in MODELS {
        for part in ["```text", "Source:", "Cost:", "Initialisation:", "toprank_embeddings::parse"] {
            assert!(line.page.contains(part), "the page of {} lacks {part:?}", line.name);
        }
        for param in line.params {
            let row =
                format!("| `{}` | `{}` | {} | {} |", param.name, param.default, param.range, param.about);
            assert!(line.page.contains(&row), "the page of {} lacks {row:?}", line.name);
        }
    }
}

#[test]
fn errors_name_the_parameter_and_what_is_allowed() {
    for (text, message) in [
        ("mf:width=0", "width must be an integer from 1 to 4096, but is 0"),
        ("mf:scale=0", "scale must be in (0, 10], but is 0"),
        (
            "neumf:layers=none",
            "layers must be widths from 1 to 4096 joined by -, for example 64-32, but is none",
        ),
        (
            "neumf:layers=8--4",
            "layers must be widths from 1 to 4096 joined by -, for example 64-32, but is 8--4",
        ),
        ("neumf:dropout=1", "dropout must be in [0, 1), but is 1"),
        ("two-tower:out=9999", "out must be an integer from 1 to 4096, but is 9999"),
    ] {
        assert_eq!(parse(text).err().map(|e| e.to_string()).as_deref(), Some(message), "{text}");
    }
}

#[test]
fn every_entry_reads_its_own_user_and_item() {
    let mut plan = Plan::default();
    for all_items in [12, 100_000] {
        for (users, offsets, items) in [
            (vec![3, 7], vec![0, 2, 5], vec![4, 9, 0, 4, 11]),
            (vec![1], vec![0, 0], vec![]),
            (vec![], vec![0], vec![]),
            (vec![0, 1, 2], vec![0, 1, 1, 2], vec![5, 5]),
        ] {
            plan.lay(all_items, &users, &offsets, &items);
            assert!(plan.items.is_sorted_by(|a, b| a < b));
            for (entry, &item) in items.iter().enumerate() {
                let k = plan.item_of[entry] as usize;
                assert_eq!(plan.items[k], item);
                assert!(plan.of_item(k).contains(&(entry as u32)));
                let at = plan.of_item(k).iter().position(|&e| e as usize == entry).unwrap();
                assert_eq!(plan.met_by(k)[at], plan.user_of[entry]);
                let d = plan.user_of[entry] as usize;
                assert!((offsets[d]..offsets[d + 1]).contains(&(entry as u64)));
            }
            assert_eq!(plan.starts.last(), Some(&items.len()));
            assert!((0..plan.items.len()).all(|k| plan.of_item(k).is_sorted()));
        }
    }
}
