/*!
IDX: images as bytes, as in MNIST and similar data sets.

```text
0 0 8 d              unsigned bytes in d dimensions
d sizes              32 bits each, the highest byte first; the first is the number of rows
bytes                row after row
```

Each row is a picture, its features are the bytes 0 … 255 of it, called pixel1, pixel2 … Labels are those of the file beside it:
`t10k-images-idx3-ubyte` has them in `t10k-labels-idx1-ubyte` (both may be packed). Without such a file the rows are not
judged. A file of one dimension is a column of numbers. Other kinds of numbers than unsigned bytes are refused.
*/

use std::io::Read;

use toprank_core::Lists;

use super::{Format, ReadOptions};
use crate::dataset::{Column, Dataset, Matrix};
use crate::error::ReadError;
use crate::source::Source;

/// Images of bytes.
pub const FORMAT: Format = Format {
    name: "idx",
    about: "bytes of images (MNIST), labels in the file beside it",
    extensions: &["idx", "idx1-ubyte", "idx3-ubyte"],
    sniff: |head| matches!(head, [0, 0, KIND, 1..=4, ..]),
    read,
    write: None,
    example: b"\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x01\x00\xff\x10\x20",
};

/// Unsigned bytes.
const KIND: u8 = 8;

/// The bytes of a file.
struct Bytes {
    rows: usize,
    width: usize,
    values: Vec<u8>,
}

fn read(source: &Source, options: &ReadOptions) -> Result<Dataset, ReadError> {
    let Bytes { rows, width, values } = bytes(source, options)?;
    let labels = match labels_beside(source).filter(|_| !options.unlabelled) {
        None => vec![f32::NAN; rows],
        Some(file) => {
            let labels = bytes(&file, options)?;
            if (labels.rows, labels.width) != (rows, 1) {
                let found = format!("{} rows of {} bytes", labels.rows, labels.width);
                let expected = format!("{rows} labels, one per image of {}", source.name());
                return Err(ReadError::data(file.name(), found, expected));
            }
            labels.values.into_iter().map(f32::from).collect()
        }
    };
    Ok(Dataset {
        lists: Lists::from_lengths(&[rows], labels),
        features: Matrix::Dense { width, values: values.into_iter().map(f32::from).collect() },
        columns: (1..=width).map(|k| Column { name: format!("pixel{k}"), levels: None }).collect(),
        ..Dataset::default()
    })
}

fn bytes(source: &Source, options: &ReadOptions) -> Result<Bytes, ReadError> {
    let file = source.name();
    let wrong = |found: String, expected: &str| Err(ReadError::data(file, found, expected));
    let mut from = source.open()?;
    let mut take = |most: u64| -> Result<Vec<u8>, ReadError> {
        let mut taken = Vec::new();
        // Memory is allocated for the bytes that are there, whatever the header says.
        (&mut from).take(most).read_to_end(&mut taken).map_err(|error| ReadError::io(file, &error))?;
        Ok(taken)
    };
    let head = take(4)?;
    let [0, 0, kind, dimensions @ 1..=4] = head[..] else {
        return wrong(format!("a file that starts with {head:?}"), "IDX: 0 0 8 and 1 to 4 dimensions");
    };
    if kind != KIND {
        return wrong(format!("numbers of kind {kind}"), "8: unsigned bytes");
    }
    let sizes = take(4 * u64::from(dimensions))?;
    if sizes.len() != 4 * usize::from(dimensions) {
        return wrong(format!("{} bytes of sizes", sizes.len()), &format!("{dimensions} sizes of 4 bytes"));
    }
    let (sizes, _) = sizes.as_chunks::<4>();
    let mut sizes = sizes.iter().map(|size| u64::from(u32::from_be_bytes(*size)));
    let rows = sizes.next().unwrap_or(0);
    let width = sizes.try_fold(1u64, u64::checked_mul).unwrap_or(u64::MAX);
    if width == 0 || width > u64::from(options.feature_limit()) {
        let expected = format!("1 to {} (max_features)", options.feature_limit());
        return wrong(format!("images of {width} bytes"), &expected);
    }
    // Both are at most 2^32.
    let all = rows * width;
    let values = take(all.saturating_add(1))?;
    if values.len() as u64 != all {
        let more = if values.len() as u64 > all { "more bytes" } else { "fewer bytes" };
        let found = format!("{more} than the {all} that its header states");
        return wrong(found, "a whole file; it may be cut short");
    }
    Ok(Bytes { rows: rows as usize, width: width as usize, values })
}

/// `train-images-idx3-ubyte` → `train-labels-idx1-ubyte`, if there is such a file.
fn labels_beside(source: &Source) -> Option<Source> {
    let (folder, stem) = (source.as_path()?.parent()?, source.stem());
    let (before, behind) = stem.rsplit_once("images")?;
    let name = format!("{before}labels{}", behind.replace("idx3", "idx1"));
    let paths = ["", ".gz", ".zst"].map(|packed| folder.join(format!("{name}{packed}")));
    paths.into_iter().find(|path| path.is_file()).map(Source::path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_the_labels_beside_them_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("t-images-idx3-ubyte"), FORMAT.example).unwrap();
        let source = Source::path(path("t-images-idx3-ubyte"));
        let data = crate::formats::read(&source, &ReadOptions::default()).unwrap();
        assert_eq!(data.features, Matrix::Dense { width: 2, values: vec![0.0, 255.0, 16.0, 32.0] });
        assert!(data.lists.labels.iter().all(|label| label.is_nan()), "no labels: not judged");
        assert_eq!(data.columns[1].name, "pixel2");
        std::fs::write(path("t-labels-idx1-ubyte"), b"\0\0\x08\x01\0\0\0\x02\x07\x03").unwrap();
        assert_eq!(read(&source, &ReadOptions::default()).unwrap().lists.labels, [7.0, 3.0]);
        std::fs::write(path("t-labels-idx1-ubyte"), b"\0\0\x08\x01\0\0\0\x01\x07").unwrap();
        let error = read(&source, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("1 rows of 1 bytes") && error.contains("2 labels"), "{error}");
    }

    #[test]
    fn what_a_header_promises_must_be_there() {
        let error =
            |bytes: &[u8]| read(&Source::bytes("t", bytes), &ReadOptions::default()).unwrap_err().to_string();
        for (bytes, words) in [
            (&b""[..], "starts with []"),
            (b"\0\0\x0d\x01\0\0\0\x01", "numbers of kind 13"),
            (b"\0\0\x08\x02\0\0\0\x01\0", "2 sizes of 4 bytes"),
            (b"\0\0\x08\x01\xff\xff\xff\xff\x01", "fewer bytes"),
            (b"\0\0\x08\x01\0\0\0\x01\x01\x02", "more bytes"),
            (b"\0\0\x08\x02\0\0\0\x01\0\0\0\0", "images of 0 bytes"),
            (b"\0\0\x08\x04\0\0\0\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "max_features"),
        ] {
            let error = error(bytes);
            assert!(error.contains(words), "{error}");
        }
    }
}
