//! Which words a column may have, told without decoding it.

use super::super::directory::Form;
use super::super::filter;
use super::{TableBlock, get_or_make};
use crate::block::names;
use crate::column::ColumnData;
use crate::error::Result;
use crate::token;
use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// Whether a text has a word of each of the hashes.
fn has_words(text: &str, hashes: &[u64]) -> bool {
    let all: HashSet<u64, FixedState> = token::words(text).map(token::hash).collect();
    hashes.iter().all(|h| all.contains(h))
}

impl TableBlock {
    /// [`crate::block::Block::may_contain_words`].
    pub(super) fn may_contain(&self, name: &str, words: &[u64]) -> Result<bool> {
        if words.is_empty() {
            return Ok(true);
        }
        let streams = &self.structure()?.streams;
        if name == names::STREAM || streams.names().any(|n| n == name) {
            return Ok(true);
        }
        let Some(&i) = self.by_name.get(name) else { return Ok(false) };
        match &self.directory.columns[i].form {
            Form::Constant(text) => return Ok(has_words(text, words)),
            Form::Integers { .. } => return Ok(true),
            _ => {}
        }
        if let Some(handle) = self.directory.filter {
            let filter = get_or_make(&self.filter, || Ok(self.source.read_chunk(handle)?))?;
            if !filter::may_contain(filter, words) {
                return Ok(false);
            }
        }
        // The filter is over all columns. Once this one is here, and a dictionary, it tells exactly.
        if let Some(column) = self.columns[i].get()
            && let ColumnData::Dict { values, .. } = &column.data
        {
            return Ok(values.iter().any(|v| has_words(v, words)));
        }
        Ok(true)
    }
}
