//! What callers of a sink do: log, flush, close.

use super::Backend;
use super::waiting::Waiting;
use super::writer::{Step, Writer};
use crate::error::{Error, Result};
use crate::line::Line;
use crate::options::SinkOptions;
use crate::stats::SinkStats;
use duramen::Record;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a close that has given up waits for the thread.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// A queue, and whoever writes what is in it: a thread, or its callers.
#[derive(Debug)]
pub(crate) struct BatchSink<B: Backend> {
    queue: Arc<Waiting>,
    /// Where no thread writes.
    writer: Mutex<Option<Writer<B>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<B: Backend> BatchSink<B> {
    /// A sink that writes to `backend`.
    pub fn new(backend: B, options: SinkOptions, name: &str) -> Result<Self> {
        options.check()?;
        let background = options.background;
        let this = Self {
            queue: Arc::new(Waiting::new(options)),
            writer: Mutex::default(),
            thread: Mutex::default(),
        };
        let writer = Writer::new(backend);
        if background {
            let queue = this.queue.clone();
            let started = thread::Builder::new().name(name.to_owned()).spawn(move || writer.run(&queue));
            let thread = started.map_err(|e| Error::Database(format!("cannot start a thread: {e}")))?;
            *lock(&this.thread) = Some(thread);
        } else {
            *lock(&this.writer) = Some(writer);
        }
        Ok(this)
    }

    pub fn log(&self, record: &Record<'_>) -> Result<()> {
        let line = Line::new(record).inspect_err(|_| self.queue.refuse())?;
        let eager = self.queue.options.is_eager(record.level);
        let deadline = self.queue.deadline();
        let number = self.queue.push(line, eager, deadline, &|| self.step())?;
        if eager { self.queue.settle(number, deadline, &|| self.step()) } else { Ok(()) }
    }

    pub fn flush(&self) -> Result<()> {
        self.queue.settle(self.queue.accepted(), self.queue.deadline(), &|| self.step())
    }

    pub fn close(&self) -> Result<()> {
        if !self.queue.begin_closing() {
            return Ok(());
        }
        let flushed = self.flush();
        self.queue.abandon();
        let step = !self.queue.options.background && self.step();
        debug_assert!(!step, "an abandoned writer ends");
        if !self.queue.wait_for_end(LAST_WAIT) {
            // It is inside the database's client, and ends when that does.
            return flushed;
        }
        if let Some(thread) = lock(&self.thread).take() {
            // A writer that panicked has said so already.
            let _told = thread.join();
        }
        match flushed {
            // What was not written in time is lost now, and counted: that says more.
            Err(Error::Timeout { .. }) => self.queue.outcome(),
            flushed => flushed,
        }
    }

    pub fn stats(&self) -> SinkStats {
        self.queue.stats()
    }

    /// Where no thread writes: writes everything that is due.
    pub fn background_step(&self) -> Result<()> {
        while self.step() {}
        self.queue.outcome()
    }

    /// Where no thread writes: one attempt to write a batch; whether that got anywhere.
    fn step(&self) -> bool {
        let mut writer = lock(&self.writer);
        writer.as_mut().is_some_and(|writer| writer.step(&self.queue, false) == Step::Moved)
    }

    #[cfg(test)]
    pub fn retry_at(&self) -> Option<Duration> {
        lock(&self.writer).as_ref().and_then(Writer::retry_at)
    }
}

impl<B: Backend> Drop for BatchSink<B> {
    fn drop(&mut self) {
        // There is nobody to tell; who wants to know closes the sink first.
        let _unheard = self.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
