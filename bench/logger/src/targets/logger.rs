//! The direct logger.

use super::{Found, Session, Target};
use crate::Result;
use crate::sample::{APP, Line};
use duramen::{Durability, Level, Logger, OnFull, Store, Value};
use shared::case::Figures;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where lines come faster than they can be put into tables, a slow disk may take longer than the default second: the
/// wait is what is measured.
const WAIT_FOR_ROOM: OnFull = OnFull::Block { timeout: Duration::from_secs(60) };

/// What differs from the default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settings {
    /// Durability none.
    pub(super) none: bool,
    /// The default `sync_levels`, instead of none.
    pub(super) eager: bool,
    /// Small write buffers.
    pub(super) small: bool,
}

struct Direct {
    logger: Logger,
    dir: PathBuf,
}

pub(super) fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Target>> {
    let dir = dir.join("store");
    let mut builder = Logger::builder(&dir).field("app", APP).on_full(WAIT_FOR_ROOM);
    if settings.none {
        builder = builder.durability(Durability::None);
    }
    if !settings.eager {
        builder = builder.sync_levels(&[]);
    }
    if settings.small {
        builder = builder.write_buffer_size(8 << 20);
    }
    Ok(Box::new(Direct { logger: builder.open()?, dir }))
}

impl Target for Direct {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(&self.logger))
    }

    fn figures(&self) -> Figures {
        let metrics = self.logger.store().ok().and_then(|store| store.wal_metrics());
        let metrics = metrics.unwrap_or_default();
        let mut figures = Figures::new();
        figures.insert("wal_bytes".into(), metrics.bytes as f64);
        figures.insert("segments_sealed".into(), metrics.segments_sealed as f64);
        figures.insert("syncs".into(), metrics.syncs as f64);
        figures.insert("stalls".into(), metrics.stalls as f64);
        figures.insert("stall_ns".into(), metrics.stall_ns as f64);
        figures
    }

    fn close(self: Box<Self>) -> Result<Found> {
        let stats = self.logger.stats();
        if stats.dropped + stats.errors > 0 || !stats.incidents.messages.is_empty() {
            return Err(format!("the logger had trouble: {stats:?}").into());
        }
        self.logger.close()?;
        let mut found = Found::default();
        Store::open_read_only(&self.dir)?.scan(i64::MIN, i64::MAX, &mut |row| {
            found.lines += 1;
            found.seq_sum += row.field("seq").and_then(|seq| seq.parse::<i64>().ok()).unwrap_or_default();
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}

impl Session for &Logger {
    fn log(&mut self, line: &Line, seq: i64) -> Result<()> {
        let Line { level, message, request_id, path, status, duration } = line;
        let fields: [(&str, Value<'_>); 5] = [
            ("request_id", Value::Str(request_id)),
            ("path", Value::Str(path)),
            ("status", Value::Int(*status)),
            ("duration", Value::Float(*duration)),
            ("seq", Value::Int(seq)),
        ];
        Ok(Logger::log(self, *level, message, &fields)?)
    }
}

/// What several processes logged: which of `lines` lines of each of `processes` is missing, there twice, or not as it
/// was logged.
pub(crate) fn check_processes(
    dir: &Path,
    processes: u32,
    lines: u64,
    sample: &[Line],
) -> Result<(u64, u64, u64)> {
    let mut seen = vec![0u8; processes as usize * lines as usize];
    let mut torn = 0;
    Store::open_read_only(dir.join("store"))?.scan(i64::MIN, i64::MAX, &mut |row| {
        let seq = row.field("seq").and_then(|seq| seq.parse::<i64>().ok()).unwrap_or(-1);
        let (process, n) = (seq >> 32, seq & 0xffff_ffff);
        let of_line = (process * lines as i64 + n) as usize;
        let line = crate::sample::pick(sample, n.max(0));
        let whole = row.message() == line.message
            && row.field("request_id").as_deref() == Some(&line.request_id)
            && row.field("path").as_deref() == Some(&line.path);
        match seen.get_mut(of_line).filter(|_| seq >= 0 && n < lines as i64 && whole) {
            Some(times) => *times = times.saturating_add(1),
            None => torn += 1,
        }
        ControlFlow::Continue(())
    })?;
    let of = |wanted: fn(&&u8) -> bool| seen.iter().filter(wanted).count() as u64;
    Ok((of(|times| **times == 0), of(|times| **times > 1), torn))
}

/// The level that counts as an error.
pub(crate) fn is_error(level: Level) -> bool {
    level >= Level::Error
}
