//! The labels of a table's streams, label by label: the values it has, each once, and which of them each stream has.

use super::super::bytes::{Reader, bad, put_bytes, put_varint};
use super::super::labels::LabelSet;
use super::MAX_TABLE_STREAMS_BYTES;
use crate::block::StreamLabels;
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Collects labels while streams come.
#[derive(Debug, Default)]
pub(super) struct LabelsBuilder {
    /// By name.
    labels: BTreeMap<Box<str>, LabelBuilder>,
    sets: usize,
    /// Of the names and values.
    text_bytes: usize,
}

#[derive(Debug, Default)]
struct LabelBuilder {
    numbers: HashMap<String, u32, FixedState>,
    /// The values, as they are stored.
    values: Vec<u8>,
    /// The number of each set's value; of the last sets there may be none yet.
    of_sets: Vec<u32>,
}

impl LabelsBuilder {
    /// Adds the next set; `false` if it has a name twice, or its names do not ascend, or all would be too much.
    pub(super) fn add(&mut self, set: &LabelSet) -> bool {
        if !set.is_sorted_by(|a, b| a.name < b.name) {
            return false;
        }
        // A new label has a number for each set before.
        let new = set.iter().filter(|label| !self.labels.contains_key(&label.name)).count();
        if (self.labels.len() + new).saturating_mul(self.sets) > MAX_TABLE_STREAMS_BYTES {
            return false;
        }
        for label in set {
            if !self.labels.contains_key(&label.name) {
                self.text_bytes += label.name.len();
            }
            let LabelBuilder { numbers, values, of_sets } =
                self.labels.entry(label.name.clone()).or_default();
            let next = numbers.len() as u32 + 1;
            let number = *numbers.entry_ref(&*label.value).or_insert_with(|| {
                put_bytes(values, label.value.as_bytes());
                self.text_bytes += label.value.len() + 1;
                next
            });
            of_sets.resize(self.sets, 0);
            of_sets.push(number);
        }
        self.sets += 1;
        true
    }

    pub(super) fn sets(&self) -> usize {
        self.sets
    }

    /// No more than they will take before compression.
    pub(super) fn bytes(&self) -> usize {
        self.text_bytes + self.sets * self.labels.len()
    }

    /// Writes them. `is_field`: whether it is the name of a field, that is no label, in some row.
    pub(super) fn write(&self, is_field: &dyn Fn(&str) -> bool, out: &mut Vec<u8>) {
        put_varint(out, self.sets as u64);
        put_varint(out, self.labels.len() as u64);
        for (name, label) in &self.labels {
            put_bytes(out, name.as_bytes());
            out.push(is_field(name).into());
            put_varint(out, label.numbers.len() as u64);
            out.extend_from_slice(&label.values);
            let missing = self.sets.saturating_sub(label.of_sets.len());
            let all = label.of_sets.iter().copied().chain(std::iter::repeat_n(0, missing));
            all.for_each(|number| put_varint(out, number.into()));
        }
    }
}

/// Sets of labels.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// By name.
    labels: Vec<TableLabel>,
    sets: usize,
}

/// A label of a table's streams: which values it has, and which of them each stream has.
#[derive(Debug)]
pub struct TableLabel {
    name: Box<str>,
    /// Whether some row of the table has a field of this name that is no label.
    is_mixed: bool,
    /// The values, one behind another.
    text: String,
    /// Where each value ends in `text`.
    ends: Vec<u32>,
    /// The number of the value that each set has; 0 for none.
    of_sets: Vec<u32>,
}

impl TableLabel {
    fn read(r: &mut Reader<'_>, sets: usize) -> Result<Self> {
        let (name, is_mixed) = (r.str()?.into(), r.u8()? != 0);
        let (mut text, mut ends) = (String::new(), Vec::new());
        for _ in 0..r.count(r.remaining())? {
            text.push_str(r.str()?);
            ends.push(text.len() as u32);
        }
        let mut of_sets = Vec::with_capacity(sets.min(r.remaining()));
        for _ in 0..sets {
            of_sets.push(r.count(ends.len())? as u32);
        }
        Ok(Self { name, is_mixed, text, ends, of_sets })
    }

