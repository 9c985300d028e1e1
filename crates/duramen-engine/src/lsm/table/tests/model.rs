//! Whatever is written is read again: by get, forwards, backwards, from anywhere.

use super::*;
use crate::io::sim::Sim;
use crate::lsm::cursor::RangeTombstone;
use crate::lsm::table::block::order;
use crate::sstable::Table;
use crate::{Error, kv};
use proptest::prelude::*;

/// Keys from a small alphabet, so that they share prefixes and repeat; some long.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::collection::vec(prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(0xff)], 0..6),
        2 => (0u32..40).prop_map(|n| format!("common/prefix/{n:06}").into_bytes()),
        1 => (any::<u8>(), 100usize..600).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

fn versions() -> impl Strategy<Value = Vec<Version>> {
    let kind = prop_oneof![3 => Just(OpKind::Put), 1 => Just(OpKind::Delete)];
    let value = prop_oneof![6 => prop::collection::vec(any::<u8>(), 0..60), 1 => (0u8..4, 0usize..900).prop_map(|(b, n)| vec![b; n])];
    let seq = prop_oneof![4 => 0u64..40, 1 => (1u64 << 40)..(1 << 40) + 9, 1 => Just(u64::MAX >> 1)];
    prop::collection::vec((key(), seq, kind, value), 1..120).prop_map(|mut versions| {
        versions.sort_by(|a, b| order((&a.0, a.1), (&b.0, b.1)));
        versions.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
        versions
    })
}

fn options() -> impl Strategy<Value = TableOptions> {
    let compression =
        prop_oneof![2 => Just(NO_COMPRESSION), 1 => Just(Compression::Lz4), 1 => Just(Compression::Zstd(1))];
    (
        prop_oneof![Just(1usize), Just(64), Just(256), Just(4096)],
        1u16..20,
        any::<bool>(),
        compression,
        1u64..3000,
    )
        .prop_map(|(block_size, block_restart_interval, filter, compression, partition_bytes)| {
            TableOptions { block_size, block_restart_interval, filter, compression, partition_bytes }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn what_was_written_is_read(
        versions in versions(), options in options(), probes in prop::collection::vec((key(), 0u64..60), 20),
        cache in prop_oneof![Just(0usize), Just(3000), Just(1 << 20)], fill_cache in any::<bool>(),
    ) {
        let env = Sim::new(1).env();
        let summary = write(&env, &options, &versions);
        prop_assert_eq!(summary.entries, versions.len() as u64);
        prop_assert_eq!(&summary.smallest, &versions[0].0);
        prop_assert_eq!(&summary.largest, &versions[versions.len() - 1].0);
        prop_assert_eq!(summary.min_seq, versions.iter().map(|v| v.1).min().unwrap());
        prop_assert_eq!(summary.max_seq, versions.iter().map(|v| v.1).max().unwrap());
        let report = Table::verify(&env, PATH).unwrap();
        prop_assert!(report.is_whole());
        prop_assert_eq!(report.file_bytes, summary.file_bytes);

        let reader = open(&env, cache);
        let places: Vec<_> = probes.into_iter().chain(versions.iter().map(|v| (v.0.clone(), v.1))).collect();
        let mut cursor = reader.cursor(fill_cache);
        prop_assert!(!cursor.valid());
        for (key, seq) in &places {
            let first = versions.partition_point(|v| order((&v.0, v.1), (key, *seq)).is_lt());
            let expected = versions.get(first).filter(|v| &v.0 == key);
            let found = reader.get(key, hash(key), *seq).unwrap();
            prop_assert_eq!(found.as_ref().map(|f| (f.seq, f.kind, &*f.value)), expected.map(|v| (v.1, v.2, &*v.3)));
            prop_assert!(expected.is_none() || reader.may_contain(key, hash(key)).unwrap());
            cursor.seek(key, *seq).unwrap();
            prop_assert_eq!(at(&cursor), versions.get(first).cloned());
            if first < versions.len() {
                cursor.next().unwrap();
                prop_assert_eq!(at(&cursor), versions.get(first + 1).cloned());
            }
            cursor.seek_before(key, *seq).unwrap();
            prop_assert_eq!(at(&cursor), first.checked_sub(1).map(|before| versions[before].clone()));
            if cursor.valid() {
                cursor.next().unwrap();
                prop_assert_eq!(at(&cursor), versions.get(first).cloned());
            }
        }
        let mut all = Vec::new();
        cursor.seek_to_first().unwrap();
        while let Some(version) = at(&cursor) {
            all.push(version);
            cursor.next().unwrap();
        }
        prop_assert_eq!(&all, &versions);
        cursor.seek_to_last().unwrap();
        for version in versions.iter().rev() {
            prop_assert_eq!(at(&cursor), Some(version.clone()));
            cursor.prev().unwrap();
        }
        prop_assert!(!cursor.valid());
    }
}

#[test]
fn large_keys_and_values_come_back() {
    let env = Sim::new(1).env();
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd(1)] {
        let mut noise = 1u64;
        let mut value = |len: usize| -> Vec<u8> {
            std::iter::repeat_with(|| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (noise >> 56) as u8
            })
            .take(len)
            .collect()
        };
        let versions = vec![
            (vec![], 3, OpKind::Put, vec![]),
            (vec![1; kv::MAX_KEY_BYTES], 9, OpKind::Put, value(kv::MAX_VALUE_BYTES)),
            (vec![1; kv::MAX_KEY_BYTES], 8, OpKind::Put, vec![7; kv::MAX_VALUE_BYTES]),
            (vec![2; kv::MAX_KEY_BYTES], 1, OpKind::Delete, vec![]),
        ];
        write(&env, &TableOptions { compression, ..small() }, &versions);
        let reader = open(&env, 1 << 20);
        for (key, seq, kind, value) in &versions {
            let found = reader.get(key, hash(key), *seq).unwrap().unwrap();
            assert!((found.seq, found.kind) == (*seq, *kind) && found.value == *value);
        }
        env.fs.remove_file(Path::new(PATH)).unwrap();
    }
}

