//! What is in the store: its manifest, who writes and who keeps, what is behind, what is damaged.

use super::{Findings, Visit};
use crate::interrupt::Interrupt;
use crate::render::units::{bytes, counted};
use crate::verbs::progress::Progress;
use duramen::Store;
use duramen_engine::io::Env;
use duramen_engine::wal;
use std::path::Path;

/// More tables of a day than this are not merged as they should be.
const MANY_TABLES_A_DAY: u64 = 500;
/// More bytes than this in WAL segments are not put into tables as they should be.
const MUCH_WAL_BYTES: u64 = 1 << 30;
/// Lines that are dated later than this many ns from now have a wrong time.
const FUTURE_NS: i64 = 86_400 * 1_000_000_000;

const REPAIR: &str = "see \"When something is wrong\" in docs/operations.md";

/// The store, and its tenants' stores.
pub(super) fn store(findings: &mut Findings, visit: &Visit<'_>, env: &Env, interrupt: &Interrupt) {
    one(findings, visit.dir, "", visit.verify, env, interrupt);
    let tenants = visit.dir.join("tenants");
    let mut names: Vec<String> =
        env.fs.read_dir(&tenants).unwrap_or_default().into_iter().map(|entry| entry.name).collect();
    names.sort();
    for name in names {
        let of = format!("tenant {name}: ");
        one(findings, &tenants.join(&name), &of, visit.verify, env, interrupt);
    }
}

/// One store; `of` begins what is told of it.
fn one(findings: &mut Findings, dir: &Path, of: &str, verify: bool, env: &Env, interrupt: &Interrupt) {
    let store = match Store::open_read_only(dir) {
        Ok(store) => store,
        Err(e @ duramen::Error::NoStore { .. }) => {
            let advice = "give the store's directory, or make one: `duramen ingest`, `duramen serve`";
            return findings.error("store", format!("{of}{e}"), advice);
        }
        Err(e) => return findings.error("store", format!("{of}{e}"), REPAIR),
    };
    writers(findings, dir, of, env);
    match store.stats() {
        Ok(stats) => {
            let tables: u64 = stats.days.values().map(|day| day.tables).sum();
            let lines: u64 = stats.days.values().map(|day| day.lines).sum();
            let stored: u64 = stats.days.values().map(|day| day.stored_bytes).sum();
            let told = format!(
                "{of}{} in {} ({}), {} in the WAL",
                counted(lines, "line", "lines"),
                counted(tables, "table", "tables"),
                bytes(stored),
                counted(stats.wal.lines, "line", "lines")
            );
            let crowded = stats.days.iter().find(|(_, day)| day.tables > MANY_TABLES_A_DAY);
            if let Some((day, facts)) = crowded {
                let told =
                    format!("{told}; {} of {day} are not merged", counted(facts.tables, "table", "tables"));
                findings.warn(
                    "tables",
                    told,
                    "let one process keep the store open: small tables are merged when it is quiet",
                );
            } else {
                findings.ok("tables", told);
            }
            let newest = stats.days.values().map(|day| day.max_time).max();
            let now_ns = env.clock.now_unix_ns();
            if let Some(time) = newest.filter(|time| *time > now_ns.saturating_add(FUTURE_NS)) {
                let time = duramen_query::parse::time::format_time(time);
                findings.warn(
                    "times",
                    format!("{of}there are lines dated {time}, which is to come"),
                    "see to the clock of who sent them, and to this machine's: retention by age never reaches them",
                );
            }
            if !stats.quarantined.is_empty() {
                let told =
                    format!("{of}{} set aside", counted(stats.quarantined.len() as u64, "file", "files"));
                let advice = format!(
                    "`duramen repair` puts back what may be; {REPAIR}; remove the files in quarantine/ when you need them no more"
                );
                findings.warn("quarantine", told, advice);
            }
        }
        Err(e) => findings.error("tables", format!("{of}{e}"), REPAIR),
    }
    let incidents = store.incidents();
    for message in &incidents.messages {
        findings.error(
            "damage",
            format!("{of}{message}"),
            format!("`duramen verify` says what it costs; {REPAIR}"),
        );
    }
    if verify {
        verified(findings, &store, of, interrupt);
    } else {
        lost(findings, &store, of);
    }
}

/// Tables that no answer has.
fn lost(findings: &mut Findings, store: &Store, of: &str) {
    match store.lost_tables() {
        Ok(lost) => {
            for table in lost {
                let lines =
                    table.lines.map_or_else(String::new, |n| format!(" ({})", counted(n, "line", "lines")));
                findings.error(
                    "damage",
                    format!("{of}{}: {}{lines}", table.path.display(), table.detail),
                    REPAIR,
                );
            }
        }
        Err(e) => findings.error("damage", format!("{of}{e}"), REPAIR),
    }
}

fn verified(findings: &mut Findings, store: &Store, of: &str, interrupt: &Interrupt) {
    let progress = Progress::new(false, interrupt);
    let report = store.verify(&mut |so_far| progress.set(so_far.done_bytes, so_far.total_bytes));
    progress.finish();
    match report {
        Ok(report) if report.damage.is_empty() => {
            let read = counted(report.files, "file", "files");
            let told = format!("{of}{read}, {} read: every byte is as it was written", bytes(report.bytes));
            findings.ok("verify", told);
        }
        Ok(report) => {
            for damage in &report.damage {
                findings.error("verify", format!("{of}{}: {}", damage.path.display(), damage.detail), REPAIR);
            }
        }
        Err(e) => findings.error("verify", format!("{of}{e}"), REPAIR),
    }
}

/// Who writes, who keeps, and what waits for a keeper.
fn writers(findings: &mut Findings, dir: &Path, of: &str, env: &Env) {
    // A shared lock is had while nobody holds the exclusive one, and leaves no file behind.
    let is_held = |path: &Path| matches!(env.fs.try_lock_shared(path), Ok(None));
    let has_keeper = is_held(&dir.join("KEEPER"));
    let found = match wal::writers(env, &dir.join("wal")) {
        Ok(found) => found,
        Err(e) => return findings.error("writers", format!("{of}{e}"), "see who may read the directory"),
    };
    let (mut live, mut dead, mut waiting, mut waiting_bytes) = (0u64, 0u64, 0u64, 0u64);
    for writer in found {
        let segments = wal::segments(env, &writer.path).unwrap_or_default();
        if is_held(&writer.path.join("LOCK")) {
            live += 1;
        } else if !segments.is_empty() {
            dead += 1;
            waiting += segments.len() as u64;
        }
        waiting_bytes += segments.iter().map(|segment| segment.len).sum::<u64>();
    }
    let keeper = if has_keeper { "a process keeps the store" } else { "no process keeps the store" };
    let told = format!("{of}{} at work, {keeper}", counted(live, "writer", "writers"));
    let left = format!(
        "{} of {}",
        counted(waiting, "segment", "segments"),
        counted(dead, "writer that ended", "writers that ended")
    );
    let open = "let any process open the store: `duramen serve`, or `: | duramen ingest -`";
    if dead > 0 && !has_keeper {
        findings.warn("writers", format!("{told}; {left} wait to be put into tables"), open);
    } else if waiting_bytes > MUCH_WAL_BYTES {
        let advice = "the keeper is behind or stuck: see its program's log, and the disk's room";
        findings.warn("writers", format!("{told}; {} are in WAL segments", bytes(waiting_bytes)), advice);
    } else {
        findings.ok("writers", told);
    }
}
