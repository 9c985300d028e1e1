//! From text to plan: a recursive-descent parser over a lexer that is asked for one token at a time.
//!
//! ```text
//! query  = [ "options" "(" … ")" ] filter { "|" pipe }
//! filter = and { "or" and }          and = not { [ "and" ] not }         not = { "!" | "-" | "not" } leaf
//! leaf   = "(" filter ")" | "{" stream "}" | "*" | [ name ":" ] test | name ":" "(" filter ")"
//! ```
//!
//! Filters' leaves are in [`filter`], those that are functions in `functions`, time's many spellings in [`time`]; each
//! pipe reads itself, in its own file.

mod clock;
pub mod filter;
mod functions;
pub mod lexer;
pub(crate) mod query;
pub mod quote;
mod range;
mod selector;
pub mod time;

pub(crate) use quote::{quote, quote_always};

use crate::error::ParseError;
use crate::filter::Filter;
use crate::filter::time::TimeRange;
use duramen::block::names;
use jiff::tz::TimeZone;
use lexer::{Token, TokenKind};

/// What a query's text is read against.
#[derive(Clone, Debug)]
pub struct ParseOptions {
    /// The present, ns since the epoch, for relative times such as `_time:5m`.
    pub now_ns: i64,
    /// The time zone of dates that name none.
    pub timezone: TimeZone,
    /// The entries that queries may see at all, those inside of queries included, unless they say
    /// `options(ignore_global_time_filter=true)`. Default: all.
    pub within: Option<TimeRange>,
    /// What every entry must be that queries see, those inside of queries included, whatever they say. Default: anything.
    pub also: Filter,
}

impl Default for ParseOptions {
    /// The epoch, in UTC.
    fn default() -> Self {
        Self { now_ns: 0, timezone: TimeZone::UTC, within: None, also: Filter::All }
    }
}

/// How deep filters may be nested; more would risk the stack.
const MAX_DEPTH: usize = 100;

/// The parser: the text, and the token it stands before.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    pub text: &'a str,
    pub options: &'a ParseOptions,
    pub token: Token<'a>,
    /// Where the token before ended.
    pub last_end: usize,
    /// How much earlier all times of the query are than they are written, ns.
    time_offset_ns: i64,
    /// How many queries stand around this place.
    queries: usize,
    /// Whether no pipe stands before the one being read.
    pub first_pipe: bool,
    depth: usize,
}

type Parsed<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    pub fn new(text: &'a str, options: &'a ParseOptions) -> Parsed<Self> {
        let token = lexer::token_at(text, 0)?;
        Ok(Self {
            text,
            options,
            token,
            last_end: 0,
            time_offset_ns: 0,
            queries: 0,
            first_pipe: false,
            depth: 0,
        })
    }

    /// An error at the current token.
    pub fn error(&self, message: impl Into<String>, hint: impl Into<String>) -> ParseError {
        ParseError::new(self.text, self.token.start, message, hint)
    }

    /// The error that something else should stand here.
    pub fn expected(&self, what: &str) -> ParseError {
        self.error(format!("expected {what}, found {}", self.token.describe()), format!("expected {what}"))
    }

    /// Goes to the next token and gives the one it was at.
    pub fn advance(&mut self) -> Parsed<Token<'a>> {
        let next = lexer::token_at(self.text, self.token.end)?;
        self.last_end = self.token.end;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// Continues at a byte offset, after text that was read without the lexer.
    pub fn continue_at(&mut self, offset: usize) -> Parsed<()> {
        self.last_end = offset;
        self.token = lexer::token_at(self.text, offset)?;
        Ok(())
    }

    /// The token after the current one.
    pub fn following(&self) -> Option<Token<'a>> {
        lexer::token_at(self.text, self.token.end).ok()
    }

    pub fn at_punct(&self, c: char) -> bool {
        self.token.kind == TokenKind::Punct(c)
    }

    /// Whether the token is this bare word, in any case.
    pub fn at_word(&self, word: &str) -> bool {
        matches!(self.token.kind, TokenKind::Word(w) if w.eq_ignore_ascii_case(word))
    }

    pub fn at_end(&self) -> bool {
        self.token.kind == TokenKind::End
    }

    /// Whether a pipe ends here, or the query that it is in.
    pub fn at_pipe_end(&self) -> bool {
        self.at_end() || self.at_punct('|') || self.at_punct(')')
    }

    pub fn eat_punct(&mut self, c: char) -> Parsed<bool> {
        let found = self.at_punct(c);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.at_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub fn expect_punct(&mut self, c: char) -> Parsed<()> {
        if self.eat_punct(c)? { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    /// A bare or quoted word.
    pub fn text_token(&mut self, what: &str) -> Parsed<String> {
        match &self.token.kind {
            TokenKind::Word(w) => {
                let text = (*w).to_string();
                self.advance()?;
                Ok(text)
            }
            TokenKind::Quoted(q) => {
                let text = q.clone();
                self.advance()?;
                Ok(text)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A bare or quoted value. A bare one may hold colons, as times of the day and addresses do.
    pub fn value_token(&mut self, what: &str) -> Parsed<String> {
        let (start, end) = (self.token.start, lexer::value_end(self.text, self.token.start));
        if !matches!(self.token.kind, TokenKind::Word(_)) || end == self.token.end {
            return self.text_token(what);
        }
        let text = &self.text[start..end];
        if text.ends_with(':') {
            let message = "a bare value cannot end with `:`";
            return Err(ParseError::new(self.text, end - 1, message, "put the value between quotes"));
        }
        self.continue_at(end)?;
        Ok(text.to_string())
    }

    /// A regular expression, without quotes as far as bare values go, and with the stars in it.
    pub fn expression_token(&mut self) -> Parsed<String> {
        if !matches!(self.token.kind, TokenKind::Word(_) | TokenKind::Punct('*')) {
            return self.text_token("a regular expression between quotes");
        }
        let start = self.token.start;
        let end = lexer::word_end(self.text, start, |c| matches!(c, ':' | '*') || lexer::is_bare_char(c));
        self.continue_at(end)?;
        Ok(self.text[start..end].to_string())
    }

    /// A field's name; the empty one is the message's.
    pub fn field_name(&mut self) -> Parsed<Box<str>> {
        let name = self.text_token("a field name")?;
        Ok(if name.is_empty() { names::MESSAGE.into() } else { name.into() })
    }

    /// Whether a number is next.
    pub fn at_count(&self) -> bool {
        matches!(self.token.kind, TokenKind::Word(w) if w.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// A whole number that is not negative.
    pub fn count(&mut self, what: &str) -> Parsed<usize> {
        let number = match self.token.kind {
            TokenKind::Word(w) => crate::number::Number::parse(w).and_then(|n| n.as_int()),
            _ => None,
        };
        match number.and_then(|n| usize::try_from(n).ok()) {
            Some(n) => {
                self.advance()?;
                Ok(n)
            }
            None => Err(self.expected(what)),
        }
    }

    /// A list of things between parentheses, separated by commas; a comma may end it.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect_punct('(')?;
        let mut items = Vec::new();
        while !self.eat_punct(')')? {
            items.push(item(self)?);
            if !self.at_punct(')') && !self.eat_punct(',')? {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(items)
    }

    /// Runs a parser one level deeper.
    pub fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(
                format!("the query is nested more than {MAX_DEPTH} deep"),
                "take some parentheses away",
            ));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}
