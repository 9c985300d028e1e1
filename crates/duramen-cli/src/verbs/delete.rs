//! `duramen delete`: removes the lines that a filter finds, for good.

use crate::args::DeleteArgs;
use crate::failure::{Failure, Outcome, complain, say};
use crate::interrupt::Interrupt;
use crate::moment::now_in;
use crate::render::units::{bytes, counted};
use crate::verbs::show;
use duramen::{DeleteReport, Store};
use duramen_engine::io::Env;
use duramen_query::{DeleteByQuery, Query, QueryError};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Counts, asks and deletes.
pub(crate) fn run(args: &DeleteArgs, dir: &Path, env: &Env, interrupt: &Interrupt) -> Outcome {
    let now = now_in(args.timezone.clone(), &*env.clock);
    let query = show::parse_within(&args.query, &now, &args.span)?;
    // A store that is not there is not made by deleting from it.
    let reader = Store::open_read_only(dir)?;
    if args.dry_run || !args.yes {
        let found = count(&reader, &query, interrupt)?;
        let lines = counted(found, "line", "lines");
        if args.dry_run {
            return print(&format!("{lines} would be deleted\n"));
        }
        if found > 0 && !agreed(&lines)? {
            return Err(Failure::Usage("nothing was deleted; --yes deletes without asking".into()));
        }
    }
    drop(reader);
    let store = Store::open(dir)?;
    let Some(report) = store.delete_matching(&query, &|| interrupt.requested()).map_err(failure)? else {
        interrupt.check()?;
        return Err(Failure::Failed("the deletion was stopped".into()));
    };
    store.close()?;
    let is_complete = is_complete(&report);
    let printed = print(&format!(
        "{} deleted from {}, which became {} smaller\n",
        counted(report.lines, "line", "lines"),
        counted(report.tables, "table", "tables"),
        bytes(report.stored_bytes)
    ));
    match printed {
        Ok(_) | Err(Failure::ClosedPipe) if !is_complete => Ok(ExitCode::from(1)),
        printed => printed,
    }
}

fn count(store: &Store, query: &Query, interrupt: &Interrupt) -> Result<u64, Failure> {
    match store.count_matching(query, &|| interrupt.requested()).map_err(failure)? {
        Some(found) => Ok(found),
        None => {
            interrupt.check()?;
            Ok(0)
        }
    }
}

/// Says what is left to be done, and whether that is nothing.
fn is_complete(report: &DeleteReport) -> bool {
    if report.files_to_go > 0 {
        say(&format!(
            "{} with the old lines {} still being read and will be removed afterwards",
            counted(report.files_to_go as u64, "file", "files"),
            if report.files_to_go == 1 { "is" } else { "are" }
        ));
    }
    for damaged in &report.damaged {
        complain(&format!("could not be looked into: {damaged}"));
    }
    if report.unsealed_lines > 0 {
        complain(&format!(
            "{} still in the write-ahead log of a running program that did not seal it: delete again when it has ended",
            counted(report.unsealed_lines, "line is", "lines are")
        ));
    }
    for name in &report.quarantined {
        complain(&format!(
            "quarantine/{name} may hold such lines, too: nobody looked into it; remove it by hand"
        ));
    }
    report.damaged.is_empty() && report.unsealed_lines == 0 && report.quarantined.is_empty()
}

fn failure(error: QueryError) -> Failure {
    match error {
        QueryError::OnlyFilter => Failure::Usage(error.to_string()),
        QueryError::Store(e) => e.into(),
        other => Failure::Failed(other.to_string()),
    }
}

/// Asks whoever sits at the terminal.
fn agreed(lines: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Ok(false);
    }
    let ask = |error| Failure::Failed(format!("cannot ask: {error}"));
    let mut out = io::stderr().lock();
    write!(out, "Delete {lines} for good? [y/N] ").and_then(|()| out.flush()).map_err(ask)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(ask)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
