//! Logs that come as a stream: collected, and appended in batches.

use crate::app::{Shared, elsewhere};
use crate::error::ApiResult;
use crate::tenants::Tenant;
use duramen_wire::Decoded;
use std::sync::Arc;

/// From so many bytes of entries on, they are appended.
const ENOUGH_BYTES: usize = 1 << 20;

/// What a stream brings, on its way into a store.
#[derive(Debug)]
pub(crate) struct Intake {
    app: Shared,
    tenant: Arc<Tenant>,
    protocol: &'static str,
    /// What decoders have made since the last append.
    pub decoded: Decoded,
    received_bytes: u64,
    accepted: u64,
    rejected: u64,
}

impl Intake {
    /// For a stream of this protocol.
    pub fn new(app: &Shared, tenant: &Arc<Tenant>, protocol: &'static str) -> Self {
        Self {
            app: app.clone(),
            tenant: tenant.clone(),
            protocol,
            decoded: Decoded::new(app.limits.decoding()),
            received_bytes: 0,
            accepted: 0,
            rejected: 0,
        }
    }

    /// So many bytes came.
    pub fn received(&mut self, bytes: usize) {
        self.received_bytes += bytes as u64;
    }

    /// How many entries are in the store.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// How many rows made no entry.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Counts what could not even be cut into rows.
    pub fn refuse(&mut self, reason: String) {
        self.decoded.reject(|| reason);
    }

    /// Forgets what could not be appended, counts it as rejected, and says how many lines it was.
    pub fn give_up(&mut self) -> u64 {
        let (lines, rejected) = (self.decoded.accepted(), self.decoded.rejected().count);
        let received = std::mem::take(&mut self.received_bytes);
        self.app.metrics.taken(self.protocol, received, 0, lines + rejected);
        self.rejected += lines + rejected;
        self.decoded.clear();
        lines
    }

    /// Whether it is time to append.
    pub fn is_enough(&self) -> bool {
        self.decoded.entries_bytes() >= ENOUGH_BYTES
    }

    /// Appends what there is, waiting for room as long as a request may.
    ///
    /// # Errors
    /// 429, 503 or 507; what was not appended is there to be appended again.
    pub async fn append(&mut self) -> ApiResult<()> {
        if !self.append_at_once() {
            let tenant = self.tenant.clone();
            let mut decoded = std::mem::take(&mut self.decoded);
            let (decoded, outcome) = elsewhere(&self.app, &self.tenant, move |app| {
                let outcome = tenant.append(decoded.batches(), app.limits.stall_timeout);
                (decoded, outcome)
            })
            .await?;
            self.decoded = decoded;
            outcome?;
            self.is_appended();
        }
        Ok(())
    }

    /// Appends what there is, if nothing has to be waited for; says whether it did.
    pub fn append_at_once(&mut self) -> bool {
        let done = !self.tenant.waits_for_device && self.tenant.try_append(self.decoded.batches()).is_ok();
        if done {
            self.is_appended();
        }
        done
    }

    fn is_appended(&mut self) {
        let rejected = self.decoded.rejected();
        if rejected.count > 0 {
            tracing::debug!(protocol = self.protocol, rows = rejected.count, %rejected, "rejected");
        }
        let (accepted, rejected) = (self.decoded.accepted(), rejected.count);
        self.app.metrics.taken(self.protocol, std::mem::take(&mut self.received_bytes), accepted, rejected);
        self.accepted += accepted;
        self.rejected += rejected;
        self.decoded.clear();
    }
}
