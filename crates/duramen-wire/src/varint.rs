//! Integers as protobuf and VictoriaLogs write them: seven bits a byte, the lowest first, and the last byte has no eighth bit.

/// The number that begins here, and what is behind it; `None` if it does not end, or has over ten bytes.
pub(crate) fn split(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (i, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[i + 1..]));
        }
    }
    None
}
