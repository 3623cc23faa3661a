//! The file, written from front to back in one go: sections as they come, then sums, table and foot.

use std::io::{self, ErrorKind, Write};

use xxhash_rust::xxh3::xxh3_64;

use super::layout::{ALIGN, END, Form, HEAD, MARK, Section, Table, VERSION};
use super::number::Number;
use crate::checksums::{BLOCK, BlockSums};
use crate::dataset::{Dataset, Matrix};
use crate::names::Names;

/// Writes a whole data set.
pub(crate) fn write(data: &Dataset, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let mut writer = Writer::new(out, data.features.width(), matches!(data.features, Matrix::Sparse(_)))?;
    writer.rows(&data.features)?;
    writer.finish(data, data.rows())
}

/// A file being written: all rows first, then [`Writer::finish`].
pub(crate) struct Writer<'a> {
    out: &'a mut (dyn Write + Send),
    at: u64,
    sections: Vec<Section>,
    sums: BlockSums,
    width: usize,
    sparse: bool,
    /// Ends of the rows of sparse data.
    row_offsets: Vec<u64>,
    buffer: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Starts the file with its features.
    pub(crate) fn new(out: &'a mut (dyn Write + Send), width: usize, sparse: bool) -> io::Result<Writer<'a>> {
        let mut head = MARK.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.resize(HEAD, 0);
        out.write_all(&head)?;
        let mut writer = Writer {
            out,
            at: HEAD as u64,
            sections: Vec::new(),
            sums: BlockSums::default(),
            width,
            sparse,
            row_offsets: vec![0],
            buffer: Vec::new(),
        };
        let (name, kind) = if sparse { ("cells", "u32,f32") } else { ("features", "f32") };
        writer.start(name, kind)?;
        Ok(writer)
    }

    /// Appends rows of the width and form the file was started with.
    pub(crate) fn rows(&mut self, rows: &Matrix) -> io::Result<()> {
        match rows {
            Matrix::Dense { width, values } if !self.sparse && *width == self.width => self.numbers(values),
            Matrix::Sparse(sparse) if self.sparse && sparse.width == self.width => {
                let before = self.row_offsets.last().copied().unwrap_or(0);
                let first = sparse.offsets.first().copied().unwrap_or(0);
                self.row_offsets.extend(sparse.offsets.iter().skip(1).map(|end| before + end - first));
                let range = first as usize..sparse.offsets.last().copied().unwrap_or(0) as usize;
                let cells = sparse.indices[range.clone()].iter().zip(&sparse.values[range]);
                let mut buffer = std::mem::take(&mut self.buffer);
                for (&index, value) in cells {
                    buffer.extend(index.to_le_bytes());
                    buffer.extend(value.to_le_bytes());
                    if buffer.len() >= BLOCK {
                        self.bytes(&buffer)?;
                        buffer.clear();
                    }
                }
                self.bytes(&buffer)?;
                buffer.clear();
                self.buffer = buffer;
                Ok(())
            }
            _ => Err(unsupported("rows of another width or form than those before")),
        }
    }

    /// Writes everything but the features of `data`, which has `rows` rows of them, and the end of the file.
    pub(crate) fn finish(mut self, data: &Dataset, rows: usize) -> io::Result<()> {
        self.end();
        if self.sparse {
            let offsets = std::mem::take(&mut self.row_offsets);
            self.column("row_offsets", Some(&offsets))?;
        }
        data.lists.check().map_err(|e| unsupported(format!("lists that break their promises ({e})")))?;
        if data.columns.len() != self.width {
            let found = format!("{} names of {} features", data.columns.len(), self.width);
            return Err(unsupported(found));
        }
        let lists = &data.lists;
        self.column("list_offsets", Some(&lists.offsets))?;
        self.column("rows", lists.rows.as_ref())?;
        self.column("output", lists.output.as_ref())?;
        self.column("labels", Some(&lists.labels))?;
        self.column("item_weights", lists.item_weights.as_ref())?;
        self.column("list_weights", lists.list_weights.as_ref())?;
        self.column("tie_keys", lists.tie_keys.as_ref())?;
        self.column("missed_offsets", lists.missed.as_ref().map(|missed| &missed.offsets))?;
        self.column("missed", lists.missed.as_ref().map(|missed| &missed.values))?;
        self.names("columns", Some(&data.columns.iter().map(|column| &column.name).collect()))?;
        if data.columns.iter().any(|column| column.levels.is_some()) {
            let levels = || data.columns.iter().map(|column| column.levels.as_ref());
            let counts: Vec<u64> = levels().map(|levels| levels.map_or(0, |l| 1 + l.len() as u64)).collect();
            self.column("level_counts", Some(&counts))?;
            self.names("levels", Some(&levels().flatten().flat_map(Names::iter).collect()))?;
        }
        self.names("list_names", data.list_names.as_ref())?;
        self.names("output_names", data.output_names.as_ref())?;
        self.names("item_names", data.item_names.as_ref())?;
        self.column("times", data.times.as_ref())?;
        self.column("positions", data.positions.as_ref())?;
        self.column("init_scores", data.init_scores.as_ref())?;
        let lines = data.lines.flat();
        self.column("lines", (!lines.is_empty()).then_some(&lines))?;
        self.column("file_rows", data.file_rows.as_ref())?;
        if !data.extra.is_empty() {
            self.names("extra", Some(&data.extra.iter().flat_map(|(_, names)| names.iter()).collect()))?;
        }
        self.foot(data, rows)
    }

    fn foot(mut self, data: &Dataset, rows: usize) -> io::Result<()> {
        self.pad()?;
        let mut sums = Vec::new();
        Number::write_all(self.sums.closed(), &mut sums);
        self.out.write_all(&sums)?;
        let table = Table {
            rows: rows as u64,
            width: self.width as u64,
            form: if self.sparse { Form::Sparse } else { Form::Dense },
            extra: data.extra.iter().map(|(name, _)| name.clone()).collect(),
            sections: self.sections,
            sums_at: self.at,
            sums_xxh3: xxh3_64(&sums),
        };
        let text = serde_json::to_vec(&table)?;
        let mut foot = Vec::new();
        Number::write_all(&[self.at + sums.len() as u64, text.len() as u64, xxh3_64(&text)], &mut foot);
        self.out.write_all(&text)?;
        self.out.write_all(&foot)?;
        self.out.write_all(END)
    }

    fn column<T: Number>(&mut self, name: &str, values: Option<&Vec<T>>) -> io::Result<()> {
        let Some(values) = values else { return Ok(()) };
        self.start(name, T::KIND)?;
        self.numbers(values)?;
        self.end();
        Ok(())
    }

    fn names(&mut self, name: &str, names: Option<&Names>) -> io::Result<()> {
        let Some(names) = names else { return Ok(()) };
        let (text, ends) = names.parts();
        self.start(&format!("{name}.text"), "utf8")?;
        self.bytes(text.as_bytes())?;
        self.end();
        self.start(&format!("{name}.ends"), u64::KIND)?;
        self.numbers(ends)?;
        self.end();
        Ok(())
    }

    fn numbers<T: Number>(&mut self, values: &[T]) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        for values in values.chunks(BLOCK / 8) {
            buffer.clear();
            T::write_all(values, &mut buffer);
            self.bytes(&buffer)?;
        }
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn pad(&mut self) -> io::Result<()> {
        let more = self.at.next_multiple_of(ALIGN) - self.at;
        self.at += more;
        self.out.write_all(&[0; ALIGN as usize][..more as usize])
    }

    fn start(&mut self, name: &str, kind: &str) -> io::Result<()> {
        self.pad()?;
        let (name, kind) = (name.to_string(), kind.to_string());
        self.sections.push(Section {
            name,
            kind,
            at: self.at,
            bytes: 0,
            first_block: self.sums.closed().len(),
        });
        Ok(())
    }

    /// Appends bytes to the section started last.
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        self.sums.update(bytes);
        Ok(())
    }

    fn end(&mut self) {
        self.sums.close();
        if let Some(section) = self.sections.last_mut() {
            section.bytes = self.at - section.at;
        }
    }
}

fn unsupported(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::Unsupported, what.into())
}
