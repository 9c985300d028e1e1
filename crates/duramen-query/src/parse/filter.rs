//! Filters: the logic around them, and their leaves.

use super::Parser;
use super::lexer::TokenKind;
use crate::error::ParseError;
use crate::filter::compare::{Bound, Range};
use crate::filter::exact::Exact;
use crate::filter::fold::Fold;
use crate::filter::level::{LevelTest, Relation};
use crate::filter::phrase::Phrase;
use crate::filter::regex::Pattern;
use crate::filter::set::In;
use crate::filter::stream::{Condition, LabelTest, Selector};
use crate::filter::{Filter, Test};
use crate::number::Number;
use duramen::block::names;

type Parsed<T> = Result<T, ParseError>;

/// The words that are functions before `(` or `[`.
const FUNCTIONS: &[&str] = &["in", "i", "range"];

impl Parser<'_> {
    /// A whole filter, for a field that is given from outside or `_msg`.
    pub fn filter(&mut self, field: Option<&str>) -> Parsed<Filter> {
        let mut parts = vec![self.filter_and(field)?];
        while self.eat_word("or")? {
            parts.push(self.filter_and(field)?);
        }
        if parts.contains(&Filter::All) {
            return Ok(Filter::All);
        }
        let flat = parts.into_iter().flat_map(|p| if let Filter::Or(inner) = p { inner } else { vec![p] });
        Ok(Filter::from_parts(flat.collect(), Filter::Or))
    }

    fn filter_and(&mut self, field: Option<&str>) -> Parsed<Filter> {
        let mut filter = self.filter_not(field)?;
        loop {
            if !self.eat_word("and")? && (self.at_pipe_end() || self.at_punct(')') || self.at_word("or")) {
                return Ok(filter);
            }
            if self.at_punct(',') || self.at_punct(']') || self.at_punct('}') || self.at_punct(':') {
                return Err(self.error(
                    format!("{} does not belong here", self.token.describe()),
                    "put texts with such characters between quotes",
                ));
            }
            filter = filter.and(self.filter_not(field)?);
        }
    }

    fn filter_not(&mut self, field: Option<&str>) -> Parsed<Filter> {
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
        let leaf = self.nested(|p| p.leaf(field))?;
        Ok(if negated { negate(leaf) } else { leaf })
    }

    /// Whether the current token is followed directly by a colon.
    fn names_field(&self) -> bool {
        self.text[self.token.end..].starts_with(':')
    }

    fn leaf(&mut self, field: Option<&str>) -> Parsed<Filter> {
        match self.token.kind.clone() {
            TokenKind::Punct('(') => {
                self.advance()?;
                let inner = self.filter(field)?;
                if !self.at_punct(')') {
                    return Err(self.expected("`)`, `and`, `or` or another filter"));
                }
                self.advance()?;
                Ok(inner)
            }
            TokenKind::Punct('{') if field.is_none_or(|f| f == names::STREAM) => self.selector(),
            TokenKind::Punct('*') => {
                self.advance()?;
                Ok(field.map_or(Filter::All, |f| leaf_of(Some(f), Test::Any)))
            }
            TokenKind::Punct('=' | '<' | '>' | '~') => self.operator(field),
            TokenKind::Word(w) => {
                let function = FUNCTIONS.iter().find(|f| f.eq_ignore_ascii_case(w));
                match (function, self.text[self.token.end..].chars().next()) {
                    (Some(&"range"), Some('(' | '[')) | (Some(_), Some('(')) => {
                        let name = function.copied().unwrap_or_default();
                        self.advance()?;
                        self.function(field, name)
                    }
                    _ => self.word_or_field(field, w.to_string()),
                }
            }
            TokenKind::Quoted(q) => self.word_or_field(field, q),
            _ => Err(self.error(
                format!("expected a filter, found {}", self.token.describe()),
                "expected a word, a \"phrase\", field:value, or * for everything",
            )),
        }
    }

    /// After a word or quoted text: the name of a field, or something to find.
    fn word_or_field(&mut self, field: Option<&str>, text: String) -> Parsed<Filter> {
        let rest = &self.text[self.token.end..];
        if self.following().is_some_and(|t| t.kind == TokenKind::Punct(':')) {
            self.advance()?;
            self.advance()?;
            return self.nested(|p| p.field_value(&text));
        }
        if field.is_none()
            && (rest.starts_with(['=', '<', '>', '~']) || rest.starts_with("!=") || rest.starts_with("!~"))
        {
            self.advance()?;
            let negated = self.eat_punct('!')?;
            let leaf = if text == names::TIME { self.time_filter()? } else { self.operator(Some(&text))? };
            return Ok(if negated { negate(leaf) } else { leaf });
        }
        self.advance()?;
        let prefix = self.eat_star()?;
        Ok(leaf_of(field, phrase_test(field, &text, prefix)))
    }

    /// After `field:`.
    fn field_value(&mut self, field: &str) -> Parsed<Filter> {
        if field == names::TIME {
            return self.time_filter();
        }
        match self.token.kind {
            TokenKind::End | TokenKind::Punct('|' | ')' | ',' | ':') => Err(self.error(
                format!("expected a value for the field `{field}`, found {}", self.token.describe()),
                format!("write {field}:value, {field}:\"a phrase\" or {field}:* for any value"),
            )),
            TokenKind::Punct('!') => {
                self.advance()?;
                Ok(negate(self.nested(|p| p.field_value(field))?))
            }
            // A number, not the negation of one.
            TokenKind::Word(w) if w.starts_with('-') && Number::parse(w).is_some() => {
                let text = w.to_string();
                self.advance()?;
                let prefix = self.eat_star()?;
                Ok(leaf_of(Some(field), phrase_test(Some(field), &text, prefix)))
            }
            TokenKind::Word(w) if w.starts_with('-') => {
                let minus_end = self.token.start + 1;
                self.continue_at(minus_end)?;
                Ok(negate(self.nested(|p| p.field_value(field))?))
            }
            TokenKind::Word(_) | TokenKind::Quoted(_) if self.names_field() => {
                let colon = self.token.end;
                Err(ParseError::new(
                    self.text,
                    colon,
                    "a bare value cannot hold `:`",
                    format!("put the value between quotes: {field}:\"…:…\""),
                ))
            }
            _ => self.leaf(Some(field)),
        }
    }

    /// `*` directly behind a word makes it a prefix.
    pub fn eat_star(&mut self) -> Parsed<bool> {
        if self.token.start == self.last_end { self.eat_punct('*') } else { Ok(false) }
    }

    /// `=x`, `>x`, `>=x`, `<x`, `<=x`, `~x`, `=~x`.
    fn operator(&mut self, field: Option<&str>) -> Parsed<Filter> {
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
                let expression = self.text_token("a regular expression between quotes")?;
                Test::Regex(Pattern::new(&expression).map_err(|e| {
                    ParseError::new(
                        self.text,
                        at,
                        format!("not a regular expression: {e}"),
                        "the regular expression is wrong",
                    )
                })?)
            }
            ('=', ' ' | '=') => {
                if self.at_word("in") || !self.at_punct('*') {
                    let text = self.text_token("the exact value")?;
                    let prefix = self.eat_star()?;
                    Test::Exact(Exact::new(&text, prefix))
                } else {
                    return Err(self.expected("the exact value"));
                }
            }
            ('>' | '<', ' ' | '=') => {
                let text = self.text_token("a number or a text to compare with")?;
                compare_test(field, first == '>', second == '=', &text)
            }
            _ => return Err(self.error("no such operator", "operators are = =~ ~ > >= < <=")),
        };
        Ok(leaf_of(field, test))
    }

    /// After the name of a function.
    fn function(&mut self, field: Option<&str>, name: &str) -> Parsed<Filter> {
        let test = match name {
            "in" => Test::In(In::new(self.list(|p| Ok(p.text_token("a value")?.into_boxed_str()))?)),
            "i" => {
                self.expect_punct('(')?;
                let test = if self.eat_punct('*')? {
                    Test::Any
                } else {
                    let text = self.text_token("a word or a phrase")?;
                    let prefix = self.eat_star()?;
                    Test::Fold(Fold::new(&text, prefix))
                };
                self.expect_punct(')')?;
                test
            }
            _ => {
                let from_included = self.at_punct('[');
                self.advance()?;
                let from = self.number()?;
                self.expect_punct(',')?;
                let to = self.number()?;
                let to_included = self.at_punct(']');
                if !to_included && !self.at_punct(')') {
                    return Err(self.expected("`]` (with the bound) or `)` (without it)"));
                }
                self.advance()?;
                let bound = |n: Number, included: bool| match n {
                    Number::Float(x) if x.is_infinite() => Bound::Open,
                    n if included => Bound::Included(n),
                    n => Bound::Excluded(n),
                };
                Test::Compare(Range::Numbers(bound(from, from_included), bound(to, to_included)))
            }
        };
        Ok(leaf_of(field, test))
    }

    fn number(&mut self) -> Parsed<Number> {
        let number = match &self.token.kind {
            TokenKind::Word(w) => Number::parse(w),
            TokenKind::Quoted(q) => Number::parse(q),
            _ => None,
        };
        match number {
            Some(n) => {
                self.advance()?;
                Ok(n)
            }
            None => Err(self.expected("a number such as 10, 2.5, 5KB, 10ms or Inf")),
        }
    }

    /// `{label="value", …}`
    fn selector(&mut self) -> Parsed<Filter> {
        self.expect_punct('{')?;
        let mut alternatives = vec![Vec::new()];
        while !self.eat_punct('}')? {
            let condition = self.condition()?;
            if let Some(conditions) = alternatives.last_mut() {
                conditions.push(condition);
            }
            if self.eat_word("or")? {
                if self.at_punct('}') {
                    return Err(self.expected("a label"));
                }
                alternatives.push(Vec::new());
            } else if !self.at_punct('}') && !self.eat_punct(',')? {
                return Err(self.expected("`,`, `or` or `}`"));
            }
        }
        Ok(Filter::Stream(Selector { alternatives }))
    }

    fn condition(&mut self) -> Parsed<Condition> {
        let label = self.text_token("a label")?.into_boxed_str();
        let (negated, test) = if self.at_word("in") || self.at_word("not_in") {
            let negated = self.at_word("not_in");
            self.advance()?;
            let values = self.list(|p| Ok(p.text_token("a value")?.into_boxed_str()))?;
            (negated, LabelTest::In(values))
        } else {
            let negated = self.eat_punct('!')?;
            let regex = if negated {
                if self.at_punct('~') {
                    self.advance()?;
                    true
                } else {
                    self.expect_punct('=')?;
                    false
                }
            } else {
                if !self.at_punct('=') {
                    return Err(self.expected("`=`, `!=`, `=~`, `!~` or `in`"));
                }
                self.advance()?;
                self.eat_punct('~')?
            };
            let at = self.token.start;
            let value = self.text_token("a value between quotes")?;
            let test = if regex {
                LabelTest::regex(&value).map_err(|e| {
                    ParseError::new(
                        self.text,
                        at,
                        format!("not a regular expression: {e}"),
                        "the regular expression is wrong",
                    )
                })?
            } else {
                LabelTest::Is(value.into())
            };
            (negated, test)
        };
        Ok(Condition { label, negated, test })
    }
}

