//! Rows that no table holds yet: the records of segments, read where they lie.

use crate::block::{Block, BlockHandle};
use crate::columnar::MemoryBlock;
use crate::error::Result;
use crate::store::rows::{Arenas, RowPlace, RowSet};
use crate::store::shared::{Shared, lock};
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::State;
use duramen_engine::wal::{self, SegmentReader};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// How many rows of a segment make a block in memory.
const LIVE_BLOCK_ROWS: usize = 16_384;

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
    let places: Vec<RowPlace> = rows.sorted().collect();
    handles_of_places(&rows.arenas(), &places)
}

/// Sorted rows, as blocks.
pub(crate) fn handles_of_places(arenas: &Arenas, places: &[RowPlace]) -> Vec<Arc<dyn BlockHandle>> {
    let handle = |chunk: &[RowPlace]| {
        Arc::new(LiveBlockHandle { arenas: arenas.clone(), places: chunk.to_vec() }) as Arc<dyn BlockHandle>
    };
    places.chunks(LIVE_BLOCK_ROWS).map(handle).collect()
}

/// Some rows of a segment, in order.
#[derive(Debug)]
struct LiveBlockHandle {
    arenas: Arenas,
    /// Never empty.
    places: Vec<RowPlace>,
}

impl BlockHandle for LiveBlockHandle {
    fn rows(&self) -> usize {
        self.places.len()
    }

    fn min_time(&self) -> i64 {
        self.places.first().map_or(i64::MAX, |place| place.0.time)
    }

    fn max_time(&self) -> i64 {
        self.places.last().map_or(i64::MIN, |place| place.0.time)
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        let rows = self.places.iter().map(|place| self.arenas.row(place)).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(MemoryBlock::build(&rows)?))
    }
}
