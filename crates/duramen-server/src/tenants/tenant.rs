//! A tenant's store: a directory of its own, so that tenants cannot see, name or damage each other's lines.
//!
//! The store's own directory is that of requests without a tenant; the others' are `DIR/tenants/<name>`, opened when
//! first asked for.

use super::freshness::Freshness;
use crate::admin::Places;
use crate::body::Budget;
use crate::error::kind_of;
use crate::following::TailHub;
use crate::settings::{Limits, RetentionSettings, Settings};
use duramen::{Batch, BlockCache, Logger, LoggerStats, OnFull, Store, StoreOptions};
use duramen_engine::io::{Clock, Env};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Bytes of a WAL segment: less than a library's, because what is in the WAL is in memory, and found line by line.
pub(crate) const WRITE_BUFFER_BYTES: usize = 16 << 20;

/// So many of the newest tables of the server's own store are opened when it is, beside all else
/// ([`duramen::Store::open_newest_tables`]): each takes a file descriptor. There may be too many tenants for that.
const TABLES_TO_OPEN: usize = 64;

/// How long a store counts as failing after an append failed, unless one goes well meanwhile. Who sends only to servers
/// that are well would never find out that one is again.
pub(crate) const FAILING_FOR: Duration = Duration::from_secs(30);

/// Why an append failed, and when, by the monotonic clock.
#[derive(Debug)]
struct Trouble {
    reason: &'static str,
    at: Duration,
}

impl Trouble {
    fn is_recent(&self, now: Duration) -> bool {
        now.saturating_sub(self.at) < FAILING_FOR
    }
}

/// An open store.
#[derive(Debug)]
pub(crate) struct Tenant {
    /// Empty for the store's own.
    pub name: String,
    /// Where its store is.
    pub dir: PathBuf,
    logger: Logger,
    pub hub: TailHub,
    /// Its places among those who wait to change their stores.
    pub changes: Places,
    /// As many as all tenants together have: see [`leave_of`](crate::app::leave_of).
    pub queries: Arc<Semaphore>,
    /// Likewise.
    pub decoders: Arc<Semaphore>,
    /// Leave to follow it.
    pub tails: Arc<Semaphore>,
    /// What its bodies may take of the memory of all.
    pub bodies: Budget,
    freshness: Mutex<Freshness>,
    /// Since it was opened.
    appended_lines: AtomicU64,
    clock: Arc<dyn Clock>,
    /// Of the last append, if it failed.
    failing: Mutex<Option<Trouble>>,
    is_failing: AtomicBool,
    /// When it has taken lines last, in ms of the monotonic clock; 0 for never.
    took_at_ms: AtomicU64,
    /// Whether an append may wait for the device, and so must not happen on a thread that serves others.
    pub waits_for_device: bool,
}

impl Tenant {
    /// Opens the store in `dir`, of the tenant of this name.
    pub fn open(
        env: &Env,
        name: &str,
        dir: &Path,
        settings: &Settings,
        blocks: &Arc<BlockCache>,
    ) -> duramen::Result<Self> {
        let limits = Limits::of(settings);
        let durability = settings.durability.map(|durable| durable.0).unwrap_or_default();
        let options = StoreOptions::new()
            .env(env.clone())
            .durability(durability)
            .write_buffer_size(WRITE_BUFFER_BYTES)
            .block_cache(blocks.clone());
        let logger = Logger::builder(dir).store_options(options).sync_levels(&[]).open()?;
        if name.is_empty() {
            // What keeps them from being read is told to who asks.
            let _only_slower = logger.store().and_then(|store| store.open_newest_tables(TABLES_TO_OPEN));
        }
        Ok(Self {
            name: name.to_owned(),
            dir: dir.to_path_buf(),
            logger,
            hub: TailHub::default(),
            changes: Places::default(),
            queries: Arc::new(Semaphore::new(limits.max_queries)),
            decoders: Arc::new(Semaphore::new(limits.decoders())),
            tails: Arc::new(Semaphore::new(limits.max_tails)),
            bodies: Budget::new(bodies_bytes(name, settings)),
            freshness: Mutex::default(),
            appended_lines: AtomicU64::new(0),
            clock: env.clock.clone(),
            failing: Mutex::default(),
            is_failing: AtomicBool::new(false),
            took_at_ms: AtomicU64::new(0),
            waits_for_device: durability == duramen::Durability::Sync,
        })
    }

