//! Bytes as text: percent signs, hexadecimal digits, base 64.

const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes all bytes but letters, digits and `-._~` as `%XX`, and blanks as `+`, as forms are sent.
pub(super) fn url_encode(text: &str, out: &mut String) {
    for &b in text.as_bytes() {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(b));
        } else if b == b' ' {
            out.push('+');
        } else {
            out.push('%');
            out.push(char::from(UPPER_HEX[usize::from(b >> 4)]));
            out.push(char::from(UPPER_HEX[usize::from(b & 15)]));
        }
    }
}

/// Reads `%XX`, and `+` as a blank.
pub(super) fn url_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&b, after)) = rest.split_first() {
        rest = after;
        bytes.push(match b {
            b'+' => b' ',
            b'%' => {
                let (pair, after) = rest.split_first_chunk::<2>()?;
                rest = after;
                hex_digit(pair[0])? << 4 | hex_digit(pair[1])?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex_digit(b: u8) -> Option<u8> {
    char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// Two small digits a byte.
pub(super) fn hex_encode(bytes: &[u8], out: &mut String) {
    for b in bytes {
        out.push(char::from(UPPER_HEX[usize::from(b >> 4)]));
        out.push(char::from(UPPER_HEX[usize::from(b & 15)]));
    }
}

/// Two digits a byte, of any case.
pub(super) fn hex_decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(hex_digit(*high)? << 4 | hex_digit(*low)?)).collect()
}

/// The standard alphabet, with `=` at the end.
pub(super) fn base64_encode(bytes: &[u8], out: &mut String) {
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4usize {
            let sextet = (bits >> (18 - 6 * i)) & 63;
            out.push(if i <= chunk.len() { char::from(BASE64[sextet as usize]) } else { '=' });
        }
    }
}

/// The standard alphabet, with `=` at the end where they are due: without, many a word would be base 64.
pub(super) fn base64_decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(body.len() * 3 / 4);
    for chunk in body.as_bytes().chunks(4) {
        if chunk.len() == 1 || text.len() - body.len() > 2 {
            return None;
        }
        let mut bits = 0u32;
        for i in 0..4 {
            let sextet = match chunk.get(i) {
                Some(b) => BASE64.iter().position(|c| c == b)?,
                None => 0,
            };
            bits = bits << 6 | u32::try_from(sextet).ok()?;
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(bytes in proptest::collection::vec(0u8.., 0..20), text in ".{0,12}") {
            let (mut hex, mut base64, mut url) = (String::new(), String::new(), String::new());
            hex_encode(&bytes, &mut hex);
            base64_encode(&bytes, &mut base64);
            url_encode(&text, &mut url);
            proptest::prop_assert_eq!(hex_decode(&hex), Some(bytes.clone()));
            proptest::prop_assert_eq!(base64_decode(&base64), Some(bytes));
            proptest::prop_assert_eq!(url_decode(&url), Some(text));
        }

        #[test]
        fn base_64_is_not_guessed(text in "[A-Za-z0-9+/]{0,12}") {
            proptest::prop_assert_eq!(base64_decode(&text).is_some(), text.len().is_multiple_of(4));
        }

        #[test]
        fn no_text_makes_them_panic(text in "[%0-9A-Fa-fé=+/]{0,12}") {
            let _ = (hex_decode(&text), base64_decode(&text), url_decode(&text));
        }
    }
}
