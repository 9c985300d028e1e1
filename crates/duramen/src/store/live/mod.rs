//! Rows that no table holds yet: the records of segments, read where they lie.

mod block;
mod blocks;
mod parts;
mod prefix;
mod width;

pub(crate) use prefix::Prefix;

use crate::block::BlockHandle;
use crate::error::Result;
use crate::store::ahead::threads;
use crate::store::shared::{Shared, lock};
use blocks::SegmentBlocks;
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::State;
use duramen_engine::wal::{self, SegmentReader};
use parts::Room;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How much memory a store has for blocks of live rows that are read again and again.
const BUILT_BYTES: usize = 32 << 20;
/// So much of a segment that was not read yet is worth a thread.
const WORTH_A_THREAD_BYTES: u64 = 2 << 20;

/// The segments that were there when they were listed, opened.
#[derive(Debug, Default)]
pub(crate) struct LiveSegments {
    pub(crate) segments: Vec<LiveSegment>,
    /// Segments that cannot be opened, and why.
    pub(crate) damaged: Vec<(PathBuf, crate::Error)>,
    /// The directories of all writers, by id.
    pub(crate) writers: Vec<PathBuf>,
    /// Whether each file of a segment could be opened: of one that could not, nobody knows what becomes of it.
    pub(crate) is_settled: bool,
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
type SharedBlocks = Arc<Mutex<SegmentBlocks>>;

/// What has been read of segments, kept for the next snapshot.
#[derive(Debug)]
pub(crate) struct LiveCache {
    blocks: Mutex<BTreeMap<(u64, u64), SharedBlocks>>,
    readers: Mutex<BTreeMap<(u64, u64), Arc<SegmentReader>>>,
    room: Arc<Room>,
}

impl Default for LiveCache {
    fn default() -> Self {
        Self { blocks: Mutex::default(), readers: Mutex::default(), room: Room::new(BUILT_BYTES) }
    }
}

impl LiveCache {
    /// Lists every writer's segments. Those that go while they are looked at are left out: the manifest,
    /// read afterwards, knows their rows.
    pub(crate) fn list(&self, shared: &Shared) -> Result<LiveSegments> {
        let mut live = LiveSegments { is_settled: true, ..LiveSegments::default() };
        let mut readers = BTreeMap::new();
        let known = lock(&self.readers).clone();
        for writer in wal::writers(&shared.env, &shared.layout.wal())? {
            for file in wal::segments(&shared.env, &writer.path)? {
                let key = (writer.writer_id, file.number);
                let reader = match known.get(&key) {
                    Some(reader) => reader.clone(),
                    None => match SegmentReader::open(&shared.env, &file.path) {
                        Ok(Some(reader)) => Arc::new(reader),
                        Ok(None) => {
                            live.is_settled = false;
                            continue;
                        }
                        Err(e) if e.is_not_found() => {
                            live.is_settled = false;
                            continue;
                        }
                        Err(e) if e.is_corruption() => {
                            live.is_settled = false;
                            shared.incident_of(key, &e);
                            live.damaged.push((file.path, e.into()));
                            continue;
                        }
                        Err(e) => return Err(e.into()),
                    },
                };
                readers.insert(key, reader.clone());
                let (writer, number) = key;
                live.segments.push(LiveSegment { writer, number, flushed: 0, path: file.path, reader });
            }
            live.writers.push(writer.path);
        }
        *lock(&self.readers) = readers;
        Ok(live)
    }

    /// The rows of these segments, as blocks; what earlier segments held is forgotten.
    pub(crate) fn blocks(&self, shared: &Shared, live: &LiveSegments) -> Vec<Arc<dyn BlockHandle>> {
        let blocks = self.known(live);
        read_ahead(&blocks);
        let mut handles = Vec::new();
        let mut prefix = Prefix::default();
        for (segment, blocks) in live.segments.iter().zip(&blocks) {
            if prefix.goes_on_with(shared, segment) {
                let mut blocks = lock(blocks);
                prefix.has(shared, blocks.extend(), blocks.next_seq());
                handles.extend(blocks.blocks());
            }
        }
        handles
    }

