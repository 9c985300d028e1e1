//! The progress bar over all sources of an ingest, on a terminal only.

use crate::render::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};

/// How far all sources together are.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Bytes, as they are on disk, of the sources before this one.
    done_bytes: u64,
    /// Bytes and lines of the sources before this one, decompressed.
    done_read: (u64, u64),
}

impl Progress {
    /// A bar over so many bytes; without a number, one that only says what has been done. Draws to stderr
    /// if that is a terminal and nobody wants it quiet.
    pub(super) fn new(total_bytes: Option<u64>, quiet: bool) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(total_bytes, target);
        let template = if total_bytes.is_some() {
            "{wide_bar} {percent:>3}%  {msg}  {eta} left  {prefix}"
        } else {
            "{spinner} {msg}  {elapsed}  {prefix}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self { bar, done_bytes: 0, done_read: (0, 0) }
    }

    /// Another source begins.
    pub(super) fn begin(&mut self, name: &str) {
        let mut safe = String::new();
        crate::render::escape::push_safe_line(&mut safe, name);
        self.bar.set_prefix(safe);
    }

    /// This source is so far: bytes read of it as it is, and bytes and lines decompressed.
    pub(super) fn moved(&mut self, raw_bytes: &AtomicU64, read_bytes: u64, lines: u64) {
        self.bar.set_position(self.done_bytes + raw_bytes.load(Ordering::Relaxed));
        let elapsed = self.bar.elapsed();
        self.bar.set_message(format!(
            "{}, {} lines/s",
            units::rate(self.done_read.0 + read_bytes, elapsed),
            units::count(units::per_second(self.done_read.1 + lines, elapsed))
        ));
    }

    /// This source is done.
    pub(super) fn end(&mut self, raw_bytes: u64, read_bytes: u64, lines: u64) {
        self.done_bytes += raw_bytes;
        self.done_read.0 += read_bytes;
        self.done_read.1 += lines;
        self.bar.set_position(self.done_bytes);
    }

    /// Says something without tearing the bar.
    pub(super) fn suspended(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// All sources are read; what is left takes a moment.
    pub(super) fn finishing(&self, what: &'static str) {
        self.bar.set_prefix(what);
    }

    /// Takes the bar away.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
