//! Operators by hand, and damaged bytes.

use proptest::prelude::*;

use crate::{Array, Attribute, Graph, Kind, Program};

/// The output of one operator for this input and constants after it.
fn one(operator: &str, x: &Array, constants: &[Array], attributes: &[Attribute]) -> Array {
    let mut graph = Graph::default();
    let sizes: Vec<Option<usize>> = x.sizes.iter().map(|&size| Some(size)).collect();
    let input = graph.input("x", Kind::Double, &sizes);
    let constants: Vec<_> =
        constants.iter().map(|array| graph.doubles(&array.sizes, &array.values)).collect();
    let inputs: Vec<_> = std::iter::once(&input).chain(&constants).collect();
    let y = graph.node(operator, &inputs, attributes);
    graph.output("y", &y, Kind::Double, &[]);
    let program = Program::read(&graph.write("test", &[])).unwrap();
    program.run(&[("x", x.clone())]).unwrap().remove("y").unwrap()
}

fn array(sizes: &[usize], values: &[f64]) -> Array {
    Array::new(sizes, values.to_vec())
}

#[test]
fn axes_of_size_one_are_broadcast() {
    let x = array(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let row = array(&[3], &[10.0, 20.0, 30.0]);
    assert_eq!(one("Add", &x, &[row], &[]), array(&[2, 3], &[11.0, 22.0, 33.0, 14.0, 25.0, 36.0]));
    let column = array(&[2, 1], &[1.0, -1.0]);
    assert_eq!(one("Mul", &x, &[column], &[]), array(&[2, 3], &[1.0, 2.0, 3.0, -4.0, -5.0, -6.0]));
}

#[test]
fn matrices_are_multiplied_batch_by_batch() {
    let x = array(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
    let y = array(&[2, 2, 1], &[5.0, 6.0, 7.0, 8.0]);
    assert_eq!(one("MatMul", &x, &[y], &[]), array(&[2, 1, 1], &[5.0 + 12.0, 21.0 + 32.0]));
    let same = array(&[2, 1], &[1.0, -1.0]);
    assert_eq!(one("MatMul", &x, &[same], &[]), array(&[2, 1, 1], &[-1.0, -1.0]));
}

#[test]
fn axes_are_transposed_and_reduced() {
    let x = array(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
    let turned = one("Transpose", &x, &[], &[Attribute::Ints("perm", &[1, 0])]);
    assert_eq!(turned, array(&[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 7.0]));
    let axis = array(&[1], &[0.0]);
    assert_eq!(one("ReduceSum", &x, &[axis], &[]), array(&[1, 3], &[5.0, 7.0, 10.0]));
    let probabilities =
        one("Softmax", &array(&[1, 2], &[0.0, 3f64.ln()]), &[], &[Attribute::Int("axis", -1)]);
    assert!(
        probabilities.values.iter().zip([0.25, 0.75]).all(|(a, b)| (a - b).abs() < 1e-15),
        "{probabilities:?}"
    );
}

#[test]
fn a_reduced_axis_is_dropped_if_asked_for() {
    let x = array(&[2, 3, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
    let axis = array(&[1], &[1.0]);
    assert_eq!(one("ReduceSum", &x, &[axis], &[Attribute::Int("keepdims", 0)]), array(&[2, 1], &[6.0, 16.0]));
}

#[test]
fn numbers_are_added_at_the_indices_of_an_axis() {
    let zeros = array(&[3, 2], &[0.0, 0.0, 0.0, 0.5, 0.0, 0.0]);
    let add = [Attribute::Int("axis", 0), Attribute::Text("reduction", "add")];
    let places = array(&[4, 2], &[2.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 1.0]);
    let updates = array(&[4, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let found = one("ScatterElements", &zeros, &[places, updates], &add);
    assert_eq!(found, array(&[3, 2], &[3.0, 6.0, 7.0, 0.5 + 4.0 + 8.0, 1.0 + 5.0, 2.0]));
    let along = [Attribute::Int("axis", 1), Attribute::Text("reduction", "add")];
    let (places, updates) = (array(&[1, 3], &[1.0, 1.0, 0.0]), array(&[1, 3], &[1.0, 2.0, 4.0]));
    let found = one("ScatterElements", &zeros, &[places, updates], &along);
    assert_eq!(found, array(&[3, 2], &[4.0, 3.0, 0.0, 0.5, 0.0, 0.0]));
    let none = array(&[0, 2], &[]);
    assert_eq!(one("ScatterElements", &zeros, &[none.clone(), none], &add), zeros);
}

#[test]
fn rows_are_added_to_the_rows_they_are_for() {
    let mut graph = Graph::default();
    let rows = graph.input_along("rows", Kind::Float, "rows", Some(2));
    let to = graph.input_along("to", Kind::Int64, "rows", Some(1));
    let sums = graph.floats(&[3, 2], &[0.0; 6]);
    let sums = graph.add_rows(&sums, &to, &rows, 2);
    graph.output_along("sums", &sums, Kind::Float, "sums", 2);
    let program = Program::read(&graph.write("test", &[])).unwrap();
    let run = |rows: Array, to: Array| program.run(&[("rows", rows), ("to", to)]);
    let found =
        run(array(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), array(&[3, 1], &[2.0, 0.0, 2.0])).unwrap();
    assert_eq!(found["sums"], array(&[3, 2], &[3.0, 4.0, 0.0, 0.0, 6.0, 8.0]));
    let found = run(array(&[0, 2], &[]), array(&[0, 1], &[])).unwrap();
    assert_eq!(found["sums"], array(&[3, 2], &[0.0; 6]));
    let error = run(array(&[1, 2], &[1.0, 2.0]), array(&[1, 1], &[3.0])).unwrap_err().to_string();
    assert!(error.contains("ScatterElements"), "{error}");
}

#[test]
fn tensors_are_expanded_to_sizes_that_fit_and_are_not_too_large() {
    let x = array(&[2, 1], &[1.0, 2.0]);
    assert_eq!(one("Expand", &x, &[array(&[2], &[1.0, 2.0])], &[]), array(&[2, 2], &[1.0, 1.0, 2.0, 2.0]));
    let attributes = crate::operators::Attributes::default();
    for sizes in [[3.0, 2.0], [2.0, 1e18], [1e10, 1e10]] {
        assert_eq!(crate::operators::apply("Expand", &[&x, &array(&[2], &sizes)], &attributes), None);
    }
}

#[test]
fn numbers_are_compared_and_columns_gathered_by_an_index_without_an_axis() {
    let mut graph = Graph::default();
    let ends = graph.input_along("ends", Kind::Int64, "edges", Some(2));
    let [first, second] = [0, 1].map(|column| {
        let column = graph.int(column);
        graph.node("Gather", &[&ends, &column], &[Attribute::Int("axis", 1)])
    });
    let same = graph.node("Equal", &[&first, &second], &[]);
    let same = graph.cast(&same, Kind::Float);
    graph.output("same", &same, Kind::Float, &[None]);
    let program = Program::read(&graph.write("test", &[])).unwrap();
    let found = program.run(&[("ends", array(&[3, 2], &[0.0, 1.0, 2.0, 2.0, 1.0, 0.0]))]).unwrap();
    assert_eq!(found["same"], array(&[3], &[0.0, 1.0, 0.0]));
}

#[test]
fn rows_are_normalised_by_their_own_deviation() {
    let x = array(&[1, 2], &[1.0, 3.0]);
    let (scale, offset) = (array(&[2], &[2.0, 2.0]), array(&[2], &[0.0, 1.0]));
    let found = one("LayerNormalization", &x, &[scale, offset], &[Attribute::Float("epsilon", 0.0)]);
    assert_eq!(found, array(&[1, 2], &[-2.0, 3.0]));
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let mut graph = Graph::default();
    let x = graph.input("x", Kind::Float, &[None, Some(2)]);
    let y = graph.linear(&x, &[1.0, 2.0, 3.0], &[0.0]);
    graph.output("y", &y, Kind::Float, &[None, Some(1)]);
    let program = Program::read(&graph.write("test", &[])).unwrap();
    let error = program.run(&[("x", array(&[1, 2], &[1.0, 2.0]))]).unwrap_err().to_string();
    assert!(error.contains("MatMul over shapes [[1, 2], [3, 1]]"), "{error}");
    let error = program.run(&[]).unwrap_err().to_string();
    assert!(error.contains("that nothing produces"), "{error}");
}

proptest! {
    #[test]
    fn damaged_bytes_are_refused_or_computed_but_never_a_panic(at in 0usize..400, flip in 1u8..=255, cut in any::<bool>()) {
        let mut graph = Graph::default();
        let x = graph.input("x", Kind::Float, &[None, Some(2)]);
        let y = graph.linear(&x, &[1.0, 2.0, 3.0, 4.0], &[0.5, 0.5]);
        let y = graph.node("Softmax", &[&y], &[Attribute::Int("axis", -1)]);
        graph.output("y", &y, Kind::Float, &[None, Some(2)]);
        let mut bytes = graph.write("test", &[]);
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        if let Ok(program) = Program::read(&bytes) {
            let _ = program.run(&[("x", array(&[1, 2], &[1.0, 2.0]))]);
        }
    }
}
