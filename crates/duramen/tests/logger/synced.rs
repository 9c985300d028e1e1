//! Surviving a loss of power.

use crate::messages;
use crate::program::{Program, tell};
use duramen::{Level, Logger};
use duramen_engine::io::sim::{OperationKind, Sim};
use std::path::Path;

/// Where a segment's header says how far it is synced.
const SYNCED: usize = 320;

fn open(sim: &Sim) -> Logger {
    Logger::builder("/logs").env(sim.env()).open().unwrap()
}

#[test]
fn an_error_and_all_before_it_survive_a_loss_of_power_that_follows_at_once() {
    for level in [Level::Error, Level::Fatal] {
        let sim = Sim::new(level as u64);
        let logger = open(&sim);
        for n in 0..50 {
            logger.log(Level::Info, &format!("before {n:02}"), &[]).unwrap();
        }
        logger.log(level, "it fails", &[]).unwrap();
        logger.log(Level::Info, "after", &[]).unwrap();
        sim.crash_power_keeping(0);
        std::mem::forget(logger);
        let found = messages(open(&sim).store().unwrap());
        assert!(found.len() >= 51, "{found:?}");
        assert!(found.contains(&"it fails".to_owned()) && found.contains(&"before 49".to_owned()));
    }
}

#[test]
fn other_levels_do_not_wait_for_the_device() {
    let sim = Sim::new(3);
    let logger = Logger::builder("/logs").env(sim.env()).sync_levels(&[Level::Fatal]).open().unwrap();
    let syncs = |sim: &Sim| sim.indices_of(OperationKind::Sync).len();
    let before = syncs(&sim);
    for level in [Level::Unknown, Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error] {
        logger.log(level, "no", &[]).unwrap();
    }
    assert_eq!(syncs(&sim), before);
    logger.log(Level::Fatal, "yes", &[]).unwrap();
    assert!(syncs(&sim) > before);
}

#[test]
fn threads_that_wait_share_a_sync() {
    let dir = tempfile::tempdir().unwrap();
    let logger = Logger::builder(dir.path()).open().unwrap();
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| (0..50).for_each(|_| logger.log(Level::Error, "it fails", &[]).unwrap()));
        }
    });
    let syncs = logger.store().unwrap().wal_metrics().unwrap().syncs;
    assert!((1..=400).contains(&syncs), "{syncs}");
}

/// A program that ends without closing anything.
pub fn exit(dir: &Path) {
    let logger: &'static Logger = Box::leak(Box::new(Logger::builder(dir).open().unwrap()));
    logger.log(Level::Info, "the last line", &[]).unwrap();
    tell(logger.store().unwrap().wal_metrics().unwrap().syncs);
    std::process::exit(0);
}

#[test]
fn a_logger_that_is_never_dropped_is_synced_at_exit() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = Program::start("exit", dir.path());
    program.expect("0");
    assert_eq!(program.report(), None);
    assert!(program.child.wait().unwrap().success());
    // The segment's header says how far it was synced.
    let writer = std::fs::read_dir(dir.path().join("wal")).unwrap().next().unwrap().unwrap().path();
    let segment = std::fs::read(writer.join("00000001.wal")).unwrap();
    let synced = u64::from_le_bytes(segment[SYNCED..SYNCED + 8].try_into().unwrap());
    assert!(synced > 4096, "{synced}");
    assert_eq!(messages(&duramen::Store::open(dir.path()).unwrap()), ["the last line"]);
}
