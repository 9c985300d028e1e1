//! The page of the queue.

use super::read::best_peer;
use super::{Page, count, short, table};
use crate::Result;
use crate::case::Study;
use crate::results::{Results, ratio};
use std::fmt::Write as _;

pub(super) fn write(page: &mut Page<'_>, results: &Results) -> Result<()> {
    let (places, systems) = (results.places(Study::Queue), results.systems(Study::Queue));
    writeln!(
        page.text,
        "µs to put an entry at the end of a queue, and to read and delete its first, by the number of entries in it; one thread, values of \
         100 bytes, for a second or 200,000 times. × is against the best peer of the column.\n"
    )?;
    let head: Vec<_> = places.iter().map(|at| count(at.entries)).collect();
    table::systems(&mut page.text, &head, &systems, |system, column| {
        let at = &places[column];
        let text = short(results.median(at, &system.name, "cycle_ns")? / 1e3);
        let factor = best_peer(results, at, "cycle_ns")
            .and_then(|(_, best)| ratio(&results.rounds(at, &system.name, "cycle_ns"), &best));
        Some(factor.map_or(text.clone(), |f| format!("{text} ×{}", short(f))))
    })?;
    table::settings(&mut page.text, &systems)
}
