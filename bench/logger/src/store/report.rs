//! The page of study 003.

use super::configs::CONFIGS;
use super::{COUNTS, LARGE_BYTES, SIZES, VICTIMS};
use crate::Result;
use crate::case::{Case, Study};
use crate::results::Results;
use crate::table::{self, count, mib, ms, short, us};
use std::fmt::Write as _;

type Row = (String, Vec<Option<String>>);

pub(crate) fn page(results: &Results) -> Result<String> {
    let mut out = String::new();
    writeln!(
        out,
        "An entry has a time, a level, a message of words, ids and numbers, no two near each other alike, and three \
         fields. Each entry's time lies 1 ms after the one's before.\n"
    )?;
    writeln!(
        out,
        "| configuration | study 003's version | an entry survives | settings |\n|---|---|---|---|"
    )?;
    for c in CONFIGS {
        writeln!(out, "| `{}` | {} | {} | {} |", c.name, c.version, c.survives, c.settings)?;
    }
    writeln!(out)?;
    for lines in COUNTS {
        for bytes in SIZES {
            entries(&mut out, results, lines, bytes)?;
        }
    }
    windows(&mut out, results)?;
    recovery(&mut out, results)?;
    encodings(&mut out, results)?;
    Ok(out)
}

fn entries(out: &mut String, results: &Results, lines: u64, bytes: usize) -> Result<()> {
    let rows: Vec<Row> = CONFIGS
        .iter()
        .map(|config| {
            let case = Case::new(Study::Entries, config.name, lines).message_bytes(bytes);
            let of = |figure| results.median(&case, figure);
            let two = |first, closed, show: fn(f64) -> String| {
                of(first).zip(of(closed)).map(|(a, b)| format!("{} ({})", show(a), show(b)))
            };
            let cells = vec![
                of("write_ns").map(us),
                two("read_ns", "closed_read_ns", us),
                of("closed_columns_ns").map(us),
                of("write_ns").zip(of("read_ns")).map(|(write, read)| short(write / read)),
                two("files", "closed_files", short),
                two("disk_bytes", "closed_disk_bytes", mib),
                of("peak_bytes").map(mib),
            ];
            (format!("`{}`", config.name), cells)
        })
        .filter(|(_, cells)| cells.iter().any(Option::is_some))
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "## {} entries, messages of {bytes} bytes\n\nµs per entry. Read: every entry in order of time, with every \
         field, right after the last write; in brackets, once the store was closed and everything is in its final \
         files. Columns: the same as queries read, a block on each processor, without putting rows together. Files \
         and MiB on disk: likewise. Memory: the peak while writing, above the process's own; mapped files count.\n",
        count(lines)
    )?;
    let head =
        ["configuration", "write", "read", "columns", "write : read", "files", "disk MiB", "memory MiB"];
    table::write(out, &head, &rows)
}

fn windows(out: &mut String, results: &Results) -> Result<()> {
    writeln!(
        out,
        "## A hundredth of the time range\n\n100 k entries, in tables; the store is open, its files in the page \
         cache. Tables and blocks: what one window opens, of all.\n"
    )?;
    let mut rows: Vec<Row> = Vec::new();
    for bytes in SIZES {
        for (system, prefix, how) in [
            ("process", "", "`Store::scan`"),
            ("process", "columns_", "columns"),
            ("sqlite-normal", "", "SQLite, index on time"),
        ] {
            let case = Case::new(Study::Window, system, COUNTS[1]).message_bytes(bytes);
            let of = |figure: &str| results.median(&case, figure);
            let (window, whole) = (format!("{prefix}window_ns"), format!("{prefix}whole_ns"));
            let share = results.ratio((&case, &window), (&case, &whole));
            let share = share.map(|share| format!("{} %", short(share * 100.0)));
            let part =
                |some, all| of(some).zip(of(all)).map(|(s, a)| format!("{} of {}", short(s), short(a)));
            let cells = vec![
                of(&whole).map(ms),
                of(&window).map(ms),
                share,
                part("window_tables", "tables"),
                part("window_blocks", "blocks"),
            ];
            rows.push((format!("{how}, {bytes} bytes"), cells));
        }
    }
    let head = ["read with", "whole ms", "window ms", "window : whole", "tables", "blocks"];
    table::write(out, &head, &rows)
}

fn recovery(out: &mut String, results: &Results) -> Result<()> {
    writeln!(
        out,
        "## After kill -9\n\n100 k entries of 1 KB. All of them must be there: when read first, and when recovery \
         has put them into its final files.\n"
    )?;
    let rows: Vec<Row> = VICTIMS
        .iter()
        .map(|victim| {
            let case = Case::new(Study::Recover, victim, COUNTS[1]).message_bytes(LARGE_BYTES);
            let of = |figure| results.median(&case, figure);
            let left =
                |files, bytes| of(files).zip(of(bytes)).map(|(f, b)| format!("{}, {}", short(f), mib(b)));
            let cells = vec![
                left("left_files", "left_bytes"),
                of("first_read_ns").map(ms),
                of("fold_ns").map(ms),
                left("folded_files", "folded_bytes"),
            ];
            (format!("`{victim}`"), cells)
        })
        .collect();
    let head =
        ["killed", "files, MiB left", "open and read all, ms", "recover and close, ms", "files, MiB then"];
    table::write(out, &head, &rows)
}

fn encodings(out: &mut String, results: &Results) -> Result<()> {
    writeln!(out, "## CBOR and JSON\n\nEntries in memory, encoded and decoded, every field.\n")?;
    let mut rows: Vec<Row> = Vec::new();
    for bytes in SIZES {
        for encoding in ["cbor", "json"] {
            let case = Case::new(Study::Encoding, encoding, COUNTS[0]).message_bytes(bytes);
            let of = |figure| results.median(&case, figure);
            let cells = vec![
                of("encode_ns").map(short),
                of("decode_ns").map(short),
                of("bytes_per_entry").map(short),
            ];
            rows.push((format!("{encoding}, messages of {bytes} bytes"), cells));
        }
    }
    table::write(out, &["encoding", "encode ns", "decode ns", "bytes per entry"], &rows)
}
