//! Fitted transforms exported to ONNX, step by step as `toprank_data::transform` does them.

use toprank_data::transform::{PerList, Pipeline, Step};
use toprank_onnx::{Attribute, Graph, Kind, Value};

/// Rows after the steps. Features with categories pass unchanged.
pub(super) fn export(pipeline: &Pipeline, categories: &[bool], graph: &mut Graph, rows: &Value) -> Value {
    let mut categories = categories.to_vec();
    let mut rows = rows.clone();
    for step in &pipeline.steps {
        if let Step::Missing { indicators, .. } = step {
            rows = with_indicators(graph, &rows, indicators);
            categories.resize(categories.len() + indicators.len(), false);
        }
        let after = one(step, &categories, graph, &rows);
        rows = keep_categories(graph, &categories, &rows, after);
    }
    rows
}

fn one(step: &Step, categories: &[bool], graph: &mut Graph, rows: &Value) -> Value {
    match step {
        Step::Log1p => {
            let x = graph.cast(rows, Kind::Double);
            let size = graph.node("Abs", &[&x], &[]);
            let one = graph.doubles(&[1], &[1.0]);
            let above = graph.node("Add", &[&size, &one], &[]);
            let log = graph.node("Log", &[&above], &[]);
            let sign = graph.node("Sign", &[&x], &[]);
            let y = graph.node("Mul", &[&sign, &log], &[]);
            graph.cast(&y, Kind::Float)
        }
        Step::Affine { shift, factor } => {
            let x = graph.cast(rows, Kind::Double);
            let (shift, factor) =
                (graph.doubles(&[shift.len()], shift), graph.doubles(&[factor.len()], factor));
            let moved = graph.node("Sub", &[&x, &shift], &[]);
            let y = graph.node("Mul", &[&moved, &factor], &[]);
            graph.cast(&y, Kind::Float)
        }
        Step::SmoothClip { bound } => {
            let x = graph.cast(rows, Kind::Double);
            let one = graph.doubles(&[1], &[1.0]);
            let least = graph.doubles(&[1], &[1.0 / (bound * bound)]);
            let square = graph.node("Mul", &[&x, &x], &[]);
            let inverse = graph.node("Div", &[&one, &square], &[]);
            let sum = graph.node("Add", &[&inverse, &least], &[]);
            let root = graph.node("Sqrt", &[&sum], &[]);
            let sign = graph.node("Sign", &[&x], &[]);
            let y = graph.node("Div", &[&sign, &root], &[]);
            graph.cast(&y, Kind::Float)
        }
        Step::Clip { low, high } => {
            // Not `Clip`: its bounds are single numbers.
            let (low, high) = (graph.floats(&[low.len()], low), graph.floats(&[high.len()], high));
            let below = graph.node("Less", &[rows, &low], &[]);
            let y = graph.node("Where", &[&below, &low, rows], &[]);
            let above = graph.node("Less", &[&high, &y], &[]);
            graph.node("Where", &[&above, &high, &y], &[])
        }
        Step::PerList { kind } => per_list(*kind, graph, rows),
        Step::Missing { fill: None, .. } => rows.clone(),
        Step::Missing { fill: Some(fill), .. } => {
            // Columns behind the fitted ones are indicators, never missing.
            let mut fill = fill.clone();
            fill.resize(categories.len(), 0.0);
            let fill = graph.floats(&[fill.len()], &fill);
            let missing = graph.node("IsNaN", &[rows], &[]);
            graph.node("Where", &[&missing, &fill, rows], &[])
        }
    }
}

/// A column of 0 and 1 for each of these features, behind those there are.
fn with_indicators(graph: &mut Graph, rows: &Value, of: &[u32]) -> Value {
    if of.is_empty() {
        return rows.clone();
    }
    let places: Vec<i64> = of.iter().map(|&feature| i64::from(feature)).collect();
    let places = graph.ints(&places);
    let values = graph.node("Gather", &[rows, &places], &[Attribute::Int("axis", 1)]);
    let missing = graph.node("IsNaN", &[&values], &[]);
    let indicators = graph.cast(&missing, Kind::Float);
    graph.node("Concat", &[rows, &indicators], &[Attribute::Int("axis", 1)])
}

/// Features with categories as they were before a step.
fn keep_categories(graph: &mut Graph, categories: &[bool], before: &Value, after: Value) -> Value {
    if !categories.contains(&true) || *before == after {
        return after;
    }
    let plain: Vec<f32> = categories.iter().map(|&is| if is { 0.0 } else { 1.0 }).collect();
    let (plain, half) = (graph.floats(&[plain.len()], &plain), graph.floats(&[1], &[0.5]));
    let held = graph.node("Less", &[&plain, &half], &[]);
    graph.node("Where", &[&held, before, &after], &[])
}

/// (x − shift) / spread by the finite values of every column; where all are equal they become 0, where there is none
/// nothing changes.
fn per_list(kind: PerList, graph: &mut Graph, rows: &Value) -> Value {
    let x = graph.cast(rows, Kind::Double);
    let items = graph.ints(&[0]);
    let [zero, one, infinite, least] =
        [0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY].map(|value| graph.doubles(&[1], &[value]));
    let size = graph.node("Abs", &[&x], &[]);
    let finite = graph.node("Less", &[&size, &infinite], &[]);
    let among = |graph: &mut Graph, operator: &str, values: &Value, otherwise: &Value| {
        let values = graph.node("Where", &[&finite, values, otherwise], &[]);
        graph.node(operator, &[&values, &items], &[Attribute::Int("keepdims", 1)])
    };
    let min = among(graph, "ReduceMin", &x, &infinite);
    let max = among(graph, "ReduceMax", &x, &least);
    let (shift, spread) = match kind {
        PerList::Minmax => (min.clone(), graph.node("Sub", &[&max, &min], &[])),
        PerList::Zscore => {
            let ones = graph.cast(&finite, Kind::Double);
            let count = graph.node("ReduceSum", &[&ones, &items], &[Attribute::Int("keepdims", 1)]);
            let sum = among(graph, "ReduceSum", &x, &zero);
            let mean = graph.node("Div", &[&sum, &count], &[]);
            let away = graph.node("Sub", &[&x, &mean], &[]);
            let squares = graph.node("Mul", &[&away, &away], &[]);
            let sum = among(graph, "ReduceSum", &squares, &zero);
            let variance = graph.node("Div", &[&sum, &count], &[]);
            (mean, graph.node("Sqrt", &[&variance], &[]))
        }
    };
    let differ = graph.node("Less", &[&min, &max], &[]);
    let shift = graph.node("Where", &[&differ, &shift, &min], &[]);
    let spread = graph.node("Where", &[&differ, &spread, &one], &[]);
    let moved = graph.node("Sub", &[&x, &shift], &[]);
    let y = graph.node("Div", &[&moved, &spread], &[]);
    let none = graph.node("Less", &[&max, &min], &[]);
    let y = graph.node("Where", &[&none, &x, &y], &[]);
    graph.cast(&y, Kind::Float)
}
