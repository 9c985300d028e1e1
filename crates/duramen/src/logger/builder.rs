//! What a logger is to be like.

use super::Logger;
use super::encode::Constants;
use crate::error::Result;
use crate::store::{Durability, StoreOptions};
use crate::value::{Level, Value};
use duramen_engine::io::Env;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a message may be, in bytes, unless [`LoggerBuilder::max_message_bytes`] says otherwise: 1 MiB.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 1 << 20;

/// How long [`OnFull::default`] waits.
const DEFAULT_BLOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// What a log call does when there is no room: the disk is full, or all write buffers are, because lines come faster
/// than they can be put into tables.
///
/// Either way a line that is refused is told of three times: by the call's error, by [`super::LoggerStats::dropped`],
/// and by an entry in the log as soon as it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFull {
    /// Waits this long for room, then refuses the line.
    Block {
        /// The longest wait of one call.
        timeout: Duration,
    },
    /// Refuses the line at once.
    Count,
}

impl Default for OnFull {
    /// [`OnFull::Block`], for ten seconds at most.
    fn default() -> Self {
        Self::Block { timeout: DEFAULT_BLOCK_TIMEOUT }
    }
}

/// Says what a [`Logger`] is to be like, and opens it.
#[derive(Clone, Debug)]
pub struct LoggerBuilder {
    pub(super) dir: PathBuf,
    pub(super) store: StoreOptions,
    pub(super) stream_fields: Vec<Box<str>>,
    pub(super) sync_levels: u8,
    pub(super) max_message_bytes: usize,
    pub(super) on_full: OnFull,
    pub(super) pid: bool,
    fields: Vec<(String, Vec<u8>)>,
}

impl LoggerBuilder {
    pub(super) fn new(dir: &Path) -> Self {
        let this = Self {
            dir: dir.to_path_buf(),
            store: StoreOptions::default(),
            stream_fields: vec!["app".into(), "host".into()],
            sync_levels: 0,
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
            on_full: OnFull::default(),
            pid: false,
            fields: Vec::new(),
        };
        this.sync_levels(&[Level::Error, Level::Fatal])
    }

    /// A field that each line gets, before its own; a line's own field of the same name is the one that is found.
    /// May be called again for further ones.
    pub fn field<'v>(mut self, name: impl Into<String>, value: impl Into<Value<'v>>) -> Self {
        self.fields.push((name.into(), Constants::value(value.into())));
        self
    }

    /// Whether each line gets the field `pid`, the number of the process that logged it: a forked child's lines
    /// have the child's. Default false.
    pub fn pid(mut self, pid: bool) -> Self {
        self.pid = pid;
        self
    }

    /// The names of the fields that tell one stream of lines from another: few values, which seldom change from line
    /// to line. Default `app` and `host`.
    pub fn stream_fields<S: Into<Box<str>>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.stream_fields = names.into_iter().map(Into::into).collect();
        self
    }

    /// What a line survives when the call returns. Default [`Durability::Process`]: `kill -9`, a segfault, the OOM
    /// killer.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.store = self.store.durability(durability);
        self
    }

    /// Has every line survive a loss of power `interval_ms` milliseconds after its call at the latest: short for
    /// [`Durability::IntervalMs`].
    pub fn interval_ms(self, interval_ms: u64) -> Self {
        self.durability(Durability::IntervalMs(interval_ms))
    }

    /// The levels whose lines survive a loss of power, they and all lines before them, when the call returns. It
    /// waits for the device; threads that wait at the same time share one sync. Default `error` and `fatal`; an
    /// empty slice for none.
    pub fn sync_levels(mut self, levels: &[Level]) -> Self {
        self.sync_levels = levels.iter().fold(0, |bits, &level| bits | 1 << level as u8);
        self
    }

    /// The longest message in bytes. What is longer is cut there, between two characters, and the line gets the
    /// field [`super::TRUNCATED_FIELD`] with the length it had. Default [`DEFAULT_MAX_MESSAGE_BYTES`], at most 16 MiB.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes.min(16 << 20);
        self
    }

    /// What a call does when there is no room. Default: waits ten seconds, then refuses.
    pub fn on_full(mut self, on_full: OnFull) -> Self {
        self.on_full = on_full;
        self
    }

    /// Whether this process may become the store's keeper, which puts every process's lines into tables. Default
    /// true; false for short-lived processes beside a long-lived one.
    pub fn keeper(mut self, may: bool) -> Self {
        self.store = self.store.keeper(may);
        self
    }

    /// Bytes of a write buffer. Default 64 MiB; see [`StoreOptions::write_buffer_size`].
    pub fn write_buffer_size(mut self, bytes: usize) -> Self {
        self.store = self.store.write_buffer_size(bytes);
        self
    }

    /// Everything about the store that has no method here. Replaces what [`LoggerBuilder::durability`],
    /// [`LoggerBuilder::keeper`] and [`LoggerBuilder::write_buffer_size`] said before.
    pub fn store_options(mut self, options: StoreOptions) -> Self {
        self.store = options;
        self
    }

    /// The files, clock and randomness to use. Default: the operating system's.
    pub fn env(mut self, env: Env) -> Self {
        self.store = self.store.env(env);
        self
    }

    /// Opens the store, making it and its directory if missing, and this process's place in it.
    ///
    /// # Errors
    /// As [`crate::Store::open`], for a directory that is something else's, or cannot be written to;
    /// [`crate::Error::Invalid`] for a field whose name is too long, or too many of them.
    pub fn open(self) -> Result<Logger> {
        Logger::open(self)
    }

    /// The fields that each line gets in this process.
    pub(super) fn constants(&self) -> Result<Constants> {
        let mut constants = Constants::new(&self.stream_fields);
        if self.pid {
            let pid = Constants::value(Value::Int(i64::from(std::process::id())));
            constants.add(&self.stream_fields, "pid", &pid);
        }
        for (name, value) in &self.fields {
            constants.add(&self.stream_fields, name, value);
        }
        constants.checked()
    }
}
