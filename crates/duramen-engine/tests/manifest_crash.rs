//! A manifest whose owner ends at any operation: afterwards the state is the last one acknowledged, or the
//! one whose edit was interrupted; nothing else.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::io::{
    Env,
    sim::{Fault, Sim},
};
use duramen_engine::manifest::{Edit, Manifest, ManifestReader, State};
use duramen_engine::{Error, Result};
use std::path::Path;

const EDITS: u8 = 9;

/// Edits of several sizes; among them some that make the file be replaced.
fn edit(i: u8) -> Edit {
    let len = [10, 600, 40_000, 50][usize::from(i) % 4];
    Edit {
        set_values: vec![(b"v".to_vec(), vec![i; len])],
        flushed: vec![(1, u64::from(i))],
        ..Edit::default()
    }
}

/// The states that follow each other, from the empty one on.
fn states() -> Vec<State> {
    let mut states = vec![State { store_id: 42, ..State::default() }];
    for i in 0..EDITS {
        states.push(states[usize::from(i)].apply(&edit(i)).unwrap());
    }
    states
}

/// Makes a manifest and applies all edits; counts in `acknowledged` how many states were.
fn work(env: &Env, acknowledged: &mut usize) -> Result<()> {
    let mut manifest = Manifest::create(env, "s", 42)?;
    *acknowledged += 1;
    for i in 0..EDITS {
        manifest.apply(edit(i))?;
        *acknowledged += 1;
    }
    Ok(())
}

fn sim(seed: u64) -> Sim {
    let sim = Sim::new(seed);
    sim.env().fs.create_dir_all(Path::new("s")).unwrap();
    sim.sync_all();
    sim
}

/// The operations of an undisturbed run, from the first of the manifest's own.
fn operations() -> std::ops::Range<u64> {
    let sim = sim(0);
    let start = sim.operations();
    work(&sim.env(), &mut 0).unwrap();
    assert_eq!(
        sim.trace().iter().filter(|line| line.starts_with("rename")).count(),
        2,
        "the file is replaced once"
    );
    start..sim.operations()
}

#[derive(Clone, Copy, Debug)]
enum End {
    Process,
    Power(u8),
}

impl End {
    fn all() -> [Self; 6] {
        [Self::Process, Self::Power(0), Self::Power(30), Self::Power(50), Self::Power(80), Self::Power(100)]
    }

    fn befall(self, sim: &Sim) {
        match self {
            Self::Process => sim.crash_process(),
            Self::Power(keep_percent) => sim.crash_power_keeping(keep_percent),
        }
    }
}

/// Checks what is there when `acknowledged` states were; returns the state, if there is a manifest.
fn check(sim: &Sim, acknowledged: usize, states: &[State], what: &str) -> Option<State> {
    match Manifest::open(&sim.env(), "s") {
        Ok((_, state)) => {
            let may_be = &states[acknowledged.saturating_sub(1)..(acknowledged + 1).min(states.len())];
            assert!(may_be.contains(&state), "{what}: version {} after {acknowledged}", state.version);
            Some(State::clone(&state))
        }
        Err(error) => {
            assert!(acknowledged == 0 && error.is_not_found(), "{what}: {error} after {acknowledged}");
            None
        }
    }
}

#[test]
fn a_crash_at_any_operation_loses_nothing_acknowledged() {
    let states = states();
    for at in operations() {
        for fault in [Fault::Crash, Fault::TornWrite] {
            for (seed, end) in (0..).zip(End::all()) {
                let what = format!("{fault:?} at {at}, then {end:?}");
                let sim = sim(seed * 1000 + at);
                sim.fail_at(at, fault);
                let mut acknowledged = 0;
                assert!(work(&sim.env(), &mut acknowledged).is_err() || acknowledged == states.len());
                end.befall(&sim);
                // Twice: opening must have made durable what it showed.
                let Some(first) = check(&sim, acknowledged, &states, &what) else { continue };
                sim.crash_power_keeping(0);
                let (mut manifest, second) = Manifest::open(&sim.env(), "s").unwrap();
                assert_eq!(*second, first, "{what}: opened, shown, and lost");
                assert_eq!(ManifestReader::open(&sim.env(), "s").unwrap().state(), &second);
                // And it goes on.
                if let Some(next) = states.get(second.version as usize + 1) {
                    assert_eq!(*manifest.apply(edit(second.version as u8)).unwrap(), *next);
                    sim.crash_power_keeping(0);
                    assert_eq!(*Manifest::open(&sim.env(), "s").unwrap().1, *next, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_crash_while_recovering_loses_nothing_either() {
    let states = states();
    let operations = operations();
    // The last edit is written and not synced when the first crash comes.
    for cut_at in [operations.start + 8, operations.end - 3, operations.end - 2, operations.end - 1] {
        for at in 0..12 {
            for (seed, end) in (0..).zip(End::all()) {
                let sim = sim(seed + 7 * at);
                sim.fail_at(cut_at, Fault::TornWrite);
                let mut acknowledged = 0;
                let _ = work(&sim.env(), &mut acknowledged);
                sim.crash_process();
                sim.fail_at(sim.operations() + at, Fault::TornWrite);
                let _ = Manifest::open(&sim.env(), "s");
                end.befall(&sim);
                check(&sim, acknowledged, &states, &format!("{cut_at}, then {at}, then {end:?}"));
            }
        }
    }
}

#[test]
fn a_failed_operation_poisons_or_is_for_want_and_a_reopen_recovers() {
    let states = states();
    let (mut poisoned, mut went_on) = (0, 0);
    for at in operations() {
        for fault in [Fault::NoSpace, Fault::SyncFailed, Fault::ShortWrite, Fault::TooManyFiles] {
            let what = format!("{fault:?} at {at}");
            let sim = sim(at);
            sim.fail_at(at, fault);
            let mut acknowledged = 0;
            let mut manifest = match Manifest::create(&sim.env(), "s", 42) {
                Ok(manifest) => manifest,
                Err(_) => {
                    // The name may be there, if only syncing the directory failed.
                    check(&sim, 0, &states, &what);
                    continue;
                }
            };
            acknowledged += 1;
            for i in 0..EDITS {
                match manifest.apply(edit(i)) {
                    Ok(state) => {
                        assert_eq!(*state, states[acknowledged]);
                        acknowledged += 1;
                    }
                    // Of what there was no room for, nothing is there, and the next time it goes well.
                    Err(_) if !manifest.is_poisoned() => {
                        assert!(matches!(fault, Fault::NoSpace | Fault::TooManyFiles), "{what}");
                        assert_eq!(**manifest.state(), states[acknowledged - 1], "{what}");
                        // Nor does the file look as if it had lost its end.
                        assert!(ManifestReader::open(&sim.env(), "s").unwrap().ends_in_mark(), "{what}");
                        went_on += 1;
                        assert_eq!(*manifest.apply(edit(i)).unwrap(), states[acknowledged], "{what}");
                        acknowledged += 1;
                    }
                    Err(_) => {
                        poisoned += 1;
                        assert!(matches!(manifest.apply(edit(i)), Err(Error::Poisoned { .. })), "{what}");
                        break;
                    }
                }
            }
            drop(manifest);
            let shown = check(&sim, acknowledged, &states, &what).unwrap();
            // A sync that failed once must not be taken for one that worked the second time.
            sim.crash_power_keeping(0);
            assert_eq!(check(&sim, acknowledged, &states, &what).unwrap(), shown, "{what}");
        }
    }
    assert!(poisoned > 10 && went_on > 10, "{poisoned} {went_on}");
}
