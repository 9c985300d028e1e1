//! A line's fields, owned: what Python gave is copied once, so that the GIL can go while the line is written.

use duramen::Value;
use std::ops::Range;

/// The fields of one line, their texts one after another in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Line {
    texts: String,
    fields: Vec<(Range<usize>, Owned)>,
}

/// A [`Value`] whose text lies in the line's buffer.
#[derive(Debug)]
enum Owned {
    Str(Range<usize>),
    Number(Range<usize>),
    Json(Range<usize>),
    Int(i64),
    Float(f64),
    Bool(bool),
    Null,
}

impl Line {
    /// Adds a field.
    pub(crate) fn push(&mut self, name: &str, value: Value<'_>) {
        let name = self.text(name);
        let value = match value {
            Value::Str(text) => Owned::Str(self.text(text)),
            Value::Number(text) => Owned::Number(self.text(text)),
            Value::Json(text) => Owned::Json(self.text(text)),
            Value::Int(n) => Owned::Int(n),
            Value::Float(x) => Owned::Float(x),
            Value::Bool(b) => Owned::Bool(b),
            Value::Null => Owned::Null,
        };
        self.fields.push((name, value));
    }

    /// The fields, in the order in which they were added.
    pub(crate) fn fields(&self) -> Vec<(&str, Value<'_>)> {
        let value = |owned: &Owned| match owned {
            Owned::Str(at) => Value::Str(&self.texts[at.clone()]),
            Owned::Number(at) => Value::Number(&self.texts[at.clone()]),
            Owned::Json(at) => Value::Json(&self.texts[at.clone()]),
            Owned::Int(n) => Value::Int(*n),
            Owned::Float(x) => Value::Float(*x),
            Owned::Bool(b) => Value::Bool(*b),
            Owned::Null => Value::Null,
        };
        self.fields.iter().map(|(name, owned)| (&self.texts[name.clone()], value(owned))).collect()
    }

    fn text(&mut self, text: &str) -> Range<usize> {
        let start = self.texts.len();
        self.texts.push_str(text);
        start..self.texts.len()
    }
}
