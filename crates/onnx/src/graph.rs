//! A computation under construction.

use crate::protobuf::Message;

/// Version of the operators of `ai.onnx` that are written; the first with all of them is 20 (`Gelu`).
const OPERATORS: u64 = 21;
/// Version of the file format that goes with them.
const FORMAT: u64 = 10;

/// Kinds of numbers, by `TensorProto.DataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// f32.
    Float = 1,
    /// i64.
    Whole = 7,
    /// f64.
    Double = 11,
}

/// A tensor of the graph: an input, a constant, or what an operator gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(String);

/// What an operator is told besides its inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attribute<'a> {
    /// A whole number.
    Whole(&'a str, i64),
    /// A number in single precision.
    Float(&'a str, f32),
    /// Whole numbers.
    Wholes(&'a str, &'a [i64]),
}

impl Attribute<'_> {
    fn message(&self) -> Message {
        // `AttributeProto`: name 1, f 2, i 3, ints 8, type 20 (FLOAT 1, INT 2, INTS 7).
        match *self {
            Attribute::Whole(name, value) => {
                Message::new().text(1, name).number(3, value as u64).number(20, 2)
            }
            Attribute::Float(name, value) => Message::new().text(1, name).float(2, value).number(20, 1),
            Attribute::Wholes(name, values) => {
                let named = Message::new().text(1, name);
                values.iter().fold(named, |message, &value| message.number(8, value as u64)).number(20, 7)
            }
        }
    }
}

/// A computation under construction: operators in the order in which they are added.
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

    /// Something that is given at every run. A size that is `None` may be any.
    pub fn input(&mut self, name: &str, kind: Kind, sizes: &[Option<usize>]) -> Value {
        self.inputs.push(described(name, kind, sizes));
        Value(name.into())
    }

    /// A tensor of single precision that belongs to the model.
    ///
    /// # Panics
    /// If there are more or fewer values than the sizes say.
    pub fn floats(&mut self, sizes: &[usize], values: &[f32]) -> Value {
        self.constant(
            Kind::Float,
            sizes,
            &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
        )
    }

    /// The same in double precision.
    ///
    /// # Panics
    /// If there are more or fewer values than the sizes say.
    pub fn doubles(&mut self, sizes: &[usize], values: &[f64]) -> Value {
        self.constant(
            Kind::Double,
            sizes,
            &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>(),
        )
    }

    /// Whole numbers, as shapes and places are.
    pub fn wholes(&mut self, values: &[i64]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(Kind::Whole, &[values.len()], &bytes)
    }

    fn constant(&mut self, kind: Kind, sizes: &[usize], bytes: &[u8]) -> Value {
        let each = if kind == Kind::Float { 4 } else { 8 };
        assert_eq!(sizes.iter().product::<usize>() * each, bytes.len(), "as many values as the sizes say");
        let value = self.name();
        // `TensorProto`: dims 1, data_type 2, name 8, raw_data 9.
        let sized = sizes.iter().fold(Message::new(), |message, &size| message.number(1, size as u64));
        self.constants.push(sized.number(2, kind as u64).text(8, &value.0).bytes(9, bytes));
        value
    }

    /// What an operator of `ai.onnx` makes of its inputs.
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

    /// The same numbers as another kind.
    pub fn cast(&mut self, value: &Value, kind: Kind) -> Value {
        self.node("Cast", &[value], &[Attribute::Whole("to", kind as i64)])
    }

    /// `x W + b`: rows through a layer of weighted sums. `weight` holds `inputs × outputs` numbers, row after row.
    ///
    /// # Panics
    /// If `weight` is no whole number of rows of the length of `offset`.
    pub fn weighted_sums(&mut self, x: &Value, weight: &[f32], offset: &[f32]) -> Value {
        let sums = self.matrix(x, weight, offset.len());
        let offset = self.floats(&[offset.len()], offset);
        self.node("Add", &[&sums, &offset], &[])
    }

    /// `x W`.
    ///
    /// # Panics
    /// If `weight` is no whole number of rows of `outputs` numbers.
    pub fn matrix(&mut self, x: &Value, weight: &[f32], outputs: usize) -> Value {
        let weight = self.floats(&[weight.len() / outputs, outputs], weight);
        self.node("MatMul", &[x, &weight], &[])
    }

    /// The rows `ids` of a table whose rows hold `width` numbers.
    ///
    /// # Panics
    /// If `table` is no whole number of rows.
    pub fn rows_of(&mut self, table: &[f32], width: usize, ids: &Value) -> Value {
        let table = self.floats(&[table.len() / width, width], table);
        self.node("Gather", &[&table, ids], &[Attribute::Whole("axis", 0)])
    }

    /// Says that a value is a result.
    pub fn output(&mut self, name: &str, value: &Value, kind: Kind, sizes: &[Option<usize>]) {
        self.push("Identity", &[value], name, &[]);
        self.outputs.push(described(name, kind, sizes));
    }

    /// The file. `notes` are kept with the model as texts by name.
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

/// A `ValueInfoProto`: name, kind of number and sizes.
pub fn described(name: &str, kind: Kind, sizes: &[Option<usize>]) -> Message {
    let shape = sizes.iter().fold(Message::new(), |shape, size| {
        shape.message(
            1,
            &match size {
                Some(size) => Message::new().number(1, *size as u64),
                None => Message::new().text(2, "rows"),
            },
        )
    });
    let tensor = Message::new().number(1, kind as u64).message(2, &shape);
    Message::new().text(1, name).message(2, &Message::new().message(1, &tensor))
}
