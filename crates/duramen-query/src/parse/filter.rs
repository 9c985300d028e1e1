//! Filters: the logic around them, and their leaves.

use super::Parser;
use super::functions::FUNCTIONS;
use super::lexer::TokenKind;
use super::time::parse_time;
use crate::error::ParseError;
use crate::filter::compare::{Bound, Range};
use crate::filter::exact::Exact;
use crate::filter::ip::{self, IpRange};
use crate::filter::level::{LevelTest, Relation};
use crate::filter::phrase::Phrase;
use crate::filter::regex::Pattern;
use crate::filter::{Filter, Test};
use crate::number::Number;
use crate::pipe::fields::NamePattern;
use crate::pipe::registry::is_pipe;
use duramen::block::names;

type Parsed<T> = Result<T, ParseError>;

/// What a test that names no field is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// The message.
    Message,
    /// A field that stands before the colon.
    Field(&'a str),
    /// Any of the fields so named.
    Any(&'a NamePattern),
}

impl<'a> Subject<'a> {
    /// The field of a name; the empty one is the message's.
    fn named(name: &'a str) -> Self {
        Self::Field(if name.is_empty() { names::MESSAGE } else { name })
    }

    /// The one field that is tested, if it is one.
    pub fn field(self) -> Option<&'a str> {
        match self {
            Self::Message => Some(names::MESSAGE),
            Self::Field(field) => Some(field),
            Self::Any(_) => None,
        }
    }

    /// The test of it.
    pub fn is(self, test: Test) -> Filter {
        match self {
            Self::Message => Filter::Field { field: names::MESSAGE.into(), test },
            Self::Field(field) => Filter::Field { field: field.into(), test },
            Self::Any(pattern) => Filter::AnyField { pattern: pattern.clone(), test },
        }
    }

    fn is_level(self) -> bool {
        matches!(self, Self::Field(names::LEVEL))
    }
}

