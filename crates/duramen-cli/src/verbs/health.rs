//! `duramen health`: whether the server is well, for supervisors.

use crate::args::HealthArgs;
use crate::failure::{Failure, Outcome};
use duramen_server::{Settings, health};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Asks, and prints what is answered.
pub(crate) fn run(args: &HealthArgs) -> Outcome {
    let file = match &args.config {
        Some(path) => Settings::read(path).map_err(|e| Failure::Usage(e.to_string()))?,
        None => Settings::default(),
    };
    let settings = args.settings().or(file);
    let (status, body) = health(&settings, Duration::from_millis(args.timeout_ms.max(1)))
        .map_err(|e| Failure::Failed(format!("the server does not answer: {e}")))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{body}").map_err(Failure::output)?;
    Ok(if status == 200 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