    /// What is known of each of these segments. Segments that were before them are forgotten; of later ones another snapshot, which
    /// listed them meanwhile, may know.
    fn known(&self, live: &LiveSegments) -> Vec<SharedBlocks> {
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        let mut known = lock(&self.blocks);
        let mut before = std::mem::take(&mut *known);
        let of = |segment: &LiveSegment| {
            let key = (segment.writer, segment.number);
            let new = || Arc::new(Mutex::new(SegmentBlocks::new(segment.reader.clone(), &self.room)));
            let blocks = before.remove(&key).unwrap_or_else(new);
            known.insert(key, blocks.clone());
            last.insert(segment.writer, segment.number);
            blocks
        };
        let blocks = live.segments.iter().map(of).collect();
        let is_later = |(writer, number): &(u64, u64)| last.get(writer).is_some_and(|last| number > last);
        let (later, forgotten): (BTreeMap<_, _>, BTreeMap<_, _>) =
            before.into_iter().partition(|(key, _)| is_later(key));
        known.extend(later);
        // Their memory is given back without the lock.
        drop(known);
        drop(forgotten);
        blocks
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

/// Where much was not read yet, reads it on several threads at once. What is wrong with a segment is told to whoever reads it next.
fn read_ahead(blocks: &[SharedBlocks]) {
    let is_far = |blocks: &&SharedBlocks| lock(blocks).unread_bytes() >= WORTH_A_THREAD_BYTES;
    let far: Vec<&SharedBlocks> = blocks.iter().filter(is_far).collect();
    if far.len() < 2 {
        return;
    }
    let next = AtomicUsize::new(0);
    let read = || {
        while let Some(blocks) = far.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _found_again = lock(blocks).extend();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads().min(far.len()) {
            // Where there are no more threads, this one reads all.
            if std::thread::Builder::new().spawn_scoped(scope, read).is_err() {
                break;
            }
        }
        read();
    });
}

#[cfg(test)]
mod tests {
    use super::{LiveCache, Room, SharedBlocks, WORTH_A_THREAD_BYTES};
    use crate::block::BlockHandle;
    use crate::{EntryBuf, Store, StoreOptions};
    use duramen_engine::io::sim::Sim;
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;
    use std::sync::Arc;

    fn open() -> crate::Result<Store> {
        let options = StoreOptions::new().env(Sim::new(1).env()).background(false);
        Store::open_with("/logs".as_ref(), options)
    }

    /// Every third is late.
    fn time_of(n: i64) -> i64 {
        if n % 3 == 0 { n - 500 } else { n }
    }

    /// Appends entries with the numbers `n`.
    fn append(store: &Store, n: std::ops::Range<i64>) -> crate::Result<()> {
        let mut entry = EntryBuf::default();
        for n in n {
            store.append(entry.start(time_of(n)).message(&format!("line {n}")).finish()?)?;
        }
        Ok(())
    }

    fn blocks(cache: &LiveCache, store: &Store) -> crate::Result<Vec<Arc<dyn BlockHandle>>> {
        let shared = store.snapshots.shared();
        Ok(cache.blocks(shared, &cache.list(shared)?))
    }

    fn same(a: &Arc<dyn BlockHandle>, b: &Arc<dyn BlockHandle>) -> bool {
        Arc::as_ptr(a).cast::<()>() == Arc::as_ptr(b).cast::<()>()
    }

    #[test]
    fn small_blocks_are_put_together_and_full_ones_stay() -> crate::Result<()> {
        let (store, cache) = (open()?, LiveCache::default());
        let mut before = Vec::new();
        for round in 1..=150 {
            append(&store, (round - 1) * 200..round * 200)?;
            let now = blocks(&cache, &store)?;
            assert_eq!(now.iter().map(|block| block.rows()).sum::<usize>(), round as usize * 200);
            // Some are full; of the others each is larger than the next.
            assert!(now.len() <= round as usize * 200 / super::blocks::LIVE_BLOCK_ROWS + 7, "{}", now.len());
            let full = |block: &&Arc<dyn BlockHandle>| block.rows() == super::blocks::LIVE_BLOCK_ROWS;
            assert!(before.iter().filter(full).all(|block| now.iter().any(|b| same(block, b))));
            before = now;
        }
        let mut found = BTreeSet::new();
        for block in &before {
            let opened = block.open()?;
            let times = opened.times()?;
            assert!(times.is_sorted());
            assert_eq!((times.first(), times.last()), (Some(&block.min_time()), Some(&block.max_time())));
            for row in 0..opened.rows() {
                let (_, seq) = opened.identity(row)?;
                let message = opened.column("_msg")?.expect("each has one");
                let message = message.text(row, &mut Default::default()).map(str::to_owned);
                let n = seq as i64 - 1;
                assert_eq!(message, Some(format!("line {n}")));
                assert_eq!(times[row], time_of(n));
                assert!(found.insert(seq), "twice");
            }
        }
        assert_eq!(found.len(), 150 * 200);
        Ok(())
    }

