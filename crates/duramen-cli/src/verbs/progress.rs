//! How far something that reads much has come.

use crate::interrupt::Interrupt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on stderr, where that is a terminal.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    bar: ProgressBar,
    interrupt: &'a Interrupt,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(quiet: bool, interrupt: &'a Interrupt) -> Self {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) =
            ProgressStyle::with_template("{wide_bar} {percent:>3}%  {bytes}/{total_bytes}  {eta} left")
        {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self { bar, interrupt }
    }

    /// Shows it. Ends the process if a signal has asked for that: only for what may be left at any moment.
    pub(crate) fn set(&self, done_bytes: u64, total_bytes: u64) {
        self.bar.set_length(total_bytes);
        self.bar.set_position(done_bytes);
        if let Some(code) = self.interrupt.exit_code() {
            self.finish();
            std::process::exit(code.into());
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
