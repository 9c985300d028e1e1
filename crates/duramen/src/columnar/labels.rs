//! Streams: each distinct set of stream fields is kept once in a block; rows have its number.

use super::bytes::bad;
use super::row_slots::{rows_of_slots, slots_of_streams};
use crate::block::names;
use crate::column::{Codes, Column, ColumnData, IntText, Kinds, Order, bit};
use crate::error::Result;
use crate::label_text;
use crate::value::ValueKind;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One stream field: its name, its text, and the number of its [`ValueKind`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Label {
    pub(crate) name: Box<str>,
    pub(crate) value: Box<str>,
    pub(crate) kind: u8,
}

/// The stream fields of a stream, by name.
pub(crate) type LabelSet = Vec<Label>;

/// The text of a stream: `{app="x",host="y"}`.
pub(crate) fn render(labels: &[Label]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    label_text::write(labels.iter().map(|label| (&*label.name, &*label.value)))
}

/// The names and values of a stream's labels.
pub(crate) fn texts(set: &[Label]) -> Vec<(&str, &str)> {
    set.iter().map(|label| (&*label.name, &*label.value)).collect()
}

/// Whether each of the sets is wanted by its value of a label, the empty text without. Of many streams, few values differ: each is
/// asked about once.
pub(crate) fn are_wanted(sets: &[LabelSet], name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Vec<bool> {
    let mut known: HashMap<&str, bool, FixedState> = HashMap::default();
    let wanted = sets.iter().map(|set| {
        let value = set.iter().find(|label| *label.name == *name).map_or("", |label| &*label.value);
        *known.entry(value).or_insert_with(|| is_wanted(value))
    });
    wanted.collect()
}

/// The streams of a block, and which slots belong to each: slots of one stream lie together.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamTable {
    /// The distinct label sets.
    pub(crate) sets: Arc<Vec<LabelSet>>,
    /// Where the slots of each stream end.
    pub(crate) slot_ends: Vec<u32>,
    /// The slot of each row.
    pub(crate) order: Order,
    /// How many rows there are.
    pub(crate) rows: usize,
}

impl StreamTable {
    /// Of so many rows, at least one, that have no labels.
    pub(crate) fn of_none(rows: usize) -> Self {
        let (sets, order) = (Arc::new(vec![LabelSet::new()]), Order::default());
        Self { sets, slot_ends: vec![rows as u32], order, rows }
    }

    /// Of the slots at these places, which are ascending, and to which rows lead so.
    pub(crate) fn few(&self, places: &[u32], order: Order) -> Self {
        let (mut sets, mut slot_ends) = (Vec::new(), Vec::new());
        let mut from = 0;
        while let Some(&place) = places.get(from) {
            let stream = self.slot_ends.partition_point(|&end| end <= place);
            let (Some(set), Some(&end)) = (self.sets.get(stream), self.slot_ends.get(stream)) else { break };
            from += places[from..].partition_point(|&place| place < end);
            sets.push(set.clone());
            slot_ends.push(from as u32);
        }
        Self { sets: Arc::new(sets), slot_ends, order, rows: self.rows }
    }

    /// The stream that a slot belongs to.
    pub(crate) fn stream_of(&self, slot: u32) -> usize {
        self.slot_ends.partition_point(|&end| end <= slot)
    }

    /// Whether each of the sets has the level as a label.
    pub(crate) fn have_level(&self) -> Vec<bool> {
        self.sets.iter().map(|set| set.iter().any(|label| *label.name == *names::LEVEL)).collect()
    }

    /// About how many bytes of memory the sets and the order take.
    pub(crate) fn bytes(&self) -> usize {
        let order = if matches!(self.order, Order::Slots(_)) { self.rows * 4 } else { 0 };
        let label = |label: &Label| 96 + 2 * (label.name.len() + label.value.len());
        let sets: usize = self.sets.iter().map(|set| 64 + set.iter().map(label).sum::<usize>()).sum();
        order + sets
    }

    /// How many slots there are.
    fn slots(&self) -> usize {
        match &self.order {
            Order::Few(few) => few.count(),
            Order::Rows | Order::Slots(_) => self.rows,
        }
    }

    /// One code a slot.
    fn codes(&self, code_of_stream: &[u32]) -> Vec<u32> {
        let slots = self.slots();
        let mut codes = Vec::with_capacity(slots);
        for (&end, &code) in self.slot_ends.iter().zip(code_of_stream) {
            codes.resize((end as usize).clamp(codes.len(), slots), code);
        }
        codes.resize(slots, ColumnData::ABSENT);
        codes
    }

    /// The rows of the streams that are wanted, one bit each.
    pub(crate) fn rows_of(&self, wanted: &[bool]) -> Vec<u64> {
        if !wanted.contains(&true) {
            return Vec::new();
        }
        let slots = slots_of_streams(&self.slot_ends, wanted, self.rows);
        if wanted.contains(&false) { rows_of_slots(&self.order, slots, self.rows) } else { slots }
    }

    /// The column `_stream`.
    pub(crate) fn stream_column(&self) -> Column {
        let data = match &self.sets[..] {
            [only] => ColumnData::Const(render(only).into()),
            sets => ColumnData::Dict {
                values: sets.iter().map(|set| render(set)).collect(),
                codes: Codes::new(sets.len(), self.codes(&(0..sets.len() as u32).collect::<Vec<_>>())),
            },
        };
        Column { data, kinds: Kinds::All(ValueKind::String), order: self.order.clone(), rows: self.rows }
    }

    /// The names of all stream fields.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.sets.iter().flatten().map(|label| &*label.name)
    }

    /// The column of a stream field. A field that is part of the stream in some rows only, and a plain one in
    /// others, has its plain values in `stored`.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if both together have more than 4 GiB of text, which rows that are in memory or
    /// were written by an encoder do not.
    pub(crate) fn label_column(&self, name: &str, stored: Option<&Column>) -> Result<Option<Column>> {
        let mut values: Vec<(&str, u8)> = Vec::new();
        let mut index: BTreeMap<(&str, u8), u32> = BTreeMap::new();
        let codes: Vec<u32> = self
            .sets
            .iter()
            .map(|set| {
                let Some(label) = set.iter().find(|label| &*label.name == name) else {
                    return ColumnData::ABSENT;
                };
                *index.entry((&label.value, label.kind)).or_insert_with(|| {
                    values.push((&label.value, label.kind));
                    values.len() as u32 - 1
                })
            })
            .collect();
        if values.is_empty() {
            return Ok(None);
        }
        let slot_codes = self.codes(&codes);
        if let Some(stored) = stored {
            return self.merge(&values, &slot_codes, stored).map(Some);
        }
        let first_kind = values[0].1;
        let kinds = if values.iter().all(|v| v.1 == first_kind) {
            Kinds::All(ValueKind::from_u8(first_kind).unwrap_or(ValueKind::String))
        } else {
            Kinds::PerSlot(slot_codes.iter().map(|&c| values.get(c as usize).map_or(0, |v| v.1)).collect())
        };
        let data = match &*values {
            [(only, _)] if codes.iter().all(|&c| c == 0) => ColumnData::Const((*only).into()),
            _ => ColumnData::Dict {
                values: values.iter().map(|v| v.0).collect(),
                codes: Codes::new(values.len(), slot_codes),
            },
        };
        Ok(Some(Column { data, kinds, order: self.order.clone(), rows: self.rows }))
    }

    fn merge(&self, values: &[(&str, u8)], codes: &[u32], stored: &Column) -> Result<Column> {
        let mut all_texts = String::new();
        let mut ends = Vec::with_capacity(codes.len());
        let mut kinds = Vec::with_capacity(codes.len());
        let mut present = vec![0u64; codes.len().div_ceil(64)];
        let mut digits = IntText::default();
        for (slot, &code) in codes.iter().enumerate() {
            let label = values.get(code as usize);
            let (text, kind) = match stored.text_at(slot, &mut digits) {
                Some(text) => (Some(text), stored.kind_at(slot) as u8),
                None => (label.map(|v| v.0), label.map_or(0, |v| v.1)),
            };
            if let Some(text) = text {
                all_texts.push_str(text);
                present[slot / 64] |= 1 << (slot % 64);
            }
            ends.push(u32::try_from(all_texts.len()).map_err(|_| bad("a stream field is too long"))?);
            kinds.push(kind);
        }
        let all = (0..codes.len()).all(|slot| bit(&present, slot));
        Ok(Column {
            data: ColumnData::Text { text: all_texts, ends, present: (!all).then_some(present) },
            kinds: Kinds::PerSlot(kinds),
            order: self.order.clone(),
            rows: self.rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_rendered_with_its_values_escaped() {
        let label = |name: &str, value: &str| Label { name: name.into(), value: value.into(), kind: 0 };
        let set = [label("app", "a\"b\\c\n"), label("my host", "")];
        assert_eq!(render(&set), r#"{app="a\"b\\c\n","my host"=""}"#);
        assert_eq!(render(&[]), "", "a row of no stream has none");
    }
}
