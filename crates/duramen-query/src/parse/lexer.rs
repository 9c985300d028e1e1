//! Tokens: bare words, quoted texts, and single characters that mean something.
//!
//! A bare word is anything without blanks and without `( ) [ ] { } | , : " ' ` = < > ~ ! * #`; so `web-1`,
//! `/api/v1`, `10.0.0.1` and `50%` need no quotes. `#` begins a comment to the line's end, unless it stands in
//! a word before a digit, as in the names of fields that a line has twice: `host#1`.

use crate::error::ParseError;

/// A piece of the query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub kind: TokenKind<'a>,
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind<'a> {
    Word(&'a str),
    Quoted(String),
    Punct(char),
    End,
}

impl Token<'_> {
    /// For error messages.
    pub fn describe(&self) -> String {
        match &self.kind {
            TokenKind::Word(w) => format!("`{w}`"),
            TokenKind::Quoted(q) => format!("the text {}", super::quote_always(q)),
            TokenKind::Punct(c) => format!("`{c}`"),
            TokenKind::End => "the end of the query".into(),
        }
    }
}

/// Whether a character may be in a bare word.
pub(crate) fn is_bare_char(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(
            c,
            '(' | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '|'
                | ','
                | ':'
                | '"'
                | '\''
                | '`'
                | '='
                | '<'
                | '>'
                | '~'
                | '!'
                | '*'
                | '#'
        )
}

/// The first token at or after a byte offset (a character boundary).
pub(crate) fn token_at(text: &str, from: usize) -> Result<Token<'_>, ParseError> {
    let start = skip_blanks(text, from);
    let rest = &text[start..];
    let Some(first) = rest.chars().next() else {
        return Ok(Token { kind: TokenKind::End, start, end: start });
    };
    if matches!(first, '"' | '\'' | '`') {
        return quoted(text, start, first);
    }
    if is_bare_char(first) {
        let end = word_end(text, start, is_bare_char);
        return Ok(Token { kind: TokenKind::Word(&text[start..end]), start, end });
    }
    Ok(Token { kind: TokenKind::Punct(first), start, end: start + first.len_utf8() })
}

/// Where a bare value ends that begins at a byte offset: a word that may hold colons.
pub(crate) fn value_end(text: &str, from: usize) -> usize {
    word_end(text, from, |c| c == ':' || is_bare_char(c))
}

/// Where a word ends that begins at a byte offset, of these characters and of `#` before digits.
pub(crate) fn word_end(text: &str, from: usize, is_of_word: impl Fn(char) -> bool) -> usize {
    let mut end = from;
    loop {
        let rest = &text[end..];
        end += rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        match text.as_bytes().get(end..) {
            Some([b'#', b'0'..=b'9', ..]) if end > from => end += 1,
            _ => return end,
        }
    }
}

/// Skips blanks, control characters and comments.
fn skip_blanks(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let blank = rest.find(|c: char| !c.is_whitespace() && !c.is_control()).unwrap_or(rest.len());
        at += blank;
        if !text[at..].starts_with('#') {
            return at;
        }
        at += text[at..].find('\n').unwrap_or(text.len() - at);
        if at == text.len() {
            return at;
        }
    }
}

/// The text between the quotes that `text` begins with, without its escapes, and how many bytes it takes with the
/// quotes; for values, in which `"` and backticks are quotes.
pub(crate) fn quoted_prefix(text: &str) -> Option<(String, usize)> {
    let first = text.chars().next().filter(|c| matches!(c, '"' | '`'))?;
    // Without a second quote there is none.
    text[1..].find(first)?;
    match quoted(text, 0, first) {
        Ok(Token { kind: TokenKind::Quoted(inner), end, .. }) => Some((inner, end)),
        _ => None,
    }
}

fn quoted(text: &str, start: usize, quote: char) -> Result<Token<'_>, ParseError> {
    let body = start + 1;
    let unclosed = || {
        ParseError::new(
            text,
            start,
            format!("the quote {quote} is not closed"),
            format!("a closing {quote} is missing"),
        )
    };
    if quote == '`' {
        let len = text[body..].find('`').ok_or_else(unclosed)?;
        let kind = TokenKind::Quoted(text[body..body + len].to_string());
        return Ok(Token { kind, start, end: body + len + 1 });
    }
    let mut out = String::new();
    let mut chars = text[body..].char_indices();
    while let Some((i, c)) = chars.next() {
        if c == quote {
            return Ok(Token { kind: TokenKind::Quoted(out), start, end: body + i + 1 });
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let (_, escaped) = chars.next().ok_or_else(unclosed)?;
        match escaped {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            '\\' | '"' | '\'' | '`' => out.push(escaped),
            'x' | 'u' | 'U' => {
                let digits = match escaped {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let hex = chars.as_str().get(..digits).and_then(|h| u32::from_str_radix(h, 16).ok());
                match hex.and_then(char::from_u32) {
                    Some(decoded) => {
                        out.push(decoded);
                        for _ in 0..digits {
                            chars.next();
                        }
                    }
                    None => out.extend(['\\', escaped]),
                }
            }
            // `\d` and the like, for regular expressions.
            other => out.extend(['\\', other]),
        }
    }
    Err(unclosed())
}
