//! `duramen query --parquet`: the answer as a Parquet file on stdout.

use crate::failure::Failure;
use duramen_parquet::{Columns, Error, ParquetWriter};
use duramen_query::ResultRow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;

/// Sees the rows of an answer.
pub(super) type Each<'a> = dyn FnMut(&ResultRow) -> ControlFlow<()> + 'a;

/// Has `run` run the query twice, on one view of the store: for the columns, and for the rows. Gives their number.
pub(super) fn write(run: &mut dyn FnMut(&mut Each<'_>) -> Result<(), Failure>) -> Result<u64, Failure> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        let told = "Parquet is nothing to look at: send it to a file, as in --parquet > answer.parquet";
        return Err(Failure::Usage(told.into()));
    }
    let (mut columns, mut seen) = (Columns::new(), Ok(()));
    run(&mut |row| keep(&mut seen, columns.see(row)))?;
    seen.map_err(failure)?;
    let out = BufWriter::with_capacity(64 << 10, stdout);
    let mut writer = ParquetWriter::new(out, columns).map_err(failure)?;
    let (mut rows, mut written) = (0, Ok(()));
    run(&mut |row| {
        rows += 1;
        keep(&mut written, writer.row(row))
    })?;
    written.map_err(failure)?;
    writer.finish().map_err(failure)?.flush().map_err(Failure::output)?;
    Ok(rows)
}

/// Keeps why it cannot go on.
fn keep(kept: &mut Result<(), Error>, outcome: Result<(), Error>) -> ControlFlow<()> {
    match outcome {
        Ok(()) => ControlFlow::Continue(()),
        Err(e) => {
            *kept = Err(e);
            ControlFlow::Break(())
        }
    }
}

fn failure(e: Error) -> Failure {
    // Nobody reading on is no failure, however deep it is told.
    let mut cause: Option<&dyn std::error::Error> = Some(&e);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            return Failure::ClosedPipe;
        }
        cause = error.source();
    }
    Failure::Failed(e.to_string())
}
