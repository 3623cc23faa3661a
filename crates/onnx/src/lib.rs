/*!
**How is a model exported to ONNX?** As a graph of named operators over tensors.

```text
Graph ── input, constant, node, output ──▶ bytes ──▶ onnxruntime and others
                                             └─────▶ Program: the same bytes, read back and evaluated in f64
```

Each model appends its operators to a [`Graph`]. The exported file is verified by [`Program`], a reference interpreter that knows
nothing of the model: it reads the bytes and evaluates each operator by the definition in the ONNX standard. It knows only the
operators that our models use.

```
use toprank_onnx::{Array, Graph, Kind, Program};
let mut graph = Graph::default();
let x = graph.input("features", Kind::Float, &[None, Some(2)]);
let weights = graph.floats(&[2, 1], &[0.5, -1.0]);
let scores = graph.node("MatMul", &[&x, &weights], &[]);
graph.output("scores", &scores, Kind::Float, &[None, Some(1)]);
let bytes = graph.write("two weights", &[]);

let program = Program::read(&bytes).unwrap();
let rows = Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]);
let found = program.run(&[("features", rows)]).unwrap();
assert_eq!(found["scores"], Array::new(&[2, 1], vec![-1.5, -2.5]));
```

The few protobuf messages are encoded by hand ([`protobuf`], field numbers from `onnx.proto`), since a crate would add a code
generator for a dozen fields.
*/

mod array;
mod graph;
mod operators;
mod program;
pub mod protobuf;
#[cfg(test)]
mod tests;

pub use array::Array;
pub use graph::{Attribute, Graph, Kind, Value, described, model};
pub use program::Program;
