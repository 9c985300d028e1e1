//! `duramen engine verify`: reads every byte of a key-value store.

use super::{describe, print, refuse_log_store};
use crate::args::EngineVerifyArgs;
use crate::failure::{Outcome, complain};
use crate::interrupt::Interrupt;
use crate::render::units::{bytes, counted};
use crate::verbs::progress::Progress;
use duramen_engine::io::Env;
use duramen_engine::kv::{VerifyReport, verify};
use std::process::ExitCode;

/// Checks the store and says what is damaged.
pub(super) fn run(args: &EngineVerifyArgs, env: &Env, interrupt: &Interrupt) -> Outcome {
    refuse_log_store(env, &args.dir)?;
    let progress = Progress::new(args.quiet, interrupt);
    let report = verify(env, &args.dir, &mut |so_far| progress.set(so_far.done_bytes, so_far.total_bytes));
    progress.finish();
    let report = report?;
    let damaged = report.damage.iter().map(|damage| format!("damaged: {}", describe(damage)));
    let notes = report.notes.iter().map(|note| format!("note: {note}"));
    print(damaged.chain(notes).chain([summary(&report)]))?;
    if report.is_whole() {
        return Ok(ExitCode::SUCCESS);
    }
    let places = counted(report.damage.len() as u64, "place is", "places are");
    let dir = args.dir.display();
    complain(&format!(
        "{places} damaged; what is whole is still served; `duramen engine repair {dir}` keeps it, and puts the rest aside"
    ));
    Ok(ExitCode::from(1))
}

fn summary(report: &VerifyReport) -> String {
    let mut text = format!(
        "{} of {} read, {} whole",
        counted(report.files, "file", "files"),
        bytes(report.bytes),
        counted(report.entries, "entry", "entries"),
    );
    if report.wal_writes > 0 {
        text.push_str(&format!(
            ", and {} in the WAL",
            counted(report.wal_writes, "later write", "later writes")
        ));
    }
    if report.is_whole() {
        text.push_str(": every byte is as it was written");
    }
    text
}
