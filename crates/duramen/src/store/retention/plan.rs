//! Which tables go now: a pure function of the manifest, the policy and the clock.

use super::{Retention, expiry};
use crate::store::layout::day_of;
use crate::store::table_facts::TableFacts;
use duramen_engine::manifest::{State, TableMeta};

/// Why a table goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Its newest line has expired.
    Expired,
    /// All tables together take too much.
    OverSize,
    /// The file system has too little space left.
    LowSpace,
}

/// Which tables go now, by number, and why; oldest first.
pub(crate) type Plan = Vec<(u64, Reason)>;

/// Whether removing a table frees space.
pub(crate) type Frees<'f> = dyn FnMut(&TableMeta) -> bool + 'f;

/// A table, as far as retention looks at it.
struct Candidate<'s> {
    meta: &'s TableMeta,
    max_time: i64,
}

/// Which tables go at `now_ns`, with so many bytes free on the file system (`None`: not known, or nothing to be done
/// about it now). A table whose facts cannot be read stays, and where space is low one whose removal `frees` none: what comes
/// after it is asked of the next.
pub(crate) fn plan(
    state: &State,
    policy: &Retention,
    now_ns: i64,
    free_bytes: Option<u64>,
    frees: &mut Frees<'_>,
) -> Plan {
    let mut tables: Vec<Candidate<'_>> = Vec::new();
    let mut plan = Plan::new();
    let classes_id = policy.classes_id();
    for meta in state.tables.values() {
        let Ok(facts) = TableFacts::decode(&meta.user) else { continue };
        let Some((_, max_time)) = facts.time_range() else { continue };
        if has_expired(&facts, max_time, policy, classes_id, now_ns) {
            plan.push((meta.number, Reason::Expired));
        } else {
            tables.push(Candidate { meta, max_time });
        }
    }
    plan_by_size(tables, policy, now_ns, (free_bytes, frees), &mut plan);
    plan
}

fn has_expired(facts: &TableFacts, max_time: i64, policy: &Retention, classes_id: u64, now_ns: i64) -> bool {
    match facts.classes_by(classes_id).filter(|_| !policy.rules.is_empty()) {
        Some(parts) => parts.iter().all(|part| {
            let age = policy.age_of_class(part.class as usize);
            age.is_some_and(|age| part.max_time < expiry(now_ns, age))
        }),
        // Which of its lines are of which class is not known: whatever they are, they have expired by then.
        None => policy.longest_age().is_some_and(|age| max_time < expiry(now_ns, age)),
    }
}

