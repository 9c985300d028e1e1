//! The critical section, and waiting for room.

use super::durable::is_full;
use super::state::{Active, PrepareError, Prepared, State};
use super::{Appended, Inner};
use crate::wal::format::{
    COUNT_MAX, KIND_CALLER_MAX, KIND_PREV, KIND_SYNC, OWN_RECORD_BYTES, RECORD_HEADER_BYTES, RESERVED_BYTES,
    RecordHeader, payload_hash,
};
use crate::wal::group::Position;
use crate::wal::index::Kept;
use crate::wal::options::{Background, Durability, WalKind, WriteOptions, segment_bytes_for};
use crate::wal::reader::SegmentReader;
use crate::{Error, Result};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest payload that goes to a segment by a call if it is synced by itself. Most pages of longer ones were not
/// synced before.
const MOST_BY_CALL_BYTES: usize = 4096;

/// How long somebody waits for a free write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Patience {
    /// Not at all.
    None,
    /// This long.
    Until(Duration),
    /// As long as it takes.
    Endless,
}

impl From<WriteOptions> for Patience {
    fn from(options: WriteOptions) -> Self {
        match options.stall_timeout {
            _ if options.no_slowdown => Self::None,
            Some(most) => Self::Until(most),
            None => Self::Endless,
        }
    }
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug)]
enum Need {
    /// Room for a payload of this length.
    Room(usize),
    /// That this segment is not the active one any more.
    Rotation(u64),
}

impl Need {
    /// Whether the active segment fulfils it.
    #[inline]
    fn is_met(self, active: &Active) -> bool {
        match self {
            // The reserve is for what goes in front of the record, and the SEAL behind it.
            Self::Room(len) => {
                RECORD_HEADER_BYTES + len + RESERVED_BYTES + active.charged <= active.tail.room()
            }
            Self::Rotation(number) => active.handle.number != number,
        }
    }

    /// How long a new segment must be.
    fn segment_bytes(self) -> usize {
        segment_bytes_for(if let Self::Room(len) = self { len } else { 0 })
    }
}

impl Inner {
    #[inline]
    pub(super) fn append(
        &self,
        kind: u8,
        count: u32,
        payload: &[u8],
        options: WriteOptions,
        then: impl FnOnce(Appended, &Arc<SegmentReader>, &mut Kept) -> usize,
    ) -> Result<Appended> {
        let durability = options.durability.unwrap_or(self.options.durability);
        self.check(kind, count, payload, durability)?;
        self.not_forked()?;
        // The long part of the work, before the lock.
        let payload_hash = payload_hash(payload);

        let mut state = self.state();
        self.usable()?;
        if !state.active.as_ref().is_some_and(|a| Need::Room(payload.len()).is_met(a)) {
            state = self.make_room(state, Need::Room(payload.len()), options.into())?;
        }
        let by_call =
            durability == Durability::Sync && state.syncs_singly && payload.len() <= MOST_BY_CALL_BYTES;
        let State { active: Some(active), mark, previous, next_seq, metrics, end, .. } = &mut *state else {
            return Err(closed());
        };
        let id = active.handle.id;
        let first_seq = *next_seq;
        let Some(following) = first_seq.checked_add(u64::from(count)) else {
            return Err(Error::InvalidArgument("no sequence numbers are left".into()));
        };
        if by_call && active.handle.mapped {
            active.tail.gather();
        }
        if let Some(Position { number, offset }) = previous.take() {
            active.put_own(id, KIND_PREV, first_seq, number, offset);
            metrics.bytes += OWN_RECORD_BYTES as u64;
        }
        if let Some(Position { number, offset }) = mark.take() {
            active.put_own(id, KIND_SYNC, first_seq, number, offset);
            metrics.bytes += OWN_RECORD_BYTES as u64;
        }
        let header = RecordHeader { len: payload.len() as u32, seq: first_seq, kind, count };
        active.put(id, header, payload_hash, payload);
        active.tail.put_gathered(first_seq);
        *next_seq = following;
        active.records += 1;
        metrics.records += 1;
        metrics.bytes += header.record_len() as u64;
        let segment = active.handle.number;
        let mapped = active.handle.mapped;
        let at = active.tail.end();
        *end = Position { number: segment, offset: at as u64 };
        let end = *end;
        let appended = Appended { first_seq, segment, payload_offset: (at - payload.len()) as u32 };
        active.charged = then(appended, &active.handle.reader, &mut active.kept);
        if active.prefault_due() && state.ask_for_memory() {
            self.work.prepare.notify_one();
        }
        let State { active: Some(active), .. } = &mut *state else { return Err(closed()) };
        if at + active.charged >= active.prepare_at && state.ask_for_next() {
            self.work.prepare.notify_one();
        }
        if let Durability::IntervalMs(ms) = durability {
            self.schedule_sync(&mut state, ms, options.durability.is_some());
        }
        drop(state);

        match durability {
            Durability::None => {}
            Durability::Process | Durability::IntervalMs(_) if mapped => {}
            Durability::Process | Durability::IntervalMs(_) => self.publish_through(end).map_err(in_doubt)?,
            Durability::Sync => self.sync_through(end).map_err(in_doubt)?,
        }
        Ok(appended)
    }

