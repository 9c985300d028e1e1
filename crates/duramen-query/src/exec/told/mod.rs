//! What is known of blocks before they are opened: their times, and if their tables tell them, their streams and how many
//! rows of each they have, and the same of the values of fields that have few, and of steps of time.
//!
//! A filter is asked once for each stream of a table and what it makes of blocks' times and fields, and not for each block
//! again; of tables that came long before, it is forgotten.

mod groups;

use super::Cancel;
use super::group_keys::common_time_bucket;
use super::needed::Needed;
use super::open::{STREAM_ID, stream_id};
use super::verdicts::{self, Verdict};
use crate::error::Result;
use crate::filter::Filter;
use crate::pipe::stats::By;
use duramen::block::{BlockHandle, BlockStreams, TableStreams, names};
use duramen::label_text;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What is known of tables, and what was counted but not given yet, takes about so many bytes at most, and one table's more.
const MAX_KNOWN_BYTES: usize = 8 << 20;

/// Takes the texts of a group's keys, and how many rows more it has.
pub(crate) type Give<'g> = dyn FnMut(&mut dyn Iterator<Item = &str>, u64) -> Result<()> + 'g;

/// What is asked of blocks: which rows match, and by which fields they are grouped.
pub(crate) struct Told<'a> {
    filter: &'a Filter,
    by: &'a [By],
    /// What rows that match have.
    needed: Needed<'a>,
    /// Whether streams have to do with it.
    asks_for_streams: bool,
    known: Mutex<Known>,
    /// [`MAX_KNOWN_BYTES`].
    max_known_bytes: usize,
}

/// What is known of tables.
#[derive(Default)]
struct Known {
    of_tables: HashMap<Place, Arc<OfTable>, foldhash::fast::FixedState>,
    bytes: usize,
}

/// A table, by where its streams are in memory, and what the filter makes of a block's times and fields.
type Place = (usize, Vec<Verdict>);

/// Rows that match.
#[derive(Default)]
struct Counts {
    /// Of blocks that lie in one group.
    of_blocks: HashMap<Vec<String>, u64, foldhash::fast::FixedState>,
    /// Of the groups of tables, by where what is known of the table is in memory, and the texts that blocks have in common.
    of_tables: HashMap<(usize, Texts), OfGroups, foldhash::fast::FixedState>,
    bytes: usize,
}

/// Blocks of a table that have the same texts in common, and of which it is known which streams match.
struct OfGroups {
    table: Arc<OfTable>,
    blocks: Vec<BlockStreams>,
}

impl OfGroups {
    /// How many rows each group of the table has in these blocks.
    fn rows(&self) -> Vec<u64> {
        let mut rows = vec![0; self.table.groups.len()];
        let mut add = |stream: usize, more: u64| {
            if let Some(OfStream::All(group)) = self.table.streams.get(stream) {
                rows[*group] += more;
            }
        };
        let table = &self.table.table;
        if self.blocks.len() == table.blocks() {
            table.rows().iter().enumerate().for_each(|(stream, more)| add(stream, *more));
        } else {
            let all = self.blocks.iter().flat_map(BlockStreams::rows);
            all.for_each(|(stream, more)| add(stream, more.into()));
        }
        rows
    }
}

/// The texts of a group's keys, as far as they are known.
type Texts = Vec<Option<String>>;

impl Counts {
    fn give(self, give: &mut Give<'_>) -> Result<()> {
        for (key, rows) in &self.of_blocks {
            give(&mut key.iter().map(String::as_str), *rows)?;
        }
        for ((_, buckets), of_groups) in &self.of_tables {
            let groups = of_groups.table.groups.iter().zip(of_groups.rows());
            for (group, rows) in groups.filter(|(_, rows)| *rows > 0) {
                let texts = group.iter().zip(buckets).map(|(text, bucket)| text.as_ref().or(bucket.as_ref()));
                give(&mut texts.map(|text| text.map_or("", String::as_str)), rows)?;
            }
        }
        Ok(())
    }
}

/// What is known of a table's streams.
struct OfTable {
    /// Is kept, so that no other comes to where it is.
    table: Arc<TableStreams>,
    streams: Vec<OfStream>,
    /// Whether some are unknown.
    has_unknown: bool,
    /// The texts of groups; nothing where it depends on the block.
    groups: Vec<Texts>,
    /// Of each key, whether all groups have its text.
    has_texts: Vec<bool>,
    /// About how many it takes.
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OfStream {
    /// No row of it matches.
    None,
    /// All rows match; they are of this group.
    All(usize),
    /// That depends on the row.
    Unknown,
}

impl<'a> Told<'a> {
    pub fn of(filter: &'a Filter, by: &'a [By]) -> Self {
        let asks_for_streams =
            verdicts::asks_for_streams(filter) || by.iter().any(|by| *by.field != *names::TIME);
        let needed = Needed::by(filter);
        Self {
            filter,
            by,
            needed,
            asks_for_streams,
            known: Mutex::default(),
            max_known_bytes: MAX_KNOWN_BYTES,
        }
    }

