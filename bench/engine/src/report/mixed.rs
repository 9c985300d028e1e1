//! The page of the mixed study, and of disk space.

use super::plot::{self, Bar};
use super::read::best_peer;
use super::{Page, short, table};
use crate::Result;
use crate::case::Study;
use crate::results::{Results, ratio};
use std::fmt::Write as _;

pub(super) fn write(page: &mut Page<'_>, results: &Results) -> Result<()> {
    for at in results.places(Study::Mixed) {
        let systems = results.systems(Study::Mixed);
        writeln!(page.text, "## Half reads, half writes on {} entries\n", at.entries)?;
        writeln!(
            page.text,
            "ns per operation, one thread, random keys, values of 100 bytes. × is against the best peer of the column.\n"
        )?;
        let figures = ["mixed_ns", "read_ns", "write_ns"];
        let head = ["mixed", "reads alone", "writes alone"].map(str::to_owned);
        table::systems(&mut page.text, &head, &systems, |system, column| {
            let text = short(results.median(&at, &system.name, figures[column])?);
            let factor = best_peer(results, &at, figures[column])
                .and_then(|(_, best)| ratio(&results.rounds(&at, &system.name, figures[column]), &best));
            Some(factor.map_or(text.clone(), |f| format!("{text} ×{}", short(f))))
        })?;
        let bar = |s: &&crate::systems::Description| {
            let value = results.median(&at, &s.name, "mixed_ns")?;
            Some(Bar { label: s.name.clone(), side: s.side, value, beyond: None })
        };
        let bars: Vec<_> = systems.iter().filter_map(bar).collect();
        let title = format!("Half reads, half writes on {} entries", at.entries);
        page.plot("mixed", &title, |path| plot::bars(path, &title, "ns per operation", &bars))?;
        table::settings(&mut page.text, &systems)?;
    }
    for at in results.places(Study::Disk) {
        let systems = results.systems(Study::Disk);
        writeln!(page.text, "## Disk space of {} entries as small as those of study 000\n", at.entries)?;
        writeln!(
            page.text,
            "`key17` → `value17`: KiB that the file system gave to the store's files, preallocated space included.\n"
        )?;
        let figures = ["payload_bytes", "closed_bytes", "compacted_bytes"];
        let head = ["keys and values", "closed", "compacted and closed"].map(str::to_owned);
        table::systems(&mut page.text, &head, &systems, |system, column| {
            results.median(&at, &system.name, figures[column]).map(|bytes| short(bytes / 1024.0))
        })?;
    }
    Ok(())
}
