//! Tables that hold lines of several retention classes, written before there were rules or by other ones: the keeper
//! finds out which classes they hold, and when one of these has expired, or the table is of several days, writes them
//! again without it, the others each in a table of its own. So a line goes, at the latest, when the newest of its class
//! and day in its table has to.

use super::Keeper;
use super::damaged_blocks::DamagedBlocks;
use super::retain::counts_of;
use crate::block::Block;
use crate::columnar::TableBlock;
use crate::error::{Error, Result};
use crate::store::flush::{Flusher, Inherited};
use crate::store::layout::day_of;
use crate::store::merge::{self, Input, Keep, Merged};
use crate::store::retention::{COUNTS_KEY, Classifier, Retention, expiry};
use crate::store::table_blocks::TableBlockHandle;
use crate::store::table_facts::{ClassPart, Classes, TableFacts};
use crate::store::tables::TableCache;
use duramen_engine::manifest::{Edit, TableMeta};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many tables are looked into before that is written into the manifest.
const MAX_LOOKED_INTO: usize = 32;

/// What became of a table that was written again.
pub(super) enum Rewritten {
    /// It was not: somebody asked to stop.
    Stopped,
    /// None of its rows is left.
    Empty,
    /// The rows that are left.
    Table(TableMeta),
}

/// What is to become of a table that is written again, besides which rows are kept.
#[derive(Clone, Default)]
pub(super) struct Rest<'r> {
    /// Of which classes the rows are that are left, if that is known.
    pub(super) classes: Option<Classes>,
    /// Blocks that cannot be read, by their places in the table, and why.
    pub(super) left_out: Cow<'r, DamagedBlocks>,
}

impl Rest<'_> {
    pub(super) fn of_classes(classes: Option<Classes>) -> Self {
        Self { classes, ..Self::default() }
    }
}

/// Why nothing became of work on a table.
#[derive(Debug)]
pub(super) enum Failure {
    /// The work's own error: what the file system said, damage in the table.
    Work(Error),
    /// The keeper cannot go on, and is to be given up: it could not flush beside the work, or not write the manifest.
    /// Whatever this is, it tells nothing of the table.
    Keeper(Error),
}

impl Failure {
    /// The damage that the table has; any other error goes on.
    ///
    /// # Errors
    /// That one.
    pub(super) fn damage(self) -> Result<Error> {
        match self {
            Self::Work(e) if e.is_corruption() => Ok(e),
            Self::Work(e) | Self::Keeper(e) => Err(e),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Work(error)
    }
}

impl Keeper {
    /// Does a part of what there is to do; whether there was something.
    ///
    /// # Errors
    /// What the file system said. A table that is damaged stays as it is until all of it has expired, and that is told.
    pub(crate) fn split_expired(&mut self, stop: &dyn Fn() -> bool) -> Result<bool> {
        let Some(policy) = self.policy() else { return Ok(false) };
        let by_class = !policy.rules.is_empty();
        Ok(by_class && (self.look_into_unknown(&policy, stop)? || self.split_one(&policy, stop)?)
            || self.trim_one(&policy, stop)?)
    }

    /// Finds out which classes tables hold, of which some line could have expired.
    fn look_into_unknown(&mut self, policy: &Retention, stop: &dyn Fn() -> bool) -> Result<bool> {
        let Some(shortest) = policy.shortest_age() else { return Ok(false) };
        let since = expiry(self.shared.env.clock.now_unix_ns(), shortest);
        let id = policy.classes_id();
        let classifier = Classifier::new(policy);
        let state = self.manifest.state().clone();
        let mut set_table_user = Vec::new();
        for meta in state.tables.values() {
            if set_table_user.len() >= MAX_LOOKED_INTO || stop() {
                break;
            }
            let Ok(facts) = TableFacts::decode(&meta.user) else { continue };
            let is_old = facts.time_range().is_some_and(|(min_time, _)| min_time < since);
            if !is_old || facts.classes_by(id).is_some() || self.not_mergeable.contains(&meta.number) {
                continue;
            }
            match classes_in(&self.tables, meta, &classifier) {
                Ok(parts) => {
                    let facts = TableFacts { classes: Some(Classes { id, parts }), ..facts };
                    set_table_user.push((meta.number, facts.encode()));
                }
                Err(e) => self.leave_alone(meta, e.into())?,
            }
        }
        if set_table_user.is_empty() {
            return Ok(false);
        }
        self.apply(Edit { set_table_user, ..Edit::default() })?;
        self.drop_now()?;
        Ok(true)
    }

