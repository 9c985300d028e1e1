//! A table as its users see it: written by row blocks, found by key, read after its name is gone.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Error;
use duramen_engine::io::{Env, sim::Sim};
use duramen_engine::sstable::rows::RowCodec;
use duramen_engine::sstable::{
    BlockCodec, BlockMeta, ChunkHandle, ChunkSink, ChunkSource, Part, Table, TableBuilder,
};
use std::path::Path;
use std::sync::Arc;

const ID: u32 = RowCodec::ID;

fn rows(block: usize) -> Vec<(String, String)> {
    (0..50).map(|i| (format!("key{:04}", block * 100 + i * 2), format!("value of {block}.{i}"))).collect()
}

fn write_rows(builder: &mut TableBuilder, rows: &[(String, String)]) {
    let rows: Vec<(&[u8], &[u8])> = rows.iter().map(|(k, v)| (k.as_bytes(), v.as_bytes())).collect();
    builder.write_block(&RowCodec::default(), &rows).unwrap();
}

fn table(env: &Env, path: &Path, blocks: usize) -> Arc<Table> {
    let mut builder = TableBuilder::create(env, path, ID).unwrap();
    (0..blocks).for_each(|block| write_rows(&mut builder, &rows(block)));
    builder.set_property("creator", b"test");
    let info = builder.finish().unwrap();
    let table = Arc::new(Table::open(env, path, ID).unwrap());
    assert_eq!((info.blocks, info.entries), (blocks as u64, 50 * blocks as u64));
    assert_eq!(info.file_bytes, table.file_bytes());
    assert_eq!((info.min_key.as_slice(), info.entries), (b"key0000".as_slice(), table.entries()));
    assert_eq!(info.max_key, table.blocks()[blocks - 1].max_key);
    table
}

#[test]
fn every_key_is_found_in_its_block_and_no_other() {
    let env = Sim::new(1).env();
    let table = table(&env, Path::new("t.sst"), 5);
    for block in 0..5 {
        for (key, value) in rows(block) {
            assert_eq!(table.block_for(key.as_bytes()), Some(block));
            let meta = &table.blocks()[block];
            assert!(RowCodec::may_contain(&*table, meta, key.as_bytes()).unwrap());
            let opened = table.open_block(&RowCodec::default(), block).unwrap();
            assert_eq!(opened.get(key.as_bytes()).unwrap(), Some(value.as_bytes()));
            assert_eq!(opened.get(format!("{key}x").as_bytes()).unwrap(), None);
        }
    }
    assert_eq!(table.block_for(b"a"), None, "below the first");
    assert_eq!(table.block_for(b"key0099"), None, "between two");
    assert_eq!(table.block_for(b"z"), None, "above the last");
    assert_eq!(table.property("creator"), Some(&b"test"[..]));
    assert_eq!(table.property("other"), None);
    assert!(matches!(table.open_block(&RowCodec::default(), 5), Err(Error::InvalidArgument(_))));
}

#[test]
fn the_real_file_system_gives_back_the_same_and_reads_on_after_removal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.sst");
    let env = Env::os();
    let table = table(&env, &path, 3);
    assert!(Table::verify(&env, &path).unwrap().is_whole());
    env.fs.remove_file(&path).unwrap();
    let opened = table.open_block(&RowCodec::default(), 2).unwrap();
    assert_eq!(opened.get(b"key0200").unwrap(), Some(&b"value of 2.0"[..]));
}

#[test]
fn blocks_lie_one_behind_the_other() {
    let env = Sim::new(1).env();
    let table = table(&env, Path::new("t.sst"), 3);
    let mut end = 20;
    for block in 0..3 {
        let range = table.block_range(block).unwrap();
        assert_eq!(range.start, end);
        let directory = table.blocks()[block].directory;
        assert!(range.contains(&directory.offset));
        end = range.end;
    }
    assert_eq!(table.block_range(3), None);
}

