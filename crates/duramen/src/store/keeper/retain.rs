//! The keeper enforces the retention policy.

use super::Keeper;
use super::aside;
use crate::error::Result;
use crate::store::retention::{
    COUNTS_KEY, POLICY_KEY, Plan, Reason, Retention, RetentionCounts, expiry, plan,
};
use crate::store::table_facts::TableFacts;
use duramen_engine::manifest::{Edit, State};
use std::path::Path;
use std::time::Duration;

/// How often the keeper looks for what the policy does not allow any more.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long the keeper waits for space, after it has removed files for lack of it: as long as some process has them
/// open, their space is not free.
const WAIT_FOR_SPACE: Duration = Duration::from_secs(60);

/// What the keeper remembers between two looks; all in monotonic time.
#[derive(Debug, Default)]
pub(super) struct RetainState {
    looked: Option<Duration>,
    made_space: Option<Duration>,
    /// It was told that removing tables would free nothing.
    told_linked: bool,
    /// Bytes of a policy that cannot be read, so that it is told once.
    unreadable: Option<Vec<u8>>,
}

/// The policy in a manifest.
///
/// # Errors
/// [`crate::Error::Decode`] if a newer version wrote it.
pub(crate) fn policy_of(state: &State) -> Result<Retention> {
    state.values.get(POLICY_KEY).map_or_else(|| Ok(Retention::default()), |bytes| Retention::decode(bytes))
}

/// What was removed so far.
///
/// # Errors
/// [`crate::Error::Decode`] if the bytes make no sense.
pub(crate) fn counts_of(state: &State) -> Result<RetentionCounts> {
    let bytes = state.values.get(COUNTS_KEY);
    bytes.map_or_else(|| Ok(RetentionCounts::default()), |bytes| RetentionCounts::decode(bytes))
}

impl Keeper {
    /// The policy; none, if it cannot be read: then nothing is removed, and that is told.
    pub(super) fn policy(&mut self) -> Option<Retention> {
        match policy_of(self.manifest.state()) {
            Ok(policy) => Some(policy).filter(|policy| !policy.keeps_everything()),
            Err(e) => {
                let bytes = self.manifest.state().values.get(POLICY_KEY).cloned();
                if self.retain.unreadable != bytes {
                    self.retain.unreadable = bytes;
                    self.shared.incident(format!("nothing is removed by age or size: {e}"));
                }
                None
            }
        }
    }

    /// Sets the policy; the default removes it.
    pub(crate) fn set_policy(&mut self, policy: &Retention) -> Result<()> {
        let mut edit = Edit::default();
        // What has expired by the policy that was is gone, whatever is allowed from now on.
        if let Some(before) = self.policy() {
            let ages = before.rules.iter().map(|rule| rule.max_age).chain([before.max_age]);
            if let Some(age) = ages.flatten().min() {
                let expired = expiry(self.shared.env.clock.now_unix_ns(), age);
                edit.remove_values = aside::within(self.manifest.state(), &(i64::MIN..=expired));
            }
        }
        if *policy == Retention::default() {
            edit.remove_values.push(POLICY_KEY.to_vec());
        } else {
            edit.set_values.push((POLICY_KEY.to_vec(), policy.encode()));
        }
        self.apply(edit)?;
        self.retain = RetainState::default();
        Ok(())
    }

