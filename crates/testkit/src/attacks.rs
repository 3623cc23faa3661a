/*!
One table of byte-level attacks, applied by code to a valid file of every reader.

An attack either leaves the meaning of a text file alone (CRLF, a byte-order mark, gzip …): then the reader must
return what the untouched file gives. Or it may break the file: then the reader returns some data set or an error
that names the file; it never panics and never takes memory without bound.
*/

use std::io::Write;

/// A change to the bytes of a file.
pub struct Attack {
    /// What was done, for messages.
    pub name: &'static str,
    /// Does it.
    pub apply: fn(&[u8]) -> Vec<u8>,
    /// What a reader owes.
    pub owes: Owes,
}

/// What a reader owes to an attacked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owes {
    /// A text reader returns what the untouched file gives.
    TheSame,
    /// Every reader, also of binary formats, returns what the untouched file gives.
    TheSameAlways,
    /// An error that names the file.
    Error,
    /// A data set or an error that names the file.
    NoPanic,
}

/// Every attack.
pub static ATTACKS: &[Attack] = &[
    // Harmless: the text means the same.
    Attack { name: "untouched", apply: <[u8]>::to_vec, owes: Owes::TheSameAlways },
    Attack { name: "no newline at the end", apply: |b| b.trim_ascii_end().to_vec(), owes: Owes::TheSame },
    Attack { name: "CRLF line ends", apply: |b| replace(b, b"\n", b"\r\n"), owes: Owes::TheSame },
    Attack { name: "UTF-8 byte-order mark", apply: |b| [b"\xef\xbb\xbf", b].concat(), owes: Owes::TheSame },
    Attack { name: "gzip", apply: gzip, owes: Owes::TheSameAlways },
    Attack { name: "two gzip members", apply: two_members, owes: Owes::TheSameAlways },
    Attack { name: "zstd", apply: zstd, owes: Owes::TheSameAlways },
    // Nothing there.
    Attack { name: "empty", apply: |_| Vec::new(), owes: Owes::NoPanic },
    Attack { name: "one newline", apply: |_| b"\n".to_vec(), owes: Owes::NoPanic },
    Attack { name: "blanks only", apply: |_| b"   \t  \n \n".to_vec(), owes: Owes::NoPanic },
    Attack { name: "NUL bytes only", apply: |_| vec![0; 1000], owes: Owes::NoPanic },
    // Truncation.
    Attack { name: "first byte only", apply: |b| b[..b.len().min(1)].to_vec(), owes: Owes::NoPanic },
    Attack { name: "first half", apply: |b| b[..b.len() / 2].to_vec(), owes: Owes::NoPanic },
    Attack {
        name: "last three bytes lost",
        apply: |b| b[..b.len().saturating_sub(3)].to_vec(),
        owes: Owes::NoPanic,
    },
    Attack { name: "first three bytes lost", apply: |b| b[b.len().min(3)..].to_vec(), owes: Owes::NoPanic },
    // Damaged packing.
    Attack {
        name: "gzip cut in half",
        apply: |b| {
            let z = gzip(b);
            z[..z.len() / 2].to_vec()
        },
        owes: Owes::Error,
    },
    Attack {
        name: "gzip without its last byte",
        apply: |b| {
            let z = gzip(b);
            z[..z.len() - 1].to_vec()
        },
        owes: Owes::Error,
    },
    Attack { name: "gzip header only", apply: |b| gzip(b)[..10].to_vec(), owes: Owes::Error },
    Attack {
        name: "gzip with a wrong checksum",
        apply: |b| {
            let mut z = gzip(b);
            let n = z.len();
            z[n - 6] ^= 1;
            z
        },
        owes: Owes::Error,
    },
    Attack {
        name: "zstd cut in half",
        apply: |b| {
            let z = zstd(b);
            z[..z.len() / 2].to_vec()
        },
        owes: Owes::Error,
    },
    Attack { name: "gzip of gzip", apply: |b| gzip(&gzip(b)), owes: Owes::NoPanic },
    Attack {
        name: "32 MiB of blanks in 32 kB of gzip",
        apply: |_| gzip(&vec![b' '; 32 << 20]),
        owes: Owes::NoPanic,
    },
    Attack {
        name: "96 MiB line in 96 kB of gzip",
        apply: |_| gzip(&vec![b'1'; 96 << 20]),
        owes: Owes::Error,
    },
    // Wrong encodings.
    Attack { name: "UTF-16 little endian", apply: |b| utf16(b, u16::to_le_bytes), owes: Owes::Error },
    Attack { name: "UTF-16 big endian", apply: |b| utf16(b, u16::to_be_bytes), owes: Owes::Error },
    Attack { name: "old Mac line ends", apply: |b| replace(b, b"\n", b"\r"), owes: Owes::NoPanic },
    Attack { name: "Latin-1 letters", apply: |b| replace(b, b"1", b"\xe9"), owes: Owes::NoPanic },
    Attack {
        name: "broken UTF-8 in the middle",
        apply: |b| insert(b, b.len() / 2, b"\xf0\x28\x8c\xbc"),
        owes: Owes::NoPanic,
    },
    Attack { name: "a NUL in the middle", apply: |b| insert(b, b.len() / 2, b"\0"), owes: Owes::NoPanic },
    Attack { name: "binary junk", apply: |_| junk(4096), owes: Owes::NoPanic },
    Attack { name: "junk before", apply: |b| [junk(64), b.to_vec()].concat(), owes: Owes::NoPanic },
    Attack { name: "junk after", apply: |b| [b.to_vec(), junk(64)].concat(), owes: Owes::NoPanic },
    // Numbers.
    Attack {
        name: "every 1 is 99999999999999999999",
        apply: |b| replace(b, b"1", b"99999999999999999999"),
        owes: Owes::NoPanic,
    },
    Attack { name: "every 1 is 4294967296", apply: |b| replace(b, b"1", b"4294967296"), owes: Owes::NoPanic },
    Attack { name: "every 1 is 1e999", apply: |b| replace(b, b"1", b"1e999"), owes: Owes::NoPanic },
    Attack { name: "every 1 is nan", apply: |b| replace(b, b"1", b"nan"), owes: Owes::NoPanic },
    Attack { name: "every 1 is inf", apply: |b| replace(b, b"1", b"inf"), owes: Owes::NoPanic },
    Attack { name: "every 1 is a minus", apply: |b| replace(b, b"1", b"-"), owes: Owes::NoPanic },
    Attack { name: "every 1 is gone", apply: |b| replace(b, b"1", b""), owes: Owes::NoPanic },
    Attack { name: "a thousand digits", apply: |b| replace(b, b"1", &[b'7'; 1000]), owes: Owes::NoPanic },
    // Separators and structure.
    Attack { name: "blanks become tabs", apply: |b| replace(b, b" ", b"\t"), owes: Owes::NoPanic },
    Attack { name: "commas become semicolons", apply: |b| replace(b, b",", b";"), owes: Owes::NoPanic },
    Attack { name: "every other line with tabs for blanks and commas", apply: mixed, owes: Owes::NoPanic },
    Attack { name: "colons lost", apply: |b| replace(b, b":", b""), owes: Owes::NoPanic },
    Attack { name: "colons doubled", apply: |b| replace(b, b":", b"::"), owes: Owes::NoPanic },
    Attack { name: "newlines lost", apply: |b| replace(b, b"\n", b" "), owes: Owes::NoPanic },
    Attack { name: "blank lines between", apply: |b| replace(b, b"\n", b"\n\n"), owes: Owes::NoPanic },
    Attack { name: "an open quote", apply: |b| insert(b, b.len() / 3, b"\""), owes: Owes::NoPanic },
    Attack { name: "the file twice", apply: |b| [b, b].concat(), owes: Owes::NoPanic },
    Attack {
        name: "every line twice",
        apply: |b| lines(b).into_iter().flat_map(|l| [l, l].concat()).collect(),
        owes: Owes::NoPanic,
    },
    Attack {
        name: "lines in reverse",
        apply: |b| lines(b).into_iter().rev().flatten().copied().collect(),
        owes: Owes::NoPanic,
    },
    Attack { name: "bytes in reverse", apply: |b| b.iter().rev().copied().collect(), owes: Owes::NoPanic },
    Attack {
        name: "a line of 4 MiB",
        apply: |b| insert(b, b.len() / 2, &[b'x'; 4 << 20]),
        owes: Owes::NoPanic,
    },
    Attack { name: "first line a thousand times on one line", apply: one_long_line, owes: Owes::NoPanic },
    Attack { name: "a hundred thousand open brackets", apply: |_| vec![b'['; 100_000], owes: Owes::NoPanic },
    Attack {
        name: "a hundred thousand open braces",
        apply: |_| b"{\"a\":".repeat(20_000),
        owes: Owes::NoPanic,
    },
];

