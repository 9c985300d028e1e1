//! The thread that keeps: it tries to become keeper, and while it is, flushes what is sealed, and merges
//! small tables when it is quiet.

use crate::store::compact::MAX_MERGE_INPUT_RAW_BYTES;
use crate::store::keeper::Keeper;
use crate::store::keeper::handover::{is_claimed, seal_if_asked};
use crate::store::options::StoreOptions;
use crate::store::shared::{Shared, lock};
use duramen_engine::io::os::let_others_go_first;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the keeper looks at other processes' segments, and others whether there still is a keeper.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long the keeper rests after a failure, so that a full disk is not hammered.
const REST_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How often nothing was there to be flushed before tables are merged: two seconds' worth.
const QUIET_LOOKS_BEFORE_MERGE: u32 = 10;
/// How often they are merged when it never gets quiet: there must not be more and more of them.
const MERGE_EVERY_IF_BUSY: Duration = Duration::from_secs(10);

/// How often tables are looked at that hold both what has expired and what has not, when it is quiet and when it is not.
const RETAIN_EVERY: Duration = Duration::from_secs(10);
const RETAIN_EVERY_IF_BUSY: Duration = Duration::from_secs(60);

/// How many bytes must have been sealed for the flush to begin at once: a burst that is over sooner has the processor to
/// itself, and what it wrote makes fewer and larger tables. A full write buffer, of which a record that did not fit any
/// more may have left some, is enough; and it is long before writers wait for one.
pub(crate) fn flush_at_bytes(options: &StoreOptions) -> u64 {
    let buffer = options.write_buffer_size as u64;
    let most = buffer.saturating_mul(options.max_write_buffer_number.saturating_sub(1) as u64);
    (buffer - buffer / 32).min(most / 4)
}

/// The keeper of this process, if it is one. Locked while it works.
pub(crate) type KeeperSlot = Arc<Mutex<Option<Keeper>>>;

/// Wakes the thread, or ends it.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    wake: bool,
    stop: bool,
    /// Bytes of segments that were sealed since the thread last looked.
    sealed_bytes: u64,
}

impl Signal {
    /// There is something to flush.
    pub(crate) fn wake(&self) {
        lock(&self.state).wake = true;
        self.changed.notify_one();
    }

    /// A segment of so many bytes was sealed. Wakes the thread once `flush_at_bytes` have come together; until then it
    /// looks by itself, every [`LOOK_EVERY`].
    pub(crate) fn sealed(&self, bytes: u64, flush_at_bytes: u64) {
        let mut state = lock(&self.state);
        state.sealed_bytes = state.sealed_bytes.saturating_add(bytes);
        if state.sealed_bytes >= flush_at_bytes {
            state.wake = true;
            drop(state);
            self.changed.notify_one();
        }
    }

    fn is_stopped(&self) -> bool {
        lock(&self.state).stop
    }

    fn stop(&self) {
        lock(&self.state).stop = true;
        self.changed.notify_one();
    }

    /// Waits to be woken, at most so long.
    fn wait(&self, at_most: Duration) -> Wakened {
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, at_most, |state| !state.wake && !state.stop);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let woken = std::mem::take(&mut state.wake);
        let sealed = std::mem::take(&mut state.sealed_bytes) > 0;
        match (state.stop, woken || sealed) {
            (true, _) => Wakened::Stop,
            (false, true) => Wakened::Flush,
            (false, false) => Wakened::Look,
        }
    }
}

/// Why the thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wakened {
    /// The store is being closed.
    Stop,
    /// This process sealed segments.
    Flush,
    /// Time has passed.
    Look,
}

/// Gives the keeper up if its thread panics: as long as this process held the lock, nobody else could take over.
struct GiveUp {
    shared: Arc<Shared>,
    slot: KeeperSlot,
}

impl Drop for GiveUp {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *lock(&self.slot) = None;
            self.shared.flush_fails(&crate::Error::Invalid("the keeper's thread has panicked".into()));
        }
    }
}

