//! The page of durable writes.

use super::load::spread;
use super::plot::{self, Bar};
use super::{Page, short, table};
use crate::Result;
use crate::case::Study;
use crate::results::{At, Results, ratio};
use std::fmt::Write as _;

pub(super) fn write(page: &mut Page<'_>, results: &Results) -> Result<()> {
    let systems = results.systems(Study::Durable);
    writeln!(
        page.text,
        "Single writes of 116 bytes, each durable before its thread goes on. × is the rate against that of the \
         device: append and `fdatasync` on a preallocated file, with several threads grouped.\n"
    )?;
    for at in results.places(Study::Durable) {
        let threads =
            if at.threads == 1 { "One thread".to_owned() } else { format!("{} threads", at.threads) };
        writeln!(page.text, "## {threads}\n")?;
        let device = device(results, &at);
        let head = ["writes/s", "least–most", "× device", "p50 µs", "p99 µs"].map(str::to_owned);
        table::systems(&mut page.text, &head, &systems, |system, column| {
            let rates = results.rounds(&at, &system.name, "writes_per_s");
            match column {
                0 => results.median(&at, &system.name, "writes_per_s").map(short),
                1 => spread(&rates),
                2 => ratio(&rates, &results.rounds(&at, device?, "writes_per_s")).map(short),
                3 => results.median(&at, &system.name, "p50_us").map(short),
                _ => results.median(&at, &system.name, "p99_us").map(short),
            }
        })?;
        let mut bars = Vec::new();
        for system in &systems {
            if let Some(value) = results.median(&at, &system.name, "writes_per_s") {
                bars.push(Bar { label: system.name.clone(), side: system.side, value, beyond: None });
            }
        }
        let title = format!("Durable writes: {}", threads.to_lowercase());
        page.plot(&format!("durable-{}", at.threads), &title, |path| {
            plot::bars(path, &title, "writes per second", &bars)
        })?;
    }
    writeln!(page.text, "## Settings\n")?;
    table::settings(&mut page.text, &systems)
}

/// What stands for the device: the fastest way of those measured.
pub(super) fn device(results: &Results, at: &At) -> Option<&'static str> {
    let ways = ["raw-fallocate", "raw-zeroed", "raw-group"];
    let rate = |way: &&str| results.median(at, way, "writes_per_s").unwrap_or_default();
    ways.into_iter().max_by(|a, b| rate(a).total_cmp(&rate(b))).filter(|way| rate(way) > 0.0)
}
