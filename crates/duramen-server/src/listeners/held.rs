//! The memory that connections hold: of what is counted as a body's is, and of what is only kept, given back.

use crate::app::Shared;
use crate::body::{LEAST_BYTES_PER_S, Share};
use crate::error::ApiResult;
use crate::intake::Intake;
use axum::http::StatusCode;
use std::time::Duration;
use tokio::time::Instant;

/// So many bytes that a connection holds are counted nowhere.
const UNCOUNTED_BYTES: usize = 32 << 10;
/// A connection keeps memory for what comes next so long at most: it may be silent for days.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// Has the share be of so many bytes, if they are many, and waits for them as long as a request may wait for room in the store.
///
/// # Errors
/// As [`Share::resize`].
pub(super) async fn hold(share: &mut Share, bytes: usize, app: &Shared) -> ApiResult<()> {
    let bytes = if bytes > UNCOUNTED_BYTES { bytes } else { 0 };
    if bytes == share.bytes() {
        return Ok(());
    }
    let until = Instant::now() + app.limits.stall_timeout;
    loop {
        let outcome = share.resize(bytes);
        let may_come = outcome.as_ref().is_err_and(|e| e.status == StatusCode::TOO_MANY_REQUESTS);
        if !may_come || *app.stopping.borrow() || Instant::now() >= until {
            return outcome;
        }
        tokio::time::sleep(super::REST).await;
    }
}

/// When a connection gives memory back that it only keeps: a while after something came, whatever comes meanwhile.
#[derive(Debug, Default)]
pub(super) struct Resting {
    at: Option<Instant>,
}

impl Resting {
    /// When, if it has memory to give back.
    pub fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Something came.
    pub fn is_due_after(&mut self, now: Instant) {
        _ = self.at.get_or_insert(now + KEPT_FOR);
    }

    /// Whether memory is to be given back now that it is time.
    pub fn begins(&mut self) -> bool {
        self.at.take().is_some()
    }
}

/// How much longer a sender is waited for whose message holds memory that is counted and is not whole: a byte now and then would
/// else hold it for as long as one likes. What the server itself takes its time for does not count, and one that comes as quickly
/// as a body must is waited for again: a large message takes its time on a slow line.
#[derive(Debug, Default)]
pub(super) struct Patience {
    left: Option<Duration>,
    /// How many bytes came while it was waited for.
    came: usize,
}

impl Patience {
    /// So many bytes are held now: of the message that was there before or, if that has ended, of another.
    pub fn holds(&mut self, bytes: usize, has_ended: bool, app: &Shared) {
        if bytes == 0 || has_ended {
            self.left = None;
        }
        if bytes > 0 && self.left.is_none() {
            self.begin(app);
        }
    }

    fn begin(&mut self, app: &Shared) {
        *self = Self { left: Some(app.limits.message_timeout), came: 0 };
    }

    /// When it ends if nothing comes.
    pub fn until(&self, now: Instant) -> Option<Instant> {
        now.checked_add(self.left?)
    }

    /// The sender was waited for, and so many bytes came.
    pub fn waited(&mut self, time: Duration, came: usize) {
        self.left = self.left.map(|left| left.saturating_sub(time));
        self.came = self.came.saturating_add(came);
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.left == Some(Duration::ZERO)
    }

    /// Counts the message as refused if it has ended, and too little came meanwhile.
    ///
    /// # Errors
    /// [`TooSlow`] then.
    pub fn check(&mut self, intake: &mut Intake, app: &Shared) -> std::io::Result<()> {
        let ms = app.limits.message_timeout.as_millis();
        if !self.is_over() {
            return Ok(());
        }
        if self.came as u128 * 1000 >= ms * u128::from(LEAST_BYTES_PER_S) && ms > 0 {
            self.begin(app);
            return Ok(());
        }
        let too_slow = TooSlow { ms };
        intake.refuse(too_slow.to_string());
        _ = intake.give_up();
        Err(std::io::Error::other(too_slow))
    }
}

/// Why a sender is hung up on whose message does not end.
#[derive(Debug, thiserror::Error)]
#[error("a message was waited for that did not come whole in {ms} ms (message_timeout_ms)")]
pub(super) struct TooSlow {
    ms: u128,
}

impl TooSlow {
    /// Whether this is why.
    pub fn is(e: &std::io::Error) -> bool {
        e.get_ref().is_some_and(|e| e.is::<Self>())
    }
}