#[test]
fn ranges_come_back_and_count_in_the_summary() {
    let env = Sim::new(1).env();
    let range =
        |start: &[u8], end: &[u8], seq| RangeTombstone { start: start.to_vec(), end: end.to_vec(), seq };
    let ranges = [range(b"m", b"z", 70), range(b"a", b"c", 3)];
    for rows in [0, 3] {
        let mut writer = TableWriter::create(&env, Path::new(PATH), &small()).unwrap();
        for i in 0..rows {
            writer.add(format!("k{i}").as_bytes(), 10, OpKind::Put, b"v").unwrap();
        }
        for range in &ranges {
            writer.add_range_tombstone(range).unwrap();
        }
        let summary = writer.finish().unwrap();
        assert_eq!((&*summary.smallest, &*summary.largest), (&b"a"[..], &b"z"[..]));
        assert_eq!(
            (summary.min_seq, summary.max_seq, summary.range_deletes, summary.entries),
            (3, 70, 2, rows)
        );
        let reader = open(&env, 0);
        assert_eq!(&*reader.range_tombstones().unwrap(), &ranges);
        assert_eq!(reader.get(b"k1", hash(b"k1"), 99).unwrap().is_some(), rows > 0);
        let mut cursor = reader.cursor(true);
        cursor.seek_to_last().unwrap();
        assert_eq!(cursor.valid(), rows > 0);
        assert!(Table::verify(&env, PATH).unwrap().is_whole());
        env.fs.remove_file(Path::new(PATH)).unwrap();
    }
}

#[test]
fn what_cannot_be_added_is_refused() {
    let env = Sim::new(1).env();
    let mut writer = TableWriter::create(&env, Path::new(PATH), &small()).unwrap();
    writer.add(b"b", 5, OpKind::Put, b"").unwrap();
    for (key, seq) in [(&b"b"[..], 5), (b"b", 6), (b"a", 1), (b"", 1), (b"c", u64::MAX)] {
        assert!(
            matches!(writer.add(key, seq, OpKind::Put, b""), Err(Error::InvalidArgument(_))),
            "{key:?} {seq}"
        );
    }
    assert!(writer.add(b"c", 1, OpKind::DeleteRange, b"d").is_err());
    assert!(writer.add(&vec![b'c'; kv::MAX_KEY_BYTES + 1], 1, OpKind::Put, b"").is_err());
    assert!(writer.add(b"c", 1, OpKind::Put, &vec![0; kv::MAX_VALUE_BYTES + 1]).is_err());
    let range =
        |start: &[u8], end: &[u8]| RangeTombstone { start: start.to_vec(), end: end.to_vec(), seq: 1 };
    assert!(writer.add_range_tombstone(&range(b"b", b"b")).is_err());
    writer.add(b"b", 4, OpKind::Put, b"").unwrap();
    assert_eq!(writer.finish().unwrap().entries, 2);

    let writer = TableWriter::create(&env, Path::new("empty.sst"), &small()).unwrap();
    assert!(matches!(writer.finish(), Err(Error::InvalidArgument(_))));
    assert!(!env.fs.exists(Path::new("empty.sst.tmp")).unwrap());
}

#[test]
fn versions_of_one_key_may_fill_partitions() {
    let env = Sim::new(1).env();
    let mut versions: Vec<Version> = (0..400)
        .rev()
        .map(|seq| (b"hot".to_vec(), seq, OpKind::Put, format!("at {seq}").into_bytes()))
        .collect();
    versions.push((b"hot!".to_vec(), 3, OpKind::Put, b"other".to_vec()));
    write(&env, &TableOptions { partition_bytes: 600, ..small() }, &versions);
    let reader = open(&env, 1 << 20);
    assert!(reader.partitions() > 5);
    for seq in 0..400 {
        assert_eq!(reader.get(b"hot", hash(b"hot"), seq).unwrap().unwrap().seq, seq);
    }
    assert!(reader.get(b"hot!", hash(b"hot!"), 2).unwrap().is_none());
}
