//! The part of protobuf's wire format that a model needs: numbers, and length-delimited bytes.

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// An empty message.
    pub fn new() -> Message {
        Message::default()
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A field that holds an integer.
    #[must_use]
    pub fn number(mut self, field: u64, value: u64) -> Message {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// A field that holds a float in single precision.
    #[must_use]
    pub fn float(mut self, field: u64, value: f32) -> Message {
        self.varint(field << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A field that holds bytes.
    #[must_use]
    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// A field that holds a string.
    #[must_use]
    pub fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    /// A field that holds another message.
    #[must_use]
    pub fn message(self, field: u64, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }

    /// Its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A field of a message being read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// An integer.
    Number(u64),
    /// A float in single precision.
    Float(f32),
    /// Bytes: a string, packed numbers, or another message.
    Bytes(&'a [u8]),
}

/// The fields of a message with their numbers; `None` if it is damaged.
pub fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Field<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)?),
            2 => {
                let len = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(len)?;
                bytes = rest;
                Field::Bytes(value)
            }
            5 => {
                let (value, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                Field::Float(f32::from_le_bytes(*value))
            }
            _ => return None,
        };
        found.push((key >> 3, field));
    }
    Some(found)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_protobuf_guide_has_its_bytes() {
        // "Encoding": field 1 = 150 is 08 96 01, field 2 = "testing" is 12 07 …, and a message of the first in field 3.
        assert_eq!(Message::new().number(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::new().text(2, "testing").into_bytes();
        assert_eq!(text, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let inside = Message::new().message(3, &Message::new().number(1, 150)).into_bytes();
        assert_eq!(inside, [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }

    #[test]
    fn fields_come_back_and_damage_is_seen() {
        let bytes = Message::new().number(1, u64::MAX).text(300, "x").number(2, 0).float(4, 0.5).into_bytes();
        let expected = vec![
            (1, Field::Number(u64::MAX)),
            (300, Field::Bytes(b"x")),
            (2, Field::Number(0)),
            (4, Field::Float(0.5)),
        ];
        assert_eq!(fields(&bytes), Some(expected));
        assert_eq!(fields(&[0x12, 0x07, 0x74]), None);
        assert_eq!(fields(&[0x80]), None);
        assert_eq!(fields(&[0x0d, 0, 0, 0]), None);
        assert_eq!(fields(&[0x09, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
