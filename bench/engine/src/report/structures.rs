//! The page of the structures.

use super::plot::{self, Bar};
use super::{Page, count, short};
use crate::Result;
use crate::case::Study;
use crate::data::Order;
use crate::results::Results;
use crate::studies::STRUCTURES;
use crate::systems::Side;
use std::fmt::Write as _;

pub(super) fn write(page: &mut Page<'_>, results: &Results) -> Result<()> {
    let places = results.places(Study::Structures);
    writeln!(
        page.text,
        "ns per entry to insert, one thread, no lock, no file; in brackets: to sort afterwards. `vec-push` is \
         `Vec<(Vec<u8>, Vec<u8>)>`, `arena-append` one `Vec<u8>` and an index of key prefixes, `skipmap` \
         crossbeam's, `btreemap` that of the standard library.\n"
    )?;
    let head: Vec<_> = places.iter().map(|at| format!("{} {}", at.order.name(), count(at.entries))).collect();
    writeln!(page.text, "| structure | {} |\n|---|{}", head.join(" | "), "--:|".repeat(head.len()))?;
    for name in STRUCTURES {
        write!(page.text, "| {name} ")?;
        for at in &places {
            let insert = results.median(at, name, "insert_ns").map_or("–".to_owned(), short);
            let sort =
                results.median(at, name, "sort_ns").map_or(String::new(), |s| format!(" (+{})", short(s)));
            write!(page.text, "| {insert}{sort} ")?;
        }
        writeln!(page.text, "|")?;
    }
    writeln!(page.text)?;
    for order in [Order::Random, Order::Sequential] {
        let Some(at) = places.iter().filter(|at| at.order == order).max_by_key(|at| at.entries) else {
            continue;
        };
        let bar = |name: &&str| {
            let value = results.median(at, name, "insert_ns")?;
            let beyond = results.median(at, name, "sort_ns").map(|sort| value + sort);
            Some(Bar { label: (*name).to_owned(), side: Side::Baseline, value, beyond })
        };
        let bars: Vec<_> = STRUCTURES.iter().filter_map(bar).collect();
        let title = format!("Inserting {} entries in {} order", count(at.entries), order.name());
        page.plot(&format!("structures-{}", order.name()), &title, |path| {
            plot::bars(path, &title, "ns per entry, and (pale) sorted afterwards", &bars)
        })?;
    }
    Ok(())
}
