//! Measures the Duramen server beside a running VictoriaLogs, with the same requests: ingest over HTTP, bytes on disk,
//! CPU and memory, and queries, whose answers must agree.
//!
//! | module | what it does |
//! |---|---|
//! | [`lines`] | what is asked, chosen from the lines |
//! | [`peer`] | a server: its process, its directory, its address |
//! | [`load`] | sends the lines |
//! | [`ask`] | asks, and times the answers |
//! | [`report`] | the table |

mod ask;
mod lines;
mod load;
mod peer;
mod report;

use clap::Parser;
use peer::Peer;
use std::path::PathBuf;

/// Anything that stops a benchmark: a sentence for a person.
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Measures the Duramen server beside a running VictoriaLogs.
///
/// Both must be empty, and started by you, each with its best settings:
///
///   victoria-logs -storageDataPath=vl -retentionPeriod=100y
///   duramen --store store serve --listen 127.0.0.1:9438
#[derive(Debug, Parser)]
#[command(name = "bench-search", version)]
struct Args {
    /// NDJSON, as `duramen generate --planted --rate 19.3 --lines 5000000` writes it
    lines: PathBuf,
    /// Duramen: its address, the identity of its process, its store
    #[arg(long, num_args = 3, value_names = ["URL", "PID", "DIR"], required = true)]
    duramen: Vec<String>,
    /// VictoriaLogs: the same
    #[arg(long, num_args = 3, value_names = ["URL", "PID", "DIR"], required = true)]
    victorialogs: Vec<String>,
    /// Connections that send at once
    #[arg(long, default_value_t = 2)]
    connections: usize,
    /// Runs of each query after one that does not count; the median counts
    #[arg(long, default_value_t = 7)]
    repeat: usize,
    /// The lines are there already: only ask
    #[arg(long)]
    skip_load: bool,
    /// How long to wait after loading for both to merge and write out, in seconds
    #[arg(long, default_value_t = 30)]
    settle_s: u64,
    /// Where the table goes
    #[arg(long, default_value = "bench/results/search.md")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let peers = [Peer::of("Duramen", &args.duramen)?, Peer::of("VictoriaLogs", &args.victorialogs)?];
    let facts = lines::Facts::of(&args.lines)?;
    let mut loads = Vec::new();
    if !args.skip_load {
        for peer in &peers {
            eprintln!("loading {}", peer.name);
            loads.push(load::load(peer, &args.lines, args.connections)?);
        }
        eprintln!("waiting {} s for merges", args.settle_s);
        std::thread::sleep(std::time::Duration::from_secs(args.settle_s));
        for (peer, load) in peers.iter().zip(&mut loads) {
            load.settled(peer)?;
        }
    }
    let mut rows = Vec::new();
    for question in facts.questions() {
        eprintln!("{}", question.name);
        rows.push(ask::ask(&peers, question, args.repeat)?);
    }
    let text = report::report(&facts, &peers, &loads, &rows, args.connections, args.repeat);
    print!("{text}");
    std::fs::write(&args.out, text)?;
    Ok(())
}
