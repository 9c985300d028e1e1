//! Random histories of appends, flushes, merges, changes of the policy and passing time, compared with a plain list.

use crate::lines::{DAY, DAY_NS, Line, lines_of, options};
use duramen::{Level, Retention, RetentionRule, Store};
use duramen_engine::io::sim::Sim;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Step {
    /// So many hours old, of this level and app.
    Append(u32, Level, &'static str),
    Flush,
    Compact,
    Set(Retention),
    Pass(u32),
    Enforce,
    /// The process ends without a word, and another opens the store.
    Crash,
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Unknown), Just(Level::Debug), Just(Level::Info), Just(Level::Error)]
}

fn app() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("web"), Just("db")]
}

fn policy() -> impl Strategy<Value = Retention> {
    let age = || proptest::option::weighted(0.8, (1u32..6).prop_map(|days| days * DAY));
    let rule = prop_oneof![
        (level(), age()).prop_map(|(level, age)| RetentionRule::level(level, age)),
        (app(), age()).prop_map(|(app, age)| {
            RetentionRule::stream(format!("{{app=\"{app}\"}}").parse().unwrap(), age)
        }),
    ];
    (age(), proptest::collection::vec(rule, 0..3)).prop_map(|(max_age, rules)| Retention {
        max_age,
        rules,
        ..Retention::default()
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0u32..200, level(), app()).prop_map(|(hours, level, app)| Step::Append(hours, level, app)),
        3 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => policy().prop_map(Step::Set),
        2 => (1u32..48).prop_map(Step::Pass),
        2 => Just(Step::Enforce),
        1 => Just(Step::Crash),
    ]
}

/// What the store must hold, and what it may.
struct Model {
    sim: Sim,
    store: Option<Store>,
    policy: Retention,
    appended: Vec<Line>,
    /// The numbers of lines that had expired at some moment: nothing is said of whether they are there.
    may_be_gone: BTreeSet<u64>,
}

impl Model {
    fn now(&self) -> i64 {
        self.sim.env().clock.now_unix_ns()
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    fn run(&mut self, step: &Step) {
        let now = self.now();
        match step {
            Step::Append(hours, level, app) => {
                let time = now - i64::from(*hours) * DAY_NS / 24;
                let line = Line { number: self.appended.len() as u64, time, level: *level, app };
                line.append_to(self.store(), "").unwrap();
                self.appended.push(line);
            }
            Step::Flush => self.store().flush().unwrap(),
            Step::Compact => self.store().compact().unwrap(),
            Step::Set(policy) => {
                self.store().set_retention(policy).unwrap();
                self.policy = policy.clone();
            }
            Step::Pass(hours) => self.sim.clock().advance(Duration::from_secs(u64::from(*hours) * 3600)),
            Step::Enforce => {
                self.store().flush().unwrap();
                self.store().enforce_retention().unwrap();
            }
            Step::Crash => {
                self.sim.crash_process();
                self.store = None;
                self.store = Some(options(self.sim.env()).open("/logs").unwrap());
            }
        }
        let now = self.now();
        let expired = self.appended.iter().filter(|line| line.has_expired(&self.policy, now));
        self.may_be_gone.extend(expired.map(|line| line.number));
        self.check(matches!(step, Step::Enforce));
    }

    fn check(&self, enforced: bool) {
        let found = lines_of(self.store());
        assert!(found.windows(2).all(|pair| pair[0].number < pair[1].number), "each once");
        assert!(found.iter().all(|line| self.appended[line.number as usize] == *line), "as it was");
        let there: BTreeSet<u64> = found.iter().map(|line| line.number).collect();
        for line in &self.appended {
            let number = line.number;
            assert!(
                self.may_be_gone.contains(&number) || there.contains(&number),
                "{line:?} was younger than its limit: {:?}",
                self.policy
            );
            assert!(
                !(enforced && line.has_to_go(&self.policy, self.now()) && there.contains(&number)),
                "{line:?} is still there: {:?}",
                self.policy
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_expires_goes_and_nothing_else(steps in proptest::collection::vec(step(), 1..60)) {
        let sim = Sim::new(1);
        let store = Some(options(sim.env()).open("/logs").unwrap());
        let policy = Retention::default();
        let mut model = Model { sim, store, policy, appended: Vec::new(), may_be_gone: BTreeSet::new() };
        for step in &steps {
            model.run(step);
        }
        model.run(&Step::Enforce);
        let report = model.store().verify(&mut |_| {}).unwrap();
        prop_assert!(report.damage.is_empty(), "{:?}", report.damage);
        // Every line is accounted for.
        let removed = model.store().stats().unwrap().removed;
        let gone = model.appended.len() - lines_of(model.store()).len();
        prop_assert_eq!((removed.expired.lines + removed.late.lines) as usize, gone);
        // And nothing is left to be done.
        let files = model.sim.files();
        model.store().enforce_retention().unwrap();
        prop_assert_eq!(model.sim.files(), files);
    }
}
