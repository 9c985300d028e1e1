//! The goals, each with what was measured.

use super::durable::device;
use super::load::largest;
use super::read::best_peer;
use super::{count, short};
use crate::Result;
use crate::case::Study;
use crate::data::Order;
use crate::plan::Group;
use crate::results::{At, Results, ratio};
use std::fmt::Write as _;

/// `write_buffer_size` × `max_write_buffer_number` of the load study.
const WRITE_BUFFERS_BYTES: f64 = (128 << 20) as f64;

/// A row.
struct Goal {
    what: String,
    against: String,
    wanted: Wanted,
    measured: Option<f64>,
}

#[derive(Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

pub(super) fn page(all: &[(Group, Results)]) -> Result<String> {
    let of = |group| all.iter().find(|(g, _)| *g == group).map(|(_, results)| results);
    let mut goals = Vec::new();
    if let Some(results) = of(Group::Load) {
        load(&mut goals, results);
    }
    if let Some(results) = of(Group::Read) {
        read(&mut goals, results);
    }
    if let Some(results) = of(Group::Mixed) {
        mixed(&mut goals, results);
    }
    if let Some(results) = of(Group::Durable) {
        durable(&mut goals, results);
    }
    let mut out = String::new();
    writeln!(out, "# The goals\n")?;
    if let Some((_, results)) = all.first() {
        let m = &results.header().machine;
        let of_each = |(group, results): &(Group, Results)| {
            format!("{} {}", group.name(), results.header().machine.commit)
        };
        let commits: Vec<_> = all.iter().map(of_each).collect();
        writeln!(out, "{}, {} cores; commits: {}.\n", m.cpu, m.cores, commits.join(", "))?;
    }
    writeln!(out, "| goal | against | wanted | measured | |\n|---|---|--:|--:|---|")?;
    for goal in goals {
        let (wanted, met) = match goal.wanted {
            Wanted::AtLeast(least) => (format!("≥ {}", short(least)), goal.measured.map(|m| m >= least)),
            Wanted::AtMost(most) => (format!("≤ {}", short(most)), goal.measured.map(|m| m <= most)),
        };
        let measured = goal.measured.map_or("–".to_owned(), short);
        let verdict = met.map_or("not measured", |met| if met { "met" } else { "**missed**" });
        writeln!(out, "| {} | {} | {wanted} | {measured} | {verdict} |", goal.what, goal.against)?;
    }
    Ok(out)
}

fn load(goals: &mut Vec<Goal>, results: &Results) {
    let phases = [("put_ns", "to the last write"), ("closed_ns", "until closed")];
    let mut versus = |order, ours: &str, other: &str, least| {
        let Some(at) = largest(results, order) else { return };
        for (figure, phase) in phases {
            goals.push(Goal {
                what: format!("load {} {}, {phase}: `{ours}`", order.name(), count(at.entries)),
                against: format!("`{other}`"),
                wanted: Wanted::AtLeast(least),
                measured: ratio(&results.rounds(&at, other, figure), &results.rounds(&at, ours, figure)),
            });
        }
    };
    versus(Order::Random, "duramen-vec", "rocksdb-nowal", 10.0);
    versus(Order::Sequential, "duramen-vec", "rocksdb-nowal", 3.0);
    versus(Order::Random, "duramen-vec", "naive-vec", 1.2);
    versus(Order::Sequential, "duramen-vec", "naive-vec", 1.2);
    versus(Order::Random, "duramen-skiplist", "naive-skiplist", 1.5);
    for order in [Order::Random, Order::Sequential] {
        let Some(at) = largest(results, order) else { continue };
        goals.push(Goal {
            what: format!("peak memory of the load, {} {}: `duramen-vec`", order.name(), count(at.entries)),
            against: "write buffers configured, 128 MiB".to_owned(),
            wanted: Wanted::AtMost(1.3),
            measured: results.median(&at, "duramen-vec", "peak_bytes").map(|peak| peak / WRITE_BUFFERS_BYTES),
        });
    }
}

fn read(goals: &mut Vec<Goal>, results: &Results) {
    let places = results.places(Study::Read);
    let Some(most) = places.last() else { return };
    for (figure, what, least) in
        [("hit_ns", "get, found", 1.5), ("miss_ns", "get, not found", 1.5), ("scan_ns", "scan", 1.2)]
    {
        let best = best_peer(results, most, figure);
        goals.push(Goal {
            what: format!("{what}, {} entries", count(most.entries)),
            against: format!("best peer: `{}`", best.as_ref().map_or("none", |b| &b.0)),
            wanted: Wanted::AtLeast(least),
            measured: best.and_then(|(_, best)| ratio(&best, &results.rounds(most, "duramen", figure))),
        });
    }
    if let Some(least) = places.iter().find(|at| at.entries == 100) {
        for (figure, what) in [("hit_ns", "found"), ("miss_ns", "not found")] {
            let ns = |at| results.rounds(at, "duramen", figure);
            goals.push(Goal {
                what: format!("get, {what}, {} entries", count(most.entries)),
                against: "itself at 100 entries".to_owned(),
                wanted: Wanted::AtMost(4.0),
                measured: ratio(&ns(most), &ns(least)),
            });
        }
    }
}

fn mixed(goals: &mut Vec<Goal>, results: &Results) {
    for at in results.places(Study::Mixed) {
        let best = best_peer(results, &at, "mixed_ns");
        goals.push(Goal {
            what: format!("mixed 50/50, {} entries: `duramen-vec`", at.entries),
            against: format!("best peer: `{}`", best.as_ref().map_or("none", |b| &b.0)),
            wanted: Wanted::AtLeast(5.0),
            measured: best
                .and_then(|(_, best)| ratio(&best, &results.rounds(&at, "duramen-vec", "mixed_ns"))),
        });
    }
    for at in results.places(Study::Disk) {
        for (figure, when) in [("closed_bytes", "closed"), ("compacted_bytes", "compacted")] {
            let bytes = |system| results.rounds(&at, system, figure);
            goals.push(Goal {
                what: format!("disk space of {} small entries, {when}: `duramen-vec`", at.entries),
                against: "`duramen-log`".to_owned(),
                wanted: Wanted::AtMost(0.8),
                measured: ratio(&bytes("duramen-vec"), &bytes("duramen-log")),
            });
        }
    }
}

fn durable(goals: &mut Vec<Goal>, results: &Results) {
    for at in results.places(Study::Durable) {
        let rates = |at: &At, system| results.rounds(at, system, "writes_per_s");
        let device = device(results, &at);
        let ours = rates(&at, "duramen-sync");
        goals.push(Goal {
            what: format!("durable writes, threads: {}", at.threads),
            against: format!("the device: `{}`", device.unwrap_or("not measured")),
            wanted: Wanted::AtLeast(0.95),
            measured: device.and_then(|device| ratio(&ours, &rates(&at, device))),
        });
        goals.push(Goal {
            what: format!("durable writes, threads: {}", at.threads),
            against: "`rocksdb-sync`".to_owned(),
            wanted: Wanted::AtLeast(1.0),
            measured: ratio(&ours, &rates(&at, "rocksdb-sync")),
        });
    }
}
