//! How a WAL is to behave.

use super::format::{FIRST_RECORD, MAX_SEGMENT_BYTES, RECORD_HEADER_BYTES, RESERVED_BYTES};
use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// When a record counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// When it is in memory. With [`WalKind::Mmap`], where files can be mapped, that is as good as `Process`; with
    /// [`WalKind::Write`] the record reaches the file only when the segment is sealed or somebody syncs.
    None,
    /// When it survives the death of this process: `kill -9`, a segfault, the OOM killer.
    #[default]
    Process,
    /// As `Process`, and it survives a loss of power once this many milliseconds have passed.
    IntervalMs(u64),
    /// When it survives a loss of power. Threads that wait at the same time share one sync.
    Sync,
}

/// Where segments live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WalKind {
    /// In files mapped into memory; in files written to, where the file system cannot reserve space or map, or copies on write.
    #[default]
    Mmap,
    /// In memory of our own that is written to files: two system calls for each group of records.
    Write,
    /// In memory only. Nothing survives the process, nobody else can read it, and there is no directory.
    None,
}

/// Who calls [`Wal::background_step`](super::Wal::background_step).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Background {
    /// A thread of the WAL's own.
    #[default]
    Thread,
    /// The caller; and an append that would have to wait does it itself.
    Manual,
}

/// Called with the number and the length in bytes of a segment that has just been sealed, from the thread that sealed
/// it, holding no lock of the WAL: every call of the [`Wal`](super::Wal) is allowed in it.
pub type OnSealed = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How a WAL is to behave.
#[derive(Clone)]
pub struct WalOptions {
    /// Length of a segment in bytes: 64 KiB to 2 GiB, rounded up to 4096. Default 64 MiB.
    pub write_buffer_size: usize,
    /// Length of a writer's first segment in bytes; each next one is twice as long, up to
    /// `write_buffer_size`, so that a short-lived process costs little. From 8 KiB; default 2 MiB.
    pub first_segment_bytes: usize,
    /// Length in bytes of the segment after one that was not filled in time, but rotated:
    /// [`Wal::rotate`](crate::wal::Wal::rotate). From there on each next one is twice as long again, so that an idle
    /// writer does not keep the space of a busy one. From 8 KiB; default 1 MiB.
    pub idle_segment_bytes: usize,
    /// How many segments of `write_buffer_size` may hold records that are not in a table yet, the active one
    /// included; when all are full, appends wait. A writer's first, smaller ones count by their size, up to
    /// 16 of them. At least 2; default 2.
    pub max_write_buffer_number: usize,
    /// Where segments live. Default [`WalKind::Mmap`].
    pub wal_kind: WalKind,
    /// When an append counts as done, unless it says otherwise. Default [`Durability::Process`].
    pub durability: Durability,
    /// The longest payload in bytes, up to 1 GiB. Default 32 MiB + 64 KiB.
    pub max_record_bytes: usize,
    /// Whether a sealed segment is synced before it counts as sealed. Without, a loss of power may take
    /// records out of any segment that is not in a table yet. Default true.
    pub sync_on_seal: bool,
    /// Whether the memory of what was written is given back, some 2 MiB behind the last record, for who reads segments by
    /// their files. Default false.
    pub unload_written: bool,
    /// The sequence number of the first record, at least 1. Default 1.
    pub first_seq: u64,
    /// Who does the work in the background. Default [`Background::Thread`].
    pub background: Background,
    /// Told of every sealed segment. Default nobody.
    pub on_sealed: Option<OnSealed>,
}

impl Default for WalOptions {
    fn default() -> Self {
        Self {
            write_buffer_size: 64 << 20,
            first_segment_bytes: 2 << 20,
            idle_segment_bytes: 1 << 20,
            max_write_buffer_number: 2,
            wal_kind: WalKind::default(),
            durability: Durability::default(),
            max_record_bytes: (32 << 20) + (64 << 10),
            sync_on_seal: true,
            unload_written: false,
            first_seq: 1,
            background: Background::default(),
            on_sealed: None,
        }
    }
}

impl fmt::Debug for WalOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WalOptions")
            .field("write_buffer_size", &self.write_buffer_size)
            .field("first_segment_bytes", &self.first_segment_bytes)
            .field("idle_segment_bytes", &self.idle_segment_bytes)
            .field("max_write_buffer_number", &self.max_write_buffer_number)
            .field("wal_kind", &self.wal_kind)
            .field("durability", &self.durability)
            .field("max_record_bytes", &self.max_record_bytes)
            .field("sync_on_seal", &self.sync_on_seal)
            .field("unload_written", &self.unload_written)
            .field("first_seq", &self.first_seq)
            .field("background", &self.background)
            .field("on_sealed", &self.on_sealed.is_some())
            .finish()
    }
}

impl WalOptions {
    /// Whether a WAL can be made with them, for who wants to know before anything is made.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names what cannot work, and what could.
    pub fn check(&self) -> Result<()> {
        self.clone().checked().map(drop)
    }

    /// Refuses what cannot work, and rounds lengths up to whole pages.
    pub(super) fn checked(mut self) -> Result<Self> {
        let refuse = |what: String| Err(Error::InvalidArgument(what));
        if !(64 << 10..=MAX_SEGMENT_BYTES).contains(&self.write_buffer_size) {
            return refuse(format!(
                "write_buffer_size {} is not in 65536..=2147483648",
                self.write_buffer_size
            ));
        }
        let lengths = [
            ("first_segment_bytes", self.first_segment_bytes),
            ("idle_segment_bytes", self.idle_segment_bytes),
        ];
        for (name, bytes) in lengths {
            if bytes < 2 * FIRST_RECORD {
                return refuse(format!("{name} {bytes} is below {}", 2 * FIRST_RECORD));
            }
        }
        if self.max_write_buffer_number < 2 {
            return refuse(format!("max_write_buffer_number {} is below 2", self.max_write_buffer_number));
        }
        if self.max_record_bytes > 1 << 30 {
            return refuse(format!("max_record_bytes {} is over 1073741824", self.max_record_bytes));
        }
        if self.first_seq == 0 {
            return refuse("first_seq must be at least 1".into());
        }
        if self.wal_kind == WalKind::None
            && !matches!(self.durability, Durability::None | Durability::Process)
        {
            return refuse("wal_kind none keeps no file that could be synced: set durability none".into());
        }
        self.write_buffer_size = pages(self.write_buffer_size);
        self.first_segment_bytes = pages(self.first_segment_bytes).min(self.write_buffer_size);
        self.idle_segment_bytes = pages(self.idle_segment_bytes).min(self.write_buffer_size);
        Ok(self)
    }
}

/// The length of a segment that has room for one payload of `payload_len` bytes.
pub(super) fn segment_bytes_for(payload_len: usize) -> usize {
    pages(FIRST_RECORD + RECORD_HEADER_BYTES + payload_len + RESERVED_BYTES)
}

fn pages(len: usize) -> usize {
    len.next_multiple_of(4096)
}

/// How one append is to behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// When this record counts as written; [`WalOptions::durability`] if `None`.
    pub durability: Option<Durability>,
    /// Whether to fail with [`Error::Stalled`] instead of waiting for a free write buffer; of an
    /// [`Lsm`](crate::lsm::Lsm), for whatever holds writes back.
    pub no_slowdown: bool,
    /// How long to wait for the same, if at all, before failing with [`Error::Stalled`]. Default `None`: as long as it
    /// takes. A write that would be slowed down for longer than this fails at once.
    pub stall_timeout: Option<Duration>,
}
