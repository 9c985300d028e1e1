//! Rows by their streams: those of one lie together, so that labels are looked at once a stream and not once a row.

use super::TableBlock;
use crate::block::StreamLabels;
use crate::column::set_range;
use crate::columnar::labels::Label;
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The names and values of a stream's labels.
fn texts(set: &[Label]) -> Vec<(&str, &str)> {
    set.iter().map(|label| (&*label.name, &*label.value)).collect()
}

/// Of blocks with more streams it is not told beforehand whether one is wanted: that would cost as much as their rows.
const MAX_TRIED_STREAMS: usize = 1024;

impl TableBlock {
    /// [`crate::block::Block::has_stream`].
    pub(super) fn has_set(&self, is_wanted: &dyn Fn(&StreamLabels<'_>) -> bool) -> Result<Option<bool>> {
        let sets = self.label_sets()?;
        Ok((sets.len() <= MAX_TRIED_STREAMS).then(|| sets.iter().any(|set| is_wanted(&texts(set)))))
    }

    /// [`crate::block::Block::rows_of_streams`].
    pub(super) fn of_streams(&self, is_wanted: &dyn Fn(&StreamLabels<'_>) -> bool) -> Result<Vec<u64>> {
        self.rows_of_sets(self.label_sets()?.iter().map(|set| is_wanted(&texts(set))).collect())
    }

    /// [`crate::block::Block::rows_of_label`].
    pub(super) fn of_label(&self, name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<Vec<u64>>> {
        if !self.is_label(name) || self.by_name.contains_key(name) {
            return Ok(None);
        }
        // Of many streams, few values differ.
        let mut known: HashMap<&str, bool, FixedState> = HashMap::default();
        let wanted = self.label_sets()?.iter().map(|set| {
            let value = set.iter().find(|label| *label.name == *name).map_or("", |label| &*label.value);
            *known.entry(value).or_insert_with(|| is_wanted(value))
        });
        self.rows_of_sets(wanted.collect()).map(Some)
    }

    /// The rows of the label sets that are wanted.
    fn rows_of_sets(&self, wanted: Vec<bool>) -> Result<Vec<u64>> {
        if !wanted.contains(&true) {
            return Ok(Vec::new());
        }
        let rows = self.directory.rows;
        let mut slots = vec![0; rows.div_ceil(64)];
        if wanted.contains(&false) {
            let mut from = 0;
            for (&end, is_wanted) in self.slot_ends()?.iter().zip(wanted) {
                let end = (end as usize).clamp(from, rows);
                if is_wanted {
                    set_range(&mut slots, from, end);
                }
                from = end;
            }
            return self.rows_of_slots(slots);
        }
        set_range(&mut slots, 0, rows);
        Ok(slots)
    }
}
