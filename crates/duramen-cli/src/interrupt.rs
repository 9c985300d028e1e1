//! Ctrl-C and SIGTERM: the first asks the verb to stop at the next good moment, a second ends the process.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether a signal has asked us to stop. Cheap to clone and to ask.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    /// The signal's number; 0 before one came.
    signal: Arc<AtomicUsize>,
    /// Set with it: what is asked, and what makes a second signal end us.
    stop: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts listening. Where the system refuses, signals keep their default effect.
    pub(crate) fn listen() -> Self {
        let this = Self::default();
        for (number, signal) in [(2usize, SIGINT), (15, SIGTERM)] {
            // In this order, so that the first signal finds the flag unset and only the second ends us.
            let _default_effect_stays =
                flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&this.stop))
                    .and_then(|_| flag::register_usize(signal, Arc::clone(&this.signal), number))
                    .and_then(|_| flag::register(signal, Arc::clone(&this.stop)));
        }
        this
    }

    /// Whether to stop.
    pub(crate) fn requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What to end with, 128 and the signal's number, if one has asked us to stop.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        let signal = u8::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or(2);
        self.requested().then(|| 128 + signal.max(1))
    }

    /// An error if a signal has asked us to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.exit_code() {
            None => Ok(()),
            Some(code) => Err(Failure::Interrupted { code }),
        }
    }
}