    /// Makes what the settings say of its retention the store's policy; if they say nothing, that stays as it is.
    ///
    /// # Errors
    /// As [`Store::set_retention`].
    pub fn set_retention(&self, settings: &Settings) -> duramen::Result<()> {
        let retention = match self.name.as_str() {
            "" => Some(&settings.retention),
            name => settings.tenants.get(name).map(|tenant| &tenant.retention),
        };
        let Some(policy) = retention.and_then(RetentionSettings::policy) else { return Ok(()) };
        self.store()?.set_retention(&policy)?;
        tracing::info!(tenant = self.name, retention = ?policy, "retention is as the settings say");
        Ok(())
    }

    /// Counters of this process.
    pub fn stats(&self) -> LoggerStats {
        self.logger.stats()
    }

    /// The store, to ask.
    pub fn store(&self) -> duramen::Result<&Store> {
        self.logger.store()
    }

    /// Appends without waiting for room. Batches that were taken are empty afterwards.
    pub fn try_append(&self, batches: &mut [Batch]) -> duramen::Result<()> {
        self.append_each(batches, OnFull::Count)
    }

    /// Appends, waiting for room up to `timeout`.
    pub fn append(&self, batches: &mut [Batch], timeout: Duration) -> duramen::Result<()> {
        let outcome = self.append_each(batches, OnFull::Block { timeout });
        if let Err(e) = &outcome {
            let trouble = Trouble { reason: kind_of(e), at: self.clock.monotonic() };
            *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
            if !self.is_failing.swap(true, Ordering::Relaxed) {
                tracing::error!(tenant = self.name, error = %e, "lines cannot be taken");
            }
        }
        outcome
    }

    fn append_each(&self, batches: &mut [Batch], on_full: OnFull) -> duramen::Result<()> {
        for batch in batches {
            let lines = batch.len() as u64;
            self.logger.append_batch(batch, on_full)?;
            self.appended_lines.fetch_add(lines, Ordering::Relaxed);
        }
        if self.is_failing.swap(false, Ordering::Relaxed) {
            *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        self.took_at_ms.store(ms_of(self.clock.monotonic()), Ordering::Relaxed);
        self.hub.wake();
        Ok(())
    }

    /// Why the last append failed, if that was a moment ago and no later one went well. For everybody's eyes.
    pub fn trouble(&self) -> Option<&'static str> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble = failing.as_ref().filter(|trouble| trouble.is_recent(self.clock.monotonic()))?;
        Some(trouble.reason)
    }

    /// Whether it took lines a moment ago, and is in no trouble.
    pub fn takes(&self) -> bool {
        let took_at_ms = self.took_at_ms.load(Ordering::Relaxed);
        let since_ms = ms_of(self.clock.monotonic()).saturating_sub(took_at_ms);
        took_at_ms > 0 && since_ms < FAILING_FOR.as_millis() as u64 && self.trouble().is_none()
    }

    /// Asks its freshness, with how many lines were appended in all.
    pub fn is_due(&self, ask: impl FnOnce(&mut Freshness, u64) -> bool) -> bool {
        let lines = self.appended_lines.load(Ordering::Relaxed);
        ask(&mut self.freshness.lock().unwrap_or_else(PoisonError::into_inner), lines)
    }

    /// Ends what follows the store, seals, syncs and flushes it.
    pub fn close(&self) -> duramen::Result<()> {
        self.hub.stop();
        self.logger.close()
    }
}

/// In ms, but never 0.
fn ms_of(time: Duration) -> u64 {
    (time.as_millis() as u64).max(1)
}

/// How much of the memory of all bodies those of a tenant may take: half, so that there is some for others; but enough for
/// two of the largest, packed and unpacked. The store's own may take all.
fn bodies_bytes(name: &str, settings: &Settings) -> usize {
    let all = settings.max_bodies_bytes.unwrap_or_default();
    let largest = settings.max_body_bytes.unwrap_or_default();
    if name.is_empty() { all } else { (all / 2).max(largest.saturating_mul(2)).min(all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_may_not_take_all_memory_of_bodies() {
        let settings = |all, largest| Settings {
            max_bodies_bytes: Some(all),
            max_body_bytes: Some(largest),
            ..Settings::default()
        };
        assert_eq!(bodies_bytes("", &settings(1000, 10)), 1000);
        assert_eq!(bodies_bytes("shop", &settings(1000, 10)), 500);
        assert_eq!(bodies_bytes("shop", &settings(1000, 400)), 800);
        assert_eq!(bodies_bytes("shop", &settings(1000, 1000)), 1000);
    }

    #[test]
    fn a_failure_counts_for_a_while() {
        let trouble = Trouble { reason: "full", at: Duration::from_secs(100) };
        let at = |s| trouble.is_recent(Duration::from_secs(s));
        assert!(at(100) && at(129) && !at(130) && !at(1000));
    }
}