/// Files given to the wrong reader: one of every format that some reader of the workspace knows (the seeds of the fuzz targets),
/// and of some that none knows; names and bytes. A reader may accept what has its form, but it never panics.
///
/// # Panics
/// If the seeds cannot be read.
pub fn swapped_files() -> Vec<(String, Vec<u8>)> {
    let of_target = |target: &String| {
        let seeds = crate::fuzz::seeds(target).into_iter().map(|(_, bytes)| bytes);
        (target.clone(), seeds.max_by_key(Vec::len).unwrap_or_default())
    };
    let strangers: [(&str, &[u8]); 7] = [
        ("png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0"),
        ("pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"),
        ("zip", b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0"),
        ("elf", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0"),
        ("safetensors", b"\x10\0\0\0\0\0\0\0{\"__metadata__\":}\0\0\0\0"),
        ("html", b"<!DOCTYPE html>\n<html><body>404 not found</body></html>\n"),
        ("markdown", b"# Title\n\nA text of words, with commas: and colons.\n\n- 1:2 3:4\n"),
    ];
    let strangers = strangers.into_iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec()));
    crate::fuzz::targets().iter().map(of_target).chain(strangers).collect()
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn insert(bytes: &[u8], at: usize, what: &[u8]) -> Vec<u8> {
    [&bytes[..at], what, &bytes[at..]].concat()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&b| b == b'\n').collect()
}

