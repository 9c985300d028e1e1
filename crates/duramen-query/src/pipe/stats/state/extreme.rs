//! The least and the greatest value.

use crate::number::Number;
use crate::order;
use crate::pipe::stats::function::Function;
use crate::pipe::stats::kind::{Cell, Kind};
use duramen::block::names;
use std::cmp::Ordering;

/// The best value so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extreme(Option<Best>);

#[derive(Clone, Debug)]
struct Best {
    text: Box<str>,
    /// The number that it is.
    number: Option<Number>,
}

impl Extreme {
    /// Takes a value, and the number that it is.
    pub fn offer(&mut self, function: &Function, number: Option<Number>, cell: Cell<'_>) {
        let wanted = if function.kind == Kind::Min { Ordering::Less } else { Ordering::Greater };
        if cell.is_empty() {
            return;
        }
        if let (Some(number), Some(Best { number: Some(best), .. })) = (number, &self.0)
            && !is_of_time(function)
            && !matches!(number.cmp(best), by_size if by_size == wanted || by_size.is_eq())
        {
            // Out of the question, without its text.
            return;
        }
        cell.with_text(|text| {
            let is_better = |best: &Best| match is_of_time(function) {
                true => order::compare_of(names::TIME, text, &best.text) == wanted,
                false => order::compare_read((text, number), (&best.text, best.number)) == wanted,
            };
            if self.0.as_ref().is_none_or(is_better) {
                self.0 = Some(Best { text: text.into(), number });
            }
        });
    }

    pub fn merge(&mut self, function: &Function, other: Self) {
        if let Some(Best { text, number }) = other.0 {
            self.offer(function, number, Cell::Text(&text));
        }
    }

    pub fn result(self) -> String {
        self.0.map_or_else(String::new, |best| best.text.into())
    }
}

/// Whether the values are compared by when they are.
fn is_of_time(function: &Function) -> bool {
    matches!(&*function.fields, [field] if !field.prefix && *field.name == *names::TIME)
}

/// Compares values of a function's fields.
pub(super) fn compare(function: &Function, a: &str, b: &str) -> Ordering {
    match &*function.fields {
        [field] if !field.prefix => order::compare_of(&field.name, a, b),
        _ => order::compare(a, b),
    }
}
