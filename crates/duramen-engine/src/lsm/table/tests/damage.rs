//! Damage is found, named, and costs what it hit.

use super::*;
use crate::io::sim::Sim;
use crate::lsm::cursor::RangeTombstone;
use crate::sstable::{Part, Table};

/// What verify says of a bit in each part, and what can still be read.
#[test]
fn a_flipped_bit_costs_only_what_it_hit() {
    let versions = plain_versions(300);
    let sim = Sim::new(5);
    let env = sim.env();
    let range = RangeTombstone { start: b"x".to_vec(), end: b"y".to_vec(), seq: 1 };
    let mut writer = TableWriter::create(&env, Path::new(PATH), &small()).unwrap();
    for (key, seq, kind, value) in &versions {
        writer.add(key, *seq, *kind, value).unwrap();
    }
    writer.add_range_tombstone(&range).unwrap();
    let summary = writer.finish().unwrap();
    let mut parts = std::collections::BTreeMap::new();
    for offset in (0..summary.file_bytes).step_by(13) {
        sim.flip_bit(Path::new(PATH), offset * 8 + offset % 8).unwrap();
        let report = Table::verify(&env, PATH).unwrap();
        assert_eq!(report.damage.len(), 1, "byte {offset}: {:?}", report.damage);
        let damage = &report.damage[0];
        assert!(damage.offset <= offset && offset < damage.offset + damage.bytes, "byte {offset} is named");
        let cache = Arc::new(BlockCache::new(0));
        let reader = TableReader::open(&env, Path::new(PATH), &cache);
        let part = damage.part;
        *parts.entry(format!("{part:?}")).or_insert(0) += 1;
        if matches!(part, Part::Header | Part::Index | Part::Properties | Part::Footer) {
            let error = reader.unwrap_err();
            assert!(error.is_corruption(), "{error}");
        } else {
            let reader = reader.unwrap();
            let lost = versions
                .iter()
                .filter(|(key, seq, _, value)| match reader.get(key, hash(key), u64::MAX) {
                    Ok(found) => {
                        let found = found.expect("a key that is not denied");
                        assert!(found.seq == *seq && found.value == *value);
                        false
                    }
                    Err(error) => {
                        assert!(error.is_corruption() && error.to_string().contains(PATH), "{error}");
                        true
                    }
                })
                .count();
            match (part, damage.block) {
                (Part::Filter, _) => {
                    assert_eq!(lost, 0, "a damaged filter is done without");
                    assert_eq!(reader.damage().len(), 1);
                }
                (Part::Directory, _) => assert!((1..=100).contains(&lost), "a partition: {lost}"),
                (_, Some(_)) => assert!((1..=10).contains(&lost), "a block: {lost}"),
                (_, None) => {
                    assert_eq!(lost, 0);
                    assert!(reader.range_tombstones().unwrap_err().is_corruption());
                }
            }
            assert_eq!(reader.range_tombstones().is_err(), part == Part::Chunk && damage.block.is_none());
            let mut cursor = reader.cursor(false);
            let scanned = cursor.seek_to_first().and_then(|()| {
                while cursor.valid() {
                    cursor.next()?;
                }
                Ok(())
            });
            assert_eq!(scanned.is_err(), lost > 0);
            assert!(!cursor.valid(), "nowhere after an error");
        }
        sim.flip_bit(Path::new(PATH), offset * 8 + offset % 8).unwrap();
    }
    assert_eq!(parts.len(), 7, "every part was hit: {parts:?}");
}
