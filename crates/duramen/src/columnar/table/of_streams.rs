//! Rows by their streams: those of one lie together, so that labels are looked at once a stream and not once a row; and if the
//! table tells the block's streams, not even once a stream, but once a value.

use super::{TableBlock, get_or_make};
use crate::block::{Block, BlockStreams, StreamTest, names};
use crate::column::{Order, set_range};
use crate::columnar::labels::{are_wanted, texts};
use crate::columnar::row_slots::slots_of_streams;
use crate::columnar::structure;
use crate::error::Result;
use std::borrow::Cow;
use std::sync::Arc;

/// Of blocks with more streams it is not told beforehand whether one is wanted: that would cost as much as their rows.
const MAX_TRIED_STREAMS: usize = 1024;

/// What a table tells of a block's streams, in the order in which it stores them.
#[derive(Debug)]
pub(super) struct ToldStreams {
    /// The number of each one's set of labels in the table.
    sets: Vec<u32>,
    /// Where the slots of each end.
    ends: Vec<u32>,
}

impl ToldStreams {
    fn of(told: &BlockStreams) -> Self {
        let (mut sets, mut ends, mut end) = (Vec::new(), Vec::new(), 0u32);
        for (set, rows) in told.rows() {
            end = end.saturating_add(rows);
            // A table has fewer sets than bytes of them.
            sets.push(set as u32);
            ends.push(end);
        }
        Self { sets, ends }
    }

    /// The numbers of the sets.
    fn sets(&self) -> impl Iterator<Item = usize> {
        self.sets.iter().map(|&set| set as usize)
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.sets) + size_of_val(&*self.ends)
    }
}

/// Whether a set of labels of the block's table is wanted.
fn is_wanted(test: &dyn StreamTest, is_known: &Option<Arc<[bool]>>, told: &BlockStreams, set: usize) -> bool {
    match is_known {
        Some(of_sets) => of_sets.get(set).is_some_and(|is_wanted| *is_wanted),
        None => told.table.with_set(set, |labels| test.wants(labels)),
    }
}

impl TableBlock {
    /// [`crate::block::Block::has_stream`].
    pub(super) fn has_set(&self, test: &dyn StreamTest) -> Result<Option<bool>> {
        if let Some(told) = &self.told {
            let is_known = test.wanted_of(&told.table);
            let streams = self.streams_of(told);
            let are_few = is_known.is_some() || streams.sets.len() <= MAX_TRIED_STREAMS;
            return Ok(are_few.then(|| streams.sets().any(|set| is_wanted(test, &is_known, told, set))));
        }
        let sets = self.label_sets()?;
        Ok((sets.len() <= MAX_TRIED_STREAMS).then(|| sets.iter().any(|set| test.wants(&texts(set)))))
    }

    /// [`crate::block::Block::rows_of_streams`].
    pub(super) fn of_streams(&self, test: &dyn StreamTest) -> Result<Vec<u64>> {
        self.rows_of_sets(match &self.told {
            Some(told) => {
                let is_known = test.wanted_of(&told.table);
                self.streams_of(told).sets().map(|set| is_wanted(test, &is_known, told, set)).collect()
            }
            None => self.label_sets()?.iter().map(|set| test.wants(&texts(set))).collect(),
        })
    }

