/*!
The file that models and checkpoints are kept in: one safetensors file, its header in the metadata, a checksum over
everything, written whole or not at all.

Any safetensors reader opens it and finds the tensors under their names; the metadata key `toprank` holds
`{"kind", "format", "checksum", "header"}` as JSON. Nothing in it depends on time, machine or threads.
*/

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toprank_data::{ReadError, sink};
use toprank_embeddings::Table;
use toprank_objectives::State;
use xxhash_rust::xxh3::Xxh3;

use crate::error::TrainError;

/// The layout that this version writes and reads.
pub const FORMAT: u32 = 3;
const KEY: &str = "toprank";
/// How every file of ours begins behind eight bytes of length.
const START: &str = "{\"__metadata__\":{\"toprank\":";

/// A named array to be written.
pub struct Tensor<'a> {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub values: Values<'a>,
}

/// Numbers of one of the types that are kept.
#[derive(Clone)]
pub enum Values<'a> {
    /// Parameters and what belongs to them.
    F32(Cow<'a, [f32]>),
    /// Scores.
    F64(Cow<'a, [f64]>),
    /// Bytes with a layout of their own.
    Bytes(Cow<'a, [u8]>),
}

macro_rules! values_from {
    ($($variant:ident: $type:ty),*) => {$(
        impl<'a> From<&'a [$type]> for Values<'a> {
            fn from(values: &'a [$type]) -> Values<'a> {
                Values::$variant(Cow::Borrowed(values))
            }
        }

        impl<'a> From<&'a Vec<$type>> for Values<'a> {
            fn from(values: &'a Vec<$type>) -> Values<'a> {
                Values::$variant(Cow::Borrowed(values))
            }
        }

        impl From<Vec<$type>> for Values<'_> {
            fn from(values: Vec<$type>) -> Self {
                Values::$variant(Cow::Owned(values))
            }
        }
    )*};
}
values_from!(F32: f32, F64: f64, Bytes: u8);

impl<'a> Tensor<'a> {
    /// A tensor of one axis.
    pub fn flat(name: impl Into<String>, values: impl Into<Values<'a>>) -> Tensor<'a> {
        let values = values.into();
        let length = match &values {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Bytes(values) => values.len(),
        };
        Tensor { name: name.into(), shape: vec![length], values }
    }

    /// A tensor of this shape.
    pub fn shaped(name: impl Into<String>, shape: Vec<usize>, values: impl Into<Values<'a>>) -> Tensor<'a> {
        Tensor { name: name.into(), shape, values: values.into() }
    }

    /// Its bytes, some at a time: tables may be larger than what is left of memory.
    pub(crate) fn each_part<E>(&self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut part = Vec::with_capacity(8 * AT_ONCE);
        match &self.values {
            Values::F32(values) => values.chunks(AT_ONCE).try_for_each(|values| {
                part.clear();
                part.extend(values.iter().flat_map(|v| v.to_le_bytes()));
                take(&part)
            }),
            Values::F64(values) => values.chunks(AT_ONCE).try_for_each(|values| {
                part.clear();
                part.extend(values.iter().flat_map(|v| v.to_le_bytes()));
                take(&part)
            }),
            Values::Bytes(values) => take(values),
        }
    }

    fn dtype(&self) -> Dtype {
        match self.values {
            Values::F32(_) => Dtype::F32,
            Values::F64(_) => Dtype::F64,
            Values::Bytes(_) => Dtype::U8,
        }
    }

    fn length(&self) -> usize {
        match &self.values {
            Values::F32(values) => 4 * values.len(),
            Values::F64(values) => 8 * values.len(),
            Values::Bytes(values) => values.len(),
        }
    }
}

/// Numbers that are converted to bytes together.
const AT_ONCE: usize = 1 << 13;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope {
    kind: String,
    format: u32,
    checksum: String,
    header: String,
}

/// Writes a file; the old one stays until the new one is whole.
pub fn save(path: &Path, kind: &str, header: &impl Serialize, tensors: &[Tensor]) -> Result<(), TrainError> {
    let file = path.display().to_string();
    let header = serde_json::to_string(header).map_err(|error| TrainError::Format {
        file: file.clone(),
        found: error.to_string(),
        expected: "a header that JSON can hold".into(),
    })?;
    let mut sum = Sum::new(kind, &header);
    let mut by_name: Vec<&Tensor> = tensors.iter().collect();
    by_name.sort_by(|a, b| a.name.cmp(&b.name));
    for tensor in by_name {
        sum.start(&tensor.name, tensor.dtype(), &tensor.shape, tensor.length());
        let Ok(()) = tensor.each_part::<Infallible>(|part| {
            sum.0.update(part);
            Ok(())
        });
    }
    let envelope = Envelope { kind: kind.into(), format: FORMAT, checksum: sum.text(), header };
    let text = serde_json::to_string(&envelope).unwrap_or_default();
    // The order of the safetensors library: the widest numbers first, so that all are aligned, then by name.
    let mut placed: Vec<&Tensor> = tensors.iter().collect();
    placed.sort_by(|a, b| b.dtype().cmp(&a.dtype()).then(a.name.cmp(&b.name)));
    let head = head(&placed, text).map_err(|error| TrainError::Format {
        file,
        found: error.to_string(),
        expected: "tensors whose shapes hold their numbers".into(),
    })?;
    Ok(sink::write_file(path, |out| {
        out.write_all(&(head.len() as u64).to_le_bytes())?;
        out.write_all(&head)?;
        placed.iter().try_for_each(|tensor| tensor.each_part(|part| out.write_all(part)))
    })?)
}

/// What stands before the tensors in a safetensors file: where each lies, and the metadata.
fn head(placed: &[&Tensor], text: String) -> Result<Vec<u8>, SafeTensorError> {
    let mut end = 0;
    let infos = placed.iter().map(|tensor| {
        let start = end;
        end += tensor.length();
        let info =
            TensorInfo { dtype: tensor.dtype(), shape: tensor.shape.clone(), data_offsets: (start, end) };
        (tensor.name.clone(), info)
    });
    let metadata = Metadata::new(Some(HashMap::from([(KEY.to_string(), text)])), infos.collect())?;
    let mut head = serde_json::to_vec(&metadata)?;
    head.resize(head.len().next_multiple_of(8), b' ');
    match head.len() > HEAD_AT_MOST {
        true => Err(SafeTensorError::HeaderTooLarge),
        false => Ok(head),
    }
}

/// Readers of safetensors refuse more.
const HEAD_AT_MOST: usize = 100_000_000;

/// The checksum over a file's content: tensors by name, independent of the order in which they lie.
struct Sum(Xxh3);

impl Sum {
    fn new(kind: &str, header: &str) -> Sum {
        let mut sum = Sum(Xxh3::new());
        sum.add(kind.as_bytes());
        sum.add(header.as_bytes());
        sum
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// A tensor of `length` bytes, which are added next.
    fn start(&mut self, name: &str, dtype: Dtype, shape: &[usize], length: usize) {
        self.add(name.as_bytes());
        self.add(format!("{dtype:?}{shape:?}").as_bytes());
        self.0.update(&(length as u64).to_le_bytes());
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0.digest())
    }
}

/// True if a file starts as one of this kind does; it may still be damaged.
pub fn looks_like(path: &Path, kind: &str) -> bool {
    // Eight bytes of length, then the header, whose metadata come first.
    let mut head = vec![0; 256];
    let read = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|m| m.is_file()));
    let length = read.and_then(|mut file| std::io::Read::read(&mut file, &mut head).ok()).unwrap_or(0);
    let words = format!("{START}\"{{\\\"kind\\\":\\\"{kind}\\\"");
    head[..length].get(8..).is_some_and(|head| head.starts_with(words.as_bytes()))
}

/// The bytes of a file.
enum Bytes {
    /// A regular file stays where it is; what is large is not copied twice.
    Mapped(File, Mmap),
    /// Pipes and such.
    Memory(Vec<u8>),
}

impl Bytes {
    fn read(path: &Path) -> std::io::Result<Bytes> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        // A map of no bytes is refused by some systems.
        if !about.is_file() || about.len() == 0 {
            let mut bytes = Vec::new();
            file.by_ref().take(8 + START.len() as u64).read_to_end(&mut bytes)?;
            // A device that never ends is not read to its end.
            if bytes.get(8..) == Some(START.as_bytes()) {
                file.read_to_end(&mut bytes)?;
            }
            return Ok(Bytes::Memory(bytes));
        }
        // SAFETY: the map is only read, and as bytes, for which every pattern is valid; everything derived from them is checked
        // against bounds. What remains is that another process changes or shortens the file meanwhile, which callers are told not
        // to do; our own writers replace files by renaming, which leaves a mapped file whole.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(Bytes::Mapped(file, map))
    }

    fn all(&self) -> &[u8] {
        match self {
            Bytes::Mapped(_, map) => map,
            Bytes::Memory(bytes) => bytes,
        }
    }
}

