//! How texts are written so that reading them gives the same text.

use super::lexer::{is_bare_char, word_end};
use std::borrow::Cow;

/// Words that mean something bare.
const RESERVED: &[&str] = &[
    "and", "or", "not", "in", "i", "range", "by", "as", "desc", "asc", "limit", "offset", "with", "hits",
    "rank", "options", "if",
];

/// A text bare if that reads back as the same text, else quoted.
pub(crate) fn quote(text: &str) -> Cow<'_, str> {
    let bare = !text.is_empty()
        && word_end(text, 0, is_bare_char) == text.len()
        && !text.starts_with('-')
        && !RESERVED.iter().any(|r| r.eq_ignore_ascii_case(text));
    if bare { text.into() } else { quote_always(text).into() }
}

/// A text between double quotes.
pub fn quote_always(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
