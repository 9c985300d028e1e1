//! Compaction: many small tables of a day, and of one retention class, become one; and so do those of several days that
//! have little.
//!
//! Size-tiered: a merge takes the smallest tables of a day, at least [`MIN_MERGE_WIDTH`] of them, as long as
//! each is no larger than all the smaller ones together. So a row is written again only when what it lies in
//! has grown by a factor, and large tables are left alone for good. Large blocks are copied as they are; only small ones
//! are decoded, and their rows merged into large ones.

use crate::error::Result;
use crate::store::flush::{Flusher, Inherited};
use crate::store::layout::{SPARSE_BYTES, day_of, window_of};
use crate::store::merge::{self, Input, MAX_OPEN_BLOCKS, Merged};
use crate::store::table_blocks::TableBlockHandle;
use crate::store::table_facts::{ClassPart, Classes, TableFacts};
use crate::store::tables::TableCache;
use duramen_engine::manifest::{State, TableMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The fewest tables that are merged.
pub const MIN_MERGE_WIDTH: usize = 8;
/// The most tables that are merged at once: of each, a small block may be in memory.
const MAX_MERGE_WIDTH: usize = MAX_OPEN_BLOCKS;
/// Tables whose lines had more bytes than this are not merged any more.
pub const MAX_MERGE_INPUT_RAW_BYTES: u64 = 512 << 20;
/// A merge does not make a table whose lines had more bytes: it goes as a whole when there is too much, and is written again
/// as a whole when a line is deleted.
const MAX_MERGED_RAW_BYTES: u64 = 2 << 30;
/// When a store is closed only tables whose lines had at most so many bytes are merged: a program that ends
/// should not have to write again what it has just written.
pub const MAX_MERGE_INPUT_AT_CLOSE_RAW_BYTES: u64 = 2 << 20;

/// The tables of one day, or of several that have little, to merge next, if there is anything to merge; none of those in
/// `not`. With the rules of `classes_id`, tables of one class are merged with one another only, and so are those of several; and
/// those with days after `today`.
pub(crate) fn pick<'s>(
    state: &'s State,
    not: &BTreeSet<u64>,
    max_raw_bytes: u64,
    classes_id: Option<u64>,
    today: i64,
) -> Option<Vec<&'s TableMeta>> {
    let mut days: BTreeMap<(&str, Option<u32>), Vec<Candidate<'_>>> = BTreeMap::new();
    let mut sparse: BTreeMap<(i64, bool, Option<u32>), Vec<Candidate<'_>>> = BTreeMap::new();
    let facts_of = |meta: &'s TableMeta| {
        let facts = TableFacts::decode(&meta.user).ok()?;
        let (min_time, max_time) = facts.time_range()?;
        Some((meta, facts, day_of(min_time), day_of(max_time)))
    };
    let tables: Vec<_> = state.tables.values().filter_map(facts_of).collect();
    let newest = tables.iter().map(|(.., last)| *last).filter(|last| *last <= today).max();
    for (meta, facts, first, last) in tables {
        if not.contains(&meta.number) || facts.raw_bytes > max_raw_bytes {
            continue;
        }
        let day = meta.path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let class = match classes_id.and_then(|id| facts.classes_by(id)) {
            Some([only]) => Some(only.class),
            _ => None,
        };
        let candidate = Candidate { meta, raw_bytes: facts.raw_bytes };
        if first == last {
            days.entry((day, class)).or_default().push(candidate);
        }
        // What comes in now is left to its own day: most questions are about that.
        if window_of(first) == window_of(last) && (first != last || Some(last) != newest) {
            sparse.entry((window_of(first), last > today, class)).or_default().push(candidate);
        }
    }
    let of_day = days.into_values().find_map(|tables| pick_of(tables, MAX_MERGED_RAW_BYTES));
    of_day.or_else(|| sparse.into_values().find_map(|tables| pick_of(tables, SPARSE_BYTES)))
}

/// A table that may be merged.
#[derive(Clone, Copy)]
struct Candidate<'s> {
    meta: &'s TableMeta,
    raw_bytes: u64,
}

/// The classes of a table that is made of these, if all are by the same rules.
fn merged_classes(inputs: &[TableFacts]) -> Option<Classes> {
    let id = inputs.first()?.classes.as_ref()?.id;
    let mut merged: BTreeMap<u32, ClassPart> = BTreeMap::new();
    for facts in inputs {
        for part in facts.classes_by(id)? {
            let sum = merged.entry(part.class).or_insert(ClassPart { rows: 0, ..*part });
            sum.rows = sum.rows.saturating_add(part.rows);
            sum.max_time = sum.max_time.max(part.max_time);
        }
    }
    Some(Classes { id, parts: merged.into_values().collect() })
}

