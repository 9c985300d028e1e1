//! The escape sequences with which programs colour what they print on terminals.

/// Writes a text into `out` without its escape sequences, forgetting what was there: drops every `ESC [ parameters letter`; one
/// that does not end takes the rest, but for other text.
pub fn decolorize(text: &str, out: &mut String) {
    out.clear();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let body = &rest[at + 2..];
        let len = body.bytes().take_while(|b| (0x20..0x40).contains(b)).count();
        let last = usize::from(body.as_bytes().get(len).is_some_and(|b| (0x40..0x7f).contains(b)));
        rest = &body[len + last..];
    }
    out.push_str(rest);
}

/// The length of the colour sequence (`ESC [ 1 ; 31 m`) that `s` begins with, or of one that clears the line (`ESC [ 2 K`).
pub(crate) fn color_len(s: &[u8]) -> Option<usize> {
    let numbers = s.strip_prefix(b"\x1b[")?;
    let len = numbers.iter().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    matches!(numbers.get(len), Some(b'm' | b'K')).then_some(len + 3)
}

/// The first bytes of a text without its colours, `len` of them or a few more, and where in the text each of them stands; `None`
/// if its first `len` bytes have no colours.
#[inline]
pub(crate) fn uncolored(text: &str, len: usize) -> Option<(String, Vec<usize>)> {
    let first = text.as_bytes().get(..len).unwrap_or(text.as_bytes());
    memchr::memchr(0x1b, first)?;
    let (mut plain, mut places) = (String::with_capacity(len + 4), Vec::with_capacity(len + 4));
    let mut at = 0;
    while plain.len() < len
        && let Some(rest) = text.get(at..)
        && let Some(next) = rest.chars().next()
    {
        if let Some(color) = color_len(rest.as_bytes()) {
            at += color;
            continue;
        }
        plain.push(next);
        places.extend(at..at + next.len_utf8());
        at += next.len_utf8();
    }
    Some((plain, places))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go() {
        for (text, plain) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("a\u{1b}[K b", "a b"),
            ("a\u{1b}[1;é", "aé"),
            ("a\u{1b}[", "a"),
            ("\u{1b}x", "\u{1b}x"),
        ] {
            let mut out = String::new();
            decolorize(text, &mut out);
            assert_eq!(out, plain, "{text:?}");
        }
    }

    #[test]
    fn the_start_is_given_without_colours_and_with_places() {
        assert_eq!(uncolored("plain", 10), None);
        assert_eq!(uncolored("plain \x1b[31mx", 6), None);
        let (plain, places) = uncolored("\x1b[1m\x1b[31maé\x1b[0m\x1bb\x1b[", 10).unwrap();
        assert_eq!((&*plain, &*places), ("aé\x1bb\x1b[", &[9, 10, 11, 16, 17, 18, 19][..]));
        assert_eq!(uncolored("\x1b[mabéd", 4).unwrap().0, "abé");
    }
}
