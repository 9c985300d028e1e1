//! The page of the read study.

use super::plot::{self, Line};
use super::{Page, count, mib, short, table};
use crate::Result;
use crate::case::Study;
use crate::results::{At, Results, Rounds, ratio};
use crate::systems::{Description, Side};
use std::fmt::Write as _;

pub(super) fn write(page: &mut Page<'_>, results: &Results) -> Result<()> {
    let places = results.places(Study::Read);
    let systems = results.systems(Study::Read);
    writeln!(
        page.text,
        "16-byte random keys, 100-byte values, loaded in the order of the keys, settled (flushed, compacted), opened \
         again; one thread, everything in memory. × is against the best peer: above 1 is slower.\n"
    )?;
    let head: Vec<_> = places.iter().map(|at| count(at.entries)).collect();
    for (figure, name, title) in [
        ("hit_ns", "read-hit", "Get, found: ns"),
        ("miss_ns", "read-miss", "Get, not found: ns"),
        ("scan_ns", "read-scan", "Scan of everything: ns per entry"),
    ] {
        writeln!(page.text, "## {title}\n")?;
        table::systems(&mut page.text, &head, &systems, |system, column| {
            let at = &places[column];
            let value = results.median(at, &system.name, figure)?;
            let text = match figure {
                "scan_ns" => format!("{} ({} M/s)", short(value), short(1e3 / value)),
                _ => short(value),
            };
            let factor = best_peer(results, at, figure)
                .and_then(|(_, best)| ratio(&results.rounds(at, &system.name, figure), &best));
            Some(factor.map_or(text.clone(), |f| format!("{text} ×{}", short(f))))
        })?;
        let line = |system: &&Description| Line {
            label: system.name.clone(),
            side: system.side,
            points: places
                .iter()
                .filter_map(|at| Some((at.entries as f64, results.median(at, &system.name, figure)?)))
                .collect(),
        };
        let lines: Vec<_> = systems.iter().map(line).collect();
        page.plot(name, title, |path| plot::lines(path, title, "ns", &lines))?;
    }
    if let Some(at) = places.last() {
        writeln!(page.text, "## Space at {} entries\n", count(at.entries))?;
        let loaded = At { study: Study::Prepare, ..*at };
        let head = ["disk MiB", "peak MiB of the reader"].map(str::to_owned);
        table::systems(&mut page.text, &head, &systems, |system, column| match column {
            0 => results.median(&loaded, &system.name, "disk_bytes").map(mib),
            _ => results.median(at, &system.name, "peak_bytes").map(mib),
        })?;
    }
    writeln!(page.text, "## Settings\n")?;
    table::settings(&mut page.text, &systems)
}

/// The peer whose figure is the least, and that.
pub(super) fn best_peer(results: &Results, at: &At, figure: &str) -> Option<(String, Rounds)> {
    let peers = results.header().systems.iter().filter(|s| s.side == Side::Peer);
    let best = peers
        .filter_map(|s| Some((results.median(at, &s.name, figure)?, &s.name)))
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((best.1.clone(), results.rounds(at, best.1, figure)))
}