impl Parser<'_> {
    /// A filter from its beginning on: who begins it with the name of a pipe, as in `filter app:x` for a query, means that.
    /// Alone, it is a word like any other.
    pub fn whole_filter(&mut self) -> Parsed<Filter> {
        if let TokenKind::Word(word) = self.token.kind
            && is_pipe(word)
            && !self.text[self.token.end..].starts_with(['=', '<', '>', '~', '!', '*'])
            && self
                .following()
                .is_none_or(|t| !matches!(t.kind, TokenKind::Punct(':' | '|' | ')') | TokenKind::End))
        {
            return Err(self.error(
                format!("a filter cannot begin with the name of the pipe `{word}`"),
                format!("write * | {word} …, or \"{word}\" between quotes to find the word"),
            ));
        }
        self.filter(Subject::Message)
    }

    /// A whole filter, for a field that is given from outside or the message.
    pub fn filter(&mut self, subject: Subject<'_>) -> Parsed<Filter> {
        let mut parts = vec![self.filter_and(subject)?];
        while self.eat_word("or")? {
            parts.push(self.filter_and(subject)?);
        }
        if parts.contains(&Filter::All) {
            return Ok(Filter::All);
        }
        let flat = parts.into_iter().flat_map(|p| if let Filter::Or(inner) = p { inner } else { vec![p] });
        Ok(Filter::from_parts(flat.collect(), Filter::Or))
    }

    fn filter_and(&mut self, subject: Subject<'_>) -> Parsed<Filter> {
        let mut filter = self.filter_not(subject)?;
        loop {
            let is_said = self.eat_word("and")?;
            if !is_said && (self.at_pipe_end() || self.at_word("or")) {
                return Ok(filter);
            }
            if self.at_punct(',') || self.at_punct(']') || self.at_punct('}') || self.at_punct(':') {
                return Err(self.error(
                    format!("{} does not belong here", self.token.describe()),
                    "put texts with such characters between quotes",
                ));
            }
            if !is_said && self.goes_on_a_text() {
                return Err(self.error(
                    format!("{} stands directly behind a text", self.token.describe()),
                    if self.text[..self.last_end].ends_with('*') {
                        "for anything between two texts write a regular expression, such as ~\"foo.*bar\""
                    } else {
                        "put a blank between them, or all of it between quotes if it is one text"
                    },
                ));
            }
            filter = filter.and(self.filter_not(subject)?);
        }
    }

    /// Whether there is no blank between the token and a text before it: of `wow!such`, `foo*bar` and `a"b"` nobody can
    /// tell whether one text is meant or two filters. Behind a bracket anybody can.
    fn goes_on_a_text(&self) -> bool {
        self.token.start == self.last_end && !self.text[..self.last_end].ends_with([')', ']', '}'])
    }

    fn filter_not(&mut self, subject: Subject<'_>) -> Parsed<Filter> {
        let mut negated = false;
        loop {
            match self.token.kind {
                TokenKind::Punct('!') => {
                    self.advance()?;
                }
                TokenKind::Word(w) if w.eq_ignore_ascii_case("not") && !self.names_field() => {
                    self.advance()?;
                }
                TokenKind::Word(w) if w.starts_with('-') => {
                    let minus_end = self.token.start + 1;
                    self.continue_at(minus_end)?;
                }
                _ => break,
            }
            negated = !negated;
        }
        let leaf = self.nested(|p| p.leaf(subject))?;
        Ok(if negated { negate(leaf) } else { leaf })
    }

    /// Whether the current token is followed directly by a colon.
    fn names_field(&self) -> bool {
        self.text[self.token.end..].starts_with(':')
    }

    fn leaf(&mut self, subject: Subject<'_>) -> Parsed<Filter> {
        match self.token.kind.clone() {
            TokenKind::Punct('(') => {
                self.advance()?;
                let inner = self.filter(subject)?;
                if !self.at_punct(')') {
                    return Err(self.expected("`)`, `and`, `or` or another filter"));
                }
                self.advance()?;
                Ok(inner)
            }
            TokenKind::Punct('{') if matches!(subject, Subject::Message | Subject::Field(names::STREAM)) => {
                self.selector()
            }
            TokenKind::Punct('*') => self.star(subject),
            TokenKind::Punct(':') => {
                self.advance()?;
                self.nested(|p| p.field_value(Subject::named("")))
            }
            TokenKind::Punct('=' | '<' | '>' | '~') => self.operator(subject),
            TokenKind::Word(w) => {
                let rest = &self.text[self.token.end..];
                match FUNCTIONS.iter().find(|f| f.name.eq_ignore_ascii_case(w)) {
                    Some(function)
                        if rest.starts_with('(') || (function.brackets && rest.starts_with('[')) =>
                    {
                        self.advance()?;
                        (function.parse)(self, subject, function.name)
                    }
                    // Two filters side by side have a blank between them: a misspelt function does not become that.
                    _ if rest.starts_with('(') => Err(self.error(
                        format!("there is no function `{w}` among the filters"),
                        "put a blank before `(`, if the word itself is meant",
                    )),
                    _ => self.word_or_field(subject, w.to_string()),
                }
            }
            TokenKind::Quoted(q) => self.word_or_field(subject, q),
            _ => Err(self.error(
                format!("expected a filter, found {}", self.token.describe()),
                "expected a word, a \"phrase\", field:value, or * for everything",
            )),
        }
    }

    /// `*`, `*part*`, `*:test`.
    fn star(&mut self, subject: Subject<'_>) -> Parsed<Filter> {
        self.advance()?;
        if self.token.start != self.last_end {
            return Ok(any_value(subject));
        }
        match self.token.kind.clone() {
            TokenKind::Punct(':') => self.any_field(""),
            TokenKind::Word(_) | TokenKind::Quoted(_) => {
                let text = self.text_token("a text to find anywhere")?;
                if !self.eat_star()? {
                    return Err(self.expected(&format!("`*`: write *{text}* to find it anywhere")));
                }
                // The empty text is in every value.
                Ok(if text.is_empty() {
                    Filter::All
                } else {
                    subject.is(Test::Phrase(Phrase::substring(&text)))
                })
            }
            _ => Ok(any_value(subject)),
        }
    }

    /// After `prefix*`, before the colon.
    fn any_field(&mut self, prefix: &str) -> Parsed<Filter> {
        self.advance()?;
        let pattern = NamePattern { name: prefix.into(), prefix: true };
        self.nested(|p| p.field_value(Subject::Any(&pattern)))
    }

    /// After a word or quoted text: the name of a field, or something to find.
    fn word_or_field(&mut self, subject: Subject<'_>, text: String) -> Parsed<Filter> {
        let rest = &self.text[self.token.end..];
        if self.following().is_some_and(|t| t.kind == TokenKind::Punct(':')) {
            self.advance()?;
            self.advance()?;
            return self.nested(|p| p.field_value(Subject::named(&text)));
        }
        if matches!(subject, Subject::Message)
            && (rest.starts_with(['=', '<', '>', '~']) || rest.starts_with("!=") || rest.starts_with("!~"))
        {
            self.advance()?;
            let negated = self.eat_punct('!')?;
            let leaf =
                if text == names::TIME { self.time_filter()? } else { self.operator(Subject::named(&text))? };
            return Ok(if negated { negate(leaf) } else { leaf });
        }
        self.advance()?;
        let prefix = self.eat_star()?;
        if prefix && self.at_punct(':') && self.token.start == self.last_end {
            return self.any_field(&text);
        }
        Ok(subject.is(phrase_test(subject, &text, prefix)))
    }

    /// After `field:`.
    fn field_value(&mut self, subject: Subject<'_>) -> Parsed<Filter> {
        let name = match subject {
            Subject::Field(names::TIME) => return self.time_filter(),
            Subject::Field(field) => field.to_string(),
            Subject::Any(pattern) => pattern.to_string(),
            Subject::Message => names::MESSAGE.to_string(),
        };
        match self.token.kind {
            TokenKind::End | TokenKind::Punct('|' | ')' | ',' | ':') => Err(self.error(
                format!("expected a value for the field `{name}`, found {}", self.token.describe()),
                format!("write {name}:value, {name}:\"a phrase\" or {name}:* for any value"),
            )),
            _ if self.at_punct('!') || self.at_word("not") && !self.names_field() => {
                self.advance()?;
                Ok(negate(self.nested(|p| p.field_value(subject))?))
            }
            // A number, not the negation of one.
            TokenKind::Word(w) if w.starts_with('-') && Number::parse(w).is_some() => {
                let text = w.to_string();
                self.advance()?;
                let prefix = self.eat_star()?;
                Ok(subject.is(phrase_test(subject, &text, prefix)))
            }
            TokenKind::Word(w) if w.starts_with('-') => {
                let minus_end = self.token.start + 1;
                self.continue_at(minus_end)?;
                Ok(negate(self.nested(|p| p.field_value(subject))?))
            }
            TokenKind::Quoted(_) if self.names_field() => {
                let (colon, message) = (self.token.end, "a text between quotes ends the value");
                Err(ParseError::new(self.text, colon, message, "put all of the value between the quotes"))
            }
            TokenKind::Word(_) if self.names_field() => {
                let text = self.value_token("a value")?;
                let prefix = self.eat_star()?;
                Ok(subject.is(phrase_test(subject, &text, prefix)))
            }
            _ => self.leaf(subject),
        }
    }

    /// `*` directly behind a word makes it a prefix.
    pub fn eat_star(&mut self) -> Parsed<bool> {
        if self.token.start == self.last_end { self.eat_punct('*') } else { Ok(false) }
    }

    /// `=x`, `>x`, `>=x`, `<x`, `<=x`, `~x`, `=~x`.
    fn operator(&mut self, subject: Subject<'_>) -> Parsed<Filter> {
        let TokenKind::Punct(first) = self.advance()?.kind else {
            return Err(self.expected("an operator"));
        };
        let second = match self.token.kind {
            TokenKind::Punct(c @ ('=' | '~')) if self.token.start == self.last_end => c,
            _ => ' ',
        };
        if second != ' ' {
            self.advance()?;
        }
        let test = match (first, second) {
            ('~', ' ') | ('=', '~') => {
                let at = self.token.start;
                let expression = self.expression_token()?;
                Test::Regex(Pattern::across_lines(&expression).map_err(|e| self.not_a_regex(at, &e))?)
            }
            ('=', ' ' | '=') => {
                let text = self.value_token("the exact value")?;
                let prefix = self.eat_star()?;
                Test::Exact(Exact::new(&text, prefix))
            }
            ('>' | '<', ' ' | '=') => {
                let text = self.value_token("a number or a text to compare with")?;
                compare_test(subject, first == '>', second == '=', &text)
            }
            _ => return Err(self.error("no such operator", "operators are = =~ ~ > >= < <=")),
        };
        Ok(subject.is(test))
    }

    /// The error that an expression at a place is none.
    pub(crate) fn not_a_regex(&self, at: usize, why: &str) -> ParseError {
        let message = format!("not a regular expression: {why}");
        ParseError::new(self.text, at, message, "the regular expression is wrong")
    }
}

