//! Text of strangers made harmless: a log line must not be able to steer the terminal that shows it.

/// Appends `text` with every control character but tab and line feed written as an escape (`\x1b`), and the
/// characters that reorder text (Unicode's bidirectional controls) as `\u{202e}`.
pub(crate) fn push_safe(out: &mut String, text: &str) {
    let mut clean_from = 0;
    for (at, c) in text.char_indices() {
        if is_safe(c) {
            continue;
        }
        out.push_str(&text[clean_from..at]);
        push_escaped(out, c);
        clean_from = at + c.len_utf8();
    }
    out.push_str(&text[clean_from..]);
}

/// As [`push_safe`], for text that must stay on one line: tabs and line feeds are escaped, too.
pub(crate) fn push_safe_line(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_safe(c) => out.push(c),
            c => push_escaped(out, c),
        }
    }
}

fn push_escaped(out: &mut String, c: char) {
    use std::fmt::Write;
    let code = u32::from(c);
    // Writing to a String cannot fail.
    let _infallible = match c {
        '\r' => out.write_str("\\r"),
        _ if code < 0x100 => write!(out, "\\x{code:02x}"),
        _ => write!(out, "\\u{{{code:x}}}"),
    };
}

fn is_safe(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        c => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safe(text: &str) -> String {
        let mut out = String::new();
        push_safe(&mut out, text);
        out
    }

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(safe("häß\tok\nline"), "häß\tok\nline");
        assert_eq!(safe("\x1b[2Jgone\r\x07\u{9b}31m"), "\\x1b[2Jgone\\r\\x07\\x9b31m");
        assert_eq!(safe("a\u{202e}b\u{7f}"), "a\\u{202e}b\\x7f");
        let mut line = String::new();
        push_safe_line(&mut line, "a\nb\tc\x00");
        assert_eq!(line, "a\\nb\\tc\\x00");
    }
}
