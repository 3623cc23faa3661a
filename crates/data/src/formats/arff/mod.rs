/*!
ARFF, the format of Weka, for multi-label data (Mulan, MEKA): dense and sparse.

```text
@relation name            % a comment
@attribute f1 numeric     (also real, integer)
@attribute 'colour' {red,green}
@attribute beach {0,1}
@data
0.5,red,1                 dense: one value per attribute; ? = missing
{0 0.5, 2 1}              sparse: attribute number from 0, value; what is left out is 0 or the first nominal value
```

Which attributes are labels is told by, in this order: the option `labels` (or `label`); the Mulan XML named by
`label_xml`; the XML beside the file (`yeast-train.arff` → `yeast-train.xml`, then `yeast.xml`; `-train`, `-test`,
`-sparse` are cut off); MEKA's `-C n` in the relation name (the first n attributes, or the last if n < 0).
All other attributes are features. A nominal attribute of two numbers holds numbers; any other holds categories, with
levels as declared. Labels are numeric or nominal numbers; a missing label leaves the row out of that label's list.
`string`, `date` and `relational` attributes are refused by name. Sparse files become sparse features.

Result: one list per label over the same rows.
*/

mod header;

use self::header::{Header, Kind};
use super::cell;
use super::table::lists_of_labels;
use super::{Format, ReadOptions, mulan_xml};
use crate::dataset::{Column, Dataset, LineNumbers, Matrix, Sparse};
use crate::error::{ReadError, show};
use crate::lines::Lines;
use crate::names::Names;
use crate::source::Source;

/// Multi-label ARFF.
pub const FORMAT: Format = Format {
    name: "arff",
    about: "multi-label ARFF, dense or sparse, with the Mulan label XML",
    extensions: &["arff"],
    sniff: |head| {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with(b"%"));
        first.is_some_and(|line| line.len() > 9 && line[..9].eq_ignore_ascii_case(b"@relation"))
    },
    read,
    write: None,
    example: b"@relation 'small: -C 2'\n% two labels first\n@attribute beach {0,1}\n@attribute 'sun set' {0,1}\n\
        @attribute f1 numeric\n@attribute colour {red,'dark blue'}\n@data\n1,0,0.5,red\n0,?,-3e-2,'dark blue'\n1,1,?,?\n",
};

/// The most judged labels of a file: rows of a sparse file take 3 bytes however many labels there are.
const MOST_ENTRIES: usize = 1 << 28;

/// Where the value of an attribute goes.
#[derive(Clone, Copy)]
enum Goes {
    Label(u32),
    Feature(u32),
}

struct Rows<'a> {
    file: &'a str,
    header: &'a Header,
    goes: Vec<Goes>,
    /// One column per label.
    labels: Vec<Vec<f32>>,
    width: usize,
    dense: Vec<f32>,
    sparse: Sparse,
    is_sparse: Option<bool>,
    lines: LineNumbers,
    count: usize,
}

fn read(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let file = source.name();
    let mut lines = Lines::open(source)?;
    let header = header::read(&mut lines, options)?;
    let label_names = labels_of(source, &header, options)?;
    let mut rows = Rows::new(file, &header, &label_names, options)?;
    loop {
        let number = lines.number() + 1;
        let Some(line) = lines.next_line()? else { break };
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"%") {
            continue;
        }
        rows.push(line).map_err(|error| error.at_line(number))?;
        rows.lines.push(rows.count, number);
        rows.count += 1;
    }
    rows.finish(&label_names)
}

/// The label names, from the first place that tells them.
fn labels_of(source: &Source, header: &Header, options: &ReadOptions) -> Result<Vec<String>, ReadError> {
    if !options.labels.is_empty() {
        return Ok(options.labels.clone());
    }
    if let Some(label) = &options.label {
        return Ok(vec![label.clone()]);
    }
    if let Some(path) = &options.label_xml {
        return mulan_xml::label_names(&Source::path(path));
    }
    if let Some(xml) = xml_beside(source) {
        return mulan_xml::label_names(&xml);
    }
    let all = || header.attributes.iter().map(|attribute| attribute.name.clone());
    match header.meka_labels() {
        Some(n) if n > 0 && n as usize <= header.attributes.len() => Ok(all().take(n as usize).collect()),
        Some(n) if n < 0 && n.unsigned_abs() as usize <= header.attributes.len() => {
            Ok(all().skip(header.attributes.len() - n.unsigned_abs() as usize).collect())
        }
        Some(n) => {
            let found = format!("-C {n} in the relation name");
            let expected = format!("a number of labels up to {}", header.attributes.len());
            Err(ReadError::data(source.name(), found, expected))
        }
        None => Err(ReadError::options(
            source.name(),
            "nothing that tells which attributes are labels",
            "their names",
        )
        .advice("Use --labels, or --label-xml with the Mulan file, or put the XML beside the file.")),
    }
}

