//! A store's retention policy: asked for, set, enforced.

use super::keeper::handover::Claim;
use super::keeper::retain::policy_of;
use super::retention::{Removed, Retention, plan};
use super::{Store, background, lock};
use crate::error::{Error, Result};

impl Store {
    /// The retention policy; the default, if none was set.
    ///
    /// # Errors
    /// As [`Store::snapshot`]; [`Error::Decode`] if a newer version set it.
    pub fn retention(&self) -> Result<Retention> {
        let state = self.snapshots.state()?;
        policy_of(&state)
    }

    /// Sets the retention policy, of this store, for every process and for good. It is durable when this returns, and
    /// what it does not allow any more goes within seconds, in the background; [`Store::enforce_retention`] does it
    /// now. The same policy as before changes nothing and costs nothing.
    ///
    /// Only the keeper can set it: if another process is, that one is asked to give the role up, and waited for.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an age below [`MIN_RETENTION_AGE`](crate::store::MIN_RETENTION_AGE), a size of 0 or too
    /// many rules; [`Error::NoHandover`]; [`Error::ReadOnly`]; what the file system said.
    pub fn set_retention(&self, policy: &Retention) -> Result<()> {
        self.shared.not_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        policy.validate()?;
        if self.retention().is_ok_and(|present| present == *policy) {
            return Ok(());
        }
        let _claim = Claim::take(&self.shared, &self.keeper)?;
        let mut slot = lock(&self.keeper);
        let keeper =
            slot.as_mut().ok_or_else(|| Error::NoHandover { path: self.shared.layout.keeper_lock() })?;
        keeper.set_policy(policy).inspect_err(|_| *slot = None)?;
        self.signal.wake();
        Ok(())
    }

    /// What would go at once if this were the policy: for asking people whether they mean it. Of tables that hold
    /// lines of several rules, only those count that go whole.
    ///
    /// # Errors
    /// As [`Store::set_retention`].
    pub fn retention_would_remove(&self, policy: &Retention) -> Result<Removed> {
        policy.validate()?;
        let state = self.snapshots.state()?;
        let free = match policy.min_free_bytes {
            Some(_) => self.shared.env.fs.available_bytes(self.shared.layout.root()).ok(),
            None => None,
        };
        let mut removed = Removed::default();
        for (number, _) in plan(&state, policy, self.shared.env.clock.now_unix_ns(), free) {
            if let Some(meta) = state.tables.get(&number) {
                removed.add(meta.entries, meta.file_bytes);
            }
        }
        Ok(removed)
    }

    /// Removes what the policy does not allow any more, if this process is the keeper or can become it; otherwise
    /// does nothing: the keeper does it by itself.
    ///
    /// # Errors
    /// What the file system said; [`Error::ReadOnly`].
    pub fn enforce_retention(&self) -> Result<()> {
        self.shared.not_forked()?;
        if self.read_only {
            return Err(Error::ReadOnly);
        }
        if self.shared.options.keeper {
            background::retain(&self.shared, &self.keeper, &|| false)
        } else {
            Ok(())
        }
    }
}
