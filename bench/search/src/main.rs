//! Measures the Duramen server beside VictoriaLogs, with the same requests: ingest over HTTP, bytes on disk, CPU and
//! memory, and queries, whose answers must agree. If asked to, beside SQLite, DuckDB and ripgrep, too, and what the
//! servers do that start again, after a stop and after `kill -9`.
//!
//! | module | what it does |
//! |---|---|
//! | [`subject`] | what is measured: lines, and questions about them |
//! | [`lines`] | generated lines, with planted needles, and what is asked about them |
//! | [`any`] | lines of any kind, and what is asked, chosen from them |
//! | [`question`] | a query, as each peer needs to know it; answers that can be compared |
//! | [`peer`] | what all peers can do |
//! | [`server`] | Duramen or VictoriaLogs: their process, directory, address |
//! | [`sqlite`], [`duckdb`], [`ripgrep`] | the others |
//! | [`load`] | sends the lines |
//! | [`ask`] | asks, and times the answers |
//! | [`live`] | asks while lines come |
//! | [`restart`] | time from the start to the first answer; what `kill -9` leaves |
//! | [`report`], [`summary`] | the tables |

mod any;
mod ask;
mod duckdb;
mod lines;
mod live;
mod load;
mod peer;
mod question;
mod report;
mod restart;
mod ripgrep;
mod server;
mod sqlite;
mod subject;
mod summary;

use ask::Before;
use clap::Parser;
use peer::{Load, Peer};
use server::Server;
use shared::Result;
use std::path::PathBuf;

/// Measures the Duramen server beside VictoriaLogs, and if asked to, SQLite, DuckDB and ripgrep.
///
/// Both servers must be empty. Either they are started by you, each with its best settings:
///
///   victoria-logs -storageDataPath=vl -retentionPeriod=100y
///   duramen --store store serve --listen 127.0.0.1:9438
///
/// and are given by URL, PID and DIR; or these commands are given here, with --duramen-command and
/// --victorialogs-command, and URL and DIR say what is in them. --cold and --kill need the commands.
#[derive(Debug, Parser)]
#[command(name = "bench-search", version, verbatim_doc_comment)]
struct Args {
    /// NDJSON, as `duramen generate --planted --rate 19.3 --lines 5000000` writes it; with --any, any
    lines: PathBuf,
    /// Duramen: its address, the identity of its process, its store; no PID with --duramen-command
    #[arg(long, num_args = 2..=3, value_names = ["URL", "[PID] DIR"], required = true)]
    duramen: Vec<String>,
    /// VictoriaLogs: the same
    #[arg(long, num_args = 2..=3, value_names = ["URL", "[PID] DIR"], required = true)]
    victorialogs: Vec<String>,
    /// The command that serves Duramen, without a shell: words are parted by spaces
    #[arg(long, value_name = "COMMAND")]
    duramen_command: Option<String>,
    /// The same for VictoriaLogs
    #[arg(long, value_name = "COMMAND")]
    victorialogs_command: Option<String>,
    /// SQLite with FTS5, too, in this directory, which must be empty
    #[arg(long, value_name = "DIR")]
    sqlite: Option<PathBuf>,
    /// DuckDB, too: a Python that has its module (`pip install duckdb`), and a directory for the Parquet file
    #[arg(long, num_args = 2, value_names = ["PYTHON", "DIR"])]
    duckdb: Option<Vec<PathBuf>>,
    /// ripgrep, too, over the file of lines: its command
    #[arg(long, value_name = "RG")]
    ripgrep: Option<PathBuf>,
    /// Ask each query cold, too, so many times: the peer has just started, its files are not in the page cache.
    /// And measure the time from a server's start to its first answer
    #[arg(long, value_name = "RUNS", num_args = 0..=1, require_equals = true, default_missing_value = "3", requires_all = ["duramen_command", "victorialogs_command"])]
    cold: Option<usize>,
    /// Ask each query, too, while so many lines a second come: the first ones of the file again, of one server after the other
    #[arg(long, value_name = "LINES_PER_S", value_parser = clap::value_parser!(u64).range(1..))]
    live: Option<u64>,
    /// Load each server for some 12 s, `kill -9` it, start it again and count what it has lost: so many times, at the
    /// end. The lines that survive stay there
    #[arg(long, value_name = "TIMES", requires_all = ["duramen_command", "victorialogs_command"])]
    kill: Option<usize>,
    /// Lines of any kind, each with `_time`, as bench-resample writes them: what is asked is chosen from them. Only the
    /// servers are compared. Reports show the queries without the lines' values
    #[arg(long, conflicts_with_all = ["sqlite", "duckdb", "ripgrep"])]
    any: bool,
    /// With --any: another seed chooses other words and values
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Adds a row to this table, too
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
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
    /// Where the tables go
    #[arg(long, default_value = "bench/results/search.md")]
    out: PathBuf,
}