    #[inline]
    fn check(&self, kind: u8, count: u32, payload: &[u8], durability: Durability) -> Result<()> {
        let refuse = |what: String| Err(Error::InvalidArgument(what));
        if kind > KIND_CALLER_MAX {
            return refuse(format!(
                "record kind {kind} is the WAL's own; callers have 0..={KIND_CALLER_MAX}"
            ));
        }
        if count == 0 || count > COUNT_MAX {
            return refuse(format!("a record takes 1..={COUNT_MAX} sequence numbers, not {count}"));
        }
        if payload.len() > self.options.max_record_bytes {
            let (len, most) = (payload.len(), self.options.max_record_bytes);
            return refuse(format!("a record of {len} bytes; at most {most} (max_record_bytes)"));
        }
        let needs_file = matches!(durability, Durability::Sync | Durability::IntervalMs(_));
        if needs_file && self.options.wal_kind == WalKind::None {
            return refuse("wal_kind none keeps no file that could be synced".into());
        }
        Ok(())
    }

    /// Sees to it that the records are synced within `ms`. The clock is read once per interval; `tighten`
    /// says that this may be shorter than the interval that was set.
    fn schedule_sync(&self, state: &mut State, ms: u64, tighten: bool) {
        if state.sync_due.is_some() && !tighten {
            return;
        }
        let due = self.env.clock.monotonic().saturating_add(Duration::from_millis(ms));
        if state.sync_due.is_none_or(|already| due < already) {
            state.sync_due = Some(due);
            self.work.settle.notify_one();
        }
    }

    pub(super) fn rotate(&self, options: WriteOptions) -> Result<Option<u64>> {
        self.not_forked()?;
        let mut state = self.state();
        self.usable()?;
        let Some(active) = &state.active else { return Err(closed()) };
        if active.records == 0 {
            return Ok(None);
        }
        let number = active.handle.number;
        // It was not filled in time, so a long one may be far from it, too, and would keep its space meanwhile.
        state.start_small(&self.options);
        let _rotated = self.make_room(state, Need::Rotation(number), options.into())?;
        Ok(Some(number))
    }

