//! The least and the greatest value.

use crate::order;
use crate::pipe::stats::function::Function;
use crate::pipe::stats::kind::{Kind, Named};
use std::cmp::Ordering;

/// The best value so far, and of which field it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extreme(Option<Box<str>>);

impl Extreme {
    pub fn add(&mut self, function: &Function, cells: &[Named<'_>]) {
        for cell in cells.iter().filter(|c| !c.cell.is_empty()) {
            cell.cell.with_text(|text| self.offer(function, text));
        }
    }

    fn offer(&mut self, function: &Function, text: &str) {
        let wanted = if function.kind == Kind::Min { Ordering::Less } else { Ordering::Greater };
        if self.0.as_ref().is_none_or(|best| compare(function, text, best) == wanted) {
            self.0 = Some(text.into());
        }
    }

    pub fn merge(&mut self, function: &Function, other: Self) {
        if let Some(text) = other.0 {
            self.offer(function, &text);
        }
    }

    pub fn result(self) -> String {
        self.0.unwrap_or_default().into()
    }
}

/// Compares values of a function's fields.
pub(super) fn compare(function: &Function, a: &str, b: &str) -> Ordering {
    match &*function.fields {
        [field] if !field.prefix => order::compare_of(&field.name, a, b),
        _ => order::compare(a, b),
    }
}