impl Args {
    fn servers(&self) -> Result<[Server; 2]> {
        let start = |name, args: &[String], command: &Option<String>| {
            Server::of(name, args, command.as_deref(), self.connections)
        };
        Ok([
            start("Duramen", &self.duramen, &self.duramen_command)?,
            start("VictoriaLogs", &self.victorialogs, &self.victorialogs_command)?,
        ])
    }

    fn others(&self) -> Result<Vec<Box<dyn Peer>>> {
        let mut others: Vec<Box<dyn Peer>> = Vec::new();
        if let Some(dir) = &self.sqlite {
            others.push(Box::new(sqlite::Sqlite::open(dir)?));
        }
        if let Some([python, dir]) = self.duckdb.as_deref() {
            others.push(Box::new(duckdb::DuckDb::start(python, dir)?));
        }
        if let Some(program) = &self.ripgrep {
            others.push(Box::new(ripgrep::Ripgrep::new(program, &self.lines)));
        }
        Ok(others)
    }

    /// By peer; all nothing if the lines were there already.
    fn load(&self, servers: &mut [Server; 2], others: &mut [Box<dyn Peer>]) -> Result<Vec<Option<Load>>> {
        if self.skip_load {
            return Ok(Vec::new());
        }
        for server in servers.iter_mut() {
            eprintln!("loading {}", server.name());
            server.load(&self.lines)?;
        }
        eprintln!("waiting {} s for merges", self.settle_s);
        std::thread::sleep(std::time::Duration::from_secs(self.settle_s));
        let mut loads = Vec::new();
        for server in servers {
            let mut load = server.settled()?;
            if let Some(load) = load.as_mut().filter(|_| self.any) {
                load.stopped_bytes = server.stopped_bytes()?;
            }
            loads.push(load);
        }
        for other in others {
            eprintln!("loading {}", other.name());
            loads.push(other.load(&self.lines)?);
        }
        Ok(loads)
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let subject = if args.any { any::subject(&args.lines, args.seed)? } else { lines::subject(&args.lines)? };
    let mut servers = args.servers()?;
    for server in &mut servers {
        server.insert = subject.insert;
    }
    let mut others = args.others()?;
    let loads = args.load(&mut servers, &mut others)?;
    let empty_ms = servers.iter().map(|server| (server.name(), server.empty_ms())).collect();
    let mut peers: Vec<Box<dyn Peer + '_>> = Vec::new();
    peers.extend(servers.iter_mut().map(|server| Box::new(server) as Box<dyn Peer + '_>));
    peers.extend(others);
    let abouts = peers.iter().map(|peer| (peer.name(), peer.about())).collect();
    let mut report = report::Report::new(&subject, abouts);
    (report.connections, report.repeat) = (args.connections, args.repeat);
    (report.loads, report.empty_ms) = (loads, empty_ms);
    for question in &subject.questions {
        eprintln!("{}: {}", question.name, question.query);
        let asked = ask::ask(&mut peers, question.clone(), args.repeat, Before::Itself)?;
        for difference in asked.answers.iter().flatten().filter_map(|answer| answer.differs.as_ref()) {
            eprintln!("DIFFERS: {difference}");
        }
        report.warm.push(asked);
    }
    let cold = args.cold.unwrap_or_default();
    for question in subject.questions.iter().filter(|_| cold > 0) {
        eprintln!("cold: {}", question.name);
        report.cold.push(ask::ask(&mut peers, question.clone(), cold, Before::Start)?);
    }
    drop(peers);
    for server in servers.iter_mut().filter(|_| cold > 0) {
        eprintln!("starting {}", server.name());
        report.starts.push(restart::starts(server, cold)?);
    }
    if let Some(rate) = args.live {
        for server in &mut servers {
            eprintln!("while lines come: {}", server.name());
            report.lives.push(live::ask(server, &subject, rate, args.repeat)?);
        }
    }
    for round in 0..args.kill.unwrap_or_default() {
        for server in &mut servers {
            eprintln!("killing {}", server.name());
            report.kills.push((server.name(), restart::kill(server, &args.lines, round)?));
        }
    }
    let text = report.text();
    print!("{text}");
    std::fs::write(&args.out, text)?;
    if let Some(summary) = &args.summary {
        summary::add(summary, &report)?;
    }
    Ok(())
}
