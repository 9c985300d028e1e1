//! The page of the load study.

use super::plot::{self, Bar, Line};
use super::{Page, count, mib, short, table};
use crate::Result;
use crate::case::Study;
use crate::data::Order;
use crate::results::{At, Results, ratio};
use crate::systems::Side;
use std::fmt::Write as _;

/// What the × are against.
const REFERENCE: &str = "rocksdb-nowal";

pub(super) fn write(page: &mut Page<'_>, results: &Results) -> Result<()> {
    let places = results.places(Study::Load);
    let systems = results.systems(Study::Load);
    writeln!(
        page.text,
        "16-byte keys, 100-byte values that do not compress, no compression; write buffers of 64 MiB × 2. \
         × is against `{REFERENCE}`.\n"
    )?;
    for (figure, title) in [
        ("put_ns", "Until the last write is acknowledged, ns per entry"),
        ("closed_ns", "Until everything is in its final files and the store is closed, ns per entry"),
    ] {
        writeln!(page.text, "## {title}\n")?;
        let head: Vec<_> =
            places.iter().map(|at| format!("{} {}", at.order.name(), count(at.entries))).collect();
        table::systems(&mut page.text, &head, &systems, |system, column| {
            let at = &places[column];
            let text = short(results.median(at, &system.name, figure)?);
            let against = results.rounds(at, REFERENCE, figure);
            let factor = ratio(&results.rounds(at, &system.name, figure), &against);
            Some(factor.map_or(text.clone(), |f| format!("{text} ×{}", short(f))))
        })?;
    }
    for order in [Order::Random, Order::Sequential] {
        let Some(at) = places.iter().filter(|at| at.order == order).max_by_key(|at| at.entries) else {
            continue;
        };
        let order = order.name();
        writeln!(page.text, "## {} entries in {order} order\n", count(at.entries))?;
        let head = ["put ns: least–most", "CPU s", "peak MiB", "disk MiB"].map(str::to_owned);
        table::systems(&mut page.text, &head, &systems, |system, column| match column {
            0 => spread(&results.rounds(at, &system.name, "put_ns")),
            1 => results.median(at, &system.name, "cpu_s").map(short),
            2 => results.median(at, &system.name, "peak_bytes").map(mib),
            _ => results.median(at, &system.name, "disk_bytes").map(mib),
        })?;
        let mut bars = Vec::new();
        for system in &systems {
            if let Some(value) = results.median(at, &system.name, "put_ns") {
                let beyond = results.median(at, &system.name, "closed_ns");
                bars.push(Bar { label: system.name.clone(), side: system.side, value, beyond });
            }
        }
        let title = format!("Loading {} entries in {order} order", count(at.entries));
        page.plot(&format!("load-{order}"), &title, |path| {
            plot::bars(path, &title, "ns per entry: to the last write, and (pale) until closed", &bars)
        })?;
    }
    let line = |name: &str, side: Side| Line {
        label: name.to_owned(),
        side,
        points: places
            .iter()
            .filter(|at| at.order == Order::Random)
            .filter_map(|at| Some((at.entries as f64, results.median(at, name, "put_ns")?)))
            .collect(),
    };
    let lines: Vec<_> = systems.iter().map(|s| line(&s.name, s.side)).collect();
    if lines.iter().any(|l| l.points.len() > 1) {
        page.plot("load-sizes", "Loading in random order", |path| {
            plot::lines(path, "Loading in random order", "ns per entry to the last write", &lines)
        })?;
    }
    writeln!(page.text, "## Settings\n")?;
    table::settings(&mut page.text, &systems)
}

pub(super) fn spread(rounds: &[(u32, f64)]) -> Option<String> {
    let least = rounds.iter().map(|r| r.1).min_by(f64::total_cmp)?;
    let most = rounds.iter().map(|r| r.1).max_by(f64::total_cmp)?;
    Some(format!("{}–{}", short(least), short(most)))
}

/// The place at which loading was measured in this order with most entries.
pub(super) fn largest(results: &Results, order: Order) -> Option<At> {
    results.places(Study::Load).into_iter().filter(|at| at.order == order).max_by_key(|at| at.entries)
}