    /// Writes a table again, of which a class has expired, or which is of several classes and days.
    fn split_one(&mut self, policy: &Retention, stop: &dyn Fn() -> bool) -> Result<bool> {
        let (id, now_ns) = (policy.classes_id(), self.shared.env.clock.now_unix_ns());
        let has_expired = |part: &ClassPart| {
            let age = policy.age_of_class(part.class as usize);
            age.is_some_and(|age| part.max_time < expiry(now_ns, age))
        };
        let state = self.manifest.state().clone();
        let due = state.tables.values().find_map(|meta| {
            let facts = TableFacts::decode(&meta.user).ok()?;
            let parts = facts.classes_by(id)?;
            let days = facts.time_range().map(|(min_time, max_time)| (day_of(min_time), day_of(max_time)));
            let is_mixed = parts.len() > 1 && days.is_some_and(|(first, last)| first != last);
            let is_due =
                (is_mixed || parts.iter().any(has_expired)) && !self.not_mergeable.contains(&meta.number);
            is_due.then(|| (meta, parts.to_vec()))
        });
        let Some((meta, parts)) = due else { return Ok(false) };
        let classifier = Classifier::new(policy);
        let mut kept = Vec::new();
        for part in parts.iter().filter(|part| !has_expired(part)) {
            let classes = Some(Classes { id, parts: vec![*part] });
            let of_class = &mut |_, block: &TableBlock| {
                let classes = classifier.of_rows(block)?;
                Ok(Some(classes.into_iter().map(|class| class == part.class).collect()))
            };
            match self.rewrite(meta, Rest::of_classes(classes), of_class, stop) {
                Ok(Rewritten::Table(table)) => kept.push(table),
                Ok(Rewritten::Empty) => {}
                Ok(Rewritten::Stopped) => {
                    self.abandon(&kept);
                    return Ok(false);
                }
                Err(e) => {
                    self.abandon(&kept);
                    self.leave_alone(meta, e)?;
                    return Ok(true);
                }
            }
        }
        self.replace_expired(meta, kept)?;
        Ok(true)
    }

    /// Puts what was kept of a table into its place, and counts what has expired of it.
    pub(super) fn replace_expired(&mut self, meta: &TableMeta, kept: Vec<TableMeta>) -> Result<()> {
        let left: u64 = kept.iter().map(|table| table.entries).sum();
        let left_bytes: u64 = kept.iter().map(|table| table.file_bytes).sum();
        let mut counts = counts_of(self.manifest.state()).unwrap_or_default();
        counts.expired.add(meta.entries.saturating_sub(left), meta.file_bytes.saturating_sub(left_bytes));
        self.replace_tables(Edit {
            remove_tables: vec![meta.number],
            add_tables: kept,
            set_values: vec![(COUNTS_KEY.to_vec(), counts.encode())],
            ..Edit::default()
        })
    }

    /// Sees to it that tables go which will not be in the manifest.
    pub(super) fn abandon(&mut self, tables: &[TableMeta]) {
        self.leaving.add(tables.iter().map(|meta| self.shared.layout.resolve(&meta.path)));
    }

    /// Tells that a table is damaged and stays as it is; other errors go on.
    pub(super) fn leave_alone(&mut self, meta: &TableMeta, failure: Failure) -> Result<()> {
        let damage = failure.damage()?;
        self.shared.incident(format!("{} cannot be read and stays as it is: {damage}", meta.path));
        self.not_mergeable.insert(meta.number);
        Ok(())
    }

