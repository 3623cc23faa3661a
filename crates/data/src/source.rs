//! Where bytes come from: a file, standard input or memory; gzip and zstd are opened by their first bytes.

use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ReadError;

/// Most bytes of a text that [`Source::peek`] returns.
pub(crate) const HEAD: usize = 1 << 16;

/// A named place to read bytes from.
///
/// ```
/// use toprank_data::Source;
/// use std::io::Read;
/// let mut text = String::new();
/// Source::bytes("memory", b"1 qid:1 1:0.5\n".to_vec()).open().unwrap().read_to_string(&mut text).unwrap();
/// assert_eq!(text, "1 qid:1 1:0.5\n");
/// assert_eq!(Source::path("fold1/train.txt.gz").stem(), "train.txt");
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Origin {
    Path(PathBuf),
    /// Standard input, with the bytes already peeked from it.
    Stdin(Arc<[u8]>),
    Bytes(Arc<[u8]>),
}

impl Source {
    /// A file; `-` is standard input.
    pub fn path(path: impl AsRef<Path>) -> Source {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Source { name: "stdin".into(), origin: Origin::Stdin(Arc::default()) };
        }
        Source { name: path.display().to_string(), origin: Origin::Path(path.to_path_buf()) }
    }

    /// Bytes in memory, under a name for messages.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Source {
        Source { name: name.into(), origin: Origin::Bytes(bytes.into()) }
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path, if it is a file.
    pub fn as_path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Path(path) => Some(path),
            _ => None,
        }
    }

    /// The file name without folder and without `.gz` or `.zst`.
    pub fn stem(&self) -> &str {
        let base = self.name.rsplit(['/', '\\']).next().unwrap_or(&self.name);
        base.strip_suffix(".gz").or_else(|| base.strip_suffix(".zst")).unwrap_or(base)
    }

    /// The extension below `.gz` or `.zst`, in lower case; empty if there is none.
    pub fn extension(&self) -> String {
        self.stem().rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase()).unwrap_or_default()
    }

    /// A file beside this one: `train.txt` → `train.txt.query`, also `.gz` and `.zst` of it. `None` if there is none.
    pub fn beside(&self, suffix: &str) -> Option<Source> {
        let path = self.as_path()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        ["", ".gz", ".zst"]
            .iter()
            .map(|packed| folder.join(format!("{}{suffix}{packed}", self.stem())))
            .find(|candidate| candidate.is_file())
            .map(Source::path)
    }

    /// Opens the bytes as they are, without unpacking.
    pub fn open_raw(&self) -> Result<Box<dyn Read + Send>, ReadError> {
        match &self.origin {
            Origin::Stdin(peeked) => Ok(Box::new(Cursor::new(peeked.clone()).chain(io::stdin()))),
            Origin::Bytes(bytes) => Ok(Box::new(Cursor::new(bytes.clone()))),
            Origin::Path(path) => {
                let file = std::fs::File::open(path).map_err(|e| ReadError::io(&self.name, &e))?;
                if file.metadata().is_ok_and(|m| m.is_dir()) {
                    return Err(ReadError::options(&self.name, "a folder", "a file"));
                }
                Ok(Box::new(file))
            }
        }
    }

    /// The first bytes of the text (unpacked, about 64 KB at most) and a source that still starts with them: standard
    /// input can be read only once, so continue with the source returned.
    ///
    /// ```
    /// let (head, source) = toprank_data::Source::bytes("t", *b"1 qid:1").peek().unwrap();
    /// assert_eq!(head, b"1 qid:1");
    /// assert_eq!(source.name(), "t");
    /// ```
    pub fn peek(&self) -> Result<(Vec<u8>, Source), ReadError> {
        let mut raw = Vec::new();
        self.open_raw()?
            .take(HEAD as u64)
            .read_to_end(&mut raw)
            .map_err(|e| ReadError::io(&self.name, &e))?;
        let raw: Arc<[u8]> = raw.into();
        let source = match &self.origin {
            Origin::Stdin(_) => Source { name: self.name.clone(), origin: Origin::Stdin(raw.clone()) },
            _ => self.clone(),
        };
        // The piece may end inside a packed block: what came before is enough, damage is found while reading.
        let mut head = Vec::new();
        let _ = Source::bytes(self.name.clone(), raw).open()?.take(HEAD as u64).read_to_end(&mut head);
        Ok((head, source))
    }

    /// Opens the text; content that starts like gzip or zstd is decompressed.
    pub fn open(&self) -> Result<Box<dyn Read + Send>, ReadError> {
        let mut raw = self.open_raw()?;
        let mut head = [0u8; 4];
        let mut got = 0;
        while got < head.len() {
            match raw.read(&mut head[got..]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(ReadError::io(&self.name, &e)),
            }
        }
        let packed = Cursor::new(head).take(got as u64).chain(raw);
        Ok(match &head[..got] {
            [0x1f, 0x8b, ..] => {
                let packed = BufReader::with_capacity(1 << 16, packed);
                Box::new(Unpacked(flate2::bufread::MultiGzDecoder::new(packed)))
            }
            [0x28, 0xb5, 0x2f, 0xfd] => {
                Box::new(Unpacked(zstd::Decoder::new(packed).map_err(|e| ReadError::io(&self.name, &e))?))
            }
            _ => Box::new(packed),
        })
    }
}

/// A decoder whose own errors are those of damaged content: zstd calls them errors of the system.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::Other, None) => io::Error::new(io::ErrorKind::InvalidData, error),
            _ => error,
        })
    }
}