fn any_value(subject: Subject<'_>) -> Filter {
    if matches!(subject, Subject::Message) { Filter::All } else { subject.is(Test::Any) }
}

fn negate(filter: Filter) -> Filter {
    match filter {
        Filter::Not(inner) => *inner,
        other => Filter::Not(Box::new(other)),
    }
}

fn phrase_test(subject: Subject<'_>, text: &str, prefix: bool) -> Test {
    match (text.is_empty(), prefix) {
        (true, true) => Test::Any,
        (true, false) => Test::Exact(Exact::new("", false)),
        (false, false) if subject.is_level() => LevelTest::new(Relation::Is, text)
            .map_or_else(|| Test::Phrase(Phrase::new(text, false)), Test::Level),
        (false, _) => Test::Phrase(Phrase::new(text, prefix)),
    }
}

fn compare_test(subject: Subject<'_>, greater: bool, or_equal: bool, text: &str) -> Test {
    if subject.is_level() {
        let relation = match (greater, or_equal) {
            (true, true) => Relation::AtLeast,
            (true, false) => Relation::Above,
            (false, true) => Relation::AtMost,
            (false, false) => Relation::Below,
        };
        if let Some(test) = LevelTest::new(relation, text) {
            return Test::Level(test);
        }
    }
    if let Some(address) = ip::parse_v4(text) {
        return Test::Ip(IpRange::beyond(address, greater, or_equal));
    }
    fn bounds<T>(value: T, greater: bool, or_equal: bool) -> (Bound<T>, Bound<T>) {
        let bound = if or_equal { Bound::Included(value) } else { Bound::Excluded(value) };
        if greater { (bound, Bound::Open) } else { (Bound::Open, bound) }
    }
    Test::Compare(if let Some(n) = Number::literal(text) {
        let (from, to) = bounds(n, greater, or_equal);
        Range::Numbers(from, to)
    } else if let Some(ns) = parse_time(text) {
        let (from, to) = bounds(ns, greater, or_equal);
        Range::Times(from, to)
    } else {
        let (from, to) = bounds(text.into(), greater, or_equal);
        Range::Texts(from, to)
    })
}
