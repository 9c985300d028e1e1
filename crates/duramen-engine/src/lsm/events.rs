//! What the listener is to be told when the thread that did it holds no lock: it may call the store then.

use super::db::Inner;
use super::listener::{BackgroundWork, FlushInfo, StallInfo};
use crate::Error;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

/// Something that has happened.
#[derive(Debug)]
pub(super) enum Event {
    Flush(FlushInfo),
    Stall(StallInfo),
    Failed(BackgroundWork, Error),
}

/// What has happened and was not told yet, and by whose work: each thread tells its own.
#[derive(Debug, Default)]
pub(super) struct Events(Mutex<VecDeque<(ThreadId, Event)>>);

impl Events {
    fn push(&self, event: Event) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.push_back((std::thread::current().id(), event));
    }

    fn pop(&self) -> Option<Event> {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let me = std::thread::current().id();
        let at = events.iter().position(|(by, _)| *by == me)?;
        events.remove(at).map(|(_, event)| event)
    }
}

impl Inner {
    /// Has the listener told, if there is one, as soon as this thread is done with what it is at.
    pub(super) fn tell_later(&self, event: impl FnOnce() -> Event) {
        if self.options.listener.is_some() {
            self.events.push(event());
        }
    }

    /// Tells the listener what this thread has done. It holds no lock, and no writes are held up by it.
    pub(super) fn tell_what_happened(&self) {
        if self.options.listener.is_none() {
            return;
        }
        // Whoever is told may call the store, and what comes of that is told within.
        while let Some(event) = self.events.pop() {
            self.tell(|listener| match &event {
                Event::Flush(info) => listener.on_flush(info),
                Event::Stall(info) => listener.on_stall(info),
                Event::Failed(work, error) => listener.on_background_error(*work, error),
            });
        }
    }
}
