//! The settings in force.

use super::Settings;
use std::time::Duration;

/// The settings in force, without anything left open.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub max_body_bytes: usize,
    pub max_line_bytes: usize,
    pub max_connections: usize,
    pub max_sender_connections: usize,
    pub sender_idle_timeout: Duration,
    pub message_timeout: Duration,
    pub idle_timeout: Duration,
    pub read_timeout: Duration,
    pub stall_timeout: Duration,
    pub flush_after: Duration,
    pub query_timeout: Duration,
    pub query_memory_bytes: usize,
    pub query_threads: usize,
    pub max_queries: usize,
    pub max_tails: usize,
    pub stop_timeout: Duration,
}

impl Limits {
    /// How many requests may decode large bodies, or wait for room in the store, at once.
    pub fn decoders(&self) -> usize {
        self.query_threads.max(2)
    }

    /// Those of decoders.
    pub fn decoding(&self) -> duramen_wire::Limits {
        duramen_wire::Limits { max_line_bytes: self.max_line_bytes, ..duramen_wire::Limits::default() }
    }

    /// Of complete settings.
    pub fn of(settings: &Settings) -> Self {
        let ms = |setting: Option<u64>| Duration::from_millis(setting.unwrap_or_default());
        Self {
            max_body_bytes: settings.max_body_bytes.unwrap_or_default(),
            max_line_bytes: settings.max_line_bytes.unwrap_or_default(),
            max_connections: settings.max_connections.unwrap_or_default().max(1),
            max_sender_connections: settings.max_sender_connections.unwrap_or_default().max(1),
            sender_idle_timeout: ms(settings.sender_idle_timeout_ms),
            message_timeout: ms(settings.message_timeout_ms),
            idle_timeout: ms(settings.idle_timeout_ms),
            read_timeout: ms(settings.read_timeout_ms),
            stall_timeout: ms(settings.stall_timeout_ms),
            flush_after: ms(settings.flush_after_ms),
            query_timeout: ms(settings.query_timeout_ms),
            query_memory_bytes: settings.query_memory_bytes.unwrap_or_default(),
            query_threads: std::thread::available_parallelism().map_or(1, usize::from),
            max_queries: settings.max_queries.unwrap_or_default().max(1),
            max_tails: settings.max_tails.unwrap_or_default(),
            stop_timeout: ms(settings.stop_timeout_ms),
        }
    }
}