/// The tensors of a file.
pub struct Stored {
    file: String,
    bytes: Arc<Bytes>,
    /// Shape, kind and place of each.
    tensors: HashMap<String, (Vec<usize>, Dtype, Range<usize>)>,
}

/// Reads a file of this kind, every byte of it checked: its tensors and its header. The file is memory-mapped: nobody may
/// change it in place until what is loaded has been taken out.
pub fn load<H: DeserializeOwned>(path: &Path, kind: &str) -> Result<(Stored, H), TrainError> {
    let file = path.display().to_string();
    let stored = Bytes::read(path).map_err(|error| ReadError::io(&file, &error))?;
    checked(file, stored, kind)
}

/// The same of bytes in memory, under a name for messages.
pub(crate) fn load_bytes<H: DeserializeOwned>(
    name: &str,
    bytes: Vec<u8>,
    kind: &str,
) -> Result<(Stored, H), TrainError> {
    checked(name.into(), Bytes::Memory(bytes), kind)
}

fn checked<H: DeserializeOwned>(file: String, stored: Bytes, kind: &str) -> Result<(Stored, H), TrainError> {
    let bytes = stored.all();
    let wrong = |found: String, expected: &str| TrainError::Format {
        file: file.clone(),
        found,
        expected: expected.to_string(),
    };
    let whole = "a whole file that toprank wrote; it may be damaged or cut short, take a copy of it";
    let (_, metadata) = SafeTensors::read_metadata(bytes)
        .map_err(|error| wrong(format!("not a safetensors file ({error})"), &format!("a toprank {kind}")))?;
    let Some(text) = metadata.metadata().as_ref().and_then(|map| map.get(KEY)) else {
        return Err(wrong("a safetensors file of another tool".into(), &format!("a toprank {kind}")));
    };
    let envelope: Envelope =
        serde_json::from_str(text).map_err(|error| wrong(format!("a damaged header ({error})"), whole))?;
    if envelope.kind != kind {
        let other = match envelope.kind.as_str() {
            "walk" => "; a walk is for `toprank pagerank predict` and `evaluate`",
            "recommender" => "; a recommender is for `toprank recommend evaluate` and `top`",
            "embedder" => "; an embedding is for `toprank embed apply` and `toprank retrieve`",
            "model" if matches!(kind, "recommender" | "embedder") => "; a model is for `toprank predict`",
            _ => "",
        };
        return Err(wrong(format!("a toprank {}", envelope.kind), &format!("a toprank {kind}{other}")));
    }
    if envelope.format != FORMAT {
        let expected = match envelope.format > FORMAT {
            true => format!("version {FORMAT}: a newer toprank wrote the file, update yours"),
            false => format!("version {FORMAT}: an older toprank wrote the file, train the model again"),
        };
        return Err(wrong(format!("file format version {}", envelope.format), &expected));
    }
    let tensors = SafeTensors::deserialize(bytes)
        .map_err(|error| wrong(format!("damaged tensors ({error})"), whole))?;
    let mut names = tensors.names();
    names.sort_unstable();
    let read = |name: &str| tensors.tensor(name).map_err(|error| wrong(error.to_string(), whole));
    let views = names.iter().map(|name| Ok((*name, read(name)?))).collect::<Result<Vec<_>, TrainError>>()?;
    let mut sum = Sum::new(kind, &envelope.header);
    for (name, view) in &views {
        sum.start(name, view.dtype(), view.shape(), view.data().len());
        sum.0.update(view.data());
    }
    let found = sum.text();
    // The fuzzer cannot guess checksums: for it every one is right, so that it meets the checks behind them.
    if found != envelope.checksum && !cfg!(fuzzing) {
        return Err(wrong(format!("checksum {found}, its header says {}", envelope.checksum), whole));
    }
    let header = serde_json::from_str(&envelope.header)
        .map_err(|error| wrong(format!("a header that does not fit ({error})"), whole))?;
    let tensors = views
        .into_iter()
        .map(|(name, view)| {
            let start = view.data().as_ptr() as usize - bytes.as_ptr() as usize;
            let place = start..start + view.data().len();
            (name.to_string(), (view.shape().to_vec(), view.dtype(), place))
        })
        .collect();
    Ok((Stored { file, bytes: stored.into(), tensors }, header))
}

