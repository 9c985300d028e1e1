//! `day_range[08:00, 18:00) offset 2h` and `week_range[Mon, Fri]`, behind `_time:`.

use super::Parser;
use super::lexer::TokenKind;
use crate::error::ParseError;
use crate::filter::Filter;
use crate::filter::clock::{Clock, Part, parse_day, parse_minutes};

type Parsed<T> = Result<T, ParseError>;

impl Parser<'_> {
    /// From the name on.
    pub(super) fn clock_filter(&mut self) -> Parsed<Filter> {
        let day = self.at_word("day_range");
        self.advance()?;
        let with_from = self.at_punct('[');
        if !with_from && !self.at_punct('(') {
            return Err(self.expected("`[` (with the start) or `(` (without it)"));
        }
        let from_at = self.token.end;
        let part = if day {
            let (from, to_at) = self.minutes(from_at, &[','])?;
            let (to, end) = self.minutes(to_at + 1, &[']', ')'])?;
            self.continue_at(end)?;
            let with_to = self.closing_bracket()?;
            Part::Day { from: (from, with_from), to: (to, with_to) }
        } else {
            self.advance()?;
            let from = self.day()?;
            self.expect_punct(',')?;
            let to = self.day()?;
            let with_to = self.closing_bracket()?;
            Part::Week { from: (from, with_from), to: (to, with_to) }
        };
        let offset_ns = self.offset()?.saturating_add(self.time_offset_ns);
        Ok(Filter::Clock(Clock { part, offset_ns }))
    }

    /// Whether the end is in the range.
    fn closing_bracket(&mut self) -> Parsed<bool> {
        let with_end = self.at_punct(']');
        if !with_end && !self.at_punct(')') {
            return Err(self.expected("`]` (with the end) or `)` (without it)"));
        }
        self.advance()?;
        Ok(with_end)
    }

    /// `hh:mm` from a byte offset up to one of these characters, and where that is.
    fn minutes(&self, from: usize, until: &[char]) -> Parsed<(u16, usize)> {
        let rest = self.text.get(from..).unwrap_or_default();
        let end = rest.find(until).unwrap_or(rest.len());
        let text = rest[..end].trim();
        match parse_minutes(text) {
            Some(minutes) => Ok((minutes, from + end)),
            None => {
                let at = from + (rest.len() - rest.trim_start().len());
                let message = format!("`{text}` is no time of the day");
                Err(ParseError::new(self.text, at, message, "expected hh:mm, as in day_range[08:00, 18:00)"))
            }
        }
    }

    fn day(&mut self) -> Parsed<u8> {
        let day = if let TokenKind::Word(w) = self.token.kind { parse_day(w) } else { None };
        match day {
            Some(day) => {
                self.advance()?;
                Ok(day)
            }
            None => Err(self.expected("a day of the week such as Mon or Monday")),
        }
    }
}
