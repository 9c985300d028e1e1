//! The tables, in Markdown.

use crate::Args;
use crate::measure::Measured;
use shared::machine::Machine;
use std::fmt::Write as _;
use std::time::Duration;

/// One log's figures.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) measured: Measured,
    pub(crate) zstd_3_bytes: u64,
    pub(crate) zstd_19_bytes: Option<u64>,
}

/// Everything as text.
pub(crate) fn write(machine: &Machine, args: &Args, rows: &[Row]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _infallible = tables(&mut out, machine, args, rows);
    out
}

fn tables(out: &mut String, machine: &Machine, args: &Args, rows: &[Row]) -> std::fmt::Result {
    writeln!(out, "# `duramen` on log files\n")?;
    writeln!(out, "- Machine: {machine}")?;
    writeln!(out, "- Version: {}, commit {}", machine.peers, machine.commit)?;
    let durability = if args.ingest_arg.is_empty() {
        "the command's defaults".to_owned()
    } else {
        args.ingest_arg.join(" ")
    };
    writeln!(
        out,
        "- Settings: durability and all else of `duramen ingest`: {durability}; zstd in one frame, one thread; \
         medians of {} runs",
        args.repeat
    )?;
    writeln!(out, "- How it is measured: see [../README.md](../README.md). MB are 10^6 bytes.\n")?;
    ingest(out, rows)?;
    queries(out, rows)
}

fn ingest(out: &mut String, rows: &[Row]) -> std::fmt::Result {
    writeln!(out, "## Ingest and size\n")?;
    writeln!(
        out,
        "| log | MB | lines | entries | wall s | CPU s | lines/s | MB/s per CPU s | peak MiB | stored MB | raw : \
         stored | raw : zstd -3 | raw : zstd -19 | stored / zstd -3 |"
    )?;
    writeln!(out, "|---|{}", "--:|".repeat(13))?;
    for row in rows {
        let m = &row.measured;
        let (raw, stored) = (m.size.bytes as f64, m.stored_bytes as f64);
        let cpu = m.ingest.cpu.as_secs_f64();
        let wall = m.ingest.wall.as_secs_f64();
        writeln!(
            out,
            "| {} | {:.2} | {} | {} | {wall:.2} | {cpu:.2} | {:.0} | {:.1} | {:.0} | {:.3} | {:.1} | {:.1} | {} | {:.2} |",
            m.name,
            raw / 1e6,
            m.size.lines,
            m.entries,
            m.size.lines as f64 / wall,
            raw / 1e6 / cpu,
            mib(m.ingest.peak_rss_bytes),
            stored / 1e6,
            raw / stored,
            raw / row.zstd_3_bytes as f64,
            row.zstd_19_bytes.map_or("-".to_owned(), |z| format!("{:.1}", raw / z as f64)),
            stored / row.zstd_3_bytes as f64,
        )?;
    }
    let sum = |f: fn(&Row) -> f64| rows.iter().map(f).sum::<f64>();
    let raw = sum(|r| r.measured.size.bytes as f64);
    let stored = sum(|r| r.measured.stored_bytes as f64);
    let zstd_3 = sum(|r| r.zstd_3_bytes as f64);
    let cpu = sum(|r| r.measured.ingest.cpu.as_secs_f64());
    let against = |f: fn(&Row) -> Option<f64>| {
        let ratios: Option<Vec<f64>> = rows.iter().map(f).collect();
        ratios.map_or("not measured".to_owned(), |r| format!("{:.3}", r.iter().sum::<f64>() / r.len() as f64))
    };
    writeln!(
        out,
        "\n- All logs together: {:.1} MB in {cpu:.1} CPU s ({:.1} MB/s per CPU s); raw : stored {:.1}, raw : zstd \
         -3 {:.1}, stored / zstd -3 {:.3}.",
        raw / 1e6,
        raw / 1e6 / cpu,
        raw / stored,
        raw / zstd_3,
        stored / zstd_3
    )?;
    writeln!(
        out,
        "- Mean over the logs, each counting the same: stored / zstd -3 {}, stored / zstd -19 {}.",
        against(|r| Some(r.measured.stored_bytes as f64 / r.zstd_3_bytes as f64)),
        against(|r| Some(r.measured.stored_bytes as f64 / r.zstd_19_bytes? as f64)),
    )?;
    let peak = rows.iter().map(|r| r.measured.ingest.peak_rss_bytes).max().unwrap_or_default();
    writeln!(out, "- Highest peak memory of an ingest: {:.0} MiB.\n", mib(peak))
}

fn queries(out: &mut String, rows: &[Row]) -> std::fmt::Result {
    writeln!(out, "## Queries\n\nEach cell: cold / warm in ms, peak memory in MiB.\n")?;
    let titles: Vec<&str> = rows
        .iter()
        .max_by_key(|r| r.measured.queries.len())
        .map(|r| r.measured.queries.iter().map(|q| q.title).collect())
        .unwrap_or_default();
    writeln!(out, "| log | {} |", titles.join(" | "))?;
    writeln!(out, "|---|{}", "--:|".repeat(titles.len()))?;
    for row in rows {
        write!(out, "| {} |", row.measured.name)?;
        for title in &titles {
            match row.measured.queries.iter().find(|q| q.title == *title) {
                Some(q) => {
                    write!(out, " {:.1} / {:.1}, {:.0} |", ms(q.cold), ms(q.warm), mib(q.peak_rss_bytes))?;
                }
                None => write!(out, " - |")?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "\nWhat was asked:\n")?;
    for row in rows {
        let own = row.measured.queries.iter().filter(|q| matches!(q.title, "rare word" | "field"));
        let own: Vec<String> = own.map(|q| format!("`{}`", q.query)).collect();
        writeln!(out, "- {}: {}", row.measured.name, own.join(", "))?;
    }
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1_048_576.0
}
