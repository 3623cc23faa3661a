/*!
Records as TensorBoard events.

```text
file   = record*                      record = length u64 · crc(length) · bytes · crc(bytes), little endian
bytes  = an Event in protobuf:        1 wall_time double · 2 step int64 · 3 file_version string · 5 summary
summary = (1 value)*                  value = 1 tag string · 2 simple_value float
crc(x) = c rotated right by 15 plus 0xa282ead8, c = CRC-32C of x
```

Source: TensorFlow's `event.proto`, `summary.proto` and `record_writer`.
*/

use super::{COLUMNS, Record};

/// The event a file begins with.
pub(super) fn first(wall_time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    double(&mut event, 1, wall_time);
    bytes(&mut event, 3, b"brain.Event:2");
    framed(&event)
}

/// All numbers of a record in one event.
pub(super) fn record(record: &Record, metrics: &[String], wall_time: f64) -> Vec<u8> {
    let columns = COLUMNS.iter().map(|(name, value)| (*name, Some(value(record))));
    let metrics = metrics.iter().map(String::as_str).zip(record.metrics.iter().copied());
    let mut summary = Vec::new();
    for (tag, value) in columns.chain(metrics) {
        let Some(value) = value else { continue };
        let mut one = Vec::new();
        bytes(&mut one, 1, tag.as_bytes());
        key(&mut one, 2, 5);
        one.extend((value as f32).to_le_bytes());
        bytes(&mut summary, 1, &one);
    }
    let mut event = Vec::new();
    double(&mut event, 1, wall_time);
    key(&mut event, 2, 0);
    varint(&mut event, record.step);
    bytes(&mut event, 5, &summary);
    framed(&event)
}

/// How many bytes of a file hold whole, undamaged events of at most `steps` steps; 0 if it does not begin as one of ours.
pub(super) fn until(file: &[u8], steps: u64) -> usize {
    let mut kept = 0;
    while let Some((event, next)) = unframed(file, kept) {
        let (version, step) = version_and_step(event);
        if (kept == 0) != version || step > steps {
            break;
        }
        kept = next;
    }
    kept
}

fn framed(event: &[u8]) -> Vec<u8> {
    let length = (event.len() as u64).to_le_bytes();
    [&length, &masked(&length).to_le_bytes()[..], event, &masked(event).to_le_bytes()].concat()
}

/// The event at `start` and where the next one begins.
fn unframed(file: &[u8], start: usize) -> Option<(&[u8], usize)> {
    let rest = &file[start..];
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (length_check, rest) = rest.split_first_chunk::<4>()?;
    let event = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let (check, _) = rest[event.len()..].split_first_chunk::<4>()?;
    let whole =
        u32::from_le_bytes(*length_check) == masked(length) && u32::from_le_bytes(*check) == masked(event);
    whole.then_some((event, start + 16 + event.len()))
}

/// Whether an event that we wrote is the first of its file, and its step.
fn version_and_step(event: &[u8]) -> (bool, u64) {
    match event.get(9..) {
        Some([0x10, rest @ ..]) => {
            let mut step = 0;
            for (i, byte) in rest.iter().take(10).enumerate() {
                step |= u64::from(byte & 0x7f) << (7 * i);
                if byte & 0x80 == 0 {
                    break;
                }
            }
            (false, step)
        }
        Some([0x1a, ..]) => (true, 0),
        _ => (false, u64::MAX),
    }
}

fn key(out: &mut Vec<u8>, field: u8, wire: u8) {
    out.push(field << 3 | wire);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn double(out: &mut Vec<u8>, field: u8, value: f64) {
    key(out, field, 1);
    out.extend(value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u8, value: &[u8]) {
    key(out, field, 2);
    varint(out, value.len() as u64);
    out.extend(value);
}

fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), a byte at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| crc >> 8 ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

const TABLE: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// All events of a whole file.
#[cfg(test)]
pub(super) fn events(file: &[u8]) -> Vec<&[u8]> {
    let mut start = 0;
    std::iter::from_fn(|| {
        let (event, next) = unframed(file, start)?;
        start = next;
        Some(event)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn varints_are_protobufs() {
        let of = |value| {
            let mut out = Vec::new();
            varint(&mut out, value);
            out
        };
        assert_eq!((of(0), of(127), of(128), of(300)), (vec![0], vec![127], vec![0x80, 1], vec![0xac, 2]));
        assert_eq!(of(u64::MAX), [[0xff; 9].as_slice(), &[1]].concat());
    }

    #[test]
    fn a_file_that_does_not_begin_as_ours_is_not_kept() {
        let one = record(&Record::default(), &[], 1.0);
        assert_eq!(until(&one, 10), 0);
        let ours = first(1.0);
        let whole = [ours.as_slice(), &one].concat();
        assert_eq!(until(&whole, 10), whole.len());
        // Another beginning in the middle: what stands before it is kept.
        assert_eq!(until(&[whole.as_slice(), &ours].concat(), 10), whole.len());
    }

    #[test]
    fn the_step_that_was_written_is_read() {
        for step in [0, 1, 127, 128, 1 << 40, u64::MAX] {
            let framed = record(&Record { step, ..Record::default() }, &[], 12.5);
            let (event, next) = unframed(&framed, 0).unwrap();
            assert_eq!((version_and_step(event), next), ((false, step), framed.len()));
        }
        let start = first(1.0);
        assert_eq!(version_and_step(unframed(&start, 0).unwrap().0), (true, 0));
    }
}
