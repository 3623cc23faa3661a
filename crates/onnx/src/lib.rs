/*!
**How is a computation said to other runtimes?** In ONNX: a graph of named operators over tensors.

```text
Graph ── input, constant, node, output ──▶ bytes ──▶ onnxruntime and others
                                             └─────▶ Program: the same bytes, read back and computed plainly in f64
```

A model of any room says itself to a [`Graph`], operator by operator. What was written is proved by [`Program`], which knows
nothing of the model: it reads the bytes and does what the text of each operator's definition says. Only the operators that
our models use are known.

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

The few messages are written by hand ([`protobuf`], field numbers from `onnx.proto`): a crate for them would bring a code
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
