//! The memory that connections hold: of what is counted as a body's is, and of what is only kept, given back.

use crate::app::Shared;
use crate::body::Share;
use crate::error::ApiResult;
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
