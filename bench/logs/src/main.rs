//! Measures the `duramen` command on log files, and prints a Markdown table.
//!
//! | module | what it does |
//! |---|---|
//! | [`child`] | runs a command, and asks the kernel what it took |
//! | [`input`] | the log files, decompressed, and generated ones |
//! | [`probe`] | chooses what to search for in a file |
//! | [`measure`] | ingests one file and queries it |
//! | [`compress`] | what zstd makes of the same file |
//! | [`report`] | the tables |

mod child;
mod compress;
mod input;
mod measure;
mod probe;
mod report;

use clap::Parser;
use shared::Result;
use shared::machine::{Machine, output};
use std::path::PathBuf;
use std::process::Command;

/// Measures the duramen command on log files: ingest, stored size, queries.
#[derive(Debug, Parser)]
#[command(name = "bench-logs", version)]
struct Args {
    /// The duramen binary, built with --release
    #[arg(long)]
    duramen: PathBuf,
    /// Directory of log files, plain or .zst
    #[arg(long, env = "DURAMEN_TEST_DATA", default_value = "../shared/data")]
    data: PathBuf,
    /// Lines to generate as one more file; 0 for none
    #[arg(long, default_value_t = 1_000_000)]
    generate: u64,
    /// Only files whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Runs of each query, cold and warm each; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Leave zstd -19 out: it takes longest
    #[arg(long)]
    skip_zstd_19: bool,
    /// Passed to `duramen ingest` as it is; may be given several times
    #[arg(long, allow_hyphen_values = true)]
    ingest_arg: Vec<String>,
    /// Where to put decompressed files and stores: a directory on the disk to be measured
    #[arg(long, default_value = "bench/data")]
    work: PathBuf,
    /// The file for the tables
    #[arg(long, default_value = "bench/results/logs.md")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let duramen =
        args.duramen.canonicalize().map_err(|e| format!("no binary at {}: {e}", args.duramen.display()))?;
    let machine = Machine::look(&args.work, &[output(Command::new(&duramen).arg("--version"))]);
    std::fs::create_dir_all(&args.work)?;
    let inputs = input::find(&args.data, args.generate, args.only.as_deref())?;
    if inputs.is_empty() {
        return Err(format!("no log files in {}, and none generated", args.data.display()).into());
    }

    // All children run before anything is compressed here: Linux counts the memory that a process had before
    // it became `duramen` as its peak, so this one must stay small until then.
    let bench = measure::Bench { duramen, repeat: args.repeat, ingest_args: args.ingest_arg.clone() };
    let mut measured = Vec::new();
    for input in &inputs {
        eprintln!("{}", input.name());
        let work = tempfile::tempdir_in(&args.work)?;
        measured.push(bench.run(input, work.path())?);
    }
    let mut rows = Vec::new();
    for (input, measured) in inputs.iter().zip(measured) {
        eprintln!("{}: zstd", input.name());
        let zstd_3_bytes = compress::compressed_bytes(input, 3)?;
        let zstd_19_bytes =
            if args.skip_zstd_19 { None } else { Some(compress::compressed_bytes(input, 19)?) };
        rows.push(report::Row { measured, zstd_3_bytes, zstd_19_bytes });
    }
    let text = report::write(&machine, &args, &rows);
    print!("{text}");
    if let Some(parent) = args.out.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&args.out, text)?;
    eprintln!("written to {}", args.out.display());
    Ok(())
}
