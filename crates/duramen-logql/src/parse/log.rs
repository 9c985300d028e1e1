//! Selectors, and the pipelines behind them.

use super::{Parsed, Parser};
use crate::ast::{LogExpr, Matcher, Rx, TextTest};
use crate::labels::sanitize;
use crate::lexer::Kind;

/// Where a log expression stands, and what may be in it.
pub(super) struct Ranged {
    pub log: LogExpr,
    pub unwrap: Option<crate::ast::Unwrap>,
    pub range_ns: Option<i64>,
    pub offset_ns: i64,
}

impl Parser<'_> {
    /// Whether a selector comes next, perhaps after parentheses.
    pub(super) fn begins_log(&self) -> bool {
        let mut ahead = 0;
        while matches!(self.peek_at(ahead).kind, Kind::Op("(")) {
            ahead += 1;
        }
        matches!(self.peek_at(ahead).kind, Kind::Op("{"))
    }

    /// A selector and stages.
    pub(super) fn log_expr(&mut self) -> Parsed<LogExpr> {
        let ranged = self.ranged(false)?;
        Ok(ranged.log)
    }

    /// The same, with a range if one is wanted: it stands before, amid or behind the stages.
    pub(super) fn ranged(&mut self, wants_range: bool) -> Parsed<Ranged> {
        let mut ranged = if self.at_op("(") {
            self.advance();
            let inner = self.nested(|p| p.ranged(wants_range))?;
            self.expect_op(")")?;
            inner
        } else {
            let log = LogExpr { selector: self.selector()?, stages: Vec::new() };
            Ranged { log, unwrap: None, range_ns: None, offset_ns: 0 }
        };
        loop {
            if self.at_op("[") {
                if !wants_range {
                    return Err(self.error(
                        "a range belongs inside a function",
                        "such as count_over_time({app=\"web\"} [5m])",
                    ));
                }
                if ranged.range_ns.is_some() {
                    return Err(self.error("there is a range already", ""));
                }
                self.advance();
                let place = self.peek_at(0).start;
                let range_ns = self.duration()?;
                if range_ns <= 0 {
                    let message = "the range must be longer than nothing";
                    return Err(duramen_query::ParseError::new(self.text, place, message, ""));
                }
                ranged.range_ns = Some(range_ns);
                self.expect_op("]")?;
                if self.eat_word("offset") {
                    let negative = self.eat_op("-");
                    let offset_ns = self.duration()?;
                    ranged.offset_ns = if negative { -offset_ns } else { offset_ns };
                }
            } else if !self.stage(&mut ranged, wants_range)? {
                return Ok(ranged);
            }
        }
    }

    /// `{a="x", b=~"y"}`
    pub(super) fn selector(&mut self) -> Parsed<Vec<Matcher>> {
        self.expect_op("{")?;
        let mut matchers = Vec::new();
        while !self.eat_op("}") {
            let label = match self.kind() {
                Kind::Text(name) => {
                    let name = sanitize(name).into();
                    self.advance();
                    name
                }
                _ => self.label()?,
            };
            matchers.push(self.matcher(label)?);
            if !self.at_op("}") && !self.eat_op(",") {
                return Err(self.expected("`,` or `}`"));
            }
        }
        Ok(matchers)
    }

    /// The operator and text of a matcher.
    pub(super) fn matcher(&mut self, label: Box<str>) -> Parsed<Matcher> {
        let (negated, regex) = match self.kind() {
            Kind::Op("=" | "==") => (false, false),
            Kind::Op("!=") => (true, false),
            Kind::Op("=~") => (false, true),
            Kind::Op("!~") => (true, true),
            _ => return Err(self.expected("`=`, `!=`, `=~` or `!~`")),
        };
        self.advance();
        let test = if regex {
            TextTest::Regex(self.text_as("a regular expression", Rx::whole)?)
        } else {
            TextTest::Is(self.text("a text between \"…\"")?.into())
        };
        Ok(Matcher { label, negated, test })
    }
}