    /// Drops the tables that the policy does not allow any more, if it is time to look again.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn drop_when_due(&mut self) -> Result<()> {
        let now = self.shared.env.clock.monotonic();
        if self.retain.looked.is_some_and(|looked| now.saturating_sub(looked) < LOOK_EVERY) {
            return Ok(());
        }
        self.drop_now()
    }

    /// Drops the tables that the policy does not allow any more: one manifest edit, whose files go when nobody reads
    /// them.
    ///
    /// # Errors
    /// What the file system said.
    pub(crate) fn drop_now(&mut self) -> Result<()> {
        let now = self.shared.env.clock.monotonic();
        self.retain.looked = Some(now);
        let Some(policy) = self.policy() else { return Ok(()) };
        let free = if policy.min_free_bytes.is_some() { self.free_bytes(now) } else { None };
        let wall = self.shared.env.clock.now_unix_ns();
        let mut linked = 0;
        let plan = plan(self.manifest.state(), &policy, wall, free, &mut |meta| {
            let is_linked = self.shared.has_other_names(&meta.path);
            linked += u64::from(is_linked);
            !is_linked
        });
        if linked > 0 && !self.retain.told_linked {
            self.shared.incident(format!(
                "less space is free than the retention policy asks for, but the files of {linked} tables have another name, as a \
                 snapshot's do: removing them would free nothing, and they stay. Remove old snapshots"
            ));
        }
        // Right after tables were removed nobody looks how much is free.
        if free.is_some() {
            self.retain.told_linked = linked > 0;
        }
        if plan.iter().any(|(_, reason)| *reason == Reason::LowSpace) {
            self.retain.made_space = Some(now);
        }
        self.drop_tables(&plan)
    }

    /// What is free on the file system; `None` while files that were removed may still take their space.
    fn free_bytes(&self, now: Duration) -> Option<u64> {
        let waits = self.retain.made_space.is_some_and(|made| now.saturating_sub(made) < WAIT_FOR_SPACE);
        if waits || self.leaving.len() > 0 {
            return None;
        }
        let root: &Path = self.shared.layout.root();
        match self.shared.env.fs.available_bytes(root) {
            Ok(free) => Some(free),
            Err(e) => {
                self.shared.incident(format!("cannot tell how much space is free: {e}"));
                None
            }
        }
    }

    /// Adds lines that had expired when they came to the values that the flush of the others sets.
    pub(super) fn count_late(&self, lines: u64, set_values: &mut Vec<(Vec<u8>, Vec<u8>)>) {
        if lines == 0 {
            return;
        }
        let mut counts = counts_of(self.manifest.state()).unwrap_or_default();
        counts.late.add(lines, 0);
        set_values.push((COUNTS_KEY.to_vec(), counts.encode()));
        let told = if lines == 1 {
            "1 line was older than the retention policy allows when it came, and was not kept".to_owned()
        } else {
            format!(
                "{lines} lines were older than the retention policy allows when they came, and were not kept"
            )
        };
        self.shared.incident(told);
    }

    fn drop_tables(&mut self, plan: &Plan) -> Result<()> {
        if plan.is_empty() {
            return Ok(());
        }
        let state = self.manifest.state().clone();
        let mut counts = counts_of(&state).unwrap_or_default();
        let mut remove_values = Vec::new();
        for (number, reason) in plan {
            let Some(meta) = state.tables.get(number) else { continue };
            // What is in quarantine would have gone before. Whether it has expired can be told later.
            if *reason != Reason::Expired {
                let max_time = TableFacts::decode(&meta.user).ok().and_then(|facts| facts.time_range());
                remove_values.extend(aside::no_newer_than(&state, max_time.map_or(i64::MAX, |(_, max)| max)));
            }
            let removed = match reason {
                Reason::Expired => &mut counts.expired,
                Reason::OverSize => &mut counts.over_size,
                Reason::LowSpace => &mut counts.low_space,
            };
            removed.add(meta.entries, meta.file_bytes);
        }
        let remove_tables: Vec<u64> = plan.iter().map(|(number, _)| *number).collect();
        self.replace_tables(Edit {
            remove_tables,
            remove_values,
            set_values: vec![(COUNTS_KEY.to_vec(), counts.encode())],
            ..Edit::default()
        })
    }

    /// Applies an edit that removes tables, whose files go as soon as nobody reads them.
    pub(super) fn replace_tables(&mut self, edit: Edit) -> Result<()> {
        let before = self.manifest.state().clone();
        let removed = edit.remove_tables.clone();
        self.apply(edit)?;
        let paths = removed.iter().filter_map(|number| before.tables.get(number));
        self.leaving.add(paths.map(|meta| self.shared.layout.resolve(&meta.path)));
        self.tables.keep_live(self.manifest.state());
        self.remove_replaced()
    }
}