impl Stored {
    /// Its name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Numbers in all tensors of f32 whose name begins so.
    pub(crate) fn count(&self, prefix: &str) -> usize {
        let some = self
            .tensors
            .iter()
            .filter(|(name, (_, dtype, _))| name.starts_with(prefix) && *dtype == Dtype::F32);
        some.map(|(_, (_, _, place))| place.len() / 4).sum()
    }

    /// The error that names this file.
    pub fn wrong(&self, found: impl Into<String>, expected: impl Into<String>) -> TrainError {
        TrainError::Format { file: self.file.clone(), found: found.into(), expected: expected.into() }
    }

    /// The tensors whose names begin so, under the rest of their names.
    pub(crate) fn within(&self, prefix: &str) -> Stored {
        let own = |(name, tensor): (&String, &_)| {
            Some((name.strip_prefix(prefix)?.to_string(), Clone::clone(tensor)))
        };
        Stored {
            file: self.file.clone(),
            bytes: Arc::clone(&self.bytes),
            tensors: self.tensors.iter().filter_map(own).collect(),
        }
    }

    /// True if there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// True if there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    fn take(&self, name: &str, dtype: Dtype) -> Result<(&[usize], &[u8]), TrainError> {
        match self.tensors.get(name) {
            Some((shape, found, place)) if *found == dtype => Ok((shape, &self.bytes.all()[place.clone()])),
            Some((_, found, _)) => Err(self.wrong(format!("{name} of {found:?}"), format!("{dtype:?}"))),
            None => Err(self.wrong(format!("no tensor {name}"), "all tensors of its kind")),
        }
    }

    /// Shape and numbers of a tensor of f32.
    pub fn f32(&self, name: &str) -> Result<(&[usize], Vec<f32>), TrainError> {
        let (shape, bytes) = self.take(name, Dtype::F32)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok((shape, numbers.iter().map(|b| f32::from_le_bytes(*b)).collect()))
    }

    /// Numbers of a tensor of f64.
    pub fn f64(&self, name: &str) -> Result<Vec<f64>, TrainError> {
        let (_, bytes) = self.take(name, Dtype::F64)?;
        let (numbers, _) = bytes.as_chunks::<8>();
        Ok(numbers.iter().map(|b| f64::from_le_bytes(*b)).collect())
    }

    /// A tensor of bytes.
    pub fn bytes(&self, name: &str) -> Result<&[u8], TrainError> {
        Ok(self.take(name, Dtype::U8)?.1)
    }

    /// Restores what an objective remembers from the tensor `objective`.
    pub(crate) fn objective_into(&self, state: &mut State) -> Result<(), TrainError> {
        state.load(self.bytes("objective")?).map_err(|error| self.wrong(error.found, error.expected))
    }

    /// Copies a tensor of f32 into `out`, which has its length.
    pub fn f32_into(&self, name: &str, out: &mut [f32]) -> Result<(), TrainError> {
        let (numbers, _) = self.take(name, Dtype::F32)?.1.as_chunks::<4>();
        self.counted(name, numbers.len(), out.len())?;
        out.iter_mut().zip(numbers).for_each(|(out, bytes)| *out = f32::from_le_bytes(*bytes));
        Ok(())
    }

    /// `count` numbers of a tensor of f32.
    pub fn f32_counted(&self, name: &str, count: usize) -> Result<Vec<f32>, TrainError> {
        let (_, values) = self.f32(name)?;
        self.counted(name, values.len(), count)?;
        Ok(values)
    }

    /// Integers that [`numbers`] made a tensor of.
    pub(crate) fn numbers<T: Number>(&self, name: &str) -> Result<Vec<T>, TrainError> {
        let bytes = self.bytes(name)?;
        if !bytes.len().is_multiple_of(T::BYTES) {
            return Err(self.wrong(format!("{} bytes in {name}", bytes.len()), "integers"));
        }
        Ok(bytes.chunks_exact(T::BYTES).map(T::get).collect())
    }

    /// A tensor of `count` f32 that stays in the file. Nobody may change the file in place as long as the table lives.
    pub fn table(&self, name: &str, count: usize) -> Result<Table, TrainError> {
        let found = self.take(name, Dtype::F32)?.1.len() / 4;
        self.counted(name, found, count)?;
        if let Bytes::Mapped(file, _) = &*self.bytes {
            let at = self.tensors[name].2.start as u64;
            let table = Table::of_file(file, at, count).map_err(|error| ReadError::io(&self.file, &error))?;
            return table
                .ok_or_else(|| self.wrong("a file that was cut meanwhile", "one that stays as it is"));
        }
        Ok(Table::from(self.f32(name)?.1))
    }

    /// That as many numbers were found as expected.
    pub(crate) fn counted(&self, name: &str, found: usize, expected: usize) -> Result<(), TrainError> {
        match found == expected {
            true => Ok(()),
            false => Err(self.wrong(format!("{found} numbers in {name}"), expected.to_string())),
        }
    }
}