fn negate(filter: Filter) -> Filter {
    match filter {
        Filter::Not(inner) => *inner,
        other => Filter::Not(Box::new(other)),
    }
}

fn leaf_of(field: Option<&str>, test: Test) -> Filter {
    Filter::Field { field: field.unwrap_or(names::MESSAGE).into(), test }
}

fn phrase_test(field: Option<&str>, text: &str, prefix: bool) -> Test {
    match (text.is_empty(), prefix) {
        (true, true) => Test::Any,
        (true, false) => Test::Exact(Exact::new("", false)),
        (false, false) if field == Some(names::LEVEL) => LevelTest::new(Relation::Is, text)
            .map_or_else(|| Test::Phrase(Phrase::new(text, false)), Test::Level),
        (false, _) => Test::Phrase(Phrase::new(text, prefix)),
    }
}

fn compare_test(field: Option<&str>, greater: bool, or_equal: bool, text: &str) -> Test {
    if field == Some(names::LEVEL) {
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
    fn bounds<T>(value: T, greater: bool, or_equal: bool) -> (Bound<T>, Bound<T>) {
        let bound = if or_equal { Bound::Included(value) } else { Bound::Excluded(value) };
        if greater { (bound, Bound::Open) } else { (Bound::Open, bound) }
    }
    Test::Compare(match Number::parse(text) {
        Some(n) => {
            let (from, to) = bounds(n, greater, or_equal);
            Range::Numbers(from, to)
        }
        None => {
            let (from, to) = bounds(text.into(), greater, or_equal);
            Range::Texts(from, to)
        }
    })
}
