use crate::lines::{append, delete, numbers, options};
use duramen_engine::io::sim::Sim;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
enum Step {
    Append(u64),
    Flush,
    Compact,
    /// Those whose number leaves this rest when divided by that.
    Delete(u64, u64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1u64..20).prop_map(Step::Append),
        3 => Just(Step::Flush),
        1 => Just(Step::Compact),
        3 => (1u64..6, 0u64..6).prop_map(|(by, rest)| Step::Delete(by, rest)),
        1 => Just(Step::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_matches_goes_and_nothing_else(steps in proptest::collection::vec(step(), 1..40)) {
        let sim = Sim::new(1);
        let mut store = options(sim.env()).open("/logs").unwrap();
        let (mut next, mut deleted) = (0, 0);
        let mut expected = BTreeSet::new();
        for step in &steps {
            match step {
                Step::Append(lines) => {
                    for _ in 0..*lines {
                        append(&store, next).unwrap();
                        expected.insert(next);
                        next += 1;
                    }
                }
                Step::Flush => store.flush().unwrap(),
                Step::Compact => store.compact().unwrap(),
                Step::Delete(by, rest) => {
                    let before = expected.len();
                    expected.retain(|number| number % by != *rest);
                    let report = delete(&store, &|number| number % by == *rest).unwrap();
                    prop_assert_eq!(report.lines as usize, before - expected.len());
                    prop_assert_eq!((report.unsealed_lines, report.files_to_go), (0, 0));
                    deleted += report.lines;
                }
                Step::Crash => {
                    sim.crash_process();
                    drop(store);
                    store = options(sim.env()).open("/logs").unwrap();
                }
            }
            prop_assert_eq!(numbers(&store), expected.iter().copied().collect::<Vec<_>>());
        }
        let report = store.verify(&mut |_| {}).unwrap();
        prop_assert!(report.damage.is_empty(), "{:?}", report.damage);
        prop_assert_eq!(store.stats().unwrap().removed.deleted.lines, deleted);
    }
}
