//! Rows that no table holds yet: the records of segments, read where they lie.

use crate::block::{Block, BlockHandle};
use crate::columnar::MemoryBlock;
use crate::error::Result;
use crate::store::rows::{Arenas, RowKey, RowPlace, RowSet};
use crate::store::shared::{Shared, lock};
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::State;
use duramen_engine::memtable::Frozen;
use duramen_engine::wal::{self, SegmentReader};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// How many rows of a segment make a block in memory, at most.
const LIVE_BLOCK_ROWS: usize = 8192;
/// And how many bytes their entries have: few enough that the memory of one block serves for the next.
const LIVE_BLOCK_BYTES: u64 = 1 << 20;

/// The segments that were there when they were listed, opened.
#[derive(Debug, Default)]
pub(crate) struct LiveSegments {
    pub(crate) segments: Vec<LiveSegment>,
    /// Segments that cannot be opened, and why.
    pub(crate) damaged: Vec<(PathBuf, EngineError)>,
}

/// A segment that may hold rows no table has.
#[derive(Clone, Debug)]
pub(crate) struct LiveSegment {
    pub(crate) writer: u64,
    pub(crate) number: u64,
    /// The writer's segments up to this one are in tables.
    pub(crate) flushed: u64,
    pub(crate) path: PathBuf,
    pub(crate) reader: Arc<SegmentReader>,
}

/// The rows found so far in one segment.
type SharedRows = Arc<Mutex<RowSet>>;

/// What has been read of segments, kept for the next snapshot.
#[derive(Debug, Default)]
pub(crate) struct LiveCache {
    rows: Mutex<BTreeMap<(u64, u64), SharedRows>>,
    readers: Mutex<BTreeMap<(u64, u64), Arc<SegmentReader>>>,
}

impl LiveCache {
    /// Lists every writer's segments. Those that go while they are looked at are left out: the manifest,
    /// read afterwards, knows their rows.
    pub(crate) fn list(&self, shared: &Shared) -> Result<LiveSegments> {
        let mut live = LiveSegments::default();
        let mut readers = BTreeMap::new();
        let known = std::mem::take(&mut *lock(&self.readers));
        for writer in wal::writers(&shared.env, &shared.layout.wal())? {
            for file in wal::segments(&shared.env, &writer.path)? {
                let key = (writer.writer_id, file.number);
                let reader = match known.get(&key) {
                    Some(reader) => reader.clone(),
                    None => match SegmentReader::open(&shared.env, &file.path) {
                        Ok(Some(reader)) => Arc::new(reader),
                        Ok(None) => continue,
                        Err(e) if e.is_not_found() => continue,
                        Err(e) if e.is_corruption() => {
                            shared.incident(&e);
                            live.damaged.push((file.path, e));
                            continue;
                        }
                        Err(e) => return Err(e.into()),
                    },
                };
                readers.insert(key, reader.clone());
                let (writer, number) = key;
                live.segments.push(LiveSegment { writer, number, flushed: 0, path: file.path, reader });
            }
        }
        *lock(&self.readers) = readers;
        Ok(live)
    }

    /// The rows of these segments, as blocks; what other segments held is forgotten.
    pub(crate) fn blocks(&self, shared: &Shared, live: &LiveSegments) -> Vec<Arc<dyn BlockHandle>> {
        let mut handles = Vec::new();
        let mut kept = BTreeMap::new();
        let mut prefix = Prefix::default();
        for segment in &live.segments {
            if !prefix.goes_on_with(segment) {
                continue;
            }
            let key = (segment.writer, segment.number);
            let rows = lock(&self.rows).get(&key).cloned().unwrap_or_else(|| {
                let mut rows = RowSet::default();
                rows.follow(segment.reader.clone());
                Arc::new(Mutex::new(rows))
            });
            kept.insert(key, rows.clone());
            let mut rows = lock(&rows);
            prefix.has(shared, rows.extend(), rows.next_seq());
            handles.extend(handles_of(&rows));
        }
        *lock(&self.rows) = kept;
        handles
    }
}

/// What a loss of power left of a writer's segments is read as recovery will read it: up to the first gap,
/// so that nothing is shown that is not there a moment later. Segments come in order of writer and number.
#[derive(Debug, Default)]
pub(crate) struct Prefix {
    writer: u64,
    next_seq: Option<u64>,
    ended: bool,
}

impl Prefix {
    /// Whether the segment's records follow on those of the one before.
    pub(crate) fn goes_on_with(&mut self, segment: &LiveSegment) -> bool {
        if segment.writer != self.writer {
            *self = Self { writer: segment.writer, next_seq: None, ended: false };
        }
        let gap = || match (self.next_seq, segment.reader.first_seq()) {
            (Some(expected), Some(first)) => expected != first,
            // The first that is there: what came before it must have been flushed.
            (None, Some(_)) => segment.reader.previous().is_some_and(|number| number > segment.flushed),
            (_, None) => false,
        };
        self.ended = self.ended || gap();
        !self.ended
    }