/// Integers that are kept as little-endian bytes.
pub(crate) trait Number: Copy {
    const BYTES: usize;
    fn put(self, to: &mut Vec<u8>);
    fn get(from: &[u8]) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();
            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn get(from: &[u8]) -> $type {
                <$type>::from_le_bytes(std::array::from_fn(|i| from[i]))
            }
        }
    };
}
number!(u32);
number!(u64);

/// Their bytes, one after the other.
pub(crate) fn numbers<T: Number>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
    for value in values {
        value.put(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Header {
        words: String,
        number: f64,
    }

    fn write(path: &Path) {
        let header = Header { words: "a \"b\"".into(), number: 0.1 + 0.2 };
        let tensors = [
            Tensor::shaped("w", vec![2, 1], vec![1.5, f32::NAN]),
            Tensor::flat("scores", vec![0.1f64]),
            Tensor::flat("state", vec![1u8, 2, 3]),
        ];
        save(path, "model", &header, &tensors).unwrap();
    }

    #[test]
    fn what_is_saved_loads_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toprank");
        write(&path);
        let (loaded, header): (Stored, Header) = load(&path, "model").unwrap();
        assert_eq!(header, Header { words: "a \"b\"".into(), number: 0.1 + 0.2 });
        let (shape, w) = loaded.f32("w").unwrap();
        assert_eq!(
            (shape, w[0].to_bits(), w[1].to_bits()),
            (&[2, 1][..], 1.5f32.to_bits(), f32::NAN.to_bits())
        );
        assert_eq!(loaded.f64("scores").unwrap(), [0.1]);
        assert_eq!(loaded.bytes("state").unwrap(), [1, 2, 3]);
        assert!(looks_like(&path, "model") && !looks_like(&path, "checkpoint"));
        assert!(!looks_like(folder.path(), "model") && !looks_like("absent".as_ref(), "model"));
        assert!(loaded.f32("scores").unwrap_err().to_string().contains("F64"));
        let first = std::fs::read(&path).unwrap();
        write(&path);
        assert_eq!(first, std::fs::read(&path).unwrap(), "the same content is the same bytes");
    }

    #[test]
    fn the_bytes_are_those_that_the_safetensors_library_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toprank");
        // More than is made bytes of at once, and an odd rest.
        let many: Vec<f32> = (0..2 * AT_ONCE + 7).map(|i| i as f32).collect();
        let exact: Vec<f64> = (0..=AT_ONCE).map(|i| i as f64 / 3.0).collect();
        let tensors = [
            Tensor::flat("z", &many),
            Tensor::flat("bytes", vec![1u8, 2, 3]),
            Tensor::shaped("a", vec![2, 3], &many[..6]),
            Tensor::flat("none", Vec::<f32>::new()),
            Tensor::flat("exact", &exact),
        ];
        save(&path, "model", &7, &tensors).unwrap();
        let written = std::fs::read(&path).unwrap();
        let bytes = tensors.each_ref().map(|tensor| {
            let mut bytes = Vec::new();
            let Ok(()) = tensor.each_part::<Infallible>(|part| {
                bytes.extend_from_slice(part);
                Ok(())
            });
            bytes
        });
        let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
            let view =
                safetensors::tensor::TensorView::new(tensor.dtype(), tensor.shape.clone(), bytes).unwrap();
            (tensor.name.clone(), view)
        });
        let (_, metadata) = SafeTensors::read_metadata(&written).unwrap();
        let expected = safetensors::serialize(views, metadata.metadata().clone()).unwrap();
        assert!(written == expected);
        assert_eq!(bytes[0].len(), 4 * many.len());
        let (loaded, _): (Stored, i32) = load(&path, "model").unwrap();
        assert_eq!(*loaded.table("z", many.len()).unwrap(), *many);
        assert!(loaded.table("z", 3).unwrap_err().to_string().contains("numbers in z, expected 3"));
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toprank");
        write(&path);
        let good = std::fs::read(&path).unwrap();
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 0x04;
            std::fs::write(&path, &bad).unwrap();
            assert!(load::<Header>(&path, "model").is_err(), "byte {place}");
            std::fs::write(&path, &good[..place]).unwrap();
            assert!(load::<Header>(&path, "model").is_err(), "cut at {place}");
        }
    }

    #[test]
    fn a_foreign_file_is_called_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toprank");
        std::fs::write(&path, "1 qid:1 1:0.5\n").unwrap();
        let error = load::<Header>(&path, "model").err().unwrap().to_string();
        assert!(error.contains("not a safetensors file") && error.contains("a toprank model"), "{error}");
        write(&path);
        let error = load::<Header>(&path, "checkpoint").err().unwrap().to_string();
        assert!(
            error.contains("found a toprank model") || error.contains("a toprank model, expected"),
            "{error}"
        );
    }
}
