//! Fields that are found one by one, then borrowed all at once.

use crate::value::Value;
use std::fmt::{Debug, Display, Write};
use std::ops::Range;

/// A line's fields, for front ends that are handed one after another and have nowhere to keep their texts. It keeps
/// its memory when it is cleared.
///
/// ```
/// use duramen::{FieldBuf, Value};
/// let mut fields = FieldBuf::default();
/// fields.push("user", Value::Str("ann"));
/// fields.push_display("took", format_args!("{}ms", 12));
/// fields.put("user", Value::Str("bob")); // in place of the earlier one
/// let names = fields.with(|fields| fields.to_vec().len());
/// assert_eq!(names, 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct FieldBuf {
    text: String,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    name: Range<usize>,
    value: Kept,
}

/// A value whose text, if it has one, lies in the buffer.
#[derive(Clone, Debug)]
enum Kept {
    Str(Range<usize>),
    Number(Range<usize>),
    Json(Range<usize>),
    Int(i64),
    Float(f64),
    Bool(bool),
    Null,
}

/// So many fields are lent without an allocation.
const FEW: usize = 24;

impl FieldBuf {
    /// Forgets all fields.
    pub fn clear(&mut self) {
        self.text.clear();
        self.fields.clear();
    }

    /// How many bytes of memory it keeps.
    pub(super) fn capacity(&self) -> usize {
        self.text.capacity() + self.fields.capacity() * size_of::<Field>()
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Adds a field.
    pub fn push(&mut self, name: &str, value: Value<'_>) {
        let name = self.keep(name);
        let value = match value {
            Value::Str(text) => Kept::Str(self.keep(text)),
            Value::Number(text) => Kept::Number(self.keep(text)),
            Value::Json(text) => Kept::Json(self.keep(text)),
            Value::Int(n) => Kept::Int(n),
            Value::Float(x) => Kept::Float(x),
            Value::Bool(b) => Kept::Bool(b),
            Value::Null => Kept::Null,
        };
        self.fields.push(Field { name, value });
    }

    /// Adds a field in place of an earlier one of the same name, if there is one.
    pub fn put(&mut self, name: &str, value: Value<'_>) {
        self.remove(name);
        self.push(name, value);
    }

    /// Adds a string, as it shows itself.
    pub fn push_display(&mut self, name: &str, text: impl Display) {
        self.push_format(name, format_args!("{text}"), Kept::Str);
    }

    /// Adds a string, as it shows itself to programmers.
    pub fn push_debug(&mut self, name: &str, text: impl Debug) {
        self.push_format(name, format_args!("{text:?}"), Kept::Str);
    }

    /// Adds a number that neither an `i64` nor an `f64` holds.
    pub fn push_number(&mut self, name: &str, digits: impl Display) {
        self.push_format(name, format_args!("{digits}"), Kept::Number);
    }

    /// Adds an integer.
    pub fn push_u64(&mut self, name: &str, n: u64) {
        match i64::try_from(n) {
            Ok(n) => self.push(name, Value::Int(n)),
            Err(_) => self.push_number(name, n),
        }
    }

    /// Removes the fields of a name.
    pub fn remove(&mut self, name: &str) {
        let text = &self.text;
        self.fields.retain(|field| text.get(field.name.clone()) != Some(name));
    }

    /// Adds all fields of another, each in place of an earlier one of its name.
    pub fn put_all(&mut self, others: &Self) {
        for field in &others.fields {
            let (name, value) = others.lend(field);
            self.put(name, value);
        }
    }

    /// Lends the fields, in order.
    pub fn with<T>(&self, borrow: impl FnOnce(&[(&str, Value<'_>)]) -> T) -> T {
        let mut few = [("", Value::Null); FEW];
        match few.get_mut(..self.fields.len()) {
            Some(few) => {
                few.iter_mut().zip(&self.fields).for_each(|(to, field)| *to = self.lend(field));
                borrow(few)
            }
            None => borrow(&self.fields.iter().map(|field| self.lend(field)).collect::<Vec<_>>()),
        }
    }

    fn keep(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    fn push_format(
        &mut self,
        name: &str,
        text: std::fmt::Arguments<'_>,
        kind: impl FnOnce(Range<usize>) -> Kept,
    ) {
        let name = self.keep(name);
        let start = self.text.len();
        // A value that cannot show itself is kept as far as it came.
        let _as_far_as_it_came = self.text.write_fmt(text);
        self.fields.push(Field { name, value: kind(start..self.text.len()) });
    }

    fn lend(&self, field: &Field) -> (&str, Value<'_>) {
        let text = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        let value = match &field.value {
            Kept::Str(range) => Value::Str(text(range)),
            Kept::Number(range) => Value::Number(text(range)),
            Kept::Json(range) => Value::Json(text(range)),
            Kept::Int(n) => Value::Int(*n),
            Kept::Float(x) => Value::Float(*x),
            Kept::Bool(b) => Value::Bool(*b),
            Kept::Null => Value::Null,
        };
        (text(&field.name), value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_of_a_name_wins_and_many_fields_are_lent_too() {
        let mut outer = FieldBuf::default();
        outer.push("id", Value::Int(1));
        outer.push_u64("big", u64::MAX);
        let mut inner = FieldBuf::default();
        inner.push_debug("id", Some("x"));
        outer.put_all(&inner);
        outer.with(|fields| {
            let big = ("big", Value::Number("18446744073709551615"));
            assert_eq!(fields, [big, ("id", Value::Str(r#"Some("x")"#))]);
        });
        for n in 0..100 {
            outer.push(&n.to_string(), Value::Bool(true));
        }
        outer.with(|fields| assert_eq!((fields.len(), fields[101]), (102, ("99", Value::Bool(true)))));
        outer.clear();
        assert!(outer.is_empty());
    }
}
