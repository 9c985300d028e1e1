//! Parts of blocks' filters of words that were read lately: a block whose values have not the word need not be opened, and
//! whoever asks again need not read.

use crate::columnar::WordFilter;
use crate::error::Result;
use crate::store::shared::lock;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};

/// The most bytes of filters that a store keeps. If there would be more, every other one is forgotten: of a search of more than
/// that, again and again, some are there.
pub const MAX_KEPT_FILTER_BYTES: usize = 8 << 20;

/// A part of a block's filter: the table's number, the block's, the part's.
pub(crate) type Place = (u64, usize, usize);

/// Filters that were read lately.
#[derive(Debug)]
pub(crate) struct KeptWordFilters {
    kept: Mutex<Kept>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    filters: HashMap<Place, Arc<WordFilter>, foldhash::fast::FixedState>,
    bytes: usize,
}

impl Kept {
    /// They have no order, so that it is chance which stay.
    fn forget_every_other(&mut self) {
        let mut stays = false;
        self.retain(|_| {
            stays = !stays;
            stays
        });
    }

    fn retain(&mut self, mut stays: impl FnMut(&Place) -> bool) {
        let Self { filters, bytes } = self;
        filters.retain(|place, filter| {
            let stays = stays(place);
            *bytes -= if stays { 0 } else { bytes_of(filter) };
            stays
        });
    }
}

/// What one takes.
fn bytes_of(filter: &WordFilter) -> usize {
    filter.bytes() + size_of::<(Place, WordFilter)>()
}

impl KeptWordFilters {
    /// Of so many bytes at most.
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { kept: Mutex::default(), most_bytes }
    }

    pub(crate) fn get(&self, place: Place) -> Option<Arc<WordFilter>> {
        lock(&self.kept).filters.get(&place).cloned()
    }

    /// The filter there; `read` reads it if it is not kept. Two may both read it.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn get_or_read(
        &self,
        place: Place,
        read: impl FnOnce() -> Result<WordFilter>,
    ) -> Result<Arc<WordFilter>> {
        if let Some(kept) = self.get(place) {
            return Ok(kept);
        }
        let filter = Arc::new(read()?);
        let bytes = bytes_of(&filter);
        let mut kept = lock(&self.kept);
        if kept.bytes + bytes > self.most_bytes {
            kept.forget_every_other();
        }
        if kept.bytes + bytes <= self.most_bytes && kept.filters.insert(place, filter.clone()).is_none() {
            kept.bytes += bytes;
        }
        Ok(filter)
    }

    /// Forgets those of tables that are not live any more.
    pub(crate) fn keep_live(&self, is_live: impl Fn(u64) -> bool) {
        lock(&self.kept).retain(|(table, ..)| is_live(*table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(filters: &KeptWordFilters) -> (usize, usize) {
        let kept = filters.kept.lock().unwrap();
        (kept.filters.len(), kept.bytes)
    }

    #[test]
    fn what_is_kept_has_a_limit_and_goes_with_its_table() {
        let of_kib = || Ok(WordFilter::read(vec![0; 1 << 10]));
        let one = bytes_of(&WordFilter::read(vec![0; 1 << 10]));
        let filters = KeptWordFilters::new(one * 3);
        for block in 0..3 {
            filters.get_or_read((1 + block as u64 % 2, block, 0), of_kib).unwrap();
        }
        filters.get_or_read((1, 0, 0), || panic!("it is kept")).unwrap();
        assert_eq!(held(&filters), (3, one * 3));
        filters.keep_live(|table| table == 1);
        assert_eq!(held(&filters), (2, one * 2));
        assert!(filters.get((2, 1, 0)).is_none() && filters.get((1, 2, 0)).is_some());
        for block in 3..5 {
            filters.get_or_read((1, block, 0), of_kib).unwrap();
        }
        assert_eq!(held(&filters), (3, one * 3), "a fourth is too many: one of three is forgotten");
        filters.get_or_read((1, 9, 0), || Ok(WordFilter::read(vec![0; 4 << 10]))).unwrap();
        assert!(filters.get((1, 9, 0)).is_none(), "it is larger than all may be");
        let nothing = KeptWordFilters::new(0);
        nothing.get_or_read((1, 0, 0), of_kib).unwrap();
        assert_eq!(held(&nothing), (0, 0));
    }
}
