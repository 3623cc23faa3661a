/*!
Attacks on model files and checkpoints behind their checksum: the content is wrong, the checksum is right.

A checksum finds damage, not malice: whoever can write a file can sign it. So a loader must survive every file here: it returns an
error or some model, it neither panics nor takes memory that the file's length does not explain.

The container is written down here a second time, as a plain reference implementation: a safetensors file whose metadata key
`toprank` holds `{"kind", "format", "checksum", "header"}`.
*/

use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::Xxh3;

/// A model file or checkpoint, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFile {
    /// What it is: `model`, `recommender`, `checkpoint` …
    pub kind: String,
    /// The version of the layout.
    pub format: u64,
    /// What it says about itself.
    pub header: Value,
    /// Its arrays.
    pub tensors: Vec<StoredTensor>,
}

/// One array of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTensor {
    /// Its name.
    pub name: String,
    /// Its type, as safetensors call it: `F32`, `F64`, `U8`.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Its numbers.
    pub bytes: Vec<u8>,
}

impl StoredFile {
    /// Takes a file apart.
    ///
    /// # Panics
    /// If it is not one: the files of tests are.
    pub fn parse(bytes: &[u8]) -> StoredFile {
        let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        let (head, data) = bytes[8..].split_at(length);
        let head: Map<String, Value> = serde_json::from_slice(head).expect("a head");
        let envelope = head["__metadata__"]["toprank"].as_str().expect("an envelope");
        let envelope: Value = serde_json::from_str(envelope).expect("an envelope");
        let text = |value: &Value| value.as_str().expect("a string").to_string();
        let numbers = |value: &Value| -> Vec<u64> {
            value.as_array().expect("numbers").iter().map(|n| n.as_u64().expect("an integer")).collect()
        };
        let tensor = |(name, info): (&String, &Value)| {
            let place = numbers(&info["data_offsets"]);
            StoredTensor {
                name: name.clone(),
                dtype: text(&info["dtype"]),
                shape: numbers(&info["shape"]),
                bytes: data[place[0] as usize..place[1] as usize].to_vec(),
            }
        };
        StoredFile {
            kind: text(&envelope["kind"]),
            format: envelope["format"].as_u64().expect("a version"),
            header: serde_json::from_str(envelope["header"].as_str().expect("a header")).expect("a header"),
            tensors: head.iter().filter(|(name, _)| *name != "__metadata__").map(tensor).collect(),
        }
    }

    /// The file, with a checksum that is right.
    pub fn signed(&self) -> Vec<u8> {
        let header = self.header.to_string();
        let mut sum = Xxh3::new();
        let mut add = |bytes: &[u8]| {
            sum.update(&(bytes.len() as u64).to_le_bytes());
            sum.update(bytes);
        };
        add(self.kind.as_bytes());
        add(header.as_bytes());
        let mut tensors: Vec<&StoredTensor> = self.tensors.iter().collect();
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        for tensor in &tensors {
            add(tensor.name.as_bytes());
            add(format!("{}{:?}", tensor.dtype, tensor.shape).as_bytes());
            add(&tensor.bytes);
        }
        let checksum = format!("{:016x}", sum.digest());
        let envelope =
            json!({"kind": self.kind, "format": self.format, "checksum": checksum, "header": header});
        let mut head =
            Map::from_iter([("__metadata__".to_string(), json!({"toprank": envelope.to_string()}))]);
        // The widest first, so that all are aligned.
        tensors.sort_by_key(|tensor| {
            ["F64", "F32", "I32", "U8"].iter().position(|dtype| *dtype == tensor.dtype)
        });
        let mut data = Vec::new();
        for tensor in tensors {
            let start = data.len();
            data.extend_from_slice(&tensor.bytes);
            let info =
                json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [start, data.len()]});
            head.insert(tensor.name.clone(), info);
        }
        let mut head = Value::Object(head).to_string().into_bytes();
        head.resize(head.len().next_multiple_of(8), b' ');
        [&(head.len() as u64).to_le_bytes()[..], &head, &data].concat()
    }

    /// Every attack on it: what was done, and the signed file.
    pub fn attacks(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        let mut paths = Vec::new();
        leaves(&self.header, &mut Vec::new(), &mut paths);
        for path in paths {
            let Some(old) = get(&self.header, &path).cloned() else { continue };
            for new in wrong_values(&old) {
                let mut file = self.clone();
                set(&mut file.header, &path, new.as_ref());
                let said = new.map_or("nothing".to_string(), |new| new.to_string());
                let said: String = said.chars().take(60).collect();
                all.push((format!("{} is {said}", path.join(".")), file.signed()));
            }
        }
        for (at, tensor) in self.tensors.iter().enumerate() {
            let mut file = self.clone();
            file.tensors.remove(at);
            all.push((format!("{} is not there", tensor.name), file.signed()));
            for (what, other) in tensor.wrong() {
                let mut file = self.clone();
                file.tensors[at] = other;
                all.push((format!("{} {what}", tensor.name), file.signed()));
            }
            for (other, theirs) in self.tensors.iter().enumerate().skip(at + 1) {
                if theirs.dtype != tensor.dtype {
                    continue;
                }
                let mut file = self.clone();
                file.tensors[at] = StoredTensor { name: tensor.name.clone(), ..theirs.clone() };
                file.tensors[other] = StoredTensor { name: theirs.name.clone(), ..tensor.clone() };
                all.push((format!("{} and {} exchanged", tensor.name, theirs.name), file.signed()));
            }
        }
        all
    }
}

