//! The write path: into the WAL segment, into the index of the active memtable, and done.

use super::db::Inner;
use super::memtable::{self, Memtable};
use super::superversion::{Immutable, Origin, SuperVersion};
use crate::kv::{Op, OpKind, Ops, WriteBatch, check_key, check_value, put_op};
use crate::wal::{Appended, Background, Kept, SegmentIndex, SegmentReader, WriteOptions};
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use xxhash_rust::xxh3::xxh3_64;

/// Kind of a WAL record that holds a batch.
pub(crate) const KIND_BATCH: u8 = 0;
/// Kind of a WAL record that holds nothing: it takes a sequence number for ingested tables.
pub(crate) const KIND_INGEST: u8 = 1;

/// The longest single write that is put together on the stack.
const SMALL: usize = 3 + 127 + 127;
/// For one up to this, half as many bytes are zeroed first.
const SMALLER: usize = 128;

/// Puts an op whose lengths are below 128 at the start of `bytes`, which are long enough.
#[inline]
fn put_small<'a>(bytes: &'a mut [u8], kind: OpKind, key: &[u8], value: &[u8]) -> &'a [u8] {
    let len = 3 + key.len() + value.len();
    bytes[..3].copy_from_slice(&[kind as u8, key.len() as u8, value.len() as u8]);
    bytes[3..3 + key.len()].copy_from_slice(key);
    bytes[3 + key.len()..len].copy_from_slice(value);
    &bytes[..len]
}

impl Inner {
    /// Writes one op.
    #[inline]
    pub(super) fn write_one(
        &self,
        kind: OpKind,
        key: &[u8],
        value: &[u8],
        options: WriteOptions,
    ) -> Result<()> {
        // Before the lock is taken.
        let hash = xxh3_64(key);
        let index = |active: &dyn SegmentIndex, seq: u64, offset: u32| {
            self.note_put(kind, key);
            active.insert_hashed(seq, offset, &Op { kind, key, value }, hash);
        };
        if key.len() < 128 && value.len() < 128 {
            // Every length is one byte: the common case, without an allocation.
            if 3 + key.len() + value.len() <= SMALLER {
                let mut bytes = [0; SMALLER];
                return self.append(1, put_small(&mut bytes, kind, key, value), options, index);
            }
            let mut bytes = [0; SMALL];
            return self.append(1, put_small(&mut bytes, kind, key, value), options, index);
        }
        check_key(key)?;
        check_value(value)?;
        let mut bytes = Vec::with_capacity(11 + key.len() + value.len());
        put_op(&mut bytes, kind, key, value);
        self.append(1, &bytes, options, index)
    }

    /// Writes a batch.
    pub(super) fn write_batch(&self, batch: &WriteBatch, options: WriteOptions) -> Result<()> {
        if batch.is_empty() {
            return self.writable().map(|_| ());
        }
        let payload = batch.encoded();
        self.append(batch.count(), payload, options, |active, first_seq, offset| {
            for (seq, (at, op)) in (first_seq..).zip(Ops::new(payload)) {
                self.note_put(op.kind, op.key);
                active.insert(seq, offset + at as u32, &op);
            }
        })
    }

    /// Under the WAL's lock, before it can be seen.
    #[inline]
    fn note_put(&self, kind: OpKind, key: &[u8]) {
        if kind == OpKind::Put && self.emptied.is_any() {
            self.emptied.put(key);
        }
    }

    /// Appends a batch to the WAL; `index` adds it to the memtable: given that, the first sequence number, and where
    /// in the segment the batch begins.
    #[inline]
    fn append(
        &self,
        count: u32,
        payload: &[u8],
        options: WriteOptions,
        index: impl Fn(&dyn SegmentIndex, u64, u32),
    ) -> Result<()> {
        let wal = self.writable()?;
        let mut options = options;
        if self.stall.is_on() {
            options = self.wait_for_stall(payload.len(), options)?;
        }
        loop {
            let appended = wal.append_keeping(KIND_BATCH, count, payload, options, |at, reader, kept| {
                self.with_memtable(&at, reader, kept, |active| {
                    index(active, at.first_seq, at.payload_offset);
                    self.visible.store(at.first_seq + u64::from(count) - 1, Ordering::Release);
                })
            });
            match appended {
                Ok(_) => return Ok(()),
                Err(Error::Stalled { .. } | Error::FlushFails { .. })
                    if self.options.background == Background::Manual && !options.no_slowdown =>
                {
                    if !self.background_step()? {
                        return appended.map(|_| ());
                    }
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Does something with the memtable of the segment that was appended to, the active one, and says how many bytes its index takes then.
    /// Called under the WAL's lock, so one at a time and in the order of sequence numbers.
    #[inline]
    fn with_memtable(
        &self,
        at: &Appended,
        reader: &Arc<SegmentReader>,
        kept: &mut Kept,
        index: impl Fn(&dyn SegmentIndex),
    ) -> usize {
        if kept.is_none() {
            *kept = self.active_memtable(at, reader);
        }
        let Some(active) = kept else { return 0 };
        index(&**active);
        active.index_bytes()
    }

    /// The memtable of the segment that was appended to. It is kept beside that, since a look at what readers see is a part of a
    /// write's time that can be measured.
    #[cold]
    fn active_memtable(&self, at: &Appended, reader: &Arc<SegmentReader>) -> Kept {
        let is_its = |memtable: &&Arc<dyn Memtable>| memtable.segment().number() == at.segment;
        let mut current = self.current.load();
        if current.active.as_ref().filter(is_its).is_none() {
            self.switch_memtable(reader, at.first_seq - 1);
            current = self.current.load();
        }
        current.active.clone().map(|active| active as Arc<dyn SegmentIndex>)
    }

    /// Makes a memtable over a newer segment the active one, unless it is already. `last_seq` is the last sequence number
    /// that was taken in the segments before, by whatever.
    #[cold]
    pub(super) fn switch_memtable(&self, reader: &Arc<SegmentReader>, last_seq: u64) {
        self.change(|now| {
            let newer = now.active.as_ref().is_none_or(|m| m.segment().number() < reader.number());
            if !newer {
                return None;
            }
            let active: Arc<dyn Memtable> =
                memtable::new_memtable(self.options.memtable, Arc::clone(reader), self.expected_keys(now));
            let mut immutables = now.immutables.clone();
            // One that is empty may have a segment with the number of an ingestion, and that must go, too.
            if let Some(memtable) = now.active.clone().filter(|m| m.segment().first_seq().is_some()) {
                let segment = memtable.segment();
                let origin = Origin {
                    writer_id: segment.writer_id(),
                    number: segment.number(),
                    path: segment.path().map(Into::into),
                    recovered: false,
                    damaged: false,
                };
                immutables.insert(0, Arc::new(Immutable { memtable, origin, last_seq }));
            }
            Some(SuperVersion::new(Some(active), immutables, Arc::clone(&now.version)))
        });
        self.background.wake();
    }

    /// How many keys to expect in a memtable: as many as the one before it took.
    fn expected_keys(&self, now: &SuperVersion) -> usize {
        now.active.as_ref().map_or(0, |memtable| memtable.len())
    }
}
