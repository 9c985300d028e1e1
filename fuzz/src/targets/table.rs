//! A table's file: opening it, checking every byte, reading every block.
//!
//! ```text
//! input   flags u8 | the file      flags bit 0: put checksums right
//! ```

use super::Seed;
use crate::input::flags;
use crate::seal;
use duramen_engine::io::OpenMode;
use duramen_engine::io::sim::Sim;
use duramen_engine::sstable::rows::RowCodec;
use duramen_engine::sstable::{BlockCodec, ChunkSink, ChunkSource, Table, TableBuilder};
use std::path::Path;
use std::sync::Arc;

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
    let report = Table::verify(&env, PATH);
    let Ok(table) = Table::open(&env, PATH, RowCodec::ID) else { return };
    let whole = report.is_ok_and(|report| report.is_whole());
    let table = Arc::new(table);
    let codec = RowCodec::default();
    for (i, block) in table.blocks().iter().enumerate() {
        assert!(table.block_range(i).is_some());
        let _any = table.block_for(&block.min_key);
        if whole {
            // Where every frame is as it was written, whatever the index leads to can be read.
            table.read_chunk(block.directory).unwrap();
            block.filters.iter().for_each(|filter| drop(table.read_chunk(*filter).unwrap()));
        }
        let _any = RowCodec::may_contain(&*table, block, b"some key");
        if let Ok(rows) = table.open_block(&codec, i) {
            let mut cursor = rows.iter();
            while let Ok(true) = cursor.advance() {
                let _any = (cursor.key(), cursor.value());
            }
        }
    }
}

/// Tables of few and many blocks, with and without filters, and one with chunks of no block.
pub fn seeds() -> Vec<Seed> {
    let table = |blocks: u32, codec: RowCodec, lone_chunk: bool| {
        let sim = Sim::new(1);
        let env = sim.env();
        let mut builder = TableBuilder::create(&env, PATH, RowCodec::ID).unwrap();
        for block in 0..blocks {
            let keys: Vec<String> = (0..9).map(|i| format!("key-{:04}", block * 9 + i)).collect();
            let rows: Vec<_> = keys.iter().map(|key| (key.as_bytes(), b"value".as_slice())).collect();
            builder.write_block(&codec, &rows).unwrap();
        }
        builder.set_property("engine", "row");
        builder.set_property("level", [2]);
        if lone_chunk {
            builder.add_chunk(b"of no block").unwrap();
        }
        builder.finish().unwrap();
        [&[1][..], &sim.read_file(Path::new(PATH)).unwrap()].concat()
    };
    vec![
        ("one-block".into(), table(1, RowCodec::default(), false)),
        ("three-blocks".into(), table(3, RowCodec { restart_interval: 2, filter: true }, true)),
        ("no-filter".into(), table(2, RowCodec { restart_interval: 1, filter: false }, false)),
    ]
}