impl StoredTensor {
    fn size(&self) -> usize {
        match self.dtype.as_str() {
            "F64" => 8,
            "F32" | "I32" => 4,
            _ => 1,
        }
    }

    /// The same tensor with other content, its shape in agreement with its bytes.
    fn wrong(&self) -> Vec<(&'static str, StoredTensor)> {
        let size = self.size();
        let flat =
            |bytes: Vec<u8>| StoredTensor { shape: vec![(bytes.len() / size) as u64], bytes, ..self.clone() };
        let mut all = vec![
            ("emptied", flat(Vec::new())),
            ("without its last number", flat(self.bytes[..self.bytes.len().saturating_sub(size)].to_vec())),
            ("without its first half", flat(self.bytes[self.bytes.len() / size / 2 * size..].to_vec())),
            ("twice", flat([&self.bytes[..], &self.bytes].concat())),
            ("with one number more", flat([&self.bytes[..], &vec![0; size]].concat())),
            ("flat", flat(self.bytes.clone())),
            ("turned", StoredTensor { shape: self.shape.iter().rev().copied().collect(), ..self.clone() }),
            ("all zero", StoredTensor { bytes: vec![0; self.bytes.len()], ..self.clone() }),
            ("all bits set", StoredTensor { bytes: vec![0xff; self.bytes.len()], ..self.clone() }),
        ];
        let other = if size == 1 { "F32" } else { "U8" };
        let width = if size == 1 { 4 } else { 1 };
        if self.bytes.len().is_multiple_of(width) {
            let shape = vec![(self.bytes.len() / width) as u64];
            all.push(("of another type", StoredTensor { dtype: other.into(), shape, ..self.clone() }));
        }
        for (what, number) in [
            ("begins with −1", -1.0),
            ("begins with 1", 1.0),
            ("begins with 0.5", 0.5),
            ("begins with 2³²", 4_294_967_296.0),
            ("begins with 2⁶³", 9.223_372_036_854_776e18),
            ("begins with the largest number", f64::MAX),
            ("begins with infinity", f64::INFINITY),
        ] {
            let first = match size {
                8 => number.to_le_bytes().to_vec(),
                4 => (number as f32).to_le_bytes().to_vec(),
                // Bytes hold integers of 4 or 8 bytes, or a layout of their own.
                _ => (number as i64).to_le_bytes().to_vec(),
            };
            for (what, at) in [(what, 0), ("ends so", self.bytes.len().saturating_sub(first.len()))] {
                let mut bytes = self.bytes.clone();
                if let Some(place) = bytes.get_mut(at..at + first.len()) {
                    place.copy_from_slice(&first);
                    all.push((what, StoredTensor { bytes, ..self.clone() }));
                }
            }
        }
        all.retain(|(_, other)| other != self);
        all
    }
}

