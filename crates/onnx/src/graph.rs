//! An ONNX graph under construction.

use crate::protobuf::Message;

/// Version of the operator set `ai.onnx`; the first one with all operators that are used is 20 (`Gelu`).
const OPERATORS: u64 = 21;
/// The corresponding version of the file format (`ir_version`).
const FORMAT: u64 = 10;

/// Number types, by `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// f32.
    Float = 1,
    /// i64.
    Int64 = 7,
    /// f64.
    Double = 11,
}

/// A tensor of the graph: an input, a constant, or the output of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(String);

/// An attribute of an operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attribute<'a> {
    /// An integer.
    Int(&'a str, i64),
    /// A float in single precision.
    Float(&'a str, f32),
    /// Integers.
    Ints(&'a str, &'a [i64]),
    /// A string.
    Text(&'a str, &'a str),
}

impl Attribute<'_> {
    fn message(&self) -> Message {
        // `AttributeProto`: name 1, f 2, i 3, s 4, ints 8, type 20 (FLOAT 1, INT 2, STRING 3, INTS 7).
        match *self {
            Attribute::Int(name, value) => Message::new().text(1, name).number(3, value as u64).number(20, 2),
            Attribute::Float(name, value) => Message::new().text(1, name).float(2, value).number(20, 1),
            Attribute::Ints(name, values) => {
                let named = Message::new().text(1, name);
                values.iter().fold(named, |message, &value| message.number(8, value as u64)).number(20, 7)
            }
            Attribute::Text(name, text) => Message::new().text(1, name).text(4, text).number(20, 3),
        }
    }
}

/// An ONNX graph under construction: operators in the order in which they are added.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    named: usize,
}

impl Graph {
    fn name(&mut self) -> Value {
        self.named += 1;
        Value(format!("v{}", self.named))
    }

    /// An input of the graph. A size of `None` is dynamic.
    pub fn input(&mut self, name: &str, kind: Kind, sizes: &[Option<usize>]) -> Value {
        self.inputs.push(described(name, kind, sizes));
        Value(name.into())
    }

    /// An input whose first axis has the dynamic size `count`: inputs and outputs that name the same count have the same size.
    /// `width`: the size of a second axis.
    pub fn input_along(&mut self, name: &str, kind: Kind, count: &str, width: Option<usize>) -> Value {
        self.inputs.push(described_along(name, kind, count, width));
        Value(name.into())
    }

    /// A constant tensor in single precision.
    ///
    /// # Panics
    /// If the number of values is not the product of the sizes.
    pub fn floats(&mut self, sizes: &[usize], values: &[f32]) -> Value {
        self.constant(
            Kind::Float,
            sizes,
            &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
        )
    }

    /// A constant tensor in double precision.
    ///
    /// # Panics
    /// If the number of values is not the product of the sizes.
    pub fn doubles(&mut self, sizes: &[usize], values: &[f64]) -> Value {
        self.constant(
            Kind::Double,
            sizes,
            &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
        )
    }

    /// A constant vector of integers, for shapes and indices.
    pub fn ints(&mut self, values: &[i64]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(Kind::Int64, &[values.len()], &bytes)
    }

    /// A constant integer without an axis.
    pub fn int(&mut self, value: i64) -> Value {
        self.constant(Kind::Int64, &[], &value.to_le_bytes())
    }

    fn constant(&mut self, kind: Kind, sizes: &[usize], bytes: &[u8]) -> Value {
        let each = if kind == Kind::Float { 4 } else { 8 };
        assert_eq!(
            sizes.iter().product::<usize>() * each,
            bytes.len(),
            "one value per position of the shape"
        );
        let value = self.name();
        // `TensorProto`: dims 1, data_type 2, name 8, raw_data 9.
        let sized = sizes.iter().fold(Message::new(), |message, &size| message.number(1, size as u64));
        self.constants.push(sized.number(2, kind as u64).text(8, &value.0).bytes(9, bytes));
        value
    }

    /// The output of an operator of `ai.onnx`.
    pub fn node(&mut self, operator: &str, inputs: &[&Value], attributes: &[Attribute]) -> Value {
        let value = self.name();
        self.push(operator, inputs, &value.0, attributes);
        value
    }

    fn push(&mut self, operator: &str, inputs: &[&Value], output: &str, attributes: &[Attribute]) {
        // `NodeProto`: input 1, output 2, op_type 4, attribute 5.
        let node = inputs.iter().fold(Message::new(), |message, input| message.text(1, &input.0));
        let node = node.text(2, output).text(4, operator);
        let node =
            attributes.iter().fold(node, |message, attribute| message.message(5, &attribute.message()));
        self.nodes.push(node);
    }

    /// The same numbers as another type.
    pub fn cast(&mut self, value: &Value, kind: Kind) -> Value {
        self.node("Cast", &[value], &[Attribute::Int("to", kind as i64)])
    }

