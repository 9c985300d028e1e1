//! What a sender wants done with the fields of its lines.

use foldhash::fast::FixedState;
use std::collections::HashSet;

/// What a sender wants done with the fields of its lines, beyond what their names tell. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldRules {
    /// Fields that hold the time, before `_time` and all others; the first that reads as one is the entry's time and
    /// no field besides. At most 64 count.
    pub time_fields: Vec<String>,
    /// Fields that hold the message, before `_msg` and all others; the first that is not empty is the entry's
    /// message and no field besides. At most 64 count.
    pub message_fields: Vec<String>,
    /// Fields that are left out. A name that ends in `*` stands for all that begin so.
    pub ignore_fields: Vec<String>,
    /// Fields that each entry gets, in place of its own of these names.
    pub extra_fields: Vec<(String, String)>,
}

impl FieldRules {
    /// The fields of a line that do not go into its entry.
    pub fn left_out(&self) -> NameFilter {
        let mut filter = NameFilter::default();
        for name in &self.ignore_fields {
            filter.add(name);
        }
        filter.exact.extend(self.extra_fields.iter().map(|(name, _)| name.as_str().into()));
        filter
    }
}

/// A set of field names, some of them by how they begin. The default is empty.
#[derive(Clone, Debug, Default)]
pub struct NameFilter {
    exact: HashSet<Box<str>, FixedState>,
    prefixes: Vec<Box<str>>,
}

impl NameFilter {
    /// Adds a name, or all names that begin with what stands before a final `*`.
    pub fn add(&mut self, name: &str) {
        match name.strip_suffix('*') {
            Some(prefix) => self.prefixes.push(prefix.into()),
            None => _ = self.exact.insert(name.into()),
        }
    }

    /// Whether no name is in the set.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.prefixes.is_empty()
    }

    /// Whether a name is in the set.
    #[inline]
    pub fn has(&self, name: &str) -> bool {
        (!self.exact.is_empty() && self.exact.contains(name))
            || self.prefixes.iter().any(|prefix| name.starts_with(&**prefix))
    }
}