/// The running thread.
#[derive(Debug)]
pub(crate) struct Background {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    pub(crate) fn start(shared: Arc<Shared>, slot: KeeperSlot, signal: Arc<Signal>) -> std::io::Result<Self> {
        let for_thread = signal.clone();
        let thread = std::thread::Builder::new().name("duramen-keeper".into()).spawn(move || {
            let _on_panic = GiveUp { shared: shared.clone(), slot: slot.clone() };
            // Who logs or asks for something waits for its answer; for this nobody does, until write buffers are full.
            let_others_go_first();
            let mut pause = LOOK_EVERY;
            let mut quiet_looks = 0;
            let mut retained = shared.env.clock.monotonic();
            let mut merged = retained;
            loop {
                let wakened = for_thread.wait(pause);
                quiet_looks = if wakened == Wakened::Look { quiet_looks + 1 } else { 0 };
                // Merging slows the flush down, so it is for quiet times. But it may never get quiet, and what has
                // expired has to go all the same.
                let is_quiet = quiet_looks >= QUIET_LOOKS_BEFORE_MERGE;
                let since = |then| shared.env.clock.monotonic().saturating_sub(then);
                let merge = is_quiet || since(merged) >= MERGE_EVERY_IF_BUSY;
                let retain = since(retained) >= if is_quiet { RETAIN_EVERY } else { RETAIN_EVERY_IF_BUSY };
                let stop = || for_thread.is_stopped();
                let outcome = match wakened {
                    Wakened::Stop => break,
                    // What went wrong was told to those who wait for it.
                    _ => step(&shared, &slot).and_then(|()| {
                        if retain {
                            retained = shared.env.clock.monotonic();
                            self::retain(&shared, &slot, &stop)?;
                        }
                        if merge {
                            compact(&shared, &slot, MAX_MERGE_INPUT_RAW_BYTES, &stop)?;
                            merged = shared.env.clock.monotonic();
                        }
                        Ok(())
                    }),
                };
                pause = if outcome.is_ok() { LOOK_EVERY } else { REST_AFTER_FAILURE };
            }
        })?;
        Ok(Self { signal, thread: Some(thread) })
    }

    pub(crate) fn stop(&mut self) {
        self.signal.stop();
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked but by a fault in the keeper, whose work the next one does again.
            let _panicked = thread.join();
        }
    }
}

/// Merges tables whose lines had up to so many bytes until there is nothing to merge, `stop` says so, or somebody wants to
/// be keeper.
///
/// # Errors
/// As [`step`].
pub(crate) fn compact(
    shared: &Arc<Shared>,
    slot: &KeeperSlot,
    max_raw_bytes: u64,
    stop: &dyn Fn() -> bool,
) -> crate::Result<()> {
    become_keeper(shared, slot)?;
    let stop = &|| stop() || is_wanted(shared);
    let mut slot = lock(slot);
    let outcome = loop {
        // Not begun if it would end with the first block.
        if stop() {
            break Ok(());
        }
        match slot.as_mut().map_or(Ok(false), |keeper| keeper.compact(max_raw_bytes, stop)) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(e) => break Err(e),
        }
    };
    if let Err(e) = &outcome {
        shared.incident(format!("cannot merge tables: {e}"));
        *slot = None;
    }
    outcome
}

/// Removes what the retention policy does not allow any more, until there is nothing left to remove, `stop` says so, or
/// somebody wants to be keeper.
///
/// # Errors
/// As [`step`].
pub(crate) fn retain(shared: &Arc<Shared>, slot: &KeeperSlot, stop: &dyn Fn() -> bool) -> crate::Result<()> {
    become_keeper(shared, slot)?;
    let stop = &|| stop() || is_wanted(shared);
    let mut slot = lock(slot);
    let Some(keeper) = slot.as_mut() else { return Ok(()) };
    let mut outcome = keeper.drop_now();
    while outcome.is_ok() && !stop() {
        match keeper.split_expired(stop) {
            Ok(true) => {}
            Ok(false) => break,
            Err(e) => outcome = Err(e),
        }
    }
    if let Err(e) = &outcome {
        shared.incident(format!("cannot remove what has expired: {e}"));
        *slot = None;
    }
    outcome
}

/// Whether somebody wants to be keeper, in this process or another: the slot is then not to be held for long.
fn is_wanted(shared: &Shared) -> bool {
    shared.has_claim.load(Ordering::SeqCst) || is_claimed(shared)
}

