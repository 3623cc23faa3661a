use std::sync::Arc;

use toprank_core::{Differentiable, Features, ModelInput, Stream};

use super::query_graphs;
use crate::{LEAST, Score, Walk, WalkModel};

#[test]
fn the_walk_is_a_model_of_the_house() {
    let graphs = Arc::new(query_graphs(21, 4, 3, 0, true));
    let model = WalkModel::new(graphs.clone(), Walk { score: Score::Scaled, ..Walk::default() }, 1e-13);
    assert_eq!((model.parameters(), model.width(), model.couples_items()), (9, 3, true));
    let mut parameters = vec![0.0; 9];
    model.init(Stream::default(), &mut parameters);
    assert_eq!(parameters, [1.0; 9]);
    let lists = graphs.lists(&[1, 3], false);
    let rows = lists.rows.clone().unwrap();
    let offsets: Vec<usize> = lists.offsets.iter().map(|&o| o as usize).collect();
    let input = ModelInput { features: &*graphs, rows: &rows, offsets: &offsets, lists: &[] };
    let dscore: Vec<f64> = (0..rows.len()).map(|i| i as f64 - 2.0).collect();
    let loss = |parameters: &[f32]| {
        let mut scores = vec![0.0; rows.len()];
        model.score(parameters, &input, &mut scores).unwrap();
        scores.iter().zip(&dscore).map(|(s, d)| s * d).sum::<f64>()
    };
    let mut gradient = vec![0.0f32; 9];
    let mut scores = vec![0.0; rows.len()];
    let way = model.forward(&parameters, &input, None, &mut scores).unwrap();
    way.backward(&dscore, &mut gradient).unwrap();
    for f in 0..9 {
        // Steps that single precision holds exactly.
        let h = 1.0 / 1024.0;
        let at = |step: f32| {
            let mut moved = parameters.clone();
            moved[f] += step;
            loss(&moved)
        };
        let difference = (at(h) - at(-h)) / f64::from(2.0 * h);
        assert!((difference - f64::from(gradient[f])).abs() < 1e-5, "{f}: {difference} {}", gradient[f]);
    }
    parameters[2] = -3.0;
    model.project(&mut parameters);
    assert_eq!(parameters[2], LEAST);
    let outside = ModelInput { rows: &[graphs.rows() as u32], offsets: &[0, 1], ..input };
    assert!(model.score(&parameters, &outside, &mut [0.0]).is_err());
    let mixed = ModelInput { rows: &[rows[0], rows[rows.len() - 1]], offsets: &[0, 2], ..input };
    assert!(model.score(&parameters, &mixed, &mut [0.0; 2]).is_err());
}
