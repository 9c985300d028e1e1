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
}
