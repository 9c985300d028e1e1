//! What the listener is to be told. Whoever does something holds locks, so it is only noted then, in the order in which it
//! happens. It is told one after the other by who holds none: a thread of its own, for which nobody waits, so that a
//! listener may wait for whatever the store does; with [`Background::Manual`] whoever comes by at
//! the end of a call, unless somebody is telling.

use super::db::{Inner, Lsm};
use super::listener::{BackgroundWork, CompactionInfo, FlushInfo, StallInfo};
use crate::wal::Background;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, ThreadId};

/// Something that has happened.
#[derive(Debug)]
pub(super) enum Event {
    Flush(FlushInfo),
    Compaction(CompactionInfo),
    Stall(StallInfo),
    Damage(Error),
    Failed(BackgroundWork, Error),
}

/// What has happened and was not told yet.
#[derive(Debug, Default)]
pub(super) struct Events {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Event>,
    /// Somebody tells one: what comes meanwhile he tells, too.
    telling: bool,
    /// This one tells all.
    thread: Option<ThreadId>,
    /// It ends when nothing is left.
    ends: bool,
}

/// Lets others tell when dropped: a listener may panic.
struct Telling<'a>(&'a Events);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.0.lock().telling = false;
    }
}

impl Events {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, event: Event) {
        self.lock().waiting.push_back(event);
        self.news.notify_one();
    }

    /// The next, for who tells it now; `None` if there is none, or it is told by somebody else.
    fn take(&self) -> Option<(Event, Telling<'_>)> {
        let mut state = self.lock();
        if state.telling || state.thread.is_some() {
            return None;
        }
        let event = state.waiting.pop_front()?;
        state.telling = true;
        Some((event, Telling(self)))
    }

    /// The next, for the thread; `None` when it is to end.
    fn wait(&self) -> Option<Event> {
        let mut state = self.lock();
        loop {
            if let Some(event) = state.waiting.pop_front() {
                return Some(event);
            }
            if state.ends {
                state.thread = None;
                return None;
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether the caller is the thread that tells: it is in a listener.
    pub(super) fn is_thread(&self) -> bool {
        self.lock().thread == Some(std::thread::current().id())
    }

    /// The thread ends when it has told what there is. What comes later is told by whoever comes by.
    pub(super) fn end(&self) {
        self.lock().ends = true;
        self.news.notify_one();
    }
}

impl Lsm {
    /// Waits until the thread that tells has told all there is, unless it is that which asks.
    pub(super) fn stop_telling(&self) {
        self.inner.events.end();
        if self.inner.events.is_thread() {
            return;
        }
        let teller = self.teller.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(teller) = teller {
            let _it_reports_nothing = teller.join();
        }
    }
}

impl Inner {
    /// Has the listener told, if there is one, once who does it holds nothing.
    pub(super) fn tell_later(&self, event: impl FnOnce() -> Event) {
        if self.options.listener.is_some() {
            self.events.push(event());
        }
    }

    /// Tells the listener what has happened, if no thread and nobody else does. The caller holds no lock, and nothing waits for it.
    pub(super) fn tell_what_happened(&self) {
        if self.options.listener.is_none() {
            return;
        }
        // Whoever is told may call the store: what comes of that is told next.
        while let Some((event, _telling)) = self.events.take() {
            self.tell(&event);
        }
    }

    fn tell(&self, event: &Event) {
        let Some(listener) = &self.options.listener else { return };
        match event {
            Event::Flush(info) => listener.on_flush(info),
            Event::Compaction(info) => listener.on_compaction(info),
            Event::Stall(info) => listener.on_stall(info),
            Event::Damage(error) => {
                if let Error::Corruption { path, .. } = error {
                    listener.on_corruption(path, error);
                }
            }
            Event::Failed(work, error) => listener.on_background_error(*work, error),
        }
    }

    /// Starts the thread that tells, if there is somebody to tell.
    pub(super) fn start_telling(self: &Arc<Self>) -> Result<Option<JoinHandle<()>>> {
        if self.options.listener.is_none() || self.options.background == Background::Manual {
            return Ok(None);
        }
        let inner = Arc::clone(self);
        let tell = move || {
            while let Some(event) = inner.events.wait() {
                // Who hears of panics has. The next is told all the same.
                let _panicked = catch_unwind(AssertUnwindSafe(|| inner.tell(&event)));
            }
        };
        let thread = std::thread::Builder::new().name("duramen-tell".into()).spawn(tell);
        let thread = thread.map_err(Error::io("start a thread for", &self.dir))?;
        self.events.lock().thread = Some(thread.thread().id());
        Ok(Some(thread))
    }
}

#[cfg(test)]
mod tests {
    use super::super::listener::{EventListener, StallCondition};
    use super::super::stall::Pace;
    use super::*;
    use crate::io::sim::Sim;
    use crate::kv::Engine;
    use crate::lsm::LsmOptions;
    use std::thread::ThreadId;

    type Change = (StallCondition, StallCondition);
    const SLOWER: Change = (StallCondition::Normal, StallCondition::Delayed);
    const FASTER: Change = (StallCondition::Delayed, StallCondition::Normal);

    #[derive(Debug, Default)]
    struct Heard {
        stalls: Mutex<Vec<Change>>,
        by: Mutex<Vec<ThreadId>>,
    }

    impl EventListener for Heard {
        fn on_stall(&self, info: &StallInfo) {
            self.stalls.lock().unwrap().push((info.previous, info.condition));
            self.by.lock().unwrap().push(std::thread::current().id());
        }
    }

    /// A store whose level 0 has three tables: with four writes are slowed down.
    fn store() -> Result<(Lsm, Arc<Heard>)> {
        let heard = Arc::new(Heard::default());
        let options = LsmOptions {
            env: Sim::new(1).env(),
            background: Background::Manual,
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: 4,
            listener: Some(Arc::clone(&heard) as Arc<dyn EventListener>),
            ..LsmOptions::default()
        };
        let store = Lsm::open("/db", options)?;
        for n in 0..3u8 {
            store.put(&[n], b"value")?;
            store.flush()?;
        }
        Ok((store, heard))
    }

    #[test]
    fn the_last_that_is_told_of_writes_is_how_they_go() -> Result<()> {
        let (store, heard) = store()?;
        store.put(b"key", b"value")?;
        // One thread fills level 0, and has more to do before it may be told.
        store.inner.flush_all()?;
        assert_eq!(store.inner.stall.pace(), Pace::Delayed);
        // Another empties it, and is done sooner.
        std::thread::scope(|scope| scope.spawn(|| store.background_step()).join()).unwrap()?;
        assert_eq!(store.inner.stall.pace(), Pace::Full);
        assert_eq!(*heard.stalls.lock().unwrap(), [SLOWER, FASTER]);
        assert!(!heard.by.lock().unwrap().contains(&std::thread::current().id()));
        store.inner.tell_what_happened();
        assert_eq!(*heard.stalls.lock().unwrap(), [SLOWER, FASTER]);
        Ok(())
    }

    #[test]
    fn what_an_ingestion_did_to_level_0_is_told_at_its_end() -> Result<()> {
        let (store, heard) = store()?;
        store.ingest(&mut [Ok((b"ingested".to_vec(), b"value".to_vec()))].into_iter())?;
        assert_eq!(store.inner.stall.pace(), Pace::Delayed);
        assert_eq!(*heard.stalls.lock().unwrap(), [SLOWER]);
        while store.background_step()? {}
        assert_eq!(*heard.stalls.lock().unwrap(), [SLOWER, FASTER]);
        // And what happened meanwhile is.
        store.inner.stall.set(|| Pace::Ingesting);
        for n in 0..4u8 {
            store.inner.stall.set(|| Pace::Full);
            store.put(&[n], b"late")?;
            store.inner.stall.set(|| Pace::Ingesting);
            store.inner.flush_all()?;
        }
        store.inner.end_ingestion();
        store.inner.tell_what_happened();
        assert_eq!(*heard.stalls.lock().unwrap(), [SLOWER, FASTER, SLOWER]);
        Ok(())
    }
}
