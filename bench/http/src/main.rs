//! Measures the Duramen server over HTTP, client and server on one machine: study 001's rows beside a server that does
//! nothing and a running VictoriaLogs; lines per CPU second of each protocol; how soon a line is visible; memory.
//!
//! | module | what it does |
//! |---|---|
//! | [`lines`] | makes the lines, and bodies of them, in each protocol |
//! | [`plan`] | what is measured: a kind of request to a server |
//! | [`server`] | starts Duramen and the empty server; what a server has used |
//! | [`empty`] | the empty server |
//! | [`client`] | one connection, kept alive |
//! | [`load`] | 32 of them, sending |
//! | [`direct`] | the direct logger |
//! | [`latency`] | from the acknowledgement to visible, in a query and in a tail |
//! | [`crowd`] | memory with many idle connections and tails |
//! | [`report`] | the tables |

mod client;
mod crowd;
mod direct;
mod empty;
mod latency;
mod lines;
mod load;
mod plan;
mod report;
mod server;

use clap::Parser;
use shared::Result;
use shared::machine::Machine;
use std::path::PathBuf;

/// Measures the Duramen server over HTTP.
///
/// It starts Duramen and an empty server by itself. VictoriaLogs must be empty, and started by you, with its best
/// settings: victoria-logs -storageDataPath=vl
#[derive(Debug, Parser)]
#[command(name = "bench-http", version)]
struct Args {
    /// The command, of a release build
    #[arg(long, default_value = "target/release/duramen")]
    duramen: PathBuf,
    /// Directory for the stores, on the disk to be measured; what is made in it is removed
    #[arg(long, default_value = "bench/data/http")]
    dir: PathBuf,
    /// VictoriaLogs: its address, the identity of its process
    #[arg(long, num_args = 2, value_names = ["URL", "PID"])]
    victorialogs: Option<Vec<String>>,
    /// Connections that send at once
    #[arg(long, default_value_t = 32)]
    connections: usize,
    /// How long each run sends, in seconds
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// How long to wait after each run for what the server does later, in seconds: its CPU time counts
    #[arg(long, default_value_t = 6)]
    settle_s: u64,
    /// Runs of each case, interleaved; medians count
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Only the cases whose names, as they are told while they run, have this in them; prints, writes no tables
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Lines sent, one by one, to see when they are visible; a tenth of them to VictoriaLogs
    #[arg(long, default_value_t = 200)]
    probes: usize,
    /// Idle connections whose memory is measured
    #[arg(long, default_value_t = 1000)]
    idle: usize,
    /// Tails whose memory is measured
    #[arg(long, default_value_t = 100)]
    tails: usize,
    /// Where the tables go
    #[arg(long, default_value = "bench/results/http.md")]
    report: PathBuf,
    /// Is the empty server, and prints its address
    #[arg(long, hide = true)]
    empty_server: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if args.empty_server {
        return runtime.block_on(empty::serve());
    }
    server::raise_open_files()?;
    std::fs::create_dir_all(&args.dir)?;
    let machine = Machine::look(&args.dir, &[]);
    let results = runtime.block_on(measure(&args))?;
    if args.only.is_some() {
        print!("{}", report::cases(&results));
        return Ok(());
    }
    let text = report::report(&args, &machine, &results)?;
    print!("{text}");
    std::fs::write(&args.report, text)?;
    Ok(())
}

async fn measure(args: &Args) -> Result<report::Results> {
    let corpus = lines::Corpus::new();
    let mut cases = plan::cases(args.victorialogs.is_some());
    cases.retain(|case| args.only.as_ref().is_none_or(|only| case.name().contains(only)));
    let mut runs = vec![Vec::new(); cases.len()];
    let mut direct = Vec::new();
    for round in 1..=args.runs {
        if args.only.is_none() {
            eprintln!("round {round} of {}: direct logger", args.runs);
            direct.push(direct::run(&args.dir, &corpus)?);
        }
        for (case, runs) in cases.iter().zip(&mut runs) {
            eprintln!("round {round} of {}: {}", args.runs, case.name());
            runs.push(load::run(args, case, &corpus).await?);
        }
    }
    let bytes_per_line = plan::PROTOCOLS.map(|protocol| {
        let bodies = corpus.bodies(protocol, plan::BATCH);
        bodies.iter().map(|body| body.len()).sum::<usize>() as f64 / corpus.lines.len() as f64
    });
    let mut visible = Vec::new();
    let mut crowds = Vec::new();
    let peers = if args.only.is_some() { Vec::new() } else { plan::peers(args.victorialogs.is_some()) };
    for peer in peers {
        eprintln!("when is a line visible, and what do connections take: {}", peer.name());
        visible.push((peer, latency::run(args, peer, &corpus).await?));
        crowds.push((peer, crowd::run(args, peer).await?));
    }
    Ok(report::Results { cases, runs, direct, bytes_per_line, visible, crowds })
}
