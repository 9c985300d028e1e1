//! Label filters: `status >= 500 and (took > 1s or level =~ "err.*")`.

use super::{Parsed, Parser};
use crate::ast::{Comparison, LabelFilter, NumberIn};
use crate::lexer::Kind;

/// All of them, or the only one.
fn joined(mut parts: Vec<LabelFilter>, join: fn(Vec<LabelFilter>) -> LabelFilter) -> LabelFilter {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            join(parts)
        }
    }
}

impl Parser<'_> {
    /// Filters joined by `or`, by `and`, which binds more, and by a comma or nothing. As in Loki, those take all that is
    /// behind them: `a, b or c` is `a and (b or c)`.
    pub(super) fn label_filter(&mut self) -> Parsed<LabelFilter> {
        self.nested(|p| {
            let first = p.one()?;
            p.any_of(first)
        })
    }

    fn any_of(&mut self, first: LabelFilter) -> Parsed<LabelFilter> {
        let mut parts = vec![self.all_of(first)?];
        while self.eat_word("or") {
            self.join()?;
            let next = self.one()?;
            parts.push(self.all_of(next)?);
        }
        Ok(joined(parts, LabelFilter::Or))
    }

    fn all_of(&mut self, first: LabelFilter) -> Parsed<LabelFilter> {
        let mut parts = vec![self.list(first)?];
        while self.eat_word("and") {
            self.join()?;
            let next = self.one()?;
            parts.push(self.list(next)?);
        }
        Ok(joined(parts, LabelFilter::And))
    }

    /// Filters with a comma or nothing between them, the last with what is joined to it.
    fn list(&mut self, first: LabelFilter) -> Parsed<LabelFilter> {
        let (mut parts, mut last) = (Vec::new(), first);
        while self.eat_op(",") || self.at_op("(") || self.at_label() {
            self.join()?;
            let next = self.one()?;
            parts.push(std::mem::replace(&mut last, next));
        }
        if parts.is_empty() {
            return Ok(last);
        }
        parts.push(self.nested(|p| p.any_of(last))?);
        Ok(LabelFilter::And(parts))
    }

    fn at_label(&self) -> bool {
        let joins = |word: &str| ["or", "and"].iter().any(|w| word.eq_ignore_ascii_case(w));
        matches!(self.kind(), Kind::Word(word) if !joins(word) && word != "unwrap")
    }

    fn one(&mut self) -> Parsed<LabelFilter> {
        if self.eat_op("(") {
            let inner = self.label_filter()?;
            self.expect_op(")")?;
            return Ok(inner);
        }
        if !matches!(self.kind(), Kind::Word(_)) {
            return Err(self.expected("a stage or a label filter"));
        }
        let name = self.peek_at(0).clone();
        let label = self.label()?;
        let Kind::Op(op) = *self.kind() else {
            let message = format!("no stage is called `{}`", &self.text[name.start..name.end]);
            let hint = "a stage such as json, or a label and a comparison such as level=\"error\"";
            return Err(duramen_query::ParseError::new(self.text, name.start, message, hint));
        };
        let comparison = match op {
            "=" | "==" => Comparison::Eq,
            "!=" => Comparison::Ne,
            ">" => Comparison::Gt,
            ">=" => Comparison::Ge,
            "<" => Comparison::Lt,
            "<=" => Comparison::Le,
            "=~" | "!~" => return Ok(LabelFilter::Text(self.matcher(label)?)),
            _ => return Err(self.expected("a comparison such as `=` or `>`")),
        };
        let equality = matches!(comparison, Comparison::Eq | Comparison::Ne);
        match self.peek_at(1).kind.clone() {
            Kind::Text(_) if equality => Ok(LabelFilter::Text(self.matcher(label)?)),
            Kind::Word(word) if equality && word == "ip" => {
                self.advance();
                let ips = self.ip_set()?;
                Ok(LabelFilter::Ip { label, negated: comparison == Comparison::Ne, ips })
            }
            _ => {
                self.advance();
                Ok(LabelFilter::Number { label, op: comparison, value: self.number_in()? })
            }
        }
    }

    fn number_in(&mut self) -> Parsed<NumberIn> {
        let negative = self.eat_op("-");
        let value = match *self.kind() {
            Kind::Number(n) => NumberIn::Plain(if negative { -n } else { n }),
            Kind::Duration(ns) => NumberIn::Duration(if negative { -ns } else { ns }),
            Kind::Bytes(bytes) if !negative => NumberIn::Bytes(bytes),
            _ => return Err(self.expected("a number, a duration, a size or a text between \"…\"")),
        };
        self.advance();
        Ok(value)
    }
}