    /// Makes the prepared segment active, as soon as there is one and a write buffer is free for it.
    #[cold]
    fn make_room<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        need: Need,
        patience: Patience,
    ) -> Result<MutexGuard<'a, State>> {
        let mut since = None;
        let mut timed_out = false;
        let mut helped_at = None;
        let done = loop {
            if let Err(e) = self.usable() {
                break Err(e);
            }
            if state.held && !state.closed {
                let end = state.end;
                drop(state);
                let published = self.publish_through(end);
                state = self.state();
                match published {
                    Err(e) if is_full(&e) => break Err(PrepareError::remember(&e).tell()),
                    Err(e) => break Err(e),
                    Ok(()) => continue,
                }
            }
            let Some(active) = state.active.as_ref().filter(|_| !state.closed) else { break Err(closed()) };
            if need.is_met(active) {
                break Ok(());
            }
            let free = active.records == 0 || state.may_retire(active, &self.options);
            if state.drop_wrong() {
                helped_at = None;
                continue;
            }
            let fits = |p: &Prepared| need.segment_bytes() <= p.tail.end() + p.tail.room();
            if free && state.prepared.as_ref().is_some_and(fits) {
                if state.retire_active().is_none() {
                    // It was empty. It would hide the loss of the one that takes the records now, so it goes first.
                    self.remove_discarded(&mut state);
                }
                let now = self.env.clock.monotonic();
                state.active = state.prepared.take().map(|prepared| Active::new(prepared, now));
                self.work.notify_all();
                continue;
            }
            if free {
                state.want(need.segment_bytes());
                self.work.notify_all();
            }

            // From here on it is a stall.
            if since.is_none() {
                since = Some(self.env.clock.monotonic());
                state.metrics.stalls += 1;
            }
            if let Some(reason) = state.flush_error.clone().filter(|_| !free) {
                break Err(Error::FlushFails { reason });
            }
            if timed_out || patience == Patience::None {
                // Why the last attempt failed says more than that there is no room.
                let told = state.prepare_error.as_ref().filter(|_| free).map(PrepareError::tell);
                break Err(told.unwrap_or_else(|| self.stalled()));
            }
            match self.options.background {
                Background::Manual => {
                    let here = (active_number(&state), state.prepared.is_some(), state.immutable.len());
                    if helped_at == Some(here) {
                        break Err(self.stalled());
                    }
                    helped_at = Some(here);
                    drop(state);
                    let stepped = self.background_step(false);
                    state = self.state();
                    if let Err(e) = stepped {
                        break Err(e);
                    }
                }
                Background::Thread => {
                    let failures = state.metrics.prepare_failures;
                    state.waiting += 1;
                    (state, timed_out) = self.wait_for_room(state, patience, since);
                    state.waiting -= 1;
                    if free && state.metrics.prepare_failures != failures && state.prepared.is_none() {
                        let told = state.prepare_error.as_ref().map(PrepareError::tell);
                        break Err(told.unwrap_or_else(|| self.stalled()));
                    }
                }
            }
        };
        if let Some(since) = since {
            let waited = self.env.clock.monotonic().saturating_sub(since).as_nanos();
            state.metrics.stall_ns += u64::try_from(waited).unwrap_or(u64::MAX);
        }
        done.map(|()| state)
    }

    /// Waits until something about the room has changed, or patience is at its end.
    fn wait_for_room<'a>(
        &self,
        state: MutexGuard<'a, State>,
        patience: Patience,
        since: Option<Duration>,
    ) -> (MutexGuard<'a, State>, bool) {
        let Patience::Until(most) = patience else {
            return (self.room.wait(state).unwrap_or_else(PoisonError::into_inner), false);
        };
        let waited = since.map_or(Duration::ZERO, |since| self.env.clock.monotonic().saturating_sub(since));
        let woken = self.room.wait_timeout(state, most.saturating_sub(waited));
        let (state, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
        (state, timeout.timed_out())
    }

    fn stalled(&self) -> Error {
        // Made without an allocation: a logger that is told so at once waits then, and its calls ask for no memory.
        Error::Stalled { reason: "all write buffers are full and the flush has not caught up".into() }
    }
}

/// The record is in the log, and another thread's write or sync has failed that was to cover it, too. A log that has
/// stopped says otherwise that nothing was appended, and then one may append it elsewhere.
#[cold]
fn in_doubt(error: Error) -> Error {
    match error {
        Error::Poisoned { reason } => Error::io("sync", "the WAL")(std::io::Error::other(reason)),
        other => other,
    }
}

fn active_number(state: &State) -> u64 {
    state.active.as_ref().map_or(0, |a| a.handle.number)
}

fn closed() -> Error {
    Error::InvalidArgument("the WAL is closed".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::Sim;
    use crate::kv::{Op, OpKind};
    use crate::wal::{SegmentIndex, Wal, WalOptions};
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts what it is given.
    #[derive(Debug, Default)]
    struct Counting(AtomicUsize);

    impl SegmentIndex for Counting {
        fn insert_hashed(&self, _: u64, _: u32, _: &Op<'_>, _: u64) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn index_bytes(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_is_kept_beside_a_segment_is_given_again_until_another_takes_the_records() -> Result<()> {
        let options = WalOptions { background: Background::Manual, ..WalOptions::default() };
        let wal = Wal::create(&Sim::new(1).env(), Path::new("/wal"), options)?;
        let append = || {
            let mut records = 0;
            wal.append_keeping(0, 1, b"record", WriteOptions::default(), |at, reader, kept| {
                assert_eq!(at.segment, reader.number());
                let op = Op { kind: OpKind::Put, key: b"", value: b"" };
                let kept = kept.get_or_insert_with(|| Arc::<Counting>::default());
                kept.insert(at.first_seq, at.payload_offset, &op);
                records = kept.index_bytes();
                0
            })?;
            Ok::<_, Error>(records)
        };
        assert_eq!((append()?, append()?, append()?), (1, 2, 3));
        assert_eq!(wal.rotate()?, Some(1));
        assert_eq!((append()?, append()?), (1, 2));
        Ok(())
    }
}
