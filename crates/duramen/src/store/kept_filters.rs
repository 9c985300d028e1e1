//! Parts of blocks' filters of words that were read lately: a block whose messages have not the word need not be opened, and
//! whoever asks again need not read.

use crate::columnar::WordFilter;
use crate::error::Result;
use crate::store::shared::lock;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};

/// The most bytes of filters that a store keeps. If there would be more, all are forgotten: those that are looked at are soon
/// there again.
pub const MAX_KEPT_FILTER_BYTES: usize = 8 << 20;

/// A part of a block's filter: the table's number, the block's, the part's.
pub(crate) type Place = (u64, usize, usize);

/// Filters that were read lately.
#[derive(Debug)]
pub(crate) struct KeptFilters {
    kept: Mutex<Kept>,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Kept {
    filters: HashMap<Place, Arc<WordFilter>, foldhash::fast::FixedState>,
    bytes: usize,
}

impl KeptFilters {
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
        let bytes = filter.bytes() + size_of::<(Place, WordFilter)>();
        let mut kept = lock(&self.kept);
        if kept.bytes + bytes > self.most_bytes {
            *kept = Kept::default();
        }
        if bytes <= self.most_bytes && kept.filters.insert(place, filter.clone()).is_none() {
            kept.bytes += bytes;
        }
        Ok(filter)
    }

    /// Forgets those of tables that are not live any more.
    pub(crate) fn keep_live(&self, is_live: impl Fn(u64) -> bool) {
        let mut kept = lock(&self.kept);
        let Kept { filters, bytes } = &mut *kept;
        filters.retain(|(table, ..), filter| {
            let stays = is_live(*table);
            *bytes -= if stays { 0 } else { filter.bytes() + size_of::<(Place, WordFilter)>() };
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(filters: &KeptFilters) -> (usize, usize) {
        let kept = filters.kept.lock().unwrap();
        (kept.filters.len(), kept.bytes)
    }

    #[test]
    fn what_is_kept_has_a_limit_and_goes_with_its_table() {
        let of_kib = || Ok(WordFilter::read(vec![0; 1 << 10]));
        let one = WordFilter::read(vec![0; 1 << 10]).bytes() + size_of::<(Place, WordFilter)>();
        let filters = KeptFilters::new(one * 3);
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
        assert_eq!(held(&filters), (1, one), "one was too many");
        filters.get_or_read((1, 9, 0), || Ok(WordFilter::read(vec![0; 4 << 10]))).unwrap();
        assert_eq!(held(&filters), (0, 0), "it is larger than all may be");
        let nothing = KeptFilters::new(0);
        nothing.get_or_read((1, 0, 0), of_kib).unwrap();
        assert_eq!(held(&nothing), (0, 0));
    }
}