    /// Writes those rows of a table that `keep` says into a new one, which no manifest names yet, flushing meanwhile. Blocks
    /// that are `left_out` are not read.
    ///
    /// # Errors
    /// What the file system said; damage in the table; what kept flushes from being done.
    pub(super) fn rewrite(
        &mut self,
        meta: &TableMeta,
        rest: Rest<'_>,
        keep: &mut Keep<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Rewritten, Failure> {
        let number = self.reserve_table().map_err(Failure::Keeper)?;
        let (tables, mut flusher) = (self.tables.clone(), self.flusher()?);
        let done = self.while_stepping(stop, |go_on| {
            rewrite_into(&mut flusher, &tables, (meta, number), rest, keep, go_on)
        });
        done.map_err(Failure::Keeper)?.map_err(Failure::Work)
    }
}

fn rewrite_into(
    flusher: &mut Flusher,
    cache: &Arc<TableCache>,
    (meta, number): (&TableMeta, u64),
    rest: Rest<'_>,
    keep: &mut Keep<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Rewritten> {
    let facts = TableFacts::decode(&meta.user)?;
    // What stays whole is not worth being cut anew.
    let input = |handle| Input { handle, is_well_cut: true };
    let whole = TableBlockHandle::of(cache, meta, &None)?.into_iter().enumerate();
    let whole = whole.filter(|(block, _)| !rest.left_out.contains_key(block));
    let (numbers, blocks): (Vec<usize>, Vec<Input>) =
        whole.map(|(block, handle)| (block, input(handle))).unzip();
    let keep = &mut |nth: usize, block: &TableBlock| keep(numbers.get(nth).copied().unwrap_or(nth), block);
    let merged = merge::merge(blocks, |time| flusher.start_table(time, number), keep, go_on)?;
    let (out, kept_rows) = match merged {
        Merged::Table(out, kept_rows) => (out, kept_rows),
        Merged::Empty => return Ok(Rewritten::Empty),
        Merged::Stopped => return Ok(Rewritten::Stopped),
    };
    // What each line had is not known any more: its share of all.
    let raw_bytes = u128::from(facts.raw_bytes) * u128::from(kept_rows) / u128::from(facts.rows().max(1));
    let inherited = Inherited {
        raw_bytes: u64::try_from(raw_bytes).unwrap_or(facts.raw_bytes),
        origins: cache.origins(meta)?,
        classes: rest.classes,
    };
    out.finish(inherited).map(Rewritten::Table)
}

/// Which classes a table holds.
fn classes_in(
    cache: &Arc<TableCache>,
    meta: &TableMeta,
    classifier: &Classifier<'_>,
) -> Result<Vec<ClassPart>> {
    let mut parts: BTreeMap<u32, ClassPart> = BTreeMap::new();
    for handle in TableBlockHandle::of(cache, meta, &None)? {
        let block = handle.open_table_block()?;
        let times = block.times()?;
        for (class, &time) in classifier.of_rows(&block)?.into_iter().zip(&*times) {
            let part = parts.entry(class).or_insert(ClassPart { class, rows: 0, max_time: time });
            part.rows += 1;
            part.max_time = part.max_time.max(time);
        }
    }
    Ok(parts.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryBuf;
    use crate::store::background;
    use crate::store::delete::Barrier;
    use crate::store::keeper::delete::Order;
    use crate::store::layout::DAY_NS;
    use crate::store::shared::lock;
    use crate::store::{Store, StoreOptions};
    use duramen_engine::io::Env;
    use duramen_engine::io::sim::Sim;
    use std::time::Duration;

    /// A store with one table of several days, whose keeper's next step fails because of what its manifest says: that
    /// is damage, but none of the table.
    fn store_whose_step_fails(sim: &Sim) -> Store {
        // It is time to flush between any two blocks.
        let env = Env { clock: sim.ticking_clock(Duration::from_secs(1)), ..sim.env() };
        let options = StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10);
        let store = options.open("/logs").unwrap();
        let now = sim.env().clock.now_unix_ns();
        for day in 0..20 {
            let mut entry = EntryBuf::new(["app"]);
            entry.start(now - day * DAY_NS).message("x").field("app", "sim");
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let age = Some(Duration::from_secs(10 * 86_400));
        store.set_retention(&Retention { max_age: age, ..Retention::default() }).unwrap();
        let mut slot = lock(&store.keeper);
        let keeper = slot.as_mut().unwrap();
        assert_eq!(keeper.manifest.state().tables.len(), 1);
        let unknown = vec![(b"readers".to_vec(), vec![9])];
        keeper.manifest.apply(Edit { set_values: unknown, ..Edit::default() }).unwrap();
        keeper.leaving.add(["/logs/tables/some.sst".into()]);
        drop(slot);
        store
    }

    #[test]
    fn what_fails_beside_a_rewrite_is_not_taken_for_damage_of_the_table() {
        let store = store_whose_step_fails(&Sim::new(1));
        let failed = background::retain(&store.shared, &store.keeper, &|| false).unwrap_err();
        assert!(failed.to_string().contains("generation"), "{failed}");
        assert!(!store.is_keeper());
        let told = store.incidents().messages;
        assert!(!told.iter().any(|told| told.contains("cannot be read")), "{told:?}");
    }

    #[test]
    fn nor_is_it_while_lines_to_delete_are_looked_for() {
        let store = store_whose_step_fails(&Sim::new(2));
        let barrier = Barrier::behind_everything();
        let order = Order { barrier: &barrier, times: i64::MIN..=i64::MAX, stop: &|| false };
        let mut slot = lock(&store.keeper);
        let failed = slot.as_mut().unwrap().delete(&order, &mut |block| Ok(vec![true; block.rows()]));
        assert!(failed.unwrap_err().to_string().contains("generation"));
    }
}
