//! Measures the key-value engine beside its peers: one command per study, each case in a process of its own.
//!
//! | module | one idea |
//! |---|---|
//! | [`data`] | the entries |
//! | [`store`] | what a system has to do here |
//! | [`systems`] | the systems, and how each is set |
//! | [`studies`] | what is measured, in a child process |
//! | [`plan`] | which cases, how often, in which order |
//! | [`case`] | one case: starting its process |
//! | [`results`] | the outcomes, kept as lines of JSON |
//! | [`report`] | tables and plots of them |

mod case;
mod data;
mod plan;
mod report;
mod results;
mod store;
mod studies;
mod systems;

use case::Case;
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use shared::Result;

/// Measures the key-value engine beside its peers.
#[derive(Debug, Parser)]
#[command(name = "bench-engine", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: plan::Options,
    /// Where to put the stores: a directory on the disk to be measured
    #[arg(long, global = true, default_value = "bench/data/engine")]
    work: PathBuf,
    /// Where to put the results; with --quick, unless given, beside the stores
    #[arg(long, global = true)]
    out: Option<PathBuf>,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Loading many entries: 100 k, 600 k and 3 M, in random and in sequential order (studies 002 and 004)
    Load,
    /// The structures of the memtables alone (study 004)
    Structures,
    /// Gets that hit and miss, and scans, at 100 to 3 M entries (study 000)
    Read,
    /// Half reads, half writes on 1,000 entries; disk space of 10,000 (study 000)
    Mixed,
    /// A queue of 1,000 and of 20,000 entries
    Queue,
    /// Writes that survive a loss of power, of 1 and of 8 threads
    Durable,
    /// All of them
    All,
    /// Writes tables and plots of what was measured before
    Report,
    /// Runs one case in this process and prints what it found
    #[command(hide = true)]
    Case { dir: PathBuf, case: String },
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("{} cases failed:\n{}", failures.len(), failures.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The cases that failed.
fn run(args: &Args) -> Result<Vec<String>> {
    let out = match &args.out {
        Some(out) => out.clone(),
        None if args.options.quick => args.work.join("quick"),
        None => Path::new("bench/results/engine").to_owned(),
    };
    let groups: &[plan::Group] = match &args.command {
        Command::Case { dir, case } => {
            let case: Case = serde_json::from_str(case)?;
            println!("{}", serde_json::to_string(&studies::run(&case, dir)?)?);
            return Ok(Vec::new());
        }
        Command::Load => &[plan::Group::Load],
        Command::Structures => &[plan::Group::Structures],
        Command::Read => &[plan::Group::Read],
        Command::Mixed => &[plan::Group::Mixed],
        Command::Queue => &[plan::Group::Queue],
        Command::Durable => &[plan::Group::Durable],
        Command::All => &plan::Group::ALL,
        Command::Report => &[],
    };
    let mut failures = Vec::new();
    for group in groups {
        let results = plan::run(*group, &args.options, &args.work)?;
        failures.extend(results.failures());
        results.save(&out, *group)?;
    }
    report::write(&out)?;
    eprintln!("written to {}", out.display());
    Ok(failures)
}
