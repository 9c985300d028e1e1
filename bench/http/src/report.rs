//! The tables.

use crate::crowd::Crowd;
use crate::latency::Visible;
use crate::load::Run;
use crate::plan::{BATCH, Case, PROTOCOLS, Peer, Protocol};
use crate::{Args, Result};
use shared::machine::Machine;
use std::fmt::Write;

/// All that was measured.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) cases: Vec<Case>,
    /// Of each case, a run in each round.
    pub(crate) runs: Vec<Vec<Run>>,
    /// The direct logger's lines a second, and a CPU second.
    pub(crate) direct: Vec<(f64, f64)>,
    /// Of a body in each protocol.
    pub(crate) bytes_per_line: [f64; PROTOCOLS.len()],
    pub(crate) visible: Vec<(Peer, Visible)>,
    pub(crate) crowds: Vec<(Peer, Crowd)>,
}

/// Study 001's lines a second: direct, single, batches of 100.
const STUDY_001: [f64; 3] = [43_219.0, 649.0, 26_517.0];

impl Results {
    /// The runs of a case.
    fn of(&self, peer: Peer, protocol: Protocol, lines_per_request: usize) -> Option<&[Run]> {
        let wanted = Case { peer, protocol, lines_per_request };
        let i = self.cases.iter().position(|case| *case == wanted)?;
        Some(&self.runs[i])
    }
}

pub(crate) fn report(args: &Args, machine: &Machine, results: &Results) -> Result<String> {
    let mut out = String::from("# The server over HTTP\n\n");
    writeln!(
        out,
        "{machine}. Commit {}. Client and server on this machine, {} connections kept alive, runs of {} s, {} of each case, in \
         turns: medians (least to most); × is the median of the ratios within the rounds. How it is measured is told in \
         [bench/README.md](../README.md#the-server-over-http).\n",
        machine.commit, args.connections, args.seconds, args.runs,
    )?;
    study(&mut out, results)?;
    protocols(&mut out, results)?;
    visible(&mut out, results)?;
    crowds(&mut out, args, results)?;
    Ok(out)
}

/// The runs of each case, a line a case.
pub(crate) fn cases(results: &Results) -> String {
    let told = results.cases.iter().zip(&results.runs).map(|(case, runs)| {
        let of = |rate: fn(&Run) -> f64| spread(runs.iter().map(rate).collect(), 0);
        let (per_s, per_cpu_s) = (of(|run| run.lines_per_s), of(|run| run.lines_per_cpu_s));
        format!("{}: {per_s} lines a second, {per_cpu_s} a CPU second\n", case.name())
    });
    told.collect()
}

fn study(out: &mut String, results: &Results) -> Result<()> {
    writeln!(out, "## Study 001: lines a second\n")?;
    writeln!(
        out,
        "| way | an acknowledged line survives | lines a second | × 001 | × empty server | × VictoriaLogs | lines per CPU \
         second | cores: client | server |\n|---|---|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    let (rates, per_cpu) = (
        results.direct.iter().map(|run| run.0).collect::<Vec<_>>(),
        results.direct.iter().map(|run| run.1).collect(),
    );
    writeln!(
        out,
        "| direct logger, one thread | `kill -9` (durability `process`) | {} | {:.1} | | | {:.0} | | |",
        spread(rates.clone(), 0),
        median(rates) / STUDY_001[0],
        median(per_cpu)
    )?;
    for (name, lines_per_request, study) in
        [("single", 1, STUDY_001[1]), ("batches of 100", BATCH, STUDY_001[2])]
    {
        let empty = results.of(Peer::Empty, Protocol::Native, lines_per_request);
        let theirs = results.of(Peer::VictoriaLogs, Protocol::JsonLines, lines_per_request);
        for peer in [Peer::Empty, Peer::Duramen, Peer::DuramenToken, Peer::VictoriaLogs] {
            let protocol = if peer == Peer::VictoriaLogs { Protocol::JsonLines } else { Protocol::Native };
            let Some(runs) = results.of(peer, protocol, lines_per_request) else { continue };
            let rate = |run: &Run| run.lines_per_s;
            let against = |other: Option<&[Run]>, of: Peer| match other {
                Some(other) if peer != of && peer != Peer::Empty => {
                    format!("{:.2}", ratio(runs, other, rate))
                }
                _ => String::new(),
            };
            let study = if peer == Peer::Empty {
                String::new()
            } else {
                format!("{:.1}", median_of(runs, rate) / study)
            };
            writeln!(
                out,
                "| HTTP {name}: {} | {} | {} | {study} | {} | {} | {:.0} | {:.2} | {:.2} |",
                peer.name(),
                peer.survives(),
                spread(runs.iter().map(rate).collect(), 0),
                against(empty, Peer::Empty),
                against(theirs, Peer::VictoriaLogs),
                median_of(runs, |run| run.lines_per_cpu_s),
                median_of(runs, |run| run.client_cores),
                median_of(runs, |run| run.server_cores),
            )?;
        }
    }
    Ok(writeln!(
        out,
        "\nStudy 001's figures, on its machine: direct 43,219, HTTP single 649, HTTP in batches of 100 26,517 lines a second.\n"
    )?)
}