/// Becomes keeper if there is none, and nobody claims the role.
///
/// # Errors
/// What kept it from becoming one though it could have: a damaged manifest, a newer version's.
pub(crate) fn become_keeper(shared: &Arc<Shared>, slot: &KeeperSlot) -> crate::Result<()> {
    let mut slot = lock(slot);
    if slot.is_none() && !is_claimed(shared) {
        *slot = Keeper::try_become(shared)?;
    }
    Ok(())
}

/// Becomes keeper if there is none, and if this process is the keeper, does its work. If another process claims the
/// role, gives it up.
///
/// # Errors
/// What kept the work from being done. The keeper was given up, to start afresh from what is on disk.
pub(crate) fn step(shared: &Arc<Shared>, slot: &KeeperSlot) -> crate::Result<()> {
    shared.look_for_own_directory();
    if is_claimed(shared) {
        *lock(slot) = None;
        seal_if_asked(shared);
        return Ok(());
    }
    let outcome = become_keeper(shared, slot).and_then(|()| {
        let mut slot = lock(slot);
        slot.as_mut().map_or(Ok(()), Keeper::step).inspect_err(|_| *slot = None)
    });
    match &outcome {
        Ok(()) => shared.flush_works(),
        Err(e) => shared.flush_fails(e),
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryBuf;
    use crate::store::{MIN_MERGE_WIDTH, Retention};
    use duramen_engine::io::sim::Sim;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn who_wants_the_role_in_the_keepers_own_process_does_not_wait_for_a_merge() {
        let sim = Sim::new(1);
        let options = StoreOptions::new().env(sim.env()).background(false).write_buffer_size(64 << 10);
        let store = options.open("/logs").unwrap();
        for n in 0..MIN_MERGE_WIDTH as i64 {
            let mut entry = EntryBuf::new(["app"]);
            entry.start(n).message("x").field("app", "sim");
            store.append(entry.finish().unwrap()).unwrap();
            store.flush().unwrap();
        }
        let tables = || sim.files().iter().filter(|file| file.ends_with(".sst")).count();
        assert_eq!(tables(), MIN_MERGE_WIDTH);
        let policy = Retention { max_bytes: Some(1 << 30), ..Retention::default() };
        std::thread::scope(|scope| {
            let asked = AtomicU32::new(0);
            let stop = || {
                // Once the merge is on, another thread asks for the role.
                if asked.fetch_add(1, Ordering::SeqCst) == 1 {
                    scope.spawn(|| store.set_retention(&policy).unwrap());
                    while !store.shared.has_claim.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                }
                false
            };
            compact(&store.shared, &store.keeper, MAX_MERGE_INPUT_RAW_BYTES, &stop).unwrap();
            assert!(asked.load(Ordering::SeqCst) > 1);
        });
        assert_eq!(tables(), MIN_MERGE_WIDTH, "the merge has ended, and nothing is left of it");
        assert_eq!(store.retention().unwrap(), policy);
        store.compact().unwrap();
        assert_eq!(tables(), 1);
    }

    #[test]
    fn a_full_buffer_is_flushed_at_once_and_less_at_the_next_look() {
        let options = StoreOptions::new().write_buffer_size(64 << 20);
        let full = flush_at_bytes(&options);
        assert!((60 << 20..64 << 20).contains(&full), "{full}");
        assert_eq!(flush_at_bytes(&options.clone().max_write_buffer_number(2)), 16 << 20);

        let signal = Signal::default();
        signal.sealed(full - 1, full);
        assert!(!lock(&signal.state).wake);
        signal.sealed(1, full);
        assert!(lock(&signal.state).wake);
        assert_eq!(signal.wait(Duration::ZERO), Wakened::Flush);
        assert_eq!(signal.wait(Duration::ZERO), Wakened::Look);
        // It was not quiet, though nobody was woken.
        signal.sealed(1, full);
        assert_eq!(signal.wait(Duration::ZERO), Wakened::Flush);
        assert_eq!(signal.wait(Duration::ZERO), Wakened::Look);
    }
}