    /// What reading the segment came to.
    pub(crate) fn has(&mut self, shared: &Shared, outcome: Result<()>, next_seq: Option<u64>) {
        if let Err(damage) = outcome {
            shared.incident(damage);
            self.ended = true;
        }
        self.next_seq = next_seq.or(self.next_seq);
    }
}

impl LiveSegments {
    /// Leaves only the segments whose rows no table of `state` has. `None` if a segment went while the
    /// manifest was read: then it cannot be told, and the caller lists again.
    pub(crate) fn without_flushed(mut self, shared: &Shared, state: &State) -> Result<Option<Self>> {
        let mut kept = Vec::new();
        for mut segment in self.segments {
            segment.flushed = state.writers.get(&segment.writer).copied().unwrap_or(0);
            if segment.number <= segment.flushed {
                continue;
            }
            if !shared.env.fs.exists(&segment.path).map_err(EngineError::io("look for", &segment.path))? {
                return Ok(None);
            }
            kept.push(segment);
        }
        self.segments = kept;
        Ok(Some(self))
    }
}

/// The rows found in a row set, as blocks.
pub(crate) fn handles_of(rows: &RowSet) -> Vec<Arc<dyn BlockHandle>> {
    let live = Arc::new(LiveRows { arenas: rows.arenas(), rows: rows.sorted() });
    let mut handles: Vec<Arc<dyn BlockHandle>> = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    let places = live.rows.entries();
    for (i, (_, location)) in places.iter().enumerate() {
        if i > start && (i - start == LIVE_BLOCK_ROWS || bytes >= LIVE_BLOCK_BYTES) {
            handles.push(Arc::new(LiveBlockHandle { live: live.clone(), range: start..i }));
            (start, bytes) = (i, 0);
        }
        bytes += u64::from(location.len);
    }
    if start < places.len() {
        handles.push(Arc::new(LiveBlockHandle { live: live.clone(), range: start..places.len() }));
    }
    handles
}

/// The rows of a segment, in order, and where they lie.
#[derive(Debug)]
struct LiveRows {
    arenas: Arenas,
    rows: Frozen<RowKey>,
}

/// Some of them, one after another.
#[derive(Debug)]
struct LiveBlockHandle {
    live: Arc<LiveRows>,
    /// Never empty.
    range: Range<usize>,
}

impl LiveBlockHandle {
    fn places(&self) -> &[RowPlace] {
        self.live.rows.entries().get(self.range.clone()).unwrap_or_default()
    }
}

impl BlockHandle for LiveBlockHandle {
    fn rows(&self) -> usize {
        self.range.len()
    }

    fn min_time(&self) -> i64 {
        self.places().first().map_or(i64::MAX, |place| place.0.time)
    }

    fn max_time(&self) -> i64 {
        self.places().last().map_or(i64::MIN, |place| place.0.time)
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        let rows =
            self.places().iter().map(|place| self.live.arenas.row(place)).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(MemoryBlock::build(&rows)?))
    }
}

#[cfg(test)]
mod tests {
    use crate::{EntryBuf, Store};
    use std::ops::ControlFlow;

    /// Rows of a segment make several blocks, by their number and by their bytes; all of them come, in order of time.
    #[test]
    fn rows_of_many_blocks_come_once_and_in_order() -> crate::Result<()> {
        let long = "long ".repeat(200);
        for (rows, message) in [(2 * super::LIVE_BLOCK_ROWS + 1, "short"), (3000, long.as_str())] {
            let sim = duramen_engine::io::sim::Sim::new(1);
            let store = Store::open_with(
                "/logs".as_ref(),
                crate::StoreOptions::new().env(sim.env()).background(false),
            )?;
            let mut entry = EntryBuf::new(["app"]);
            for n in 0..rows as i64 {
                // Every other one is late.
                let time = if n % 2 == 0 { n } else { n - 50 };
                entry.start(time).message(&format!("{message} {n}")).field("n", n);
                store.append(entry.field("app", n % 3).field_same_as_message("text").finish()?)?;
            }
            let handles = store.snapshot()?.blocks(i64::MIN, i64::MAX);
            assert!(handles.len() >= 3, "{}", handles.len());
            assert_eq!(handles.iter().map(|handle| handle.rows()).sum::<usize>(), rows);
            let (mut found, mut last) = (Vec::new(), i64::MIN);
            store.scan(i64::MIN, i64::MAX, &mut |row| {
                assert!(row.time() >= last);
                last = row.time();
                let n = row.field("n").unwrap_or_default();
                assert_eq!(row.message(), format!("{message} {n}"));
                assert_eq!(row.field("text").as_deref(), Some(row.message()));
                found.extend(n.parse::<usize>());
                ControlFlow::Continue(())
            })?;
            found.sort_unstable();
            assert!(found.into_iter().eq(0..rows));
        }
        Ok(())
    }
}