fn protocols(out: &mut String, results: &Results) -> Result<()> {
    writeln!(out, "## Lines per CPU second of the server, by protocol\n\nBatches of {BATCH} lines.\n")?;
    writeln!(
        out,
        "| protocol | bytes a line | Duramen | with a token | VictoriaLogs, the same bytes | × | lines a second: Duramen | VictoriaLogs | × |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|"
    )?;
    for (protocol, bytes) in PROTOCOLS.into_iter().zip(results.bytes_per_line) {
        let Some(ours) = results.of(Peer::Duramen, protocol, BATCH) else { continue };
        let token = results.of(Peer::DuramenToken, protocol, BATCH);
        // Who takes no native NDJSON takes the same bytes as JSON lines.
        let theirs = if protocol == Protocol::Native { Protocol::JsonLines } else { protocol };
        let theirs = results.of(Peer::VictoriaLogs, theirs, BATCH);
        let (per_cpu, rate) = (|run: &Run| run.lines_per_cpu_s, |run: &Run| run.lines_per_s);
        let cell = |runs: Option<&[Run]>, of: &dyn Fn(&Run) -> f64| {
            runs.map_or("–".to_owned(), |runs| spread(runs.iter().map(of).collect(), 0))
        };
        let against = |of: &dyn Fn(&Run) -> f64| {
            theirs.map_or("–".to_owned(), |theirs| format!("{:.2}", ratio(ours, theirs, of)))
        };
        writeln!(
            out,
            "| {} | {bytes:.0} | {} | {} | {} | {} | {} | {} | {} |",
            protocol.name(),
            cell(Some(ours), &per_cpu),
            cell(token, &per_cpu),
            cell(theirs, &per_cpu),
            against(&per_cpu),
            cell(Some(ours), &rate),
            cell(theirs, &rate),
            against(&rate),
        )?;
    }
    Ok(writeln!(out)?)
}

fn visible(out: &mut String, results: &Results) -> Result<()> {
    writeln!(out, "## From acknowledged to visible, ms\n")?;
    writeln!(out, "| | query: median | worst | tail: median | worst | lines |\n|---|--:|--:|--:|--:|--:|")?;
    for (peer, Visible { query_ms, tail_ms }) in &results.visible {
        let worst = |ms: &[f64]| ms.last().copied().unwrap_or(f64::NAN);
        writeln!(
            out,
            "| {} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
            peer.name(),
            median(query_ms.clone()),
            worst(query_ms),
            median(tail_ms.clone()),
            worst(tail_ms),
            query_ms.len()
        )?;
    }
    Ok(writeln!(out)?)
}

fn crowds(out: &mut String, args: &Args, results: &Results) -> Result<()> {
    writeln!(out, "## Memory with {} idle connections and {} tails, MiB\n", args.idle, args.tails)?;
    writeln!(out, "| | resident | of no file | before them: resident | of no file |\n|---|--:|--:|--:|--:|")?;
    let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
    for (peer, Crowd { before, with }) in &results.crowds {
        writeln!(
            out,
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} |",
            peer.name(),
            mib(with.0),
            mib(with.1),
            mib(before.0),
            mib(before.1)
        )?;
    }
    Ok(())
}

fn median(values: Vec<f64>) -> f64 {
    shared::middle::median(values).unwrap_or(f64::NAN)
}

fn median_of(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    median(runs.iter().map(of).collect())
}

/// The median of the ratios within the rounds.
fn ratio(ours: &[Run], theirs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    median(ours.iter().zip(theirs).map(|(a, b)| of(a) / of(b)).collect())
}

/// Median, least and most.
fn spread(mut values: Vec<f64>, decimals: usize) -> String {
    values.sort_by(f64::total_cmp);
    let (least, most) = (values.first().copied(), values.last().copied());
    let (Some(least), Some(most)) = (least, most) else { return "–".to_owned() };
    format!("{:.decimals$} ({least:.decimals$}–{most:.decimals$})", median(values))
}
