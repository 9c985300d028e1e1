//! Damaged tables: every flipped bit and every cut is found and named, and nothing panics.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::Error;
use duramen_engine::io::{Env, OpenMode, sim::Sim};
use duramen_engine::sstable::rows::RowCodec;
use duramen_engine::sstable::{BlockCodec, Part, Table, TableBuilder};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "t.sst";
const BLOCKS: u8 = 3;

/// A small table and its bytes.
fn table() -> (Sim, Vec<u8>) {
    let sim = Sim::new(1);
    let mut builder = TableBuilder::create(&sim.env(), PATH, RowCodec::ID).unwrap();
    for block in 0..BLOCKS {
        let rows: Vec<([u8; 2], [u8; 3])> = (0..5).map(|i| ([block, i], [i; 3])).collect();
        let rows: Vec<(&[u8], &[u8])> = rows.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        builder.write_block(&RowCodec::default(), &rows).unwrap();
    }
    builder.set_property("name", b"value");
    builder.finish().unwrap();
    let bytes = sim.read_file(Path::new(PATH)).unwrap();
    (sim, bytes)
}

/// A world with one file.
fn file(bytes: &[u8]) -> Env {
    let env = Sim::new(1).env();
    env.fs.open(Path::new(PATH), OpenMode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
    env
}

/// Opens a table and reads each row of each block.
fn read_all(env: &Env) -> Result<usize, Error> {
    let table = Arc::new(Table::open(env, PATH, RowCodec::ID)?);
    let mut rows = 0;
    for (block, meta) in table.blocks().iter().enumerate() {
        RowCodec::may_contain(&*table, meta, b"any")?;
        let opened = table.open_block(&RowCodec::default(), block)?;
        let mut cursor = opened.iter();
        while cursor.advance()? {
            rows += 1;
        }
    }
    Ok(rows)
}

#[test]
fn every_flipped_bit_is_found_where_it_is() {
    let (sim, bytes) = table();
    assert_eq!(read_all(&sim.env()).unwrap(), 15);
    let footer = bytes.len() as u64 - 56;
    for bit in 0..bytes.len() as u64 * 8 {
        sim.flip_bit(Path::new(PATH), bit).unwrap();
        let at = bit / 8;
        let report = Table::verify(&sim.env(), PATH).unwrap();
        let hit = report.damage.iter().find(|d| (d.offset..d.offset + d.bytes).contains(&at));
        let hit = hit.unwrap_or_else(|| panic!("byte {at}: {:?}", report.damage));
        if at < 20 {
            assert_eq!(hit.part, Part::Header);
        } else if at >= footer {
            assert_eq!(hit.part, Part::Footer);
        }
        assert_eq!(report.damage.len(), 1, "byte {at}: {:?}", report.damage);
        let error = read_all(&sim.env()).unwrap_err();
        assert!(error.is_corruption() && error.to_string().contains(PATH), "byte {at}: {error}");
        sim.flip_bit(Path::new(PATH), bit).unwrap();
    }
    assert!(Table::verify(&sim.env(), PATH).unwrap().is_whole());
}

#[test]
fn damage_is_named_by_block_and_part_and_no_other_is_lost() {
    let (sim, _) = table();
    let table = Arc::new(Table::open(&sim.env(), PATH, RowCodec::ID).unwrap());
    let (directory, filter) = (table.blocks()[0].directory, table.blocks()[2].filters[0]);
    sim.flip_bit(Path::new(PATH), directory.offset * 8).unwrap();
    sim.flip_bit(Path::new(PATH), (filter.offset - 8) * 8 + 30).unwrap();
    let report = Table::verify(&sim.env(), PATH).unwrap();
    let found: Vec<_> = report.damage.iter().map(|d| (d.offset + 8, d.block, d.part)).collect();
    let expected = [(directory.offset, Some(0), Part::Directory), (filter.offset, Some(2), Part::Filter)];
    assert_eq!(found, expected);
    assert_eq!(report.chunks, 2 * u64::from(BLOCKS) - 2 + 2, "all other chunks are whole");
    assert!(table.open_block(&RowCodec::default(), 0).is_err());
    assert!(table.open_block(&RowCodec::default(), 1).is_ok(), "a damaged block costs that block");
}

#[test]
fn a_damaged_length_costs_no_more_than_its_chunk() {
    let (sim, _) = table();
    let first = Table::open(&sim.env(), PATH, RowCodec::ID).unwrap().blocks()[0].directory;
    for bit in 0..32 {
        sim.flip_bit(Path::new(PATH), (first.offset - 8) * 8 + bit).unwrap();
        let report = Table::verify(&sim.env(), PATH).unwrap();
        assert_eq!(report.damage.len(), 1, "bit {bit}: {:?}", report.damage);
        assert_eq!(report.damage[0].bytes, 8 + u64::from(first.len), "bit {bit}");
        sim.flip_bit(Path::new(PATH), (first.offset - 8) * 8 + bit).unwrap();
    }
}

#[test]
fn every_cut_is_found() {
    let (_, bytes) = table();
    for len in 0..bytes.len() {
        let env = file(&bytes[..len]);
        let error = Table::open(&env, PATH, RowCodec::ID).unwrap_err();
        assert!(error.is_corruption(), "cut to {len}: {error}");
        assert!(!Table::verify(&env, PATH).unwrap().is_whole(), "cut to {len}");
    }
    let longer = file(&[&bytes[..], &[0]].concat());
    assert!(Table::open(&longer, PATH, RowCodec::ID).unwrap_err().is_corruption());
    assert!(!Table::verify(&longer, PATH).unwrap().is_whole());
}

#[test]
fn a_table_of_a_later_format_says_so_and_earlier_ones_are_read() {
    let of_version = |version| {
        let (_, mut bytes) = table();
        bytes[8] = version;
        let crc = crc32c::crc32c(&bytes[..16]);
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        file(&bytes)
    };
    let later = of_version(4);
    assert!(matches!(Table::open(&later, PATH, RowCodec::ID), Err(Error::TooNew { found: 4, .. })));
    assert!(matches!(Table::verify(&later, PATH), Err(Error::TooNew { found: 4, .. })));
    // Where a block has its filter is all in which they differ.
    for earlier in [1, 2] {
        assert_eq!(read_all(&of_version(earlier)).unwrap(), 15);
        assert!(Table::verify(&of_version(earlier), PATH).unwrap().is_whole());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn random_files_are_no_tables(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let env = file(&bytes);
        prop_assert!(Table::open(&env, PATH, RowCodec::ID).unwrap_err().is_corruption());
        prop_assert!(!Table::verify(&env, PATH).unwrap().is_whole());
    }

    #[test]
    fn mutated_tables_are_found_out(at in any::<prop::sample::Index>(), with in prop::collection::vec(any::<u8>(), 1..40)) {
        let (_, bytes) = table();
        let mut mutated = bytes.clone();
        let at = at.index(bytes.len());
        let end = (at + with.len()).min(bytes.len());
        mutated[at..end].copy_from_slice(&with[..end - at]);
        let env = file(&mutated);
        let changed = mutated != bytes;
        prop_assert_eq!(read_all(&env).is_err(), changed);
        prop_assert_eq!(!Table::verify(&env, PATH).unwrap().is_whole(), changed);
    }
}
