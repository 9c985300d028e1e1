//! The critical section: a number, a place, one system call. And syncing, many writes at once.

use super::Inner;
use super::format::{FRAME_BYTES, FrameHeader, Identity, Kind};
use crate::io::File;
use crate::kv::{OpKind, WriteBatch, WriteOptions, check_key, check_value, put_op};
use crate::wal::{Durability, Position};
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What the append lock guards.
#[derive(Debug)]
pub(super) struct State {
    pub(super) file: Arc<dyn File>,
    pub(super) identity: Identity,
    /// Where the next frame goes.
    pub(super) end: u64,
    /// The next write's sequence number.
    pub(super) next_seq: u64,
    /// Everything before here is on the device.
    pub(super) synced: u64,
    /// When what is not synced has to be, by the monotonic clock.
    pub(super) sync_due: Option<Duration>,
    /// At which size to look whether there is too much garbage.
    pub(super) compaction_due_at: u64,
    pub(super) closed: bool,
}

impl State {
    /// The end of the log. A rewritten file is a later one, and holds what all earlier ones did, durably.
    pub(super) fn position(&self) -> Position {
        Position { number: self.identity.generation, offset: self.end }
    }
}

/// One or more writes that are to be appended together: room for a frame's header, and its payload.
#[derive(Debug)]
pub(super) struct Draft {
    frame: Vec<u8>,
    ops: u64,
}

/// A single write.
pub(super) fn draft(kind: OpKind, key: &[u8], value: &[u8]) -> Result<Draft> {
    check_key(key)?;
    check_value(value)?;
    let mut frame = Vec::with_capacity(FRAME_BYTES + 11 + key.len() + value.len());
    frame.resize(FRAME_BYTES, 0);
    put_op(&mut frame, kind, key, value);
    Ok(Draft { frame, ops: 1 })
}

impl Draft {
    /// Of a payload with so many ops.
    pub(super) fn of(payload: &[u8], ops: u64) -> Self {
        let mut frame = Vec::with_capacity(FRAME_BYTES + payload.len());
        frame.resize(FRAME_BYTES, 0);
        frame.extend_from_slice(payload);
        Self { frame, ops }
    }

    /// How many bytes it takes in the file.
    pub(super) fn len(&self) -> u64 {
        self.frame.len() as u64
    }
}

impl Inner {
    pub(super) fn write(&self, batch: &WriteBatch, options: WriteOptions) -> Result<()> {
        if batch.is_empty() {
            return self.writable(&self.state());
        }
        self.append(Draft::of(batch.encoded(), u64::from(batch.count())), options)
    }

    pub(super) fn append(&self, mut draft: Draft, options: WriteOptions) -> Result<()> {
        let durability = options.durability.unwrap_or(self.options.durability);
        let payload_crc = crc32c::crc32c(&draft.frame[FRAME_BYTES..]);
        let mut state = self.state();
        self.writable(&state)?;
        let (at, seq) = (state.end, state.next_seq);
        self.put_frame(&state, Kind::Batch, &mut draft, payload_crc, at, seq)?;
        let end = at + draft.len();
        self.advance(&mut state, end, seq + draft.ops);
        if let Durability::IntervalMs(ms) = durability {
            self.schedule_sync(&mut state, ms);
        }
        let position = state.position();
        drop(state);
        if durability == Durability::Sync { self.sync_through(position) } else { Ok(()) }
    }

    /// Writes a frame to its place, where nobody looks yet.
    pub(super) fn put_frame(
        &self,
        state: &State,
        kind: Kind,
        draft: &mut Draft,
        payload_crc: u32,
        at: u64,
        seq: u64,
    ) -> Result<()> {
        let len = draft.frame.len() - FRAME_BYTES;
        let header = FrameHeader::new(kind, seq, len, at, state.synced);
        header.put(&mut draft.frame, payload_crc, state.identity);
        self.poison(state.file.write_all_at(&draft.frame, at).map_err(Error::io("write", &self.path)))
    }

    /// Makes what was written visible.
    pub(super) fn advance(&self, state: &mut State, end: u64, next_seq: u64) {
        state.end = end;
        state.next_seq = next_seq;
        self.show(state);
        if end >= state.compaction_due_at {
            self.work.notify_one();
        }
    }

    /// Lets readers that begin from now on see the state.
    pub(super) fn show(&self, state: &State) {
        let mut view = super::lock(&self.view);
        if view.identity != state.identity {
            view.file = Arc::clone(&state.file);
            view.identity = state.identity;
        }
        view.end = state.end;
        view.seq = state.next_seq - 1;
    }

    fn schedule_sync(&self, state: &mut State, ms: u64) {
        let due = self.env.clock.monotonic().saturating_add(Duration::from_millis(ms));
        if state.sync_due.is_none_or(|already| due < already) {
            state.sync_due = Some(due);
            self.work.notify_one();
        }
    }

    pub(super) fn flush(&self) -> Result<()> {
        let state = self.state();
        self.writable(&state)?;
        let end = state.position();
        drop(state);
        self.sync_through(end)
    }

    /// Returns once everything up to `position` is on the device.
    pub(super) fn sync_through(&self, position: Position) -> Result<()> {
        self.syncing.reach(position, || self.usable(), || self.sync_round())
    }

    /// Syncs for everybody who has appended by now, while others append.
    fn sync_round(&self) -> Result<Position> {
        let mut state = self.state();
        self.usable()?;
        let (file, position) = (Arc::clone(&state.file), state.position());
        state.sync_due = None;
        let already = state.synced == state.end;
        drop(state);
        if already {
            return Ok(position);
        }
        self.poison(file.sync_data().map_err(Error::io("sync", &self.path)))?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        if state.identity.generation == position.number {
            state.synced = state.synced.max(position.offset);
            self.mark(&state);
        }
        Ok(position)
    }

    /// Notes behind the last frame that all before it is on the device, until the next one, which says so too, takes
    /// the place. Without the note, damage to the last frames could not be told from a write that was cut off. If it
    /// cannot be written, nothing that was promised is lost.
    pub(super) fn mark(&self, state: &State) {
        if state.synced != state.end || self.usable().is_err() {
            return;
        }
        let mut frame = [0; FRAME_BYTES];
        let header = FrameHeader::new(Kind::Mark, state.next_seq, 0, state.end, state.end);
        header.put(&mut frame, 0, state.identity);
        let _best_effort = state.file.write_all_at(&frame, state.end);
    }
}
