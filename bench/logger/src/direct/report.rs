//! The page of study 001.

use super::{
    EAGER, EAGER_LINES, FULL_LOAD, MANY, OF_PROCESSES, OVER_NS, PACE, QUICK_ONES, SINGLE, THREADED, latencies,
};
use crate::Result;
use crate::case::{Case, Study};
use crate::results::Results;
use crate::sample::{lines, pick};
use crate::table::{self, count, mib, ms, short, us};
use crate::targets::SYSTEMS;
use duramen::Level;
use std::fmt::Write as _;

/// A row of figures.
type Row = (String, Vec<Option<String>>);

pub(crate) fn page(results: &Results) -> Result<String> {
    let mut out = String::new();
    let sample = lines(Level::Info);
    let bytes: usize = (0..10_000)
        .map(|seq| serde_json::to_string(&pick(&sample, seq).json(seq)).map(|text| text.len()))
        .sum::<Result<_, _>>()?;
    let example = serde_json::to_string(&sample[0].json(0))?;
    writeln!(out, "A line has {} bytes on average as JSON:\n\n```json\n{example}\n```\n", bytes / 10_000)?;
    writeln!(out, "| system | a line survives, when its call has returned | settings |\n|---|---|---|")?;
    for system in SYSTEMS {
        writeln!(out, "| {} | {} | {} |", name(system.name), system.survives, system.settings)?;
    }
    writeln!(out)?;
    single(&mut out, results)?;
    threads(&mut out, results)?;
    eager(&mut out, results)?;
    processes(&mut out, results)?;
    latency(&mut out, results)?;
    Ok(out)
}

fn name(system: &str) -> String {
    if system.starts_with("duramen") { format!("**{system}**") } else { format!("`{system}`") }
}

/// The time per line, and how many times the first system's it is.
fn row(results: &Results, system: &str, cases: &[Case], against: &str) -> Row {
    let cells = cases.iter().flat_map(|case| {
        let of = |system: &str| Case { system: system.to_owned(), ..case.clone() };
        let ns = results.median(&of(system), "ns_per_line");
        let times = results.ratio((&of(system), "ns_per_line"), (&of(against), "ns_per_line"));
        [ns.map(us), times.map(short)]
    });
    (name(system), cells.collect())
}

fn single(out: &mut String, results: &Results) -> Result<()> {
    writeln!(out, "## One thread\n\nUntil the last call has returned; × is the time beside `duramen`'s.\n")?;
    let cases: Vec<Case> = [1_000, 10_000].iter().map(|&n| Case::new(Study::Ingest, "", n)).collect();
    let rows: Vec<Row> = SINGLE.iter().map(|system| row(results, system, &cases, "duramen")).collect();
    table::write(out, &["system", "1,000 lines, µs per line", "×", "10,000 lines, µs per line", "×"], &rows)?;
    let case = [Case::new(Study::Ingest, "", MANY)];
    let rows: Vec<Row> = QUICK_ONES.iter().map(|system| row(results, system, &case, "duramen")).collect();
    table::write(out, &["system", &format!("{} lines, µs per line", count(MANY)), "×"], &rows)
}

fn threads(out: &mut String, results: &Results) -> Result<()> {
    writeln!(
        out,
        "## Threads\n\n80,000 lines of all threads together; a connection for each thread where there are such.\n"
    )?;
    let cases: Vec<Case> =
        [1, 2, 8].iter().map(|&t| Case::new(Study::Ingest, "", 80_000).threads(t)).collect();
    let rows: Vec<Row> = THREADED.iter().map(|system| row(results, system, &cases, "duramen")).collect();
    table::write(out, &["system", "1 thread, µs per line", "×", "2 threads", "×", "8 threads", "×"], &rows)
}

fn eager(out: &mut String, results: &Results) -> Result<()> {
    writeln!(
        out,
        "## Eager flush\n\nEach thread logs 500 lines of level info, then 500 of level error. Rows that do not \
         sync errors show what it costs.\n"
    )?;
    let case = |t: u32| Case::new(Study::Eager, "", EAGER_LINES * u64::from(t)).threads(t);
    let cases = [case(1), case(8)];
    let rows: Vec<Row> = EAGER.iter().map(|system| row(results, system, &cases, "duramen-eager")).collect();
    table::write(out, &["system", "1 thread, µs per line", "×", "8 threads, µs per line", "×"], &rows)
}

fn processes(out: &mut String, results: &Results) -> Result<()> {
    writeln!(
        out,
        "## Processes\n\nAll lines of all processes together, from the word to begin until the last one's last call \
         has returned; then all lines are looked for, and compared. In brackets, until all processes have ended.\n"
    )?;
    let mut rows: Vec<Row> = Vec::new();
    for (system, lines) in [("duramen", OF_PROCESSES), ("duramen", FULL_LOAD), ("sqlite-wal", 16_000)] {
        let one = Case::new(Study::Processes, system, lines);
        let eight = one.clone().processes(8);
        let cell = |case: &Case| {
            let (logged, closed) =
                (results.median(case, "ns_per_line")?, results.median(case, "closed_ns_per_line")?);
            Some(format!("{} ({})", us(logged), us(closed)))
        };
        let times = results.ratio((&one, "ns_per_line"), (&eight, "ns_per_line")).map(short);
        let wrong = results.median(&eight, "wrong_lines").map(short);
        rows.push((
            format!("{}, {} lines", name(system), count(lines)),
            vec![cell(&one), cell(&eight), times, wrong],
        ));
    }
    let head =
        ["system", "1 process, µs per line", "8 processes", "rate of 8 : rate of 1", "lost, doubled, torn"];
    table::write(out, &head, &rows)
}

fn latency(out: &mut String, results: &Results) -> Result<()> {
    writeln!(
        out,
        "## Each call\n\nThe time of each single call, the clock's own included, while flush and compaction run \
         beside. Stalls are calls that waited for a write buffer, because lines came faster than they can be put \
         into tables: how many, and how long all together.\n"
    )?;
    let rows: Vec<Row> = latencies()
        .iter()
        .map(|case| {
            let of = |figure| results.median(case, figure);
            let how = match (case.rate, case.threads) {
                (0, 1) => "as fast as it goes".to_owned(),
                (0, threads) => format!("{threads} threads, as fast as it goes"),
                (rate, _) => format!("{} a second", count(rate)),
            };
            let stalls = of("stalls").zip(of("stall_ns"));
            let cells = vec![
                of("p50_ns").map(us),
                of("p99_ns").map(us),
                of("p999_ns").map(us),
                of("max_ns").map(us),
                of("over").map(short),
                stalls.map(|(times, ns)| format!("{}, {} ms", short(times), ms(ns))),
                of("segments_sealed").map(short),
                of("ns_per_line").map(us),
                of("peak_bytes").map(mib),
            ];
            (format!("{}, {} lines, {how}", name(&case.system), count(case.lines)), cells)
        })
        .collect();
    let over = format!("calls over {} µs", OVER_NS / 1000);
    let head = [
        "load",
        "p50 µs",
        "p99",
        "p99.9",
        "max",
        &over,
        "stalls",
        "segments sealed",
        "µs per line",
        "peak MiB",
    ];
    table::write(out, &head, &rows)?;
    writeln!(out, "`{}` lines a second are paced in bursts of 100.\n", PACE)?;
    Ok(())
}
