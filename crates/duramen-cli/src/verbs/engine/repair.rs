//! `duramen engine repair`: makes a damaged key-value store one that opens.

use super::{describe, print, refuse_log_store};
use crate::args::EngineRepairArgs;
use crate::failure::{Outcome, complain};
use crate::interrupt::Interrupt;
use crate::render::units::counted;
use crate::verbs::progress::Progress;
use duramen_engine::io::Env;
use duramen_engine::kv::{RepairOptions, RepairReport, repair};
use std::process::ExitCode;

/// Repairs the store, or says what a repair would do.
pub(super) fn run(args: &EngineRepairArgs, env: &Env, interrupt: &Interrupt) -> Outcome {
    refuse_log_store(env, &args.dir)?;
    let progress = Progress::new(args.quiet, interrupt);
    let options = RepairOptions { dry_run: args.dry_run };
    // It may be stopped at any moment, and run again.
    let report =
        repair(env, &args.dir, options, &mut |so_far| progress.set(so_far.done_bytes, so_far.total_bytes));
    progress.finish();
    let report = report?;
    print(lines(&report, args.dry_run))?;
    if report.lost.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let places = counted(report.lost.len() as u64, "place", "places");
    let would = if args.dry_run { "would be lost" } else { "is lost" };
    complain(&format!("what was in {places} {would}; a backup may have it"));
    Ok(ExitCode::from(1))
}

fn lines(report: &RepairReport, dry_run: bool) -> Vec<String> {
    if report.is_idle() {
        return vec!["there is nothing to repair".into()];
    }
    let done = if dry_run { "to do" } else { "done" };
    let actions = report.actions.iter().map(|action| format!("{done}: {action}"));
    let lost = report.lost.iter().map(|damage| format!("lost: {}", describe(damage)));
    let kept = report.quarantined.iter().map(|path| format!("kept: {}", path.display()));
    let end = if dry_run { "this was a dry run: nothing was changed" } else { "the store can be opened" };
    actions.chain(lost).chain(kept).chain([end.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_and_what_would_be_are_told_apart() {
        let mut report = RepairReport::default();
        assert_eq!(lines(&report, false), ["there is nothing to repair"]);
        report.actions.push("s/MANIFEST is made anew".into());
        report.quarantined.push("s/quarantine/MANIFEST".into());
        assert_eq!(
            lines(&report, false),
            ["done: s/MANIFEST is made anew", "kept: s/quarantine/MANIFEST", "the store can be opened"]
        );
        report.quarantined.clear();
        assert_eq!(
            lines(&report, true),
            ["to do: s/MANIFEST is made anew", "this was a dry run: nothing was changed"]
        );
    }
}