/// The places of all values of a header, the containers among them.
fn leaves(value: &Value, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    if !path.is_empty() {
        all.push(path.clone());
    }
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        // The first and the last stand for all.
        Value::Array(values) => {
            let ends = [0, values.len().saturating_sub(1)];
            let ends = &ends[..values.len().min(2)];
            ends.iter().map(|&at| (at.to_string(), &values[at])).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in inner {
        path.push(key);
        leaves(value, path, all);
        path.pop();
    }
}

fn get<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Array(values) => values.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    })
}

/// Replaces a value, or removes it.
fn set(value: &mut Value, path: &[String], new: Option<&Value>) {
    let Some((key, rest)) = path.split_first() else { return };
    match value {
        Value::Array(values) => {
            let Some(at) = key.parse::<usize>().ok().filter(|at| *at < values.len()) else { return };
            match (rest.is_empty(), new) {
                (false, _) => set(&mut values[at], rest, new),
                (true, Some(new)) => values[at] = new.clone(),
                (true, None) => drop(values.remove(at)),
            }
        }
        Value::Object(map) => match (rest.is_empty(), new) {
            (false, _) => {
                if let Some(value) = map.get_mut(key) {
                    set(value, rest, new);
                }
            }
            (true, Some(new)) => drop(map.insert(key.clone(), new.clone())),
            (true, None) => drop(map.remove(key)),
        },
        _ => {}
    }
}

/// What stands for a value instead; `None`: nothing.
fn wrong_values(old: &Value) -> Vec<Option<Value>> {
    let mut all = vec![None, Some(Value::Null)];
    match old {
        Value::Number(_) => all.extend(
            [
                json!(0),
                json!(1),
                json!(2),
                json!(-1),
                json!(0.5),
                json!(100_000),
                json!(4_294_967_295_u64),
                json!(4_294_967_296_u64),
                json!(9_223_372_036_854_775_808_u64),
                json!(u64::MAX),
                json!(1e300),
            ]
            .map(Some),
        ),
        Value::String(text) => {
            all.extend([json!(""), json!("x"), json!(format!("{text}:x=1"))].map(Some));
            // Numbers in specs such as `mlp:hidden=8-4`.
            if text.contains(|c: char| c.is_ascii_digit()) {
                for digits in ["0", "1", "65536", "4294967296", "9223372036854775808"] {
                    let mut changed = String::new();
                    let mut inside = false;
                    for c in text.chars() {
                        if c.is_ascii_digit() {
                            if !inside {
                                changed += digits;
                            }
                            inside = true;
                        } else {
                            inside = false;
                            changed.push(c);
                        }
                    }
                    all.push(Some(json!(changed)));
                }
            }
        }
        Value::Array(values) => {
            let mut longer = values.clone();
            longer.extend_from_within(..);
            all.extend([json!([]), json!(longer), json!(values.get(1..))].map(Some));
        }
        Value::Bool(old) => all.push(Some(json!(!old))),
        Value::Object(_) => all.push(Some(json!({}))),
        Value::Null => all.extend([json!(0), json!([1, 0.5]), json!("x")].map(Some)),
    }
    all.retain(|new| new.as_ref() != Some(old));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_file_comes_apart_again_and_every_attack_changes_it() {
        let tensor = |name: &str, dtype: &str, shape: &[u64], bytes: Vec<u8>| StoredTensor {
            name: name.into(),
            dtype: dtype.into(),
            shape: shape.to_vec(),
            bytes,
        };
        let file = StoredFile {
            kind: "model".into(),
            format: 3,
            header: json!({"a": {"b": [1, 2, 3]}, "model": "mlp:hidden=8-4", "n": 1.5}),
            tensors: vec![
                tensor("a", "F32", &[2, 1], vec![1, 2, 3, 4, 5, 6, 7, 8]),
                tensor("b", "U8", &[3], vec![7, 8, 9]),
                tensor("c", "F32", &[1], vec![1, 0, 0, 0]),
            ],
        };
        let bytes = file.signed();
        let again = StoredFile::parse(&bytes);
        assert_eq!((again.signed() == bytes, &again.header), (true, &file.header));
        let attacks = file.attacks();
        assert!(attacks.len() > 100, "{}", attacks.len());
        for (name, attacked) in attacks {
            assert_ne!(attacked, bytes, "{name}");
            StoredFile::parse(&attacked);
        }
    }
}
