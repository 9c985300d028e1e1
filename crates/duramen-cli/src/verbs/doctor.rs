//! `duramen doctor`: says what is wrong and what to do.

use crate::args::DoctorArgs;
use crate::doctor::{Status, Visit, examine};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use duramen_engine::io::Env;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Looks a store over.
pub(crate) fn run(args: &DoctorArgs, dir: &Path, env: &Env, interrupt: &Interrupt) -> Outcome {
    let visit = Visit {
        dir: args.dir.as_deref().unwrap_or(dir),
        #[cfg(feature = "server")]
        config: args.config.as_deref(),
        verify: args.verify,
    };
    let findings = examine(&visit, env, interrupt);
    let text = if args.json { format!("{}\n", findings.to_json()) } else { findings.to_text() };
    let mut out = std::io::stdout().lock();
    // What is wrong is wrong, also where nobody reads on.
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output) {
        Ok(()) | Err(Failure::ClosedPipe) => {}
        Err(failure) => return Err(failure),
    }
    Ok(match findings.status() {
        Status::Ok => ExitCode::SUCCESS,
        Status::Warning => ExitCode::from(1),
        Status::Error => ExitCode::from(2),
    })
}