    /// A linear layer `x W + b`. `weight` holds `inputs × outputs` numbers, row by row.
    ///
    /// # Panics
    /// If the length of `weight` is not a multiple of that of `offset`.
    pub fn linear(&mut self, x: &Value, weight: &[f32], offset: &[f32]) -> Value {
        let sums = self.matrix(x, weight, offset.len());
        let offset = self.floats(&[offset.len()], offset);
        self.node("Add", &[&sums, &offset], &[])
    }

    /// `x W`.
    ///
    /// # Panics
    /// If the length of `weight` is not a multiple of `outputs`.
    pub fn matrix(&mut self, x: &Value, weight: &[f32], outputs: usize) -> Value {
        let weight = self.floats(&[weight.len() / outputs, outputs], weight);
        self.node("MatMul", &[x, &weight], &[])
    }

    /// The rows `ids` of a table whose rows hold `width` numbers.
    ///
    /// # Panics
    /// If the length of `table` is not a multiple of `width`.
    pub fn rows_of(&mut self, table: &[f32], width: usize, ids: &Value) -> Value {
        let table = self.floats(&[table.len() / width, width], table);
        self.node("Gather", &[&table, ids], &[Attribute::Int("axis", 0)])
    }

    /// Adds each row of `rows`, which hold `width` numbers, to the row of `sums` whose number is in `to`: int64[rows, 1].
    pub fn add_rows(&mut self, sums: &Value, to: &Value, rows: &Value, width: usize) -> Value {
        // Not `ScatterND`, which needs no `Expand`: onnxruntime (1.31.1 too) adds its rows on several threads without a lock and loses
        // some where several rows go to the same place (https://github.com/microsoft/onnxruntime/issues/18048).
        let sizes = self.ints(&[1, width as i64]);
        let to = self.node("Expand", &[to, &sizes], &[]);
        let attributes = [Attribute::Int("axis", 0), Attribute::Text("reduction", "add")];
        self.node("ScatterElements", &[sums, &to, rows], &attributes)
    }

    /// Declares a value as an output of the graph.
    pub fn output(&mut self, name: &str, value: &Value, kind: Kind, sizes: &[Option<usize>]) {
        self.push("Identity", &[value], name, &[]);
        self.outputs.push(described(name, kind, sizes));
    }

    /// The same with the dynamic size `count` of its first axis, as in [`Graph::input_along`].
    pub fn output_along(&mut self, name: &str, value: &Value, kind: Kind, count: &str, width: usize) {
        self.push("Identity", &[value], name, &[]);
        self.outputs.push(described_along(name, kind, count, Some(width)));
    }

    /// The bytes of the ONNX file. `notes` are stored as metadata of the model.
    pub fn write(self, name: &str, notes: &[(&str, &str)]) -> Vec<u8> {
        // `GraphProto`: node 1, name 2, initializer 5, input 11, output 12.
        let mut graph = Message::new();
        for (field, messages) in [(1, self.nodes), (5, self.constants), (11, self.inputs), (12, self.outputs)]
        {
            graph = messages.iter().fold(graph, |graph, message| graph.message(field, message));
        }
        model(&graph.text(2, name), &[("", OPERATORS)], notes)
    }
}

/// A `ModelProto` around a `GraphProto`, with the versions of the operator sets it uses.
pub fn model(graph: &Message, operators: &[(&str, u64)], notes: &[(&str, &str)]) -> Vec<u8> {
    // `ModelProto`: ir_version 1, producer_name 2, graph 7, opset_import 8, metadata_props 14.
    let mut model = Message::new().number(1, FORMAT).text(2, "toprank").message(7, graph);
    for (domain, version) in operators {
        model = model.message(8, &Message::new().text(1, domain).number(2, *version));
    }
    for (name, text) in notes {
        model = model.message(14, &Message::new().text(1, name).text(2, text));
    }
    model.into_bytes()
}

/// A `ValueInfoProto`: name, number type and sizes.
pub fn described(name: &str, kind: Kind, sizes: &[Option<usize>]) -> Message {
    value_info(name, kind, sizes.iter().map(|size| size.ok_or("rows")))
}

fn described_along(name: &str, kind: Kind, count: &str, width: Option<usize>) -> Message {
    value_info(name, kind, std::iter::once(Err(count)).chain(width.map(Ok)))
}

/// Sizes are known, or have a name: runtimes take sizes of the same name for equal.
fn value_info<'a>(name: &str, kind: Kind, sizes: impl Iterator<Item = Result<usize, &'a str>>) -> Message {
    let shape = sizes.fold(Message::new(), |shape, size| {
        shape.message(
            1,
            &match size {
                Ok(size) => Message::new().number(1, size as u64),
                Err(name) => Message::new().text(2, name),
            },
        )
    });
    let tensor = Message::new().number(1, kind as u64).message(2, &shape);
    Message::new().text(1, name).message(2, &Message::new().message(1, &tensor))
}
