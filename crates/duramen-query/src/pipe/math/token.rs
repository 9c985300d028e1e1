//! Tokens of expressions, in which `a-b` is a difference and `a/b` a quotient, while elsewhere they are words.

use crate::error::ParseError;
use crate::parse::Parser;
use crate::parse::lexer::{self, TokenKind};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A number, a field's name, or the name of a function.
    Word(String),
    /// The same between quotes.
    Quoted(String),
    /// `+ - * / % ^ & ( ) ,`
    Sign(char),
    /// What ends an expression.
    End,
}

impl Parser<'_> {
    /// The token at the parser's place, and where it ends.
    pub(super) fn math_token(&self) -> Result<(Token, usize), ParseError> {
        let start = self.token.start;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else { return Ok((Token::End, start)) };
        if matches!(first, '"' | '\'' | '`') {
            let token = lexer::token_at(self.text, start)?;
            let TokenKind::Quoted(text) = token.kind else { return Ok((Token::End, start)) };
            return Ok((Token::Quoted(text), token.end));
        }
        if matches!(first, '+' | '-' | '*' | '/' | '%' | '^' | '&' | '(' | ')' | ',') {
            return Ok((Token::Sign(first), start + 1));
        }
        let len = word_len(rest);
        if len == 0 { Ok((Token::End, start)) } else { Ok((Token::Word(rest[..len].into()), start + len)) }
    }

    /// Goes to the next token.
    pub(super) fn math_advance(&mut self, end: usize) -> Result<(), ParseError> {
        self.continue_at(end)
    }
}

/// How long the word is that a text begins with: letters, digits, and `_ . @ $`, and `#` before digits. In a number, a
/// sign may follow the `e` of its exponent.
fn word_len(text: &str) -> usize {
    let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let mut before = ' ';
    let mut previous = ' ';
    for (i, c) in text.char_indices() {
        let in_exponent =
            number && matches!(c, '+' | '-') && matches!(previous, 'e' | 'E') && before.is_ascii_digit();
        let in_name = c == '#' && i > 0 && text[i + 1..].starts_with(|c: char| c.is_ascii_digit());
        if !(c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '$') || in_exponent || in_name) {
            return i;
        }
        (before, previous) = (previous, c);
    }
    text.len()
}