    pub fn filter(&self) -> &'a Filter {
        self.filter
    }

    /// Whether values need words for their rows to match.
    pub fn asks_for_words(&self) -> bool {
        self.needed != Needed::Nothing
    }

    /// Whether values of the block may have the words that they need for their row to match; if it `reads`, it finds out.
    pub fn may_have_words(&self, handle: &dyn BlockHandle, reads: bool) -> bool {
        self.needed.may_be_in(handle, reads)
    }

    /// Whether all rows of the block match, or none; `None` if that is not known.
    pub fn matches(&self, handle: &dyn BlockHandle) -> Option<bool> {
        self.matches_with(handle, None)
    }

    /// The same of the block's rows with this value of a field, if one is given.
    fn matches_with(&self, handle: &dyn BlockHandle, only: Option<verdicts::Value<'_>>) -> Option<bool> {
        let leaves = verdicts::of_leaves(self.filter, handle, only);
        if let Some(matches) = verdicts::of_block(self.filter, &leaves) {
            return Some(matches);
        }
        let (table, streams) = self.streams(handle, leaves)?;
        let mut all = None;
        for (stream, _) in streams.rows() {
            let matches = match table.streams[stream] {
                OfStream::None => false,
                OfStream::All(_) => true,
                OfStream::Unknown => return None,
            };
            if *all.get_or_insert(matches) != matches {
                return None;
            }
        }
        all
    }

    /// Gives how many rows of blocks match, by group, which may come several times. What is left are the blocks of which it is
    /// not known.
    pub fn counts(
        &self,
        blocks: &[Arc<dyn BlockHandle>],
        cancel: &Cancel,
        give: &mut Give<'_>,
    ) -> Result<Vec<Arc<dyn BlockHandle>>> {
        let (mut counts, mut others) = (Counts::default(), Vec::new());
        for handle in blocks {
            cancel.check()?;
            if self.count(&**handle, &mut counts).is_none() {
                others.push(handle.clone());
            }
            if counts.bytes > self.max_known_bytes {
                std::mem::take(&mut counts).give(give)?;
            }
        }
        counts.give(give)?;
        Ok(others)
    }

    /// Adds how many rows of the block match; nothing, if that is not known.
    fn count(&self, handle: &dyn BlockHandle, counts: &mut Counts) -> Option<()> {
        let span = (handle.min_time(), handle.max_time());
        let leaves = verdicts::of_leaves(self.filter, handle, None);
        let whole = verdicts::of_block(self.filter, &leaves);
        if whole == Some(false) {
            return Some(());
        }
        // What the manifest and others tell of a table that is gone would pass for lines that are there.
        if !handle.is_there() {
            return None;
        }
        // Of groups whose texts are told, whatever their streams?
        let buckets: Vec<_> = self.by.iter().map(|by| common_time_bucket(by, span)).collect();
        let groups = self.groups(handle, whole, &buckets);
        if let Some(groups) = groups.or_else(|| self.groups_in_time(handle, whole, &buckets)) {
            for (key, rows) in groups {
                counts.bytes += bytes_of(&key) * usize::from(!counts.of_blocks.contains_key(&key));
                *counts.of_blocks.entry(key).or_default() += rows;
            }
            return Some(());
        }
        let (table, streams) = self.streams(handle, leaves)?;
        let is_unknown = |stream: usize| table.streams.get(stream) == Some(&OfStream::Unknown);
        if !table.has_texts.iter().zip(&buckets).all(|(has_text, bucket)| *has_text || bucket.is_some())
            || table.has_unknown && streams.rows().any(|(stream, _)| is_unknown(stream))
        {
            return None;
        }
        let Counts { of_tables, bytes, .. } = counts;
        let of_groups = of_tables.entry((Arc::as_ptr(&table) as usize, buckets));
        let OfGroups { blocks, .. } = of_groups.or_insert_with(|| {
            *bytes += table.bytes;
            OfGroups { table: table.clone(), blocks: Vec::new() }
        });
        *bytes += size_of::<BlockStreams>();
        blocks.push(streams);
        Some(())
    }

