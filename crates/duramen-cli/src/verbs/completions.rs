//! `duramen completions SHELL`.

use crate::args::Cli;
use crate::failure::{Failure, Outcome};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

/// Prints the shell's completion script.
pub(crate) fn run(shell: Shell) -> Outcome {
    // Through memory: the generator panics if a write fails, and a closed pipe is no reason to.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "duramen", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script).and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
