//! A table of the LSM tree: reading all of it, both ways, and searching it.
//!
//! ```text
//! input   flags u8 | the file      flags bit 0: put checksums right
//! ```

use super::Seed;
use crate::input::flags;
use crate::seal;
use duramen_engine::fuzzing::{read_lsm_table, write_lsm_table};
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use duramen_engine::lsm::Compression;
use std::path::Path;

const PATH: &str = "1.sst";

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, input) = flags(input);
    let mut bytes = input.to_vec();
    if flags & 1 != 0 {
        seal::table(&mut bytes);
    }
    let sim = Sim::new(1);
    let env = sim.env();
    env.fs.open(Path::new(PATH), OpenMode::CreateNew).unwrap().write_all_at(&bytes, 0).unwrap();
    read_lsm_table(&env, Path::new(PATH), b"user:00004");
}

/// Tables of one and of several partitions.
pub fn seeds() -> Vec<Seed> {
    let table = |keys, compression| {
        let sim = Sim::new(1);
        write_lsm_table(&sim.env(), Path::new(PATH), keys, compression).unwrap();
        [&[1][..], &sim.read_file(Path::new(PATH)).unwrap()].concat()
    };
    vec![
        ("one".into(), table(1, Compression::None)),
        ("partitions".into(), table(40, Compression::None)),
        ("lz4".into(), table(30, Compression::Lz4)),
        ("zstd".into(), table(30, Compression::Zstd(3))),
    ]
}