    /// [`crate::block::Block::rows_of_label`].
    pub(super) fn of_label(&self, name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<Vec<u64>>> {
        self.sets_of_label(name, is_wanted)?.map(|wanted| self.rows_of_sets(wanted)).transpose()
    }

    /// Which label sets are not empty, if it is the field `_stream`, or have a value that is not empty, if it is a label and nothing
    /// else.
    pub(super) fn sets_having(&self, name: &str) -> Result<Option<Vec<bool>>> {
        if name != names::STREAM {
            return self.sets_of_label(name, &|value| !value.is_empty());
        }
        Ok(Some(match &self.told {
            Some(told) => self.streams_of(told).sets().map(|set| told.table.has_labels(set)).collect(),
            None => self.label_sets()?.iter().map(|set| !set.is_empty()).collect(),
        }))
    }

    /// Calls `see` with the name of each label, and of `_stream`, and how many rows have it, as
    /// [`crate::block::Block::rows_with`] says.
    pub(super) fn rows_with_labels<'b>(
        &'b self,
        see: &mut dyn FnMut(Cow<'b, str>, Option<usize>),
    ) -> Result<()> {
        let own = self.directory.label_names.iter().map(|name| &**name);
        let Some(told) = &self.told else {
            for name in
                own.filter(|name| *name != names::TIME && *name != names::STREAM).chain([names::STREAM])
            {
                see(Cow::Borrowed(name), self.rows_with(name)?);
            }
            return Ok(());
        };
        // The streams are gone through once for all labels.
        let labels = own.filter(|name| *name != names::TIME && *name != names::STREAM);
        let labels = labels.map(|name| (name, told.table.label(name).filter(|_| self.is_label(name))));
        let mut labels: Vec<_> = labels.map(|(name, label)| (name, label, 0)).collect();
        let mut labelled = 0;
        for (set, rows) in told.rows() {
            labelled += if told.table.has_labels(set) { rows as usize } else { 0 };
            for (_, label, count) in &mut labels {
                let has_value = label.is_some_and(|label| !label.value(label.number_of(set)).is_empty());
                *count += if has_value { rows as usize } else { 0 };
            }
        }
        for (name, label, count) in labels {
            see(Cow::Borrowed(name), if label.is_some() { Some(count) } else { self.rows_with(name)? });
        }
        see(Cow::Borrowed(names::STREAM), Some(labelled));
        Ok(())
    }

    /// How many rows the label sets have that are wanted.
    pub(super) fn count_of_sets(&self, wanted: &[bool]) -> Result<usize> {
        let (mut rows, mut start) = (0, 0);
        for (&end, &wanted) in self.slot_ends()?.iter().zip(wanted) {
            rows += if wanted { end.saturating_sub(start) as usize } else { 0 };
            start = end;
        }
        Ok(rows)
    }

    /// Which label sets are wanted by their value of a field that is a label and nothing else.
    fn sets_of_label(&self, name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<Vec<bool>>> {
        if !self.is_label(name) {
            return Ok(None);
        }
        // Of many streams, few values differ.
        if let Some(told) = &self.told
            && let Some(label) = told.table.label(name)
        {
            let mut known = vec![None; label.numbers()];
            let wanted = self.streams_of(told).sets().map(|set| {
                let number = label.number_of(set);
                let is_wanted = || is_wanted(label.value(number));
                known.get_mut(number).is_some_and(|known| *known.get_or_insert_with(is_wanted))
            });
            return Ok(Some(wanted.collect()));
        }
        Ok(Some(are_wanted(self.label_sets()?, name, is_wanted)))
    }

    /// How rows in order of time lead to slots, and where the slots of each stream end.
    pub(super) fn slots(&self) -> Result<&(Order, Vec<u32>)> {
        get_or_make(&self.slots, || {
            let count = match &self.told {
                Some(told) => self.streams_of(told).sets.len(),
                None => {
                    let at = &self.directory.label_sets;
                    let mut sets = self.bundle(at.bundle)?.part(&at.starts, &at.lens)?;
                    structure::stream_count(&mut sets, self.directory.rows)?
                }
            };
            self.structure(|part, rows| structure::order(part, rows, count))
        })
    }

    /// Where the slots of each stream end.
    pub(super) fn slot_ends(&self) -> Result<&[u32]> {
        match &self.told {
            Some(told) => Ok(&self.streams_of(told).ends),
            None => self.slots().map(|(_, ends)| &**ends),
        }
    }

    /// What is told of the block's streams.
    fn streams_of(&self, told: &BlockStreams) -> &ToldStreams {
        self.told_streams.get_or_init(|| ToldStreams::of(told))
    }

    /// The rows of the label sets that are wanted.
    pub(super) fn rows_of_sets(&self, wanted: Vec<bool>) -> Result<Vec<u64>> {
        if !wanted.contains(&true) {
            return Ok(Vec::new());
        }
        let rows = self.directory.rows;
        if !wanted.contains(&false) {
            let mut all = vec![0; rows.div_ceil(64)];
            set_range(&mut all, 0, rows);
            return Ok(all);
        }
        self.rows_of_slots(slots_of_streams(self.slot_ends()?, &wanted, rows))
    }
}
