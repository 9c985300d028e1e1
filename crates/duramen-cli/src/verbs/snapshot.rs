//! `duramen snapshot`: a copy of the store, made while it is in use.

use crate::args::SnapshotArgs;
use crate::failure::{Failure, Outcome, complain};
use crate::render::units::{bytes, counted};
use duramen::{Error, Store};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Makes it.
pub(crate) fn run(args: &SnapshotArgs, dir: &Path) -> Outcome {
    let store = Store::open_read_only(dir)?;
    let report = store.checkpoint(&args.to).map_err(|e| match e {
        Error::Invalid(text) => Failure::Failed(text),
        other => other.into(),
    })?;
    let mut out = std::io::stdout().lock();
    let lines = counted(report.lines, "line", "lines");
    let tables = counted(report.tables, "table", "tables");
    writeln!(out, "{}: {lines} in {tables} of {}", args.to.display(), bytes(report.stored_bytes))
        .and_then(|()| out.flush())
        .map_err(Failure::output)?;
    let incidents = store.incidents();
    incidents.messages.iter().for_each(|message| complain(message));
    Ok(ExitCode::from(u8::from(!incidents.messages.is_empty())))
}
