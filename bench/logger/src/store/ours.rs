//! The store, in each configuration; and the ways to read it.

use super::configs::{Place, Read};
use crate::Result;
use crate::sample::Entry;
use duramen::block::{BlockHandle, is_few, names};
use duramen::column::IntText;
use duramen::{Batch, Durability, EntryBuf, Level, Store, StoreOptions};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a thread takes to start, about: who reads columns begins alone, and has others help once that has taken so long.
const WORTH_HELP: Duration = Duration::from_micros(100);

/// Entries between two flushes.
const FLUSH_EVERY: u64 = 1_000;

/// What a configuration consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) durability: Durability,
    /// The default buffers and background threads, instead of buffers that are never full.
    pub(super) defaults: bool,
    pub(super) flush: bool,
    pub(super) compact: bool,
    /// Entries of a batch; 0 for one by one.
    pub(super) batch: usize,
}

impl Setup {
    pub(super) fn new(durability: Durability) -> Self {
        Self { durability, defaults: false, flush: false, compact: false, batch: 0 }
    }
}

struct Ours {
    store: Store,
    setup: Setup,
    entry: EntryBuf,
    batch: Batch,
    put: u64,
}

pub(super) fn open(dir: &Path, setup: &Setup) -> Result<Box<dyn Place>> {
    let mut options = StoreOptions::new().durability(setup.durability);
    if !setup.defaults {
        options = options.write_buffer_size(256 << 20);
    }
    if setup.flush {
        options = options.background(false);
    }
    Ok(Box::new(Ours {
        store: options.open(dir.join("store"))?,
        setup: *setup,
        entry: EntryBuf::new(["service"]),
        batch: Batch::new(),
        put: 0,
    }))
}

/// An entry as the store takes it.
pub(super) fn encode<'b>(buf: &'b mut EntryBuf, entry: &Entry<'_>) -> Result<&'b [u8]> {
    buf.start(entry.time_ns).level(Level::Info).message(entry.message);
    buf.field("service", entry.service).field("request", entry.request).field("ok", entry.ok);
    Ok(buf.finish()?)
}

impl Place for Ours {
    fn put(&mut self, entry: &Entry<'_>) -> Result<()> {
        let bytes = encode(&mut self.entry, entry)?;
        if self.setup.batch > 0 {
            self.batch.push_unchecked(bytes)?;
            if self.batch.len() == self.setup.batch {
                self.store.append_batch(&mut self.batch, None)?;
            }
        } else {
            self.store.append(bytes)?;
        }
        self.put += 1;
        if self.setup.flush && self.put.is_multiple_of(FLUSH_EVERY) {
            self.store.flush()?;
            if self.setup.compact {
                self.store.compact()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.store.append_batch(&mut self.batch, None)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        let incidents = self.store.incidents();
        if !incidents.messages.is_empty() {
            return Err(format!("the store had trouble: {incidents:?}").into());
        }
        Ok(self.store.close()?)
    }
}

/// Row by row, with [`Store::scan`].
pub(super) fn read(dir: &Path, min_time: i64, max_time: i64) -> Result<Read> {
    scan(&Store::open_read_only(dir.join("store"))?, min_time, max_time)
}

pub(super) fn scan(store: &Store, min_time: i64, max_time: i64) -> Result<Read> {
    let mut read = Read::default();
    store.scan(min_time, max_time, &mut |row| {
        read.entries += 1;
        read.message_bytes += row.message().len() as u64;
        row.for_each_field(&mut |name, text, _| field(&mut read, name, text));
        ControlFlow::Continue(())
    })?;
    Ok(read)
}

/// What the writer gave: its stream is told by a label set, too.
fn field(read: &mut Read, name: &str, text: &str) {
    if name != names::STREAM {
        read.fields += 1;
    }
    if name == "request" {
        read.requests += text.parse::<i64>().unwrap_or_default();
    }
}

/// Column by column, with [`Store::snapshot`], as queries do: each processor takes one block after another, and looks at each
/// value's text. A row does not come together as a whole.
pub(super) fn read_columns(dir: &Path, min_time: i64, max_time: i64) -> Result<Read> {
    columns(&Store::open_read_only(dir.join("store"))?, min_time, max_time)
}

pub(super) fn columns(store: &Store, min_time: i64, max_time: i64) -> Result<Read> {
    let blocks = store.snapshot()?.blocks(min_time, max_time);
    let next = AtomicUsize::new(0);
    let some = || -> Result<Read> {
        let mut read = Read::default();
        while let Some(handle) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
            block_columns(&**handle, min_time, max_time, &mut read)?;
        }
        Ok(read)
    };
    let begin = Instant::now();
    let mut all = Read::default();
    while begin.elapsed() < WORTH_HELP
        && let Some(handle) = blocks.get(next.fetch_add(1, Ordering::Relaxed))
    {
        block_columns(&**handle, min_time, max_time, &mut all)?;
    }
    let left = blocks.len().saturating_sub(next.load(Ordering::Relaxed));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(left);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(some)).collect();
        all += some()?;
        for other in others {
            all += other.join().map_err(|_| "a thread panicked")??;
        }
        Ok(all)
    })
}

fn block_columns(handle: &dyn BlockHandle, min_time: i64, max_time: i64, read: &mut Read) -> Result<()> {
    let mut digits = IntText::default();
    let block = handle.open()?;
    let times = block.times()?;
    let first = times.partition_point(|&time| time < min_time);
    let end = times.partition_point(|&time| time <= max_time);
    read.entries += (end - first) as u64;
    let mut rows = vec![0u64; times.len().div_ceil(64)];
    (first..end).for_each(|row| rows[row / 64] |= 1 << (row % 64));
    let few = is_few(end - first, times.len());
    for name in block.field_names()? {
        let column = if few { block.column_at(&name, &rows)? } else { block.column(&name)? };
        let Some(column) = column else { continue };
        for row in first..end {
            match column.text(row, &mut digits) {
                Some(text) if name == names::MESSAGE => read.message_bytes += text.len() as u64,
                Some(text) => field(read, &name, text),
                None => {}
            }
        }
    }
    Ok(())
}
