//! The least and the greatest value.

use crate::number::Number;
use crate::order;
use crate::pipe::stats::ToBeat;
use crate::pipe::stats::function::Function;
use crate::pipe::stats::kind::{Cell, Kind};
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
    pub fn offer<'c>(
        &mut self,
        function: &Function,
        number: Option<Number>,
        cell: impl FnOnce() -> Cell<'c>,
    ) {
        let wanted = if function.kind == Kind::Min { Ordering::Less } else { Ordering::Greater };
        if let (Some(number), Some(Best { number: Some(best), .. })) = (number, &self.0)
            && !function.is_of_time()
            && number.cmp(best) == wanted.reverse()
        {
            // Out of the question, without its text.
            return;
        }
        let cell = cell();
        // What `math` makes of nothing is no number, and no text either.
        if cell.is_empty() || matches!(cell, Cell::Text("NaN")) {
            return;
        }
        cell.with_text(|text| {
            let compare = |best: &Best| match function.is_of_time() {
                true => order::compare(text, &best.text),
                false => order::compare_read((text, number), (&best.text, best.number)),
            };
            if self.0.as_ref().is_none_or(|best| compare(best) == wanted) {
                self.0 = Some(Best { text: text.into(), number });
            }
        });
    }

    pub fn merge(&mut self, function: &Function, other: Self) {
        if let Some(Best { text, number }) = other.0 {
            self.offer(function, number, || Cell::Text(&text));
        }
    }

    /// It, if it is a number. One that is not written as integers are may be the same number as one, and another text.
    pub fn to_beat(&self) -> Option<ToBeat> {
        let Best { text, number } = self.0.as_ref()?;
        let beats_equals = duramen::entry::plain_integer(text).is_some();
        number.map(|number| ToBeat { number, beats_equals })
    }

    /// It as text; nothing if there is none.
    pub fn text(&self) -> &str {
        self.0.as_ref().map_or("", |best| &best.text)
    }

    pub fn result(self) -> String {
        self.0.map_or_else(String::new, |best| best.text.into())
    }
}
