//! The table.

use crate::ask::Row;
use crate::lines::Facts;
use crate::load::Load;
use crate::peer::Peer;
use std::fmt::Write;

pub(crate) fn report(
    facts: &Facts,
    peers: &[Peer],
    loads: &[Load],
    rows: &[Row],
    connections: usize,
    repeat: usize,
) -> String {
    let mut out = String::from("# The server beside VictoriaLogs\n\n");
    // Writing to a string does not fail.
    let _written = (|| {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpu.lines().find(|line| line.starts_with("model name")).unwrap_or("unknown CPU");
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        writeln!(
            out,
            "`{}`, {} lines. {cores} cores, {}; load average at the end {}. The same requests to both: bodies of 1 MB over \
             {connections} connections; queries over one, kept open, in turns, one run each that does not count, then the \
             median of {repeat} (least to most). Duramen acknowledges what survives `kill -9` (durability `process`); \
             VictoriaLogs, with its default settings, what is in its memory.\n",
            facts.file.file_name().unwrap_or_default().to_string_lossy(),
            facts.count,
            model.split(':').next_back().unwrap_or_default().trim(),
            load.trim()
        )?;
        if let [ours, theirs] = loads {
            writeln!(out, "| load | {} | {} | ratio |\n|---|--:|--:|--:|", peers[0].name, peers[1].name)?;
            let mut row = |name: &str, of: &dyn Fn(&Load) -> f64| {
                writeln!(
                    out,
                    "| {name} | {:.1} | {:.1} | {:.2} |",
                    of(ours),
                    of(theirs),
                    of(ours) / of(theirs)
                )
            };
            row("wall, s", &|load| load.wall_s)?;
            row("raw MB a second", &|load| load.raw_bytes as f64 / 1e6 / load.wall_s)?;
            row("CPU seconds, merges included", &|load| load.cpu_s)?;
            row("peak resident MB", &|load| load.peak_bytes as f64 / 1e6)?;
            row("resident MB afterwards", &|load| load.resident_bytes as f64 / 1e6)?;
            row("of these, of no file", &|load| load.anonymous_bytes as f64 / 1e6)?;
            row("MB on disk", &|load| load.disk_bytes as f64 / 1e6)?;
            writeln!(out)?;
        }
        writeln!(
            out,
            "| query, warm, ms | {} | {} | ratio | rows | answers |",
            peers[0].name, peers[1].name
        )?;
        writeln!(out, "|---|--:|--:|--:|--:|---|")?;
        for row in rows {
            let cell = |[median, least, most]: [f64; 3]| format!("{median:.1} ({least:.1}–{most:.1})");
            let agree =
                row.differs.as_ref().map_or("agree".to_owned(), |differs| format!("**differ**: {differs}"));
            let (ours, theirs) = (row.times_ms[0], row.times_ms[1]);
            writeln!(
                out,
                "| {} | {} | {} | {:.2} | {} | {agree} |",
                row.question.name,
                cell(ours),
                cell(theirs),
                ours[0] / theirs[0],
                row.rows
            )?;
        }
        writeln!(out, "\nThe queries:\n")?;
        for row in rows {
            let limit = row.question.limit.map(|limit| format!(", `limit={limit}`")).unwrap_or_default();
            writeln!(out, "- {}: `{}`{limit}", row.question.name, row.question.query)?;
        }
        std::fmt::Result::Ok(())
    })();
    out
}