#[test]
fn the_file_is_written_synced_renamed_and_its_directory_synced() {
    let sim = Sim::new(1);
    sim.env().fs.create_dir_all(Path::new("tables")).unwrap();
    let from = sim.trace().len();
    let mut builder = TableBuilder::create(&sim.env(), "tables/7.sst", ID).unwrap();
    write_rows(&mut builder, &rows(0));
    let info = builder.finish().unwrap();
    let write = format!("write tables/7.sst.tmp 0..{}", info.file_bytes);
    let expected = [
        "exists tables/7.sst",
        "create tables/7.sst.tmp",
        &write,
        "sync tables/7.sst.tmp",
        "rename tables/7.sst.tmp tables/7.sst",
        "sync_dir tables",
    ];
    assert_eq!(&sim.trace()[from..], expected);
}

#[test]
fn opening_reads_no_block() {
    let sim = Sim::new(1);
    table(&sim.env(), Path::new("t.sst"), 40);
    let from = sim.trace().len();
    let table = Table::open(&sim.env(), "t.sst", ID).unwrap();
    let blocks = table.block_range(39).unwrap().end;
    let reads: Vec<String> = sim.trace()[from..].iter().filter(|l| l.starts_with("read ")).cloned().collect();
    assert_eq!(reads.len(), 4, "{reads:?}");
    assert_eq!(reads[0], "read t.sst 0..20");
    for read in &reads[1..] {
        let start: u64 = read.rsplit(' ').next().unwrap().split("..").next().unwrap().parse().unwrap();
        assert!(start >= blocks, "{read}");
    }
}

#[test]
fn an_abandoned_table_leaves_nothing() {
    let sim = Sim::new(1);
    let mut builder = TableBuilder::create(&sim.env(), "t.sst", ID).unwrap();
    builder.add_chunk(&[7; 3 << 20]).unwrap();
    assert_eq!(sim.files(), ["t.sst.tmp"]);
    builder.abandon();
    assert!(sim.files().is_empty());
}

#[test]
fn what_an_interrupted_attempt_left_is_replaced_but_a_table_never_is() {
    let sim = Sim::new(1);
    let mut builder = TableBuilder::create(&sim.env(), "t.sst", ID).unwrap();
    builder.add_chunk(&[7; 3 << 20]).unwrap();
    sim.crash_process();
    drop(builder);
    assert_eq!(sim.files(), ["t.sst.tmp"]);
    table(&sim.env(), Path::new("t.sst"), 1);
    assert_eq!(sim.files(), ["t.sst"]);
    assert!(matches!(TableBuilder::create(&sim.env(), "t.sst", ID), Err(Error::InvalidArgument(_))));
}

#[test]
fn a_codec_meets_only_its_own_tables() {
    let env = Sim::new(1).env();
    table(&env, Path::new("t.sst"), 1);
    let error = Table::open(&env, "t.sst", 99).unwrap_err().to_string();
    assert_eq!(error, "t.sst was written by block codec 1, not 99");
    let mut builder = TableBuilder::create(&env, "u.sst", 99).unwrap();
    assert!(matches!(
        builder.write_block(&RowCodec::default(), &[(b"k", b"v")]),
        Err(Error::InvalidArgument(_))
    ));
}