/// `STEM.xml` beside the file, where the stem may lose `-sparse`, `-train` and `-test`.
fn xml_beside(source: &Source) -> Option<Source> {
    let path = source.as_path()?;
    let mut stem = source.stem();
    stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    loop {
        for packed in ["", ".gz", ".zst"] {
            let candidate = path.with_file_name(format!("{stem}.xml{packed}"));
            if candidate.is_file() {
                return Some(Source::path(candidate));
            }
        }
        stem = ["-sparse", "-train", "-test"].iter().find_map(|suffix| stem.strip_suffix(suffix))?;
    }
}

impl<'a> Rows<'a> {
    fn new(
        file: &'a str,
        header: &'a Header,
        label_names: &[String],
        options: &ReadOptions,
    ) -> Result<Rows<'a>, ReadError> {
        if label_names.len() > usize::from(u16::MAX) {
            return Err(ReadError::data(file, format!("{} labels", label_names.len()), "at most 65535"));
        }
        let mut label_at = vec![None; header.attributes.len()];
        for (l, name) in label_names.iter().enumerate() {
            let Some(place) = header.index.find(name) else {
                let found = format!("no attribute is called {name:?}, which should be a label");
                return Err(ReadError::options(file, found, "the names of attributes as labels"));
            };
            let attribute = &header.attributes[place as usize];
            if let Kind::Categories(_) = attribute.kind {
                let found = format!("label {name:?} has values that are no numbers");
                let expected = "numeric labels or {0,1}";
                return Err(ReadError::data(file, found, expected).at_line(attribute.line));
            }
            if label_at[place as usize].replace(l as u32).is_some() {
                return Err(ReadError::options(file, format!("label {name:?} twice"), "each label once"));
            }
        }
        let mut width = 0u32;
        let goes = label_at.into_iter().map(|label| {
            if let Some(label) = label {
                return Goes::Label(label);
            }
            width += 1;
            Goes::Feature(width - 1)
        });
        let goes: Vec<Goes> = goes.collect();
        if width > options.feature_limit() {
            let expected = format!("at most {} (max_features)", options.feature_limit());
            return Err(ReadError::data(file, format!("{width} features"), expected));
        }
        Ok(Rows {
            file,
            header,
            goes,
            labels: vec![Vec::new(); label_names.len()],
            width: width as usize,
            dense: Vec::new(),
            sparse: Sparse { width: width as usize, offsets: vec![0], ..Sparse::default() },
            is_sparse: None,
            lines: LineNumbers::default(),
            count: 0,
        })
    }

    fn error(&self, found: impl AsRef<str>, expected: impl AsRef<str>) -> ReadError {
        ReadError::data(self.file, found, expected)
    }

    fn push(&mut self, line: &[u8]) -> Result<(), ReadError> {
        let is_sparse = line.starts_with(b"{");
        if self.is_sparse.is_some_and(|before| before != is_sparse) {
            let (found, expected) = if is_sparse { ("sparse", "dense") } else { ("dense", "sparse") };
            let found = format!("a {found} row after {expected} ones");
            return Err(self.error(found, "rows of one form"));
        }
        if self.is_sparse.is_none() && is_sparse {
            self.check_sparse()?;
        }
        if self.count == u32::MAX as usize
            || (self.count + 1).saturating_mul(self.labels.len()) > MOST_ENTRIES
        {
            return Err(self.error(
                format!("more than {} rows of {} labels", self.count, self.labels.len()),
                format!("at most {MOST_ENTRIES} labels in all rows together"),
            ));
        }
        self.is_sparse = Some(is_sparse);
        if is_sparse { self.push_sparse(line) } else { self.push_dense(line) }
    }

    /// What a sparse row leaves out is the first nominal value; our sparse rows leave out 0.
    fn check_sparse(&self) -> Result<(), ReadError> {
        for (attribute, goes) in self.header.attributes.iter().zip(&self.goes) {
            if let (Goes::Feature(_), Kind::Numbers { first }) = (goes, &attribute.kind)
                && *first != 0.0
            {
                let found =
                    format!("a sparse row, and feature {:?} whose first value is {first}", attribute.name);
                return Err(self.error(found, "0 as first value, which sparse rows leave out"));
            }
        }
        Ok(())
    }

    fn push_dense(&mut self, line: &[u8]) -> Result<(), ReadError> {
        let mut rest = line;
        let mut count = 0;
        loop {
            let (value, after) = header::word(rest, b",\t%").map_err(|e| self.error(e, "a value"))?;
            if count < self.goes.len() {
                let value = self.value(count, &value)?;
                match self.goes[count] {
                    Goes::Label(label) => self.labels[label as usize].push(value),
                    Goes::Feature(_) => self.dense.push(value),
                }
            }
            count += 1;
            let after = after.trim_ascii_start();
            match after.first() {
                None | Some(b'%') => break,
                Some(b',') => rest = &after[1..],
                Some(_) => rest = after,
            }
        }
        if count != self.goes.len() {
            let expected = format!("{}, one for each attribute", self.goes.len());
            return Err(self.error(format!("{count} values"), expected));
        }
        Ok(())
    }

    fn push_sparse(&mut self, line: &[u8]) -> Result<(), ReadError> {
        for attribute in 0..self.goes.len() {
            if let (Goes::Label(label), Kind::Numbers { first }) =
                (self.goes[attribute], &self.header.attributes[attribute].kind)
            {
                self.labels[label as usize].push(*first);
            }
        }
        let mut rest = line[1..].trim_ascii_start();
        let mut least = 0;
        while !rest.starts_with(b"}") {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number =
                std::str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse::<usize>().ok());
            let (Some(attribute), Some(b' ' | b'\t')) = (number, rest.get(digits)) else {
                return Err(
                    self.error(format!("{} in a sparse row", show(rest)), "{number value, number value, …}")
                );
            };
            if attribute >= self.goes.len() {
                let expected = format!("a number below {}, the number of attributes", self.goes.len());
                return Err(self.error(format!("attribute number {attribute}"), expected));
            }
            if attribute < least {
                let expected = "each attribute once, in ascending order";
                return Err(self.error(format!("attribute number {attribute} after {}", least - 1), expected));
            }
            least = attribute + 1;
            let value = rest[digits..].trim_ascii_start();
            let (value, after) = header::word(value, b",}\t").map_err(|e| self.error(e, "a value"))?;
            let value = self.value(attribute, &value)?;
            match self.goes[attribute] {
                Goes::Label(label) => {
                    if let Some(last) = self.labels[label as usize].last_mut() {
                        *last = value;
                    }
                }
                Goes::Feature(_) if value == 0.0 => {}
                Goes::Feature(feature) => {
                    self.sparse.indices.push(feature);
                    self.sparse.values.push(value);
                }
            }
            rest = after.trim_ascii_start();
            match rest.first() {
                Some(b',') => rest = rest[1..].trim_ascii_start(),
                Some(b'}') => {}
                _ => return Err(self.error("a sparse row without its end", "a closing }")),
            }
        }
        let tail = rest[1..].trim_ascii();
        if !tail.is_empty() && !tail.starts_with(b"%") {
            return Err(self.error(format!("{} after a row", show(tail)), "the end of the line"));
        }
        self.sparse.offsets.push(self.sparse.indices.len() as u64);
        Ok(())
    }

    /// The value of an attribute as a number; NaN = missing.
    fn value(&self, attribute: usize, text: &[u8]) -> Result<f32, ReadError> {
        let attribute = &self.header.attributes[attribute];
        if text == b"?" {
            return Ok(f32::NAN);
        }
        match &attribute.kind {
            Kind::Categories(levels) => {
                let code = std::str::from_utf8(text).ok().and_then(|word| levels.find(word));
                code.map(|code| code as f32).ok_or_else(|| {
                    let levels = levels.names().iter().take(10).collect::<Vec<_>>().join(", ");
                    let found = format!("{} is no declared value", show(text));
                    self.error(found, format!("one of {levels}")).in_column(attribute.name.as_str())
                })
            }
            Kind::Numbers { .. } => cell::number(text)
                .map_err(|why| cell::not_a_number(self.file, text, why).in_column(attribute.name.as_str())),
        }
    }

    fn finish(self, label_names: &[String]) -> Result<Dataset, ReadError> {
        if self.count == 0 {
            return Err(self.error("no row after @data", "at least one row"));
        }
        let names: Names = label_names.iter().collect();
        let columns =
            self.header.attributes.iter().zip(&self.goes).filter_map(|(attribute, goes)| match goes {
                Goes::Label(_) => None,
                Goes::Feature(_) => Some(Column {
                    name: attribute.name.clone(),
                    levels: match &attribute.kind {
                        Kind::Categories(levels) => Some(levels.names().clone()),
                        Kind::Numbers { .. } => None,
                    },
                }),
            });
        let columns = columns.collect();
        Ok(Dataset {
            lists: lists_of_labels(&self.labels, None),
            columns,
            features: if self.is_sparse == Some(true) {
                Matrix::Sparse(self.sparse)
            } else {
                Matrix::Dense { width: self.width, values: self.dense }
            },
            list_names: Some(names.clone()),
            output_names: Some(names),
            lines: self.lines,
            ..Dataset::default()
        })
    }
}

#[cfg(test)]
mod tests;