/// The smallest of these tables, as long as they are worth it, and together have lines of so many bytes at most.
fn pick_of(mut tables: Vec<Candidate<'_>>, max_total_raw_bytes: u64) -> Option<Vec<&TableMeta>> {
    tables.sort_by_key(|table| table.meta.file_bytes);
    let (mut total, mut total_raw) = (0, 0u64);
    let mut width = 0;
    for (i, Candidate { meta, raw_bytes }) in tables.iter().enumerate() {
        total_raw = total_raw.saturating_add(*raw_bytes);
        let fits = i < MIN_MERGE_WIDTH || meta.file_bytes <= total;
        if !fits || i >= MAX_MERGE_WIDTH || total_raw > max_total_raw_bytes {
            break;
        }
        total += meta.file_bytes;
        width = i + 1;
    }
    tables.truncate(width);
    (width >= MIN_MERGE_WIDTH).then(|| tables.into_iter().map(|table| table.meta).collect())
}

/// Merges tables into one new table, which no manifest names yet. Its blocks are in the order of their first rows; the rows
/// of large blocks, which are copied, may lie between those of others. `go_on` is asked after each block;
/// if it says no, nothing is left of the table, and there is none.
///
/// # Errors
/// What the file system said; damage in an input: then all of them stay as they are.
pub(crate) fn merge(
    flusher: &mut Flusher,
    cache: &Arc<TableCache>,
    inputs: &[&TableMeta],
    number: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<TableMeta>> {
    let mut blocks = Vec::new();
    let mut inherited = Inherited::default();
    let facts = inputs.iter().map(|meta| TableFacts::decode(&meta.user)).collect::<Result<Vec<_>>>()?;
    for (meta, facts) in inputs.iter().zip(&facts) {
        let is_well_cut = merge::are_well_cut(facts);
        let input = |handle| Input { handle, is_well_cut };
        blocks.extend(TableBlockHandle::of(cache, meta, &None)?.into_iter().map(input));
        inherited.raw_bytes = inherited.raw_bytes.saturating_add(facts.raw_bytes);
        inherited.origins.add(cache.origins(meta)?);
    }
    inherited.classes = merged_classes(&facts);
    match merge::merge(blocks, |time| flusher.start_table(time, number), &mut |_, _| Ok(None), go_on)? {
        Merged::Table(out, _) => out.finish(inherited).map(Some),
        Merged::Stopped | Merged::Empty => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::layout::DAY_NS;
    use crate::store::layout::WINDOW_DAYS;
    use crate::store::table_facts::BlockFacts;

    fn state(sizes: &[(&str, u64)]) -> State {
        let mut state = State::default();
        for (number, (day, file_bytes)) in (0u64..).zip(sizes) {
            let path = format!("tables/{day}/{number:08}.sst");
            let file_bytes = *file_bytes;
            let blocks = vec![BlockFacts { rows: 1, min_time: 0, max_time: 0 }];
            let user = TableFacts { raw_bytes: file_bytes * 10, blocks, ..TableFacts::default() }.encode();
            state.tables.insert(number, TableMeta { number, path, file_bytes, user, ..TableMeta::default() });
        }
        state
    }

    fn picked(sizes: &[(&str, u64)]) -> Option<Vec<u64>> {
        pick(&state(sizes), &BTreeSet::new(), MAX_MERGE_INPUT_RAW_BYTES, None, i64::MAX)
            .map(|tables| tables.iter().map(|meta| meta.number).collect())
    }

    #[test]
    fn small_tables_of_one_day_are_merged_and_large_ones_left() {
        let ten: Vec<_> = (0..10).map(|i| ("20260101", 100 + i)).collect();
        assert_eq!(picked(&ten), Some((0..10).collect()));
        assert_eq!(picked(&ten[..7]), None, "too few");
        let apart: Vec<_> = ["20260101", "20260102"].into_iter().cycle().map(|d| (d, 1)).take(14).collect();
        assert_eq!(picked(&apart), None, "seven each");
        let mut with_large = ten.clone();
        with_large.push(("20260101", 1_000_000));
        assert_eq!(picked(&with_large), Some((0..10).collect()), "the large one is not worth writing again");
        let huge = vec![("20260101", MAX_MERGE_INPUT_RAW_BYTES / 10 + 1); 20];
        assert_eq!(picked(&huge), None);
        let large = |raw_bytes| vec![("20260101", raw_bytes / 10); 20];
        assert_eq!(picked(&large(MAX_MERGED_RAW_BYTES / 9)).unwrap().len(), 9, "no more than one table has");
        assert_eq!(picked(&large(MAX_MERGED_RAW_BYTES / 7)), None, "too few fit");
        let many = vec![("20260101", 100); 1000];
        assert_eq!(picked(&many).unwrap().len(), MAX_MERGE_WIDTH, "no more than fit into memory");
    }

    #[test]
    fn days_that_have_little_are_merged_with_each_other() {
        let of_days_on = |today, days: &[i64], raw_bytes| {
            let mut state = State::default();
            for (number, &day) in (0u64..).zip(days) {
                let block = BlockFacts { rows: 1, min_time: day * DAY_NS, max_time: day * DAY_NS + 5 };
                let user = TableFacts { raw_bytes, blocks: vec![block], ..TableFacts::default() }.encode();
                let path = format!("tables/{day}/{number:08}.sst");
                let meta = TableMeta { number, path, file_bytes: 100, user, ..TableMeta::default() };
                state.tables.insert(number, meta);
            }
            let picked = pick(&state, &BTreeSet::new(), MAX_MERGE_INPUT_RAW_BYTES, None, today);
            picked.map(|tables| tables.iter().map(|meta| meta.number).collect::<Vec<_>>())
        };
        let of_days = |days: &[i64], raw_bytes| of_days_on(i64::MAX, days, raw_bytes);
        let nine: Vec<i64> = (WINDOW_DAYS..WINDOW_DAYS + 9).collect();
        assert_eq!(of_days_on(WINDOW_DAYS + 4, &nine, 1000), None, "five days that were, and four to come");
        assert_eq!(of_days(&nine, 1000), Some((0..8).collect()), "all but the newest");
        assert_eq!(of_days(&nine[1..], 1000), None, "too few");
        assert_eq!(of_days(&nine, SPARSE_BYTES / 8), Some((0..8).collect()));
        assert_eq!(of_days(&nine, SPARSE_BYTES / 8 + 1), None, "too much");
        let edge: Vec<i64> = (WINDOW_DAYS - 4..WINDOW_DAYS + 5).collect();
        assert_eq!(of_days(&edge, 1000), None, "four days of one window, and four of the next");
    }

    #[test]
    fn classes_are_merged_apart_and_added_up() {
        let facts = |id, parts: &[(u32, u64, i64)]| {
            let part = |&(class, rows, max_time)| ClassPart { class, rows, max_time };
            let blocks = parts.iter().map(|p| BlockFacts { rows: p.1, min_time: 0, max_time: p.2 }).collect();
            let classes = Some(Classes { id, parts: parts.iter().map(part).collect() });
            TableFacts { raw_bytes: 1, blocks, classes, ..TableFacts::default() }
        };
        let mut state = state(&[("20260101", 1); 24]);
        for (number, meta) in &mut state.tables {
            meta.user = match number % 3 {
                0 => facts(7, &[(0, 1, 5)]),
                1 => facts(7, &[(1, 1, 6)]),
                _ => facts(7, &[(0, 1, 5), (1, 1, 6)]),
            }
            .encode();
        }
        let pick = |id| {
            let picked = pick(&state, &BTreeSet::new(), MAX_MERGE_INPUT_RAW_BYTES, id, i64::MAX)?;
            Some(picked.iter().map(|meta| meta.number % 3).collect::<BTreeSet<_>>())
        };
        assert_eq!(pick(Some(7)), Some([2].into()), "those of several classes with one another");
        assert_eq!(pick(None).map(|of| of.len()), Some(3), "without rules, all");
        let merged = merged_classes(&[facts(7, &[(0, 2, 5)]), facts(7, &[(0, 3, 4), (1, 1, 9)])]).unwrap();
        let part = |class, rows, max_time| ClassPart { class, rows, max_time };
        assert_eq!(merged, Classes { id: 7, parts: vec![part(0, 5, 5), part(1, 1, 9)] });
        assert_eq!(merged_classes(&[facts(7, &[(0, 2, 5)]), facts(8, &[(0, 2, 5)])]), None);
        assert_eq!(merged_classes(&[TableFacts::default()]), None);
    }
}
