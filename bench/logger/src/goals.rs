//! The goals, each with what was measured.

use crate::Result;
use crate::case::{Case, Study};
use crate::direct::{EAGER_LINES, FULL_LOAD, MANY, OF_PROCESSES, PACE};
use crate::results::Results;
use crate::store::{COUNTS, LARGE_BYTES};
use crate::table::{short, us};
use std::fmt::Write as _;

/// A row.
struct Goal {
    reach: String,
    against: &'static str,
    wanted: Wanted,
    measured: Option<f64>,
    /// The two figures that the measured one comes from.
    from: Option<String>,
}

#[derive(Clone, Copy)]
enum Wanted {
    Least(f64),
    Most(f64),
    MostUs(f64),
    MostPercent(f64),
}

impl Wanted {
    fn text(self) -> String {
        match self {
            Self::Least(least) => format!("≥ {least}"),
            Self::Most(most) => format!("≤ {most}"),
            Self::MostUs(most) => format!("≤ {most} µs"),
            Self::MostPercent(most) => format!("≤ {most} %"),
        }
    }

    fn met(self, measured: f64) -> bool {
        match self {
            Self::Least(least) => measured >= least,
            Self::Most(most) | Self::MostUs(most) | Self::MostPercent(most) => measured <= most,
        }
    }
}

pub(crate) fn page(direct: Option<&Results>, store: Option<&Results>) -> Result<String> {
    let mut goals = Vec::new();
    if let Some(results) = direct {
        lines(&mut goals, results);
        eager(&mut goals, results);
        processes(&mut goals, results);
    }
    if let Some(results) = store {
        entries(&mut goals, results);
    }
    if let Some(results) = direct {
        latency(&mut goals, results);
    }
    let mut out = String::new();
    writeln!(out, "Details: [study 001](logger-direct.md), [study 003](logger-store.md).\n")?;
    writeln!(out, "| reach | against | wanted | measured | from | |\n|---|---|--:|--:|--:|---|")?;
    for Goal { reach, against, wanted, measured, from } in goals {
        let verdict = match measured {
            None => "not measured",
            Some(m) if wanted.met(m) => "met",
            Some(_) => "**missed**",
        };
        let measured = measured.map_or("–".to_owned(), short);
        let from = from.unwrap_or_default();
        writeln!(out, "| {reach} | {against} | {} | {measured} | {from} | {verdict} |", wanted.text())?;
    }
    Ok(out)
}

/// A ratio of two figures, and both of them in µs.
fn ratio(results: &Results, above: (&Case, &str), below: (&Case, &str)) -> (Option<f64>, Option<String>) {
    let both = results.median(above.0, above.1).zip(results.median(below.0, below.1));
    let from = both.map(|(above, below)| format!("{} : {} µs", us(above), us(below)));
    (results.ratio(above, below), from)
}

const NS: &str = "ns_per_line";

fn lines(goals: &mut Vec<Goal>, results: &Results) {
    let case = |system, lines| Case::new(Study::Ingest, system, lines);
    let mut versus = |lines, reach: &str, against, peer, least| {
        let (measured, from) = ratio(results, (&case(peer, lines), NS), (&case("duramen", lines), NS));
        let wanted = Wanted::Least(least);
        goals.push(Goal { reach: reach.to_owned(), against, wanted, measured, from });
    };
    let log = "`log()` with fields, one thread, durability `process`, 10 k lines";
    versus(10_000, log, "SQLite WAL+NORMAL, individual inserts: the same guarantee", "sqlite-wal", 100.0);
    versus(
        10_000,
        "the same",
        "SQLite WAL+NORMAL in batches of 100: may lose 100 lines",
        "sqlite-wal-100",
        8.0,
    );
    let file = "lines in batches of 100 to a plain file: may lose 100 lines, cannot be searched";
    versus(10_000, "the same", file, "file-100", 1.0);
    versus(MANY, "the same, 1 M lines", file, "file-100", 1.0);
    for (lines, many) in [(10_000, "10 k"), (MANY, "1 M")] {
        let (with, without) = (case("duramen", lines), case("duramen-none", lines));
        let (measured, from) = ratio(results, (&with, NS), (&without, NS));
        goals.push(Goal {
            reach: format!("the cost of surviving a process crash on every line, {many} lines"),
            against: "the same logger with durability `none`",
            wanted: Wanted::MostPercent(10.0),
            measured: measured.map(|ratio| (ratio - 1.0) * 100.0),
            from,
        });
    }
}

