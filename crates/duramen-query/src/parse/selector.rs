//! `{label="value", …}`: stream selectors.

use super::Parser;
use crate::error::ParseError;
use crate::filter::Filter;
use crate::filter::stream::{Condition, LabelTest, Selector};

type Parsed<T> = Result<T, ParseError>;

impl Parser<'_> {
    /// A selector, from its brace on.
    pub(super) fn selector(&mut self) -> Parsed<Filter> {
        self.expect_punct('{')?;
        let mut alternatives = vec![Vec::new()];
        while !self.eat_punct('}')? {
            let condition = self.label_condition()?;
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
        Ok(Filter::Stream(Selector::new(alternatives)))
    }

    fn label_condition(&mut self) -> Parsed<Condition> {
        let label = self.value_token("a label")?.into_boxed_str();
        let (negated, test) = if self.at_word("in") || self.at_word("not_in") {
            let negated = self.at_word("not_in");
            self.advance()?;
            let mut any = false;
            let values = self.list(|p| {
                any |= p.at_punct('*');
                Ok(if p.eat_punct('*')? { "".into() } else { p.value_token("a value")?.into_boxed_str() })
            })?;
            if any && values.len() > 1 {
                return Err(self.error("`*` stands for every value", "put the text * between quotes"));
            }
            let every = LabelTest::regex(".*").ok().filter(|_| any);
            (negated, every.unwrap_or(LabelTest::In(values)))
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
            let value = self.value_token("a value between quotes")?;
            let test = if regex {
                LabelTest::regex(&value).map_err(|e| self.not_a_regex(at, &e))?
            } else {
                LabelTest::Is(value.into())
            };
            (negated, test)
        };
        Ok(Condition { label, negated, test })
    }
}