fn plan_by_size(
    mut tables: Vec<Candidate<'_>>,
    policy: &Retention,
    now_ns: i64,
    (free_bytes, frees): (Option<u64>, &mut Frees<'_>),
    plan: &mut Plan,
) {
    let total: u64 = tables.iter().map(|table| table.meta.file_bytes).fold(0, u64::saturating_add);
    let mut over = policy.max_bytes.map_or(0, |most| total.saturating_sub(most));
    let mut short = match (policy.min_free_bytes, free_bytes) {
        (Some(least), Some(free)) => least.saturating_sub(free),
        _ => 0,
    };
    // Of the newest day nothing goes, however large it is; a line that is dated in the future does not make that day
    // a day that is over.
    let newest_day = tables.iter().map(|table| day_of(table.max_time)).max();
    let kept_from = newest_day.map_or(i64::MAX, |day| day.min(day_of(now_ns)));
    tables.sort_by_key(|table| (day_of(table.max_time), table.max_time, table.meta.number));
    for table in tables.iter().take_while(|table| day_of(table.max_time) < kept_from) {
        let reason = match (over, short) {
            (0, 0) => break,
            (0, _) if !frees(table.meta) => continue,
            (0, _) => Reason::LowSpace,
            _ => Reason::OverSize,
        };
        over = over.saturating_sub(table.meta.file_bytes);
        if reason == Reason::LowSpace || short > 0 && frees(table.meta) {
            short = short.saturating_sub(table.meta.file_bytes);
        }
        plan.push((table.meta.number, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::layout::DAY_NS;
    use crate::store::retention::RetentionRule;
    use crate::store::table_facts::{BlockFacts, ClassPart, Classes};
    use crate::value::Level;
    use std::time::Duration;

    const NOW: i64 = 20_000 * DAY_NS + DAY_NS / 2;
    const DAY: Duration = Duration::from_secs(86_400);

    /// A table with one block of one UTC day, so many days ago.
    fn table(number: u64, days_ago: i64, file_bytes: u64, classes: Option<Classes>) -> TableMeta {
        let midnight = (20_000 - days_ago) * DAY_NS;
        let block = BlockFacts { rows: 1, min_time: midnight, max_time: midnight + 1000 + number as i64 };
        let user =
            TableFacts { raw_bytes: 1, blocks: vec![block], classes, ..TableFacts::default() }.encode();
        TableMeta {
            number,
            path: format!("tables/{days_ago}/{number}.sst"),
            file_bytes,
            user,
            ..TableMeta::default()
        }
    }

    fn state(tables: impl IntoIterator<Item = TableMeta>) -> State {
        State { tables: tables.into_iter().map(|meta| (meta.number, meta)).collect(), ..State::default() }
    }

    #[test]
    fn a_table_goes_when_its_newest_line_has_expired() {
        let state = state((0..10).map(|ago| table(ago as u64, ago, 100, None)));
        let policy = Retention { max_age: Some(3 * DAY), ..Retention::default() };
        let gone: Vec<u64> =
            plan(&state, &policy, NOW, None, &mut |_| true).into_iter().map(|(number, _)| number).collect();
        assert_eq!(gone, [3, 4, 5, 6, 7, 8, 9], "of three days ago, all lines are of midnight");
        assert_eq!(plan(&state, &Retention::default(), NOW, Some(0), &mut |_| true), []);
    }

    #[test]
    fn by_size_the_oldest_go_and_today_never() {
        let state = state([
            table(1, 0, 500, None),
            table(2, 2, 100, None),
            table(3, 1, 100, None),
            table(4, 2, 100, None),
        ]);
        let by_size = |max_bytes, now| {
            let policy = Retention { max_bytes: Some(max_bytes), ..Retention::default() };
            plan(&state, &policy, now, None, &mut |_| true)
                .into_iter()
                .map(|(number, _)| number)
                .collect::<Vec<_>>()
        };
        assert_eq!(by_size(800, NOW), [0; 0]);
        assert_eq!(by_size(799, NOW), [2]);
        assert_eq!(by_size(601, NOW), [2, 4]);
        assert_eq!(by_size(1, NOW), [2, 4, 3], "what is left is today's");
        assert_eq!(by_size(1, NOW + 300 * DAY_NS), [2, 4, 3], "the newest day there is, however old");
        assert_eq!(
            by_size(1, NOW - DAY_NS),
            [2, 4],
            "a line dated in the future is not the newest day alone"
        );
        assert_eq!(by_size(1, i64::MIN), [0; 0]);
    }

    #[test]
    fn low_space_takes_what_is_missing() {
        let state = state((0..10).map(|ago| table(ago as u64, ago, 100, None)));
        let policy = Retention { min_free_bytes: Some(1000), max_bytes: Some(900), ..Retention::default() };
        let reasons = plan(&state, &policy, NOW, Some(750), &mut |_| true);
        assert_eq!(reasons, [(9, Reason::OverSize), (8, Reason::LowSpace), (7, Reason::LowSpace)]);
        assert_eq!(plan(&state, &policy, NOW, None, &mut |_| true).len(), 1);
    }

    #[test]
    fn what_would_free_nothing_is_not_removed_for_space() {
        let state = state((0..10).map(|ago| table(ago as u64, ago, 100, None)));
        let has_one_name = &mut |meta: &TableMeta| meta.number < 7;
        let policy = Retention { min_free_bytes: Some(1000), ..Retention::default() };
        let reasons = plan(&state, &policy, NOW, Some(850), has_one_name);
        assert_eq!(reasons, [(6, Reason::LowSpace), (5, Reason::LowSpace)]);
        assert_eq!(plan(&state, &policy, NOW, Some(850), &mut |_| false), []);
        let policy = Retention { max_bytes: Some(900), ..policy };
        let reasons = plan(&state, &policy, NOW, Some(950), has_one_name);
        assert_eq!(
            reasons,
            [(9, Reason::OverSize), (6, Reason::LowSpace)],
            "how large the store is it counts for"
        );
    }

    #[test]
    fn classes_expire_each_in_its_time_and_unknown_ones_last() {
        let mut policy = Retention { max_age: Some(30 * DAY), ..Retention::default() };
        policy.rules.push(RetentionRule::level(Level::Debug, Some(DAY)));
        let id = policy.classes_id();
        let of = |parts: &[(u32, i64)]| {
            let part = |&(class, max_time)| ClassPart { class, rows: 1, max_time };
            Some(Classes { id, parts: parts.iter().map(part).collect() })
        };
        let old = (20_000 - 5) * DAY_NS;
        let tables = [
            table(1, 5, 1, of(&[(0, old)])),           // debug lines only
            table(2, 5, 1, of(&[(1, old)])),           // others only
            table(3, 5, 1, of(&[(0, old), (1, old)])), // both
            table(4, 5, 1, None),                      // nobody has looked
            table(5, 40, 1, None),
            table(6, 5, 1, Some(Classes { id: id ^ 1, parts: Vec::new() })), // of another policy
        ];
        let gone = |policy: &Retention| {
            plan(&state(tables.clone()), policy, NOW, None, &mut |_| true)
                .into_iter()
                .map(|(n, _)| n)
                .collect::<Vec<_>>()
        };
        assert_eq!(gone(&policy), [1, 5]);
        policy.max_age = None;
        assert_eq!(gone(&policy), [1], "for ever is the longest");
    }
}
