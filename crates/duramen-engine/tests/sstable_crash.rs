//! A table whose writing ends at any operation: it is whole under its name, or not there.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Result;
use duramen_engine::io::{
    Env,
    sim::{Fault, Sim},
};
use duramen_engine::sstable::rows::RowCodec;
use duramen_engine::sstable::{BlockCodec, ChunkSink, Table, TableBuilder};
use std::path::Path;

const PATH: &str = "t.sst";

fn write(env: &Env) -> Result<()> {
    let mut builder = TableBuilder::create(env, PATH, RowCodec::ID)?;
    for block in 0..4u8 {
        builder.add_chunk(&vec![block; 700_000])?;
        builder.write_block(&RowCodec::default(), &[(&[block], b"value")])?;
    }
    builder.finish()?;
    Ok(())
}

/// Runs with a fault at one operation, ends the machine, and says whether `write` returned well.
fn run(sim: &Sim, at: u64, fault: Fault) -> bool {
    sim.fail_at(at, fault);
    write(&sim.env()).is_ok()
}

fn operations() -> u64 {
    let sim = Sim::new(0);
    write(&sim.env()).unwrap();
    sim.operations()
}

#[test]
fn a_crash_at_any_operation_leaves_a_whole_table_or_none() {
    let operations = operations();
    assert!(operations >= 8, "several writes, sync, rename, sync_dir");
    for at in 0..=operations {
        for (seed, fault) in [(1, Fault::Crash), (2, Fault::TornWrite), (3, Fault::Crash)] {
            for keep_percent in [0, 50, 100] {
                let sim = Sim::new(seed);
                let acknowledged = run(&sim, at, fault);
                assert_eq!(acknowledged, at >= operations);
                sim.crash_power_keeping(keep_percent);
                if sim.env().fs.exists(Path::new(PATH)).unwrap() {
                    let report = Table::verify(&sim.env(), PATH).unwrap();
                    assert!(report.is_whole(), "crash at {at}: {:?}", report.damage);
                    assert_eq!(report.entries, 4);
                } else {
                    assert!(!acknowledged, "lost after it was acknowledged");
                }
                // What is left is in nobody's way.
                if !acknowledged {
                    let _ = sim.env().fs.remove_file(Path::new(PATH));
                    write(&sim.env()).unwrap();
                }
            }
        }
    }
}

#[test]
fn an_operation_that_fails_is_reported_and_leaves_no_table() {
    for at in 0..operations() {
        for fault in [Fault::NoSpace, Fault::SyncFailed, Fault::TooManyFiles, Fault::ShortWrite] {
            let sim = Sim::new(1);
            let well = run(&sim, at, fault);
            let struck = !sim.faults_struck().is_empty();
            if fault == Fault::ShortWrite || !struck {
                assert!(well, "{fault:?} at {at} is no failure");
                assert!(Table::verify(&sim.env(), PATH).unwrap().is_whole());
            } else {
                assert!(!well, "{fault:?} at {at} went unnoticed");
                assert!(!sim.files().iter().any(|name| name.ends_with(".tmp")), "{:?}", sim.files());
            }
        }
    }
}

#[test]
fn after_a_failed_write_the_builder_says_so() {
    let sim = Sim::new(1);
    let mut builder = TableBuilder::create(&sim.env(), PATH, RowCodec::ID).unwrap();
    sim.fail_at(sim.operations(), Fault::NoSpace);
    assert!(matches!(builder.add_chunk(&[1; 2 << 20]), Err(duramen_engine::Error::Io { .. })));
    assert!(matches!(builder.add_chunk(&[1]), Err(duramen_engine::Error::Poisoned { .. })));
    assert!(matches!(builder.finish(), Err(duramen_engine::Error::Poisoned { .. })));
}