#[test]
fn filters_lie_side_by_side_behind_all_blocks() {
    let sim = Sim::new(1);
    let env = sim.env();
    let filters = |block: u8| -> Vec<Vec<u8>> {
        let parts = [2, 1, 0, 2, 2][usize::from(block)];
        (0..parts).map(|part| vec![block, part, 7]).collect()
    };
    let path = Path::new("t.sst");
    let mut builder = TableBuilder::create(&env, path, ID).unwrap();
    for block in 0..5 {
        let directory = builder.add_chunk(b"directory").unwrap();
        let key = vec![block];
        let (min_key, max_key) = (key.clone(), key);
        let meta =
            BlockMeta { min_key, max_key, entries: 1, directory, filters: Vec::new(), user: Vec::new() };
        let in_two_places = BlockMeta { filters: vec![directory], ..meta.clone() };
        assert!(builder.add_block_with_filters(in_two_places, filters(block)).is_err());
        assert!(builder.add_block_with_filters(meta.clone(), vec![Vec::new(); 256]).is_err(), "too many");
        builder.add_block_with_filters(meta, filters(block)).unwrap();
    }
    builder.finish().unwrap();
    let table = Table::open(&env, path, ID).unwrap();
    let mut places = Vec::new();
    for (block, meta) in (0..).zip(table.blocks()) {
        let read: Vec<Vec<u8>> = meta.filters.iter().map(|&at| table.read_chunk(at).unwrap()).collect();
        assert_eq!(read, filters(block));
        assert!(table.block_range(usize::from(block)).unwrap().contains(&meta.directory.offset));
        places.extend((0..).zip(&meta.filters).map(|(part, at)| (at.offset, block, part)));
    }
    places.sort_unstable();
    let order: Vec<(u8, i32)> = places.iter().map(|&(_, block, part)| (block, part)).collect();
    assert_eq!(order, [(1, 0), (0, 0), (3, 0), (4, 0), (0, 1), (3, 1), (4, 1)]);
    assert_eq!(places[0].0, table.block_range(4).unwrap().end + 8);
    assert!(places.windows(2).all(|two| two[1].0 == two[0].0 + 3 + 8), "side by side");
    assert!(Table::verify(&env, path).unwrap().is_whole());
    for (offset, block, _) in places {
        sim.flip_bit(path, offset * 8).unwrap();
        let report = Table::verify(&env, path).unwrap();
        let [damage] = &report.damage[..] else { panic!("{:?}", report.damage) };
        assert_eq!((damage.block, damage.part), (Some(usize::from(block)), Part::Filter));
        sim.flip_bit(path, offset * 8).unwrap();
    }
}

#[test]
fn what_is_no_block_or_no_table_is_refused() {
    let env = Sim::new(1).env();
    let mut builder = TableBuilder::create(&env, "t.sst", ID).unwrap();
    let chunk = builder.add_chunk(b"directory").unwrap();
    let block = |min: &[u8], max: &[u8], directory| BlockMeta {
        min_key: min.to_vec(),
        max_key: max.to_vec(),
        entries: 1,
        directory,
        filters: Vec::new(),
        user: Vec::new(),
    };
    let past = ChunkHandle { offset: chunk.offset, len: chunk.len + 1 };
    assert!(builder.add_block(block(b"a", b"b", past)).is_err(), "past the end");
    assert!(builder.add_block(block(b"b", b"a", chunk)).is_err(), "keys the wrong way round");
    assert!(builder.add_block(BlockMeta { entries: 0, ..block(b"a", b"b", chunk) }).is_err(), "no entries");
    let filters = |count| BlockMeta { filters: vec![chunk; count], ..block(b"b", b"c", chunk) };
    assert!(builder.add_block(filters(256)).is_err(), "too many filters");
    builder.add_block(filters(255)).unwrap();
    assert!(builder.add_block(block(b"c", b"d", chunk)).is_err(), "a chunk of another block");
    let next = builder.add_chunk(b"directory").unwrap();
    assert!(builder.add_block(block(b"a", b"d", next)).is_err(), "below the block before");
    builder.add_block(block(b"b", b"d", next)).unwrap();
    builder.finish().unwrap();
    let empty = TableBuilder::create(&env, "e.sst", ID).unwrap();
    assert!(matches!(empty.finish(), Err(Error::InvalidArgument(_))));
    assert!(!env.fs.exists(Path::new("e.sst.tmp")).unwrap());
}

#[test]
fn a_handle_from_nowhere_is_an_error_that_allocates_nothing() {
    let env = Sim::new(1).env();
    let table = table(&env, Path::new("t.sst"), 2);
    let whole = table.blocks()[0].directory;
    for (offset, len) in
        [(0, 1), (u64::MAX, u32::MAX), (whole.offset, u32::MAX), (whole.offset + 1, 4), (whole.offset, 4)]
    {
        let error = table.read_chunk(ChunkHandle { offset, len }).unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert!(error.to_string().contains("t.sst"), "{error}");
    }
}
