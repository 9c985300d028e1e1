//! Where filters lie.

use super::super::{CODEC_ID, Item, TableWalk, tombstones};
use super::*;
use crate::io::OpenMode;
use crate::io::sim::Sim;
use crate::lsm::cursor::RangeTombstone;
use crate::sstable::filter::FilterBuilder;
use crate::sstable::{BlockMeta, ChunkHandle, ChunkSink, Table, TableBuilder};

fn bytes_of(env: &Env, path: &str) -> Vec<u8> {
    let file = env.fs.open(Path::new(path), OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// All versions are found, and the walk finds all of them and nothing that is damaged.
fn check(env: &Env, path: &str, versions: &[Version]) {
    let cache = Arc::new(BlockCache::new(0));
    let reader = TableReader::open(env, Path::new(path), &cache).unwrap();
    for (key, seq, _, value) in versions {
        let found = reader.get(key, hash(key), u64::MAX).unwrap().unwrap();
        assert!(found.seq == *seq && found.value == *value);
    }
    assert!(reader.damage().is_empty(), "{:?}", reader.damage());
    let mut rows = 0;
    let walk = TableWalk::open(env, Path::new(path)).unwrap();
    walk.run(&mut |item| {
        match item {
            Item::Block(block) => rows += block.rows,
            other => panic!("{other:?}"),
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(rows, versions.len());
}

#[test]
fn a_thread_that_writes_behind_makes_the_same_file() {
    // Two machines, so that both tables have the same random number.
    let (versions, sims) = (plain_versions(5000), [Sim::new(3), Sim::new(3)]);
    let [env, behind] = [sims[0].env(), sims[1].env()];
    write(&env, &small(), &versions);
    let mut writer = TableWriter::create(&behind, Path::new(PATH), &small()).unwrap();
    writer.write_behind().unwrap();
    for (key, seq, kind, value) in &versions {
        writer.add(key, *seq, *kind, value).unwrap();
    }
    writer.finish().unwrap();
    assert!(bytes_of(&env, PATH) == bytes_of(&behind, PATH));
    check(&env, PATH, &versions);
}

/// Without an index, chunks are known by what they hold: now and then a filter could be a list of deleted ranges.
#[test]
fn a_filter_is_not_taken_for_deleted_ranges() {
    let keys = |n: u64| (0..100).map(move |i| format!("{n}-{i:03}").into_bytes());
    let looks_alike = |n: &u64| {
        let mut hashes: Vec<u64> = keys(*n).map(|key| hash(&key)).collect();
        let filter = FilterBuilder::default().build(&mut hashes).encode();
        tombstones::decode(&filter).is_ok_and(|ranges| !ranges.is_empty())
    };
    let n = (0..20_000).find(looks_alike).unwrap();
    let sim = Sim::new(8);
    let env = sim.env();
    let options = TableOptions { partition_bytes: 1 << 20, ..small() };
    let mut writer = TableWriter::create(&env, Path::new(PATH), &options).unwrap();
    keys(n).zip(1..).for_each(|(key, seq)| writer.add(&key, seq, OpKind::Put, b"v").unwrap());
    let range = RangeTombstone { start: b"x".to_vec(), end: b"y".to_vec(), seq: 1000 };
    writer.add_range_tombstone(&range).unwrap();
    let file_bytes = writer.finish().unwrap().file_bytes;
    // The footer: then nobody finds the index.
    sim.flip_bit(Path::new(PATH), (file_bytes - 40) * 8).unwrap();
    let mut found = None;
    let walk = TableWalk::open(&env, Path::new(PATH)).unwrap();
    walk.run(&mut |item| {
        if let Item::Ranges(ranges) = item {
            found = Some(ranges);
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(found, Some(vec![range]));
}

/// Earlier builds wrote the filter of each partition before its directory.
#[test]
fn filters_in_their_partitions_are_read_too() {
    let (versions, sim) = (plain_versions(1000), Sim::new(4));
    let env = sim.env();
    write(&env, &small(), &versions);
    let (bytes, table) = (bytes_of(&env, PATH), Table::parts(&env, Path::new(PATH), CODEC_ID).unwrap());
    let chunk = |at: ChunkHandle| &bytes[at.offset as usize..at.offset as usize + at.len as usize];
    let mut old = TableBuilder::create(&env, "old.sst", CODEC_ID).unwrap();
    for (meta, range) in table.blocks.iter().zip(&table.ranges) {
        let mut at = range.start as usize;
        while at + 8 < meta.directory.offset as usize {
            let len = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            old.add_chunk(&bytes[at + 8..at + 8 + len]).unwrap();
            at += 8 + len;
        }
        assert!(meta.filters[0].offset > meta.directory.offset, "it lies behind");
        let filters = vec![old.add_chunk(chunk(meta.filters[0])).unwrap()];
        let directory = old.add_chunk(chunk(meta.directory)).unwrap();
        old.add_block(BlockMeta { filters, directory, ..meta.clone() }).unwrap();
    }
    for (name, value) in table.properties {
        old.set_property(name, value);
    }
    old.finish().unwrap();
    assert!(table.blocks.len() > 3);
    check(&env, "old.sst", &versions);
}
