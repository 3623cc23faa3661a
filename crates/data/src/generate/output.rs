//! Text made in parallel, written in order: constant memory, complete files only.

use std::io::Write;
use std::path::Path;

use rayon::prelude::*;

use super::{GenerateError, Written, WrittenFile};
use crate::error::ReadError;
use crate::sink::Draft;

/// Where the files go and how progress is reported.
pub(super) struct Output<'a> {
    pub folder: &'a Path,
    pub progress: &'a mut dyn FnMut(u64, u64),
}

/// The text of some consecutive units, one buffer per file.
pub(super) struct Sheet {
    files: Vec<Text>,
}

/// Text for one file, with a count of what it holds.
#[derive(Default)]
pub(super) struct Text {
    pub bytes: Vec<u8>,
    pub rows: u64,
    pub lists: u64,
}

impl Sheet {
    pub(super) fn file(&mut self, file: usize) -> &mut Text {
        &mut self.files[file]
    }
}

/// A file to be written: its name and what stands before the first row.
pub(super) struct File {
    pub name: String,
    pub head: String,
}

/// Which file each unit goes to where units are divided into train, vali and test.
pub(super) struct Parts {
    ends: [u64; 3],
    file: [usize; 3],
}

impl Parts {
    /// Parts that end at `ends`, and a file for each that is not empty.
    pub(super) fn new(ends: [u64; 3], extension: &str, head: &str) -> (Parts, Vec<File>) {
        let mut files = Vec::new();
        let mut file = [0; 3];
        let mut start = 0;
        for (part, name) in ["train", "vali", "test"].into_iter().enumerate() {
            file[part] = files.len();
            if ends[part] > start {
                files.push(File { name: format!("{name}.{extension}"), head: head.into() });
            }
            start = ends[part];
        }
        (Parts { ends, file }, files)
    }

    /// The file of unit `u`.
    pub(super) fn file_of(&self, u: u64) -> usize {
        self.file[self.ends.iter().position(|&end| u < end).unwrap_or(2)]
    }
}

impl Output<'_> {
    /// Writes `files`; `unit(u, sheet)` appends the text of unit u, for u from 0 to `units`.
    pub(super) fn write(
        self,
        files: &[File],
        units: u64,
        unit: impl Fn(u64, &mut Sheet) + Sync,
    ) -> Result<Written, GenerateError> {
        // A wave of sheets is made in parallel, then written. A sheet takes as many units as gave about a megabyte so
        // far; that cannot be seen in the bytes, since every unit has its own random stream.
        const SHEET_BYTES: u64 = 1 << 20;
        let sheets = 4 * rayon::current_num_threads() as u64;
        let fail = |path: &Path, e: &std::io::Error| ReadError::io(&path.display().to_string(), e);
        std::fs::create_dir_all(self.folder).map_err(|e| fail(self.folder, &e))?;
        let mut written = Vec::with_capacity(files.len());
        let mut drafts = Vec::with_capacity(files.len());
        for File { name, head } in files {
            let path = self.folder.join(name);
            let draft = Draft::new(self.folder, &path).map_err(|e| fail(&path, &e))?;
            draft.file().write_all(head.as_bytes()).map_err(|e| fail(&path, &e))?;
            drafts.push(draft);
            written.push(WrittenFile { path, bytes: head.len() as u64, rows: 0, lists: 0 });
        }
        let empty = || Sheet { files: files.iter().map(|_| Text::default()).collect() };
        let mut wave: Vec<(std::ops::Range<u64>, Sheet)> = (0..sheets).map(|_| (0..0, empty())).collect();
        let mut done = 0;
        let mut share = 1;
        while done < units {
            for (range, _) in &mut wave {
                *range = done..(done + share).min(units);
                done = range.end;
            }
            wave.par_iter_mut().for_each(|(range, sheet)| {
                range.for_each(|u| unit(u, sheet));
            });
            for (i, text) in wave.iter_mut().flat_map(|(_, sheet)| sheet.files.iter_mut().enumerate()) {
                drafts[i].file().write_all(&text.bytes).map_err(|e| fail(&written[i].path, &e))?;
                written[i].bytes += text.bytes.len() as u64;
                written[i].rows += text.rows;
                written[i].lists += text.lists;
                text.bytes.clear();
                (text.rows, text.lists) = (0, 0);
            }
            let bytes: u64 = written.iter().map(|file| file.bytes).sum();
            share = (SHEET_BYTES * done / bytes.max(1)).clamp(1, 1 << 16);
            (self.progress)(done, units);
        }
        for (draft, file) in drafts.into_iter().zip(&written) {
            draft.publish(&file.path).map_err(|e| fail(&file.path, &e))?;
        }
        Ok(Written { files: written })
    }
}

