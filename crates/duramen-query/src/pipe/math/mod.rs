//! `math (a + b) / 2 as mean, round(mean) as n`: numbers computed of fields.

mod expression;
mod operation;
mod token;

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use crate::error::ParseError;
use crate::number::Number;
use crate::parse::{Parser, quote};
use crate::row::is_json_number;
use duramen::ValueKind;
use expression::Expression;

/// Expressions, and the fields that their values go to, one after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Math {
    results: Vec<(Expression, Box<str>)>,
}

impl Math {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let mut results = Vec::new();
        loop {
            let expression = Expression::parse(p)?;
            let name = match p.result_name_before_comma()? {
                Some(name) => name,
                None => expression.to_string().into(),
            };
            results.push((expression, name));
            if !p.eat_punct(',')? {
                return Ok(Self { results });
            }
        }
    }
}

impl RowPipe for Math {
    fn name(&self) -> &'static str {
        "math"
    }

    fn arguments(&self) -> String {
        let results = self.results.iter().map(|(e, name)| format!("{e} as {}", quote(name)));
        format!(" {}", results.collect::<Vec<_>>().join(", "))
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        self.results.iter().for_each(|(expression, _)| expression.for_each_field(see));
    }

    fn worker(&self) -> Worker<'_> {
        // The random numbers are the same in every run: so is the answer.
        let mut random = 0u64;
        Box::new(move |row| {
            for (expression, name) in &self.results {
                let text = match expression.value(row, &mut random) {
                    Some(Number::Int(n)) => n.to_string(),
                    Some(Number::Float(x)) => crate::number::format_rounded(x),
                    None => "NaN".into(),
                };
                let kind = if is_json_number(&text) { ValueKind::Number } else { ValueKind::String };
                row.set(name, &text, kind);
            }
        })
    }
}
