//! Attention needs memory in proportion to the length of a list: an allocator that refuses 256 MB at once would notice a matrix of
//! all pairs of 10,000 items, which takes 400 MB.

use toprank_core::{Features, ModelInput, Stream, Tape};
use toprank_neural::parse;
use toprank_testkit::alloc::Capped;

#[global_allocator]
static ALLOCATOR: Capped = Capped;

const ITEMS: usize = 10_000;

struct Rows;

impl Features for Rows {
    fn rows(&self) -> usize {
        ITEMS
    }

    fn width(&self) -> usize {
        2
    }

    fn gather(&self, rows: &[u32], out: &mut [f32]) {
        for (row, out) in rows.iter().zip(out.chunks_mut(2)) {
            out.copy_from_slice(&[*row as f32 / ITEMS as f32, 1.0]);
        }
    }
}

#[test]
fn a_list_of_10_000_items_is_trained_on_without_a_matrix_of_its_pairs() {
    let network = parse("context:width=8:heads=1:blocks=1:hidden=8").unwrap().build(2, 1).unwrap();
    let mut at = vec![0.0; network.parameters()];
    network.init(Stream::new(1, "init"), &mut at);
    let rows: Vec<u32> = (0..ITEMS as u32).collect();
    let input = ModelInput { features: &Rows, rows: &rows, offsets: &[0, ITEMS] };
    let (mut tape, mut scores) = (Tape::default(), vec![0.0; ITEMS]);
    network.forward(&at, &input, Some(Stream::new(2, "train")), &mut tape, &mut scores).unwrap();
    let mut gradient = vec![0.0; at.len()];
    network.backward(&at, &mut tape, &vec![1e-3; ITEMS], &mut gradient).unwrap();
    assert!(gradient.iter().all(|g| g.is_finite()) && gradient.iter().any(|g| *g != 0.0));
    network.score(&at, &input, &mut tape, &mut scores).unwrap();
    assert!(scores.iter().all(|score| score.is_finite()));
}