    /// What is known of the table's streams, and those of the block.
    fn streams(
        &self,
        handle: &dyn BlockHandle,
        leaves: Vec<Verdict>,
    ) -> Option<(Arc<OfTable>, BlockStreams)> {
        if !self.asks_for_streams {
            return None;
        }
        let streams = handle.streams()?;
        let place = (Arc::as_ptr(&streams.table) as usize, leaves);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of_table) = known.of_tables.get(&place) {
            return Some((of_table.clone(), streams));
        }
        if known.bytes > self.max_known_bytes {
            *known = Known::default();
        }
        let of_table = Arc::new(self.of_table(&streams.table, &place.1));
        known.bytes += of_table.bytes;
        known.of_tables.insert(place, of_table.clone());
        Some((of_table, streams))
    }

    fn of_table(&self, table: &Arc<TableStreams>, leaves: &[Verdict]) -> OfTable {
        let mut groups = Vec::new();
        let mut numbers: HashMap<Texts, usize, foldhash::fast::FixedState> = HashMap::default();
        let mut group_of = |set| {
            let group: Texts = self.by.iter().map(|by| key(by, table, set)).collect();
            *numbers.entry_ref(&group).or_insert_with(|| {
                groups.push(group.clone());
                groups.len() - 1
            })
        };
        let verdicts = verdicts::of_streams(self.filter, leaves, table).into_iter().enumerate();
        let of_verdict = |(set, verdict)| match verdict {
            Some(false) => OfStream::None,
            None => OfStream::Unknown,
            Some(true) => OfStream::All(group_of(set)),
        };
        let streams: Vec<_> = verdicts.map(of_verdict).collect();
        let of_streams = table.bytes() + streams.len() * size_of::<OfStream>();
        let bytes = of_streams + groups.iter().map(|group| bytes_of(group.iter().flatten())).sum::<usize>();
        let has_texts = (0..self.by.len()).map(|i| groups.iter().all(|group| group[i].is_some())).collect();
        let has_unknown = streams.contains(&OfStream::Unknown);
        OfTable { table: table.clone(), streams, has_unknown, groups, has_texts, bytes }
    }
}

/// About how many bytes a group's texts take.
fn bytes_of<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    let of_texts = texts.into_iter().map(|text| size_of::<String>() + text.len());
    size_of::<Texts>() + of_texts.sum::<usize>()
}

/// What the group of the rows of a stream is called; nothing if they may be of several.
fn key(by: &By, table: &TableStreams, set: usize) -> Option<String> {
    let text = || {
        table.with_set(set, |labels| match labels {
            [] => String::new(),
            labels => label_text::write(labels.iter().copied()),
        })
    };
    let key = match &*by.field {
        names::STREAM => by.value(&text()).into_owned(),
        STREAM_ID => by.value(&stream_id(&text())).into_owned(),
        field => {
            let label = verdicts::label(table, field)?;
            by.value(label.value(label.number_of(set))).into_owned()
        }
    };
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::ParseOptions;
    use crate::query::Query;
    use duramen::{EntryBuf, Store};
    use std::collections::BTreeMap;

    #[test]
    fn what_is_forgotten_of_tables_is_found_out_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("logs")).unwrap();
        for table in 0..4i64 {
            for i in 0..30i64 {
                let mut entry = EntryBuf::new(["pod"]);
                entry.start((table * 30 + i) * 1_000_000_000).message("it happened");
                entry.field("pod", &*format!("pod-{}", i % 7));
                store.append(entry.finish().unwrap()).unwrap();
            }
            store.flush().unwrap();
        }
        let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let query =
            Query::parse("!{pod=\"pod-3\"} | stats by (pod, _time:1d) count() n", &ParseOptions::default());
        let query = query.unwrap();
        let Some(crate::pipe::Pipe::Stats(stats)) = query.pipes().first() else { panic!("no stats") };
        let counts = |max_known_bytes| {
            let told = Told { max_known_bytes, ..Told::of(query.filter(), &stats.aggregate.by) };
            let (mut counts, mut given) = (BTreeMap::<Vec<String>, u64>::new(), 0);
            let others = told.counts(&blocks, &Cancel::new(), &mut |key, rows| {
                given += 1;
                *counts.entry(key.map(str::to_owned).collect()).or_default() += rows;
                Ok(())
            });
            assert_eq!(others.unwrap().len(), 0);
            let known = told.known.lock().unwrap().of_tables.len();
            (counts, given, known)
        };
        let (all, given, known) = counts(MAX_KNOWN_BYTES);
        assert_eq!((all.len(), all.values().sum::<u64>(), given, known), (6, 104, 24, 4));
        let (again, given, known) = counts(0);
        assert_eq!((again, given, known), (all, 24, 1));
    }
}
