//! Which bytes of a table will be read of a block, so that the device can be asked for them before.

use crate::block::Looks;
use crate::columnar::filter_parts;
use crate::store::flush::grams_len;
use duramen_engine::sstable::{BlockMeta, ChunkHandle, FRAME_BYTES};
use std::ops::Range;

/// What lies between two chunks is fetched with them, if it is less: that takes less time than asking twice.
const GAP_BYTES: u64 = 16 << 10;

/// Where a chunk lies, its frame included.
fn range_of(at: &ChunkHandle) -> Range<u64> {
    at.offset.saturating_sub(FRAME_BYTES as u64)..at.offset.saturating_add(at.len.into())
}

/// What is read at once of these, which are in order: those between which there is little are one.
fn joined(all: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for next in all {
        match ranges.last_mut() {
            Some(last) if next.start <= last.end.saturating_add(GAP_BYTES) => {
                last.end = last.end.max(next.end)
            }
            _ => ranges.push(next),
        }
    }
    ranges
}

/// Whether the filter of words lies behind all blocks, with those of the others.
pub(super) fn has_filter_behind(meta: &BlockMeta) -> bool {
    meta.filters.first().is_some_and(|first| first.offset > meta.directory.offset)
}

/// Where the parts of filters will be read that have the words which are looked at, of blocks of a table, but for those that are
/// kept: of the block of this place among these, that part.
pub(super) fn filters_ahead(
    blocks: &[BlockMeta],
    at_words: u16,
    is_kept: &dyn Fn(usize, usize) -> bool,
) -> Vec<Range<u64>> {
    let parts_of = |(at, meta): (usize, &BlockMeta)| -> Vec<ChunkHandle> {
        let parts = filter_parts(at_words, meta.filters.len()).filter(|&part| !is_kept(at, part));
        parts.filter_map(|part| meta.filters.get(part).copied()).collect()
    };
    let mut parts: Vec<ChunkHandle> = blocks.iter().enumerate().flat_map(parts_of).collect();
    parts.sort_unstable_by_key(|part| part.offset);
    joined(parts.iter().map(range_of))
}

/// Where a block will be read when it is opened, frames included: behind its columns lie the filter of grams and the directory,
/// and between these, if an earlier version wrote it, the parts of that of words. Nothing if it is not known where its filters
/// are.
pub(super) fn ranges_ahead(meta: &BlockMeta, looks: Looks) -> Vec<Range<u64>> {
    let frame = FRAME_BYTES as u64;
    let filters = if has_filter_behind(meta) { &[] } else { &meta.filters[..] };
    let first = filters.first().unwrap_or(&meta.directory);
    let grams = grams_len(&meta.user);
    if looks != Looks::default() && meta.filters.is_empty() && grams == 0 {
        return Vec::new();
    }
    let mut all = Vec::new();
    if looks.at_grams && grams > 0 {
        let end = range_of(first).start;
        all.push(end.saturating_sub(grams + frame)..end);
    }
    let parts = filter_parts(looks.at_words, filters.len());
    all.extend(parts.filter_map(|part| filters.get(part)).map(range_of));
    all.push(range_of(&meta.directory));
    joined(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_filter_the_parts_are_fetched_that_will_be_looked_at() {
        let chunk = |offset, len| ChunkHandle { offset, len };
        // Grams, four parts of 20,000 bytes, and the directory, with frames of 8 bytes.
        let meta = BlockMeta {
            min_key: Vec::new(),
            max_key: Vec::new(),
            entries: 1,
            directory: chunk(181_048, 300),
            filters: (0..4).map(|part| chunk(101_016 + part * 20_008, 20_000)).collect(),
            user: 1_000_u32.to_le_bytes().to_vec(),
        };
        let parts = |at_words, at_grams| ranges_ahead(&meta, Looks { at_words, at_grams });
        let directory = 181_040..181_348;
        assert_eq!(parts(0, false), std::slice::from_ref(&directory));
        assert_eq!(parts(1, false), [101_008..121_016, directory.clone()]);
        assert_eq!(parts(1 << 4 | 1 << 7 | 1 << 11, false), [121_016..161_032, directory.clone()]);
        assert_eq!(parts(1 << 12, false), std::slice::from_ref(&(161_032..181_348)), "near: fetched at once");
        assert_eq!(parts(0, true), [100_000..101_008, directory.clone()]);
        assert_eq!(parts(u16::MAX, true), std::slice::from_ref(&(100_000..181_348)));
        // Behind all blocks, those of all lie side by side.
        let behind = |first: u64| BlockMeta {
            filters: (0..2).map(|part| chunk(first + part * 500_000, 1_000)).collect(),
            ..meta.clone()
        };
        let directory_alone = std::slice::from_ref(&directory);
        assert_eq!(ranges_ahead(&behind(300_008), Looks { at_words: 1, at_grams: false }), directory_alone);
        let with_grams = [180_032..181_040, directory.clone()];
        let with_grams = joined(with_grams);
        assert_eq!(ranges_ahead(&behind(300_008), Looks { at_words: 1, at_grams: true }), with_grams);
        let blocks = [behind(300_008), meta.clone(), behind(301_016), behind(600_000)];
        assert_eq!(
            filters_ahead(&blocks, 1, &|_, _| false),
            [101_008..121_016, 300_000..302_016, 599_992..601_000]
        );
        assert_eq!(
            filters_ahead(&blocks[2..], 1 << 9, &|_, _| false),
            [801_008..802_016, 1_099_992..1_101_000]
        );
        let last = 599_992..601_000;
        let left = filters_ahead(&blocks, 1, &|at, part| at < 3 && part == 0);
        assert_eq!(left, std::slice::from_ref(&last), "others are kept");
        assert_eq!(filters_ahead(&blocks, 0, &|_, _| false), []);
        let looks = Looks { at_words: 1, at_grams: false };
        let of_older = BlockMeta { filters: Vec::new(), user: Vec::new(), ..meta };
        assert_eq!(ranges_ahead(&of_older, looks), [], "who knows where");
        assert_eq!(ranges_ahead(&of_older, Looks::default()), [directory]);
    }
}