    #[test]
    fn what_is_opened_again_stays_built_while_there_is_room() -> crate::Result<()> {
        let store = open()?;
        append(&store, 0..20_000)?;
        let roomy = LiveCache::default();
        let full = LiveCache { room: Room::new(1000), ..LiveCache::default() };
        for (cache, stays) in [(&roomy, true), (&full, false)] {
            let first = blocks(cache, &store)?;
            for block in &first {
                let column =
                    || -> crate::Result<_> { Ok(block.open()?.column("_msg")?.expect("each has one")) };
                assert!(!Arc::ptr_eq(&column()?, &column()?), "once is not enough");
                assert_eq!(block.is_open(), stays);
                assert_eq!(Arc::ptr_eq(&column()?, &column()?), stays);
            }
            append(&store, 20_000..20_100)?;
            let more = blocks(cache, &store)?;
            assert!(same(&first[0], &more[0]));
            assert_eq!(more[0].is_open(), stays);
            assert!(more.last().is_some_and(|few| few.is_open()), "so few are open at once");
        }
        assert!(roomy.room.taken() > 0);
        store.flush()?;
        assert!(blocks(&roomy, &store)?.is_empty());
        assert_eq!(roomy.room.taken(), 0, "what was flushed gives its room back");
        Ok(())
    }

    #[test]
    fn a_snapshot_of_fewer_segments_takes_nothing_from_one_of_more() -> crate::Result<()> {
        let options =
            StoreOptions::new().env(Sim::new(1).env()).background(false).write_buffer_size(64 << 10);
        let (store, cache) = (Store::open_with("/logs".as_ref(), options)?, LiveCache::default());
        append(&store, 0..10)?;
        let shared = store.snapshots.shared();
        let few = cache.list(shared)?;
        append(&store, 10..5000)?;
        let more = blocks(&cache, &store)?;
        assert!(cache.list(shared)?.segments.len() > few.segments.len());
        assert!(cache.blocks(shared, &few).len() < more.len());
        let again = blocks(&cache, &store)?;
        assert!(more.len() == again.len() && more.iter().zip(&again).all(|(a, b)| same(a, b)));
        store.flush()?;
        assert!(blocks(&cache, &store)?.is_empty());
        assert!(cache.blocks.lock().is_ok_and(|known| known.len() <= 1), "what was flushed is forgotten");
        Ok(())
    }

    /// Snapshots that several threads take while rows are appended have each row once, and none is missing that was there before.
    #[test]
    fn snapshots_are_taken_while_rows_are_appended() -> crate::Result<()> {
        const ROWS: i64 = 6000;
        let (store, cache) = (open()?, LiveCache::default());
        let look = |at_least: usize| -> crate::Result<usize> {
            let mut seqs = BTreeSet::new();
            let mut rows = 0;
            for block in blocks(&cache, &store)? {
                let opened = block.open()?;
                assert_eq!(opened.rows(), block.rows());
                rows += opened.rows();
                for row in 0..opened.rows() {
                    seqs.insert(opened.identity(row)?.1);
                }
            }
            assert_eq!((seqs.len(), seqs.last().copied().unwrap_or_default()), (rows, rows as u64));
            assert!(rows >= at_least, "{rows} after {at_least}");
            Ok(rows)
        };
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut rows = 0;
                        while rows < ROWS as usize {
                            rows = look(rows)?;
                        }
                        Ok::<_, crate::Error>(())
                    })
                })
                .collect();
            append(&store, 0..ROWS)?;
            readers.into_iter().try_for_each(|reader| reader.join().expect("no panic"))
        })
    }

    /// Several segments that are worth a thread each are read at once, and come as if they had been read one after another.
    #[test]
    fn much_is_read_on_several_threads() -> crate::Result<()> {
        let options = StoreOptions::new().env(Sim::new(1).env()).background(false).write_buffer_size(3 << 20);
        let store = Store::open_with("/logs".as_ref(), options.max_write_buffer_number(5))?;
        let mut entry = EntryBuf::default();
        let long = "x".repeat(10_000);
        for n in 0..1000 {
            store.append(entry.start(n).message(&long).finish()?)?;
        }
        let cache = LiveCache::default();
        let live = cache.list(store.snapshots.shared())?;
        let far =
            |blocks: &SharedBlocks| blocks.lock().is_ok_and(|b| b.unread_bytes() >= WORTH_A_THREAD_BYTES);
        let known = cache.known(&live);
        assert!(known.iter().filter(|blocks| far(blocks)).count() >= 2);
        super::read_ahead(&known);
        assert!(!known.iter().any(far), "that has been read");
        let found = cache.blocks(store.snapshots.shared(), &live);
        assert_eq!(found.iter().map(|block| block.rows()).sum::<usize>(), 1000);
        assert!(found.windows(2).all(|w| w[0].max_time() < w[1].min_time()));
        Ok(())
    }

    /// Rows of a segment make several blocks, by their number and by their bytes; all of them come, in order of time.
    #[test]
    fn rows_of_many_blocks_come_once_and_in_order() -> crate::Result<()> {
        let long = "long ".repeat(200);
        for (rows, message) in [(2 * super::blocks::LIVE_BLOCK_ROWS + 1, "short"), (3000, long.as_str())] {
            let store = open()?;
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