fn eager(goals: &mut Vec<Goal>, results: &Results) {
    for (threads, least) in [(1, 1.5), (8, 5.0)] {
        let case =
            |system| Case::new(Study::Eager, system, EAGER_LINES * u64::from(threads)).threads(threads);
        let (measured, from) = ratio(results, (&case("sqlite-full"), NS), (&case("duramen-eager"), NS));
        let reach = format!("eager flush to the device, 50 % errors, threads: {threads}");
        let against = "SQLite WAL+FULL, each line";
        goals.push(Goal { reach, against, wanted: Wanted::Least(least), measured, from });
    }
}

fn processes(goals: &mut Vec<Goal>, results: &Results) {
    let one = Case::new(Study::Processes, "duramen", OF_PROCESSES);
    let eight = one.clone().processes(8);
    let (measured, from) = ratio(results, (&one, NS), (&eight, NS));
    goals.push(Goal {
        reach: "8 processes into one store: total does not fall; no lost, doubled or torn line".to_owned(),
        against: "1 process",
        wanted: Wanted::Least(1.0),
        measured,
        from,
    });
}

fn entries(goals: &mut Vec<Goal>, results: &Results) {
    let case = |system| Case::new(Study::Entries, system, COUNTS[1]).message_bytes(LARGE_BYTES);
    let reach = "003's 100 k x 1 KB, synced per entry";
    for (device, against) in [
        ("device-append", "the same bytes appended + fdatasync"),
        ("device-zeroed", "the same bytes + fdatasync in a file of zeros"),
    ] {
        let (measured, from) = ratio(results, (&case("sync"), "write_ns"), (&case(device), "write_ns"));
        goals.push(Goal { reach: reach.to_owned(), against, wanted: Wanted::Most(1.1), measured, from });
    }
    let us_of = |figure| results.median(&case("process"), figure).map(|ns| ns / 1000.0);
    goals.push(Goal {
        reach: "the same, durability `process`".to_owned(),
        against: "–",
        wanted: Wanted::MostUs(0.6),
        measured: us_of("write_ns"),
        from: None,
    });
    for (figure, how) in
        [("closed_read_ns", "row by row"), ("closed_columns_ns", "by columns, as queries do")]
    {
        let peers = ["sqlite-normal", "json-file"].map(|p| results.median(&case(p), "closed_read_ns"));
        let from = peers.map(|ns| ns.map_or("–".to_owned(), us));
        goals.push(Goal {
            reach: format!("reading all 100 k back by time range, every field decoded, {how}"),
            against: "SQLite and a JSON file, in the next column",
            wanted: Wanted::MostUs(0.3),
            measured: us_of(figure),
            from: Some(format!("{} and {} µs", from[0], from[1])),
        });
    }
    let window = Case::new(Study::Window, "process", COUNTS[1]).message_bytes(LARGE_BYTES);
    let (measured, from) = ratio(results, (&window, "window_ns"), (&window, "whole_ns"));
    goals.push(Goal {
        reach: "a window of 1 % of the time range".to_owned(),
        against: "the whole range",
        wanted: Wanted::MostPercent(2.0),
        measured: measured.map(|share| share * 100.0),
        from,
    });
}

fn latency(goals: &mut Vec<Goal>, results: &Results) {
    let full = Case::new(Study::Latency, "duramen", FULL_LOAD);
    let paced = Case::new(Study::Latency, "duramen-small", FULL_LOAD / 4).rate(PACE);
    for (case, load) in [(full, "full load"), (paced, "100 k lines a second, small write buffers")] {
        let of = |figure| results.median(&case, figure);
        goals.push(Goal {
            reach: format!("p99.9 of `log()` under {load} with flush and compaction running"),
            against: "–",
            wanted: Wanted::MostUs(50.0),
            measured: of("p999_ns").map(|ns| ns / 1000.0),
            from: of("max_ns").map(|ns| format!("worst {} µs", us(ns))),
        });
    }
}
