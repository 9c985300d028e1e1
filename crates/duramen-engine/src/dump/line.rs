//! A thing in a file, and what is to be said of it.

/// One line of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is about: `record`, `block`, `damage`.
    pub what: &'static str,
    /// How deep it lies in what the lines before tell: 0 for a file, 1 for its parts, 2 for theirs.
    pub depth: u8,
    /// What is said of it, by name, in the order in which it is best read. Sizes and offsets are in bytes, and offsets
    /// count from the start of the file.
    pub fields: Vec<(&'static str, FieldValue)>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// A number.
    Number(u64),
    /// A word or a sentence of ours.
    Text(String),
    /// Bytes of the file: they can be anything.
    Bytes(Vec<u8>),
}

impl Line {
    pub(crate) fn new(what: &'static str, depth: u8) -> Self {
        Self { what, depth, fields: Vec::new() }
    }

    pub(crate) fn number(mut self, name: &'static str, number: impl TryInto<u64>) -> Self {
        self.fields.push((name, FieldValue::Number(number.try_into().unwrap_or(u64::MAX))));
        self
    }

    pub(crate) fn text(mut self, name: &'static str, text: impl ToString) -> Self {
        self.fields.push((name, FieldValue::Text(text.to_string())));
        self
    }

    pub(crate) fn bytes(mut self, name: &'static str, bytes: &[u8]) -> Self {
        self.fields.push((name, FieldValue::Bytes(bytes.to_vec())));
        self
    }

    /// The field of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&FieldValue> {
        self.fields.iter().find(|(found, _)| *found == name).map(|(_, value)| value)
    }
}
