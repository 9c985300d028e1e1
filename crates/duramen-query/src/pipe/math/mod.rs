//! `math (a + b) / 2 as mean, round(mean) as n`: numbers computed of fields.

mod expression;
mod operation;
mod token;

use super::custom::Added;
use super::fields::NamePattern;
use super::maker::{Made, Maker, Numbers, Texts};
use super::row_pipe::{RowPipe, Worker};
use super::writes::Writes;
use crate::error::ParseError;
use crate::number::{Number, format_rounded};
use crate::parse::{Parser, quote};
use crate::row::{RowView, is_json_number};
use duramen::ValueKind;
use expression::Expression;
pub(crate) use expression::constant;

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
        self.results
            .iter()
            .for_each(|(expression, _)| expression.for_each_name(&mut |name| see(NamePattern::exact(name))));
    }

    fn worker(&self) -> Worker<'_> {
        // The random numbers are the same in every run, one row's after another's: so is the answer.
        let mut random = 0u64;
        let mut made = Made::default();
        Box::new(move |row| {
            for (expression, name) in &self.results {
                write(expression.value(&|name| constant(row.text(name)), &mut random), &mut made);
                let kind = made.kind();
                row.set(name, made.text(), kind);
            }
        })
    }

    fn adds(&self) -> Option<Added<'_>> {
        Some(Added { figures: self.results.iter().map(|(_, name)| &**name).collect(), ..Added::default() })
    }

    fn counts_rows(&self) -> bool {
        self.results.iter().any(|(expression, _)| expression.is_random())
    }

    fn makers(&self) -> Option<Vec<Maker<'_>>> {
        (!self.counts_rows())
            .then(|| self.results.iter().map(|(expression, name)| maker(expression, name)).collect())
    }
}

fn maker<'a>(expression: &'a Expression, name: &'a str) -> Maker<'a> {
    let mut reads = Vec::new();
    expression.for_each_name(&mut |name| reads.push(name));
    // They are the expression's own: no text need be compared.
    let place = |names: &[&str], name: &str| names.iter().position(|own| std::ptr::eq(*own, name));
    let names = reads.clone();
    let make = move |texts: &Texts<'_>, made: &mut [Made]| {
        let value = expression.value(&|name| constant(texts(place(&names, name)?)), &mut 0);
        made.iter_mut().for_each(|made| write(value, made));
    };
    let names = reads.clone();
    let numbers = move |read: &[Numbers], rows: usize| {
        let values = expression.values(&|name| read.get(place(&names, name)?).map(Vec::as_slice), rows);
        values.iter().map(|value| value.map(Number::as_written)).collect()
    };
    Maker {
        reads,
        writes: vec![name],
        keeps: Writes::default(),
        start: "",
        shortcut: None,
        make: Box::new(make),
        numbers: Some(Box::new(numbers)),
    }
}

/// Writes what an expression came to.
fn write(value: Option<Number>, made: &mut Made) {
    match value {
        Some(Number::Int(n)) => made.set_int(n),
        Some(Number::Float(x)) => {
            let text = format_rounded(x);
            let kind = if is_json_number(&text) { ValueKind::Number } else { ValueKind::String };
            made.start(kind).push_str(&text);
        }
        None => made.start(ValueKind::String).push_str("NaN"),
    }
}