fn mixed(bytes: &[u8]) -> Vec<u8> {
    let change = |(i, line): (usize, &[u8])| match i % 2 {
        0 => line.to_vec(),
        _ => replace(&replace(line, b" ", b"\t"), b",", b"\t"),
    };
    lines(bytes).into_iter().enumerate().flat_map(change).collect()
}

fn one_long_line(bytes: &[u8]) -> Vec<u8> {
    let first = lines(bytes).first().map_or(&b""[..], |line| line.trim_ascii_end());
    [first, b" "].concat().repeat(1000)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).expect("writing to memory");
    out.finish().expect("writing to memory")
}

fn two_members(bytes: &[u8]) -> Vec<u8> {
    let (a, b) = bytes.split_at(bytes.len() / 2);
    [gzip(a), gzip(b)].concat()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("writing to memory")
}

fn utf16(bytes: &[u8], order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect()
}

/// Bytes without sense, the same every time (a linear congruence; nothing here needs a better one).
fn junk(n: usize) -> Vec<u8> {
    let mut state = 12_345_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..n).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_enough_and_no_two_are_the_same() {
        assert!(ATTACKS.len() >= 25);
        let file = b"1 qid:1 1:0.5 2:1\n0 qid:1 1:1 # a,b\n0 qid:2 1:11\n";
        for (i, a) in ATTACKS.iter().enumerate() {
            for b in &ATTACKS[..i] {
                assert_ne!(a.name, b.name);
            }
            if a.name != "untouched" && a.name != "commas become semicolons" {
                assert_ne!((a.apply)(file), file, "{} does nothing", a.name);
            }
        }
    }
}
