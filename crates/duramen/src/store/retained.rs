//! A store's retention policy: asked for, set, enforced.

use super::keeper::handover::Claim;
use super::keeper::retain::policy_of;
use super::layout::day_of;
use super::retention::{Classifier, Removed, Retention, expiry, plan};
use super::snapshot::View;
use super::table_blocks::TableBlockHandle;
use super::table_facts::TableFacts;
use super::tables::TableCache;
use super::{Store, background, lock};
use crate::block::Block;
use crate::error::{Error, Result};
use duramen_engine::manifest::TableMeta;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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

    /// What would go at once if this were the policy: for asking people whether they mean it. Tables of which only some
    /// lines expire are read for it, unless they are damaged; the bytes of these lines are their share.
    ///
    /// # Errors
    /// As [`Store::set_retention`].
    pub fn retention_would_remove(&self, policy: &Retention) -> Result<Removed> {
        policy.validate()?;
        let View { pin: _pin, state, .. } = self.snapshots.view()?;
        let free = match policy.min_free_bytes {
            Some(_) => self.shared.env.fs.available_bytes(self.shared.layout.root()).ok(),
            None => None,
        };
        let now_ns = self.shared.env.clock.now_unix_ns();
        let frees = &mut |meta: &TableMeta| !self.shared.has_other_names(&meta.path);
        let going: BTreeSet<u64> =
            plan(&state, policy, now_ns, free, frees).into_iter().map(|(number, _)| number).collect();
        let mut removed = Removed::default();
        for meta in state.tables.values() {
            if going.contains(&meta.number) {
                removed.add(meta.entries, meta.file_bytes);
                continue;
            }
            let lines = match expired_lines(self.snapshots.tables(), meta, policy, now_ns) {
                Err(e) if e.is_corruption() => 0,
                other => other?,
            };
            let bytes = u128::from(meta.file_bytes) * u128::from(lines) / u128::from(meta.entries.max(1));
            removed.add(lines, u64::try_from(bytes).unwrap_or(meta.file_bytes));
        }
        Ok(removed)
    }

    /// Removes what the policy does not allow any more, if this process is the keeper or can become it; otherwise
    /// does nothing: the keeper does it by itself. So does it what is left while another thread deletes lines or sets the policy.
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

/// How many lines the keeper would leave out of a table that stays: those of a class that has expired wholly, and of others
/// those of days that have.
fn expired_lines(cache: &Arc<TableCache>, meta: &TableMeta, policy: &Retention, now_ns: i64) -> Result<u64> {
    let facts = TableFacts::decode(&meta.user)?;
    let (Some(shortest), Some((min_time, _))) = (policy.shortest_age(), facts.time_range()) else {
        return Ok(0);
    };
    let is_one_class = policy.rules.is_empty();
    let expiry_of_some = expiry(now_ns, shortest);
    if min_time >= expiry_of_some || is_one_class && day_of(min_time) >= day_of(expiry_of_some) {
        return Ok(0);
    }
    let classifier = Classifier::new(policy);
    // By class: the newest line, and how many there are of each day.
    let mut found: BTreeMap<u32, (i64, BTreeMap<i64, u64>)> = BTreeMap::new();
    for handle in TableBlockHandle::of(cache, meta, &None)? {
        let block = handle.open_table_block()?;
        let times = block.times()?;
        let classes = if is_one_class { vec![0; times.len()] } else { classifier.of_rows(&block)? };
        for (class, &time) in classes.into_iter().zip(&*times) {
            let (newest, days) = found.entry(class).or_insert((time, BTreeMap::new()));
            *newest = time.max(*newest);
            *days.entry(day_of(time)).or_default() += 1;
        }
    }
    let expired = found.into_iter().map(|(class, (newest, days))| {
        let Some(age) = policy.age_of_class(class as usize) else { return 0 };
        let expiry = expiry(now_ns, age);
        days.into_iter()
            .filter(|(day, _)| newest < expiry || *day < day_of(expiry))
            .map(|(_, lines)| lines)
            .sum()
    });
    Ok(expired.sum())
}