    /// The value of this number; the empty text for 0, which is that of streams without the label.
    pub fn value(&self, number: usize) -> &str {
        let end_of = |number: usize| self.ends.get(number).map_or(0, |&end| end as usize);
        match number.checked_sub(1) {
            None => "",
            Some(0) => &self.text[..end_of(0)],
            Some(i) => self.text.get(end_of(i - 1)..end_of(i)).unwrap_or(""),
        }
    }

    /// How many numbers of values there are, 0 among them.
    pub fn numbers(&self) -> usize {
        self.ends.len() + 1
    }

    /// The number of the value that a set of labels has; 0 for none.
    pub fn number_of(&self, set: usize) -> usize {
        self.of_sets.get(set).map_or(0, |&number| number as usize)
    }

    /// The number of the value that each set of labels has.
    pub fn of_sets(&self) -> &[u32] {
        &self.of_sets
    }

    fn bytes(&self) -> usize {
        self.name.len() + self.text.len() + size_of_val(&*self.ends) + size_of_val(&*self.of_sets)
    }
}

impl Labels {
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Self> {
        let sets = r.count(MAX_TABLE_STREAMS_BYTES)?;
        let mut labels = Vec::<TableLabel>::new();
        for _ in 0..r.count(r.remaining())? {
            let label = TableLabel::read(r, sets)?;
            if labels.last().is_some_and(|last| last.name >= label.name) {
                return Err(bad("the names of labels do not ascend"));
            }
            labels.push(label);
        }
        Ok(Self { labels, sets })
    }

    pub(super) fn sets(&self) -> usize {
        self.sets
    }

    pub(super) fn bytes(&self) -> usize {
        self.labels.iter().map(|label| size_of::<TableLabel>() + label.bytes()).sum()
    }

    fn named(&self, name: &str) -> Option<&TableLabel> {
        let found = self.labels.binary_search_by(|label| (*label.name).cmp(name)).ok()?;
        self.labels.get(found)
    }

    /// Whether some stream has a label of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.named(name).is_some()
    }

    /// The label of this name, if no row of the table has a field of it that is no label.
    pub(super) fn label(&self, name: &str) -> Option<&TableLabel> {
        self.named(name).filter(|label| !label.is_mixed)
    }

    /// Whether the set of this number has any.
    pub(super) fn has_any(&self, number: usize) -> bool {
        self.labels.iter().any(|label| label.number_of(number) > 0)
    }

    /// Calls `see` with the labels of the set of this number.
    pub(super) fn with_set<T>(&self, number: usize, see: impl FnOnce(&StreamLabels<'_>) -> T) -> T {
        let of_set = self.labels.iter().filter_map(|label| match label.number_of(number) {
            0 => None,
            value => Some((&*label.name, label.value(value))),
        });
        see(&of_set.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::labels::Label;
    use super::*;

    fn set(labels: impl IntoIterator<Item = (String, String)>) -> LabelSet {
        labels
            .into_iter()
            .map(|(name, value)| Label { name: name.into(), value: value.into(), kind: 0 })
            .collect()
    }

    #[test]
    fn many_labels_after_many_streams_are_refused_before_they_take_memory() {
        let mut labels = LabelsBuilder::default();
        for i in 0..10_000 {
            assert!(labels.add(&set([("a".to_owned(), format!("{}", i % 7))])));
        }
        let with = |count: usize| set((0..count).map(|i| (format!("b{i:05}"), String::new())));
        assert!(labels.add(&with(3)));
        assert!(!labels.add(&with(16_000)));
        assert_eq!(labels.sets(), 10_001);
    }

    #[test]
    fn labels_that_are_known_count_once() {
        let mut labels = LabelsBuilder::default();
        let known = set([("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
        assert!((0..MAX_TABLE_STREAMS_BYTES / 2).all(|_| labels.add(&known)));
    }

    #[test]
    fn names_that_do_not_ascend_are_refused() {
        let mut labels = LabelsBuilder::default();
        let named = |names: [&str; 2]| set(names.map(|name| (name.to_owned(), "v".to_owned())));
        assert!(labels.add(&named(["a", "b"])));
        assert!(!labels.add(&named(["b", "a"])) && !labels.add(&named(["a", "a"])));
    }
}
