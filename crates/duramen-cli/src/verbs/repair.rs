//! `duramen repair`: puts tables back into use that were set aside.

use crate::args::RepairArgs;
use crate::failure::{Failure, Outcome};
use crate::render::escape::push_safe_line;
use crate::render::units::counted;
use duramen::Store;
use duramen::store::Aside;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Puts back what may come back, and says why the rest stays.
pub(crate) fn run(args: &RepairArgs, dir: &Path) -> Outcome {
    // A store that is not there is not made by repairing it.
    drop(Store::open_read_only(dir)?);
    let store = Store::open(dir)?;
    let report = store.put_back(args.dry_run)?;
    store.close()?;
    let mut text = String::new();
    let mut stay = false;
    for (name, became) in &report.files {
        let told = match became {
            Aside::PutBack { lines } => {
                let is = if args.dry_run { "would come back" } else { "is put back" };
                format!("quarantine/{name} {is}: {}", counted(*lines, "line", "lines"))
            }
            Aside::Stays { why } => {
                stay = true;
                format!("quarantine/{name} stays: {why}")
            }
        };
        push_safe_line(&mut text, &told);
        text.push('\n');
    }
    if report.files.is_empty() {
        text.push_str("nothing was set aside\n");
    }
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output) {
        Ok(()) | Err(Failure::ClosedPipe) if stay => Ok(ExitCode::from(1)),
        printed => printed.map(|()| ExitCode::SUCCESS),
    }
}
