//! Numbers as little-endian bytes. Loops over whole arrays of bytes become plain copies on little-endian machines, so
//! nothing here needs aligned memory or `unsafe`.

/// A number that a section can hold.
pub(super) trait Number: Copy {
    /// Its type in the table of sections.
    const KIND: &'static str;

    /// Appends the bytes of `values`.
    fn write_all(values: &[Self], out: &mut Vec<u8>);

    /// The numbers of `bytes`; `None` if some byte is left over.
    fn read_all(bytes: &[u8]) -> Option<Vec<Self>>;
}

macro_rules! number {
    ($($type:ident)*) => { $(
        impl Number for $type {
            const KIND: &'static str = stringify!($type);

            fn write_all(values: &[$type], out: &mut Vec<u8>) {
                out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }

            fn read_all(bytes: &[u8]) -> Option<Vec<$type>> {
                let (whole, rest) = bytes.as_chunks();
                rest.is_empty().then(|| whole.iter().map(|bytes| $type::from_le_bytes(*bytes)).collect())
            }
        }
    )* };
}

number!(u16 u32 u64 f32 f64);

/// Fills `out` with the numbers of `bytes`, as many as both have.
pub(super) fn read_f32s(bytes: &[u8], out: &mut [f32]) {
    for (value, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
        *value = f32::from_le_bytes(*bytes);
    }
}

/// The number at the start of `bytes`.
pub(super) fn read_u64(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
