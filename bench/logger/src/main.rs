//! Measures the direct logger and the log store beside SQLite, PostgreSQL, plain files and the device: one command per
//! study, each case in a process of its own.
//!
//! | module | one idea |
//! |---|---|
//! | [`sample`] | the log lines |
//! | [`targets`] | where lines go: the logger, and what it is compared with |
//! | [`direct`] | study 001: a program logs |
//! | [`store`] | study 003: entries are stored and read back |
//! | [`case`] | one case: starting its process |
//! | [`plan`] | running cases in rounds |
//! | [`results`] | the outcomes, kept as lines of JSON |
//! | [`goals`] | what was to be reached, and what was |
//! | [`table`] | Markdown |
//! | [`usage`] | what a directory takes |

mod case;
mod direct;
mod goals;
mod plan;
mod results;
mod sample;
mod store;
mod table;
mod targets;
mod usage;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

use shared::Result;

/// Measures the direct logger and the log store beside their peers.
#[derive(Debug, Parser)]
#[command(name = "bench-logger", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    options: Options,
    /// Where to put the results; with --quick, unless given, beside the stores
    #[arg(long, global = true)]
    out: Option<PathBuf>,
}

/// What all studies want to know.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure once, and less: some 2 minutes instead of 10
    #[arg(long, global = true)]
    quick: bool,
    /// How often each case runs; the median counts. Default 3, with --quick 1
    #[arg(long, global = true, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Where to put the stores: a directory on the disk to be measured
    #[arg(long, global = true, default_value = "bench/data/logger")]
    work: PathBuf,
    /// A PostgreSQL server to compare with, as `postgres://user@host/database`; the table `bench_logger` is made, and
    /// removed
    #[arg(long, global = true, env = "BENCH_POSTGRES")]
    postgres: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Study 001: a program's log lines, one by one, in batches, from threads and processes
    Direct,
    /// Study 003: 10 k and 100 k entries, written and read back
    Store,
    /// Both
    All,
    /// Writes the pages of what was measured before
    Report,
    /// Runs one case in this process and prints what it found
    #[command(hide = true)]
    Case { dir: PathBuf, case: String },
    /// One of several processes that log at the same time
    #[command(hide = true)]
    Writer { dir: PathBuf, system: String, lines: u64, process: u32 },
    /// Appends entries and kills itself
    #[command(hide = true)]
    Victim { dir: PathBuf, system: String, lines: u64 },
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

fn run(args: &Args) -> Result<Vec<String>> {
    let options = &args.options;
    let out = match &args.out {
        Some(out) => out.clone(),
        None if options.quick => options.work.join("quick"),
        None => PathBuf::from("bench/results"),
    };
    let groups: &[plan::Group] = match &args.command {
        Command::Case { dir, case } => {
            let case: case::Case = serde_json::from_str(case)?;
            println!("{}", serde_json::to_string(&case.run(dir)?)?);
            return Ok(Vec::new());
        }
        Command::Writer { dir, system, lines, process } => {
            direct::writer(dir, system, *lines, *process)?;
            return Ok(Vec::new());
        }
        Command::Victim { dir, system, lines } => return Err(store::victim(dir, system, *lines)?.into()),
        Command::Direct => &[plan::Group::Direct],
        Command::Store => &[plan::Group::Store],
        Command::All => &plan::Group::ALL,
        Command::Report => &[],
    };
    let mut failures = Vec::new();
    for group in groups {
        let results = plan::run(*group, options)?;
        failures.extend(results.failures());
        results.save(&out, *group)?;
    }
    plan::report(&out)?;
    eprintln!("written to {}", out.display());
    Ok(failures)
}
