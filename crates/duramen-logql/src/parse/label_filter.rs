//! Label filters: `status >= 500 and (took > 1s or level =~ "err.*")`.

use super::{Parsed, Parser};
use crate::ast::{Comparison, LabelFilter, NumberIn};
use crate::lexer::Kind;

impl Parser<'_> {
    /// Filters joined by `or`, which binds least, and by `and`, a comma, or nothing.
    pub(super) fn label_filter(&mut self) -> Parsed<LabelFilter> {
        self.nested(|p| {
            let mut left = p.all_of()?;
            while p.eat_word("or") {
                left = LabelFilter::Or(Box::new(left), Box::new(p.all_of()?));
            }
            Ok(left)
        })
    }

    fn all_of(&mut self) -> Parsed<LabelFilter> {
        let mut left = self.one()?;
        while self.eat_word("and")
            || self.eat_op(",")
            || self.at_op("(")
            || matches!(self.kind(), Kind::Word(word) if !word.eq_ignore_ascii_case("or") && word != "unwrap")
        {
            left = LabelFilter::And(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
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
