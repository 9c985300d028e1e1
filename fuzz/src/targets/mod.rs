//! One file a target: what it does with an input, and the seeds it starts from.

mod batch;
mod columnar;
mod columns;
mod entry;
mod facts;
mod filter;
mod lines;
mod log;
mod lsm;
mod lsm_block;
mod lsm_table;
mod manifest;
mod query;
mod rows;
mod stamp;
mod table;
mod table_streams;
mod wal;
mod wire;

/// Something to fuzz.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What `DURAMEN_FUZZ_TARGET` calls it, and its folder in `corpus/`.
    pub name: &'static str,
    /// Tries an input. Panics where something is wrong.
    pub run: fn(&[u8]),
    /// The inputs to start from, by name.
    pub seeds: fn() -> Vec<Seed>,
}

/// A name and an input.
pub type Seed = (String, Vec<u8>);

/// Every target, in the order of the layers.
pub const TARGETS: &[Target] = &[
    Target { name: "wal", run: wal::run, seeds: wal::seeds },
    Target { name: "manifest", run: manifest::run, seeds: manifest::seeds },
    Target { name: "table", run: table::run, seeds: table::seeds },
    Target { name: "rows", run: rows::run, seeds: rows::seeds },
    Target { name: "filter", run: filter::run, seeds: filter::seeds },
    Target { name: "batch", run: batch::run, seeds: batch::seeds },
    Target { name: "lsm-table", run: lsm_table::run, seeds: lsm_table::seeds },
    Target { name: "lsm-block", run: lsm_block::run, seeds: lsm_block::seeds },
    Target { name: "lsm", run: lsm::run, seeds: lsm::seeds },
    Target { name: "log", run: log::run, seeds: log::seeds },
    Target { name: "entry", run: entry::run, seeds: entry::seeds },
    Target { name: "facts", run: facts::run, seeds: facts::seeds },
    Target { name: "columnar", run: columnar::run, seeds: columnar::seeds },
    Target { name: "columns", run: columns::run, seeds: columns::seeds },
    Target { name: "table-streams", run: table_streams::run, seeds: table_streams::seeds },
    Target { name: "lines", run: lines::run, seeds: lines::seeds },
    Target { name: "stamp", run: stamp::run, seeds: stamp::seeds },
    Target { name: "loki", run: wire::loki, seeds: wire::loki_seeds },
    Target { name: "otlp", run: wire::otlp, seeds: wire::otlp_seeds },
    Target { name: "fluent", run: wire::fluent, seeds: wire::fluent_seeds },
    Target { name: "journald", run: wire::journald, seeds: wire::journald_seeds },
    Target { name: "wire", run: wire::text, seeds: wire::text_seeds },
    Target { name: "query", run: query::run, seeds: query::seeds },
];
