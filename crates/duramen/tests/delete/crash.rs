use crate::lines::{append, delete, numbers, options};
use duramen_engine::io::sim::{Fault, Sim};

const LINES: u64 = 24;

/// Whether line `number` is to be deleted: some of the first day's, and all of the second's.
fn is_wrong(number: u64) -> bool {
    number.is_multiple_of(6) || number % 3 == 1
}

#[derive(Default)]
struct Progress {
    synced: bool,
    began: bool,
    deleted: bool,
    /// How many lines it said it left, in a segment that it could not have sealed.
    left: usize,
}

fn workload(sim: &Sim, progress: &mut Progress) -> duramen::Result<()> {
    let store = options(sim.env()).open("/logs")?;
    for number in 0..LINES {
        append(&store, number)?;
        if number == LINES / 2 {
            store.flush()?;
        }
    }
    store.sync()?;
    progress.synced = true;
    progress.began = true;
    let report = delete(&store, &is_wrong)?;
    progress.left = report.unsealed_lines as usize;
    progress.deleted = progress.left == 0;
    assert!(progress.deleted || !report.damaged.is_empty(), "it says why: {report:?}");
    append(&store, LINES)?; // number 24 is wrong, and later
    store.close()
}

fn check(sim: &Sim, progress: &Progress, context: &str) {
    let store = options(sim.env()).open("/logs").unwrap_or_else(|e| panic!("{context}: {e}"));
    store.flush().unwrap_or_else(|e| panic!("{context}: {e}"));
    let mut found = numbers(&store);
    assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{context}: each once: {found:?}");
    found.retain(|number| *number < LINES);
    let wrong = found.iter().filter(|number| is_wrong(**number)).count();
    let right = found.len() - wrong;
    if progress.synced {
        let all = (0..LINES).filter(|number| is_wrong(*number)).count();
        assert_eq!(right, LINES as usize - all, "{context}: a line is gone that was not to be deleted");
        assert!(
            [0, all, progress.left].contains(&wrong),
            "{context}: {wrong} of {all} are left: not at once"
        );
        assert!(wrong == 0 || !progress.deleted, "{context}: lines came back");
        assert!(wrong == all || progress.began, "{context}");
    }
    // What a crash has left goes with the next keeper, and deleting again finishes it.
    delete(&store, &is_wrong).unwrap_or_else(|e| panic!("{context}: {e}"));
    assert!(numbers(&store).iter().all(|number| !is_wrong(*number)), "{context}");
    let tables = sim.files().iter().filter(|file| file.contains("/tables/")).count() as u64;
    let named: u64 = store.stats().unwrap().days.values().map(|day| day.tables).sum();
    assert_eq!(tables, named, "{context}: {:?}", sim.files());
    let report = store.verify(&mut |_| {}).unwrap();
    assert!(report.damage.is_empty(), "{context}: {:?}", report.damage);
}

fn crash_everywhere(fault: Fault, stride: usize, end: impl Fn(&Sim)) {
    let sim = Sim::new(1);
    let mut progress = Progress::default();
    workload(&sim, &mut progress).unwrap();
    let operations = sim.operations();
    assert!(operations > 100);
    for index in (0..operations).step_by(stride) {
        let sim = Sim::new(index);
        sim.fail_at(index, fault);
        let mut progress = Progress::default();
        let ended = workload(&sim, &mut progress);
        end(&sim);
        check(&sim, &progress, &format!("{fault:?} at operation {index}: {:?}", ended.err()));
    }
}

#[test]
fn a_killed_process_has_deleted_all_or_nothing() {
    crash_everywhere(Fault::Crash, 1, Sim::crash_process);
}

#[test]
fn so_has_one_without_power() {
    for keep_percent in [0, 50] {
        crash_everywhere(Fault::Crash, 3, |sim| sim.crash_power_keeping(keep_percent));
    }
}

#[test]
fn so_has_one_that_met_an_error() {
    for fault in [Fault::NoSpace, Fault::SyncFailed, Fault::ReadError] {
        crash_everywhere(fault, 1, Sim::crash_process);
    }
}