impl Text {
    /// Appends text.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends one byte.
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends an integer.
    pub(super) fn whole(&mut self, mut number: u64) {
        let mut digits = [0u8; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[start..]);
    }

    /// Appends `number` rounded to `decimals` places, trailing zeros dropped: `1.5`, `-0.25`, `3`. |number| × 10^decimals
    /// stays below 2⁵³ for everything the generators make.
    pub(super) fn decimal(&mut self, number: f64, decimals: usize) {
        const POWERS: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
        let scaled = (number * POWERS[decimals] as f64).round();
        if scaled < 0.0 {
            self.byte(b'-');
        }
        let scaled = scaled.abs() as u64;
        self.whole(scaled / POWERS[decimals]);
        let mut rest = scaled % POWERS[decimals];
        if rest == 0 {
            return;
        }
        let mut places = decimals;
        while rest.is_multiple_of(10) {
            rest /= 10;
            places -= 1;
        }
        let mut digits = [b'.'; 8];
        for place in (1..=places).rev() {
            digits[place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.bytes.extend_from_slice(&digits[..=places]);
    }

    /// Ends a row.
    pub(super) fn end_row(&mut self) {
        self.byte(b'\n');
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_and_trimmed() {
        for (number, decimals, expected) in [
            (0.0, 6, "0"),
            (-0.000_000_4, 6, "0"),
            (1.5, 6, "1.5"),
            (-0.25, 6, "-0.25"),
            (12.000_001, 6, "12.000001"),
            (0.05, 2, "0.05"),
            (3.999_999_9, 6, "4"),
            (-7.0, 0, "-7"),
            (123_456.7, 1, "123456.7"),
        ] {
            let mut text = Text::default();
            text.decimal(number, decimals);
            assert_eq!(String::from_utf8(text.bytes).unwrap(), expected);
        }
    }

    #[test]
    fn units_stay_in_order_whatever_their_size() {
        // Units from a few bytes to 3 MB.
        let folder = tempfile::tempdir().unwrap();
        let unit = |u: u64, sheet: &mut Sheet| {
            let text = sheet.file((u % 2) as usize);
            text.whole(u);
            text.byte(b' ');
            if u.is_multiple_of(97) {
                text.bytes.extend(std::iter::repeat_n(b'x', 3 << 20));
            }
            text.end_row();
        };
        let files = ["even", "odd"].map(|name| File { name: name.into(), head: "head\n".into() });
        let mut last = (0, 0);
        let output = Output { folder: folder.path(), progress: &mut |done, all| last = (done, all) };
        let written = output.write(&files, 600, unit).unwrap();
        assert_eq!(last, (600, 600));
        for (file, first) in written.files.iter().zip(0u64..) {
            let text = std::fs::read_to_string(&file.path).unwrap();
            assert_eq!(text.len() as u64, file.bytes);
            let numbers: Vec<u64> =
                text.lines().skip(1).map(|l| l.split(' ').next().unwrap().parse().unwrap()).collect();
            assert_eq!(numbers, (0..300).map(|i| 2 * i + first).collect::<Vec<_>>());
            assert_eq!(file.rows, 300);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left behind");
    }
}
