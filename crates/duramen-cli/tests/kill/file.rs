//! `duramen ingest FILE` is killed at random moments and run again, until it is through.

use crate::life::Life;
use crate::numbered::{is_tidy, line, of_each_source};
use crate::plan::Plan;
use crate::sandbox::Sandbox;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// About 3 MB: many batches, and a flush of some length at the end.
const LINES: u64 = 30_000;

fn write(sandbox: &Sandbox, source: u64) -> PathBuf {
    let text: String = (0..LINES).map(|number| line(source, number)).collect();
    sandbox.write(&format!("{source}.log"), text)
}

#[test]
fn a_file_that_is_ingested_until_it_is_through_is_there_once() {
    let mut plan = Plan::of("a_file_that_is_ingested_until_it_is_through_is_there_once");
    let sandbox = Sandbox::new();
    // How long it takes undisturbed.
    let path = write(&sandbox, 0);
    let started = Instant::now();
    sandbox.ingest(&path);
    let whole = started.elapsed().max(Duration::from_millis(20));

    let (mut killed, mut sources) = (0, 1);
    while killed < plan.kills {
        let path = write(&sandbox, sources);
        let mut tries = 0;
        while killed < plan.kills {
            let mut command = sandbox.command(["ingest".as_ref(), "--quiet".as_ref(), path.as_os_str()]);
            let life = Life::start(&mut command, |_| false);
            // Longer from try to try, so that it gets through: a flush that is cut short begins anew.
            tries += 1;
            life.wait_for(u64::MAX, plan.duration(whole / 2 * tries));
            let ended = life.kill();
            if ended.success() {
                break;
            }
            assert_eq!(ended.code(), None, "{ended}");
            killed += 1;
        }
        sandbox.ingest(&path);
        sources += 1;
    }
    let found = of_each_source(&sandbox.store());
    let expected = (0..sources).map(|source| (source, LINES)).collect();
    assert_eq!(found, expected);
    is_tidy(&sandbox.store());
    assert_eq!(sandbox.count(), sources * LINES);
    sandbox.run(["verify", "--quiet"]).expect(0);
    eprintln!(
        "{killed} killed while {sources} files of {LINES} lines were ingested, {whole:?} each undisturbed"
    );
}
