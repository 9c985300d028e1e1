//! How an input that has several parts is cut.
//!
//! ```text
//! parts   (length u16 | bytes) * n      little-endian; the last part ends where the input does
//! ```

/// Appends a part. What is over 65,535 bytes is cut: no seed is that long.
pub fn put_part(out: &mut Vec<u8>, part: &[u8]) {
    let part = &part[..part.len().min(usize::from(u16::MAX))];
    out.extend_from_slice(&(part.len() as u16).to_le_bytes());
    out.extend_from_slice(part);
}

/// The parts of an input, at most `most`.
pub fn parts(mut input: &[u8], most: usize) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    while let Some((len, rest)) = input.split_first_chunk::<2>() {
        if parts.len() == most {
            break;
        }
        let (part, rest) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
        parts.push(part);
        input = rest;
    }
    parts
}

/// The first byte, which says how to go about it, and the rest.
pub fn flags(input: &[u8]) -> (u8, &[u8]) {
    input.split_first().map_or((0, input), |(flags, rest)| (*flags, rest))
}
