use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

fn hashes(n: u64) -> Vec<u64> {
    (0..n).map(|i| xxh3_64(&i.to_le_bytes())).collect()
}

#[test]
fn every_size_holds_all_its_keys_and_few_others() {
    let mut wrong = 0u64;
    let mut asked = 0u64;
    for n in (0..200).chain([500, 1000, 5000, 30_000]) {
        let filter = FuseFilter::build(&mut hashes(n));
        assert!(hashes(n).iter().all(|&h| filter.contains(h)), "{n} keys");
        asked += 2000;
        wrong += (1 << 40..(1 << 40) + 2000u64).filter(|i| filter.contains(xxh3_64(&i.to_le_bytes()))).count()
            as u64;
    }
    let rate = wrong as f64 / asked as f64;
    assert!((0.002..0.006).contains(&rate), "false positives: {rate}");
}

#[test]
fn sizes_stay_near_what_is_measured() {
    for (n, bits) in [(10, 15.0), (100, 10.5), (1000, 10.0), (10_000, 10.2), (100_000, 9.6)] {
        let encoded = FuseFilter::build(&mut hashes(n)).encode();
        let found = encoded.len() as f64 * 8.0 / n as f64;
        assert!(found <= bits, "{n} keys take {found:.2} bits each, over {bits}");
    }
}

#[test]
fn the_same_set_gives_the_same_bytes() {
    let mut twice = hashes(300);
    twice.extend(hashes(300).iter().rev());
    assert_eq!(FuseFilter::build(&mut twice).encode(), FuseFilter::build(&mut hashes(300)).encode());
    assert_eq!(twice.len(), 300);
    let mut backwards: Vec<u64> = hashes(300).into_iter().rev().collect();
    assert_eq!(FuseFilter::build(&mut backwards), FuseFilter::build(&mut hashes(300)));
    assert_eq!(FuseFilter::build(&mut Vec::new()).encode(), [0]);
}

proptest! {
    #[test]
    fn no_key_is_denied(set in prop::collection::btree_set(any::<u64>(), 0..300), small in prop::collection::btree_set(0u64..50, 0..50)) {
        for set in [set, small] {
            let filter = FuseFilter::build(&mut set.iter().copied().collect());
            let encoded = filter.encode();
            prop_assert_eq!(&FuseFilter::decode(&encoded).unwrap(), &filter);
            let view = FuseFilterRef::parse(&encoded).unwrap();
            prop_assert!(set.iter().all(|&hash| filter.contains(hash) && view.contains(hash)));
            prop_assert!(encoded.len() == 1 || FuseFilterRef::parse(&encoded[..encoded.len() - 1]).is_err());
        }
    }

    #[test]
    fn parsing_is_total(bytes in prop::collection::vec(any::<u8>(), 0..80), kind in 0u8..3, probes in any::<[u64; 4]>()) {
        let mut typed = bytes.clone();
        typed.insert(0, kind);
        for bytes in [bytes, typed] {
            if let Ok(filter) = FuseFilterRef::parse(&bytes) {
                for probe in probes {
                    filter.contains(probe);
                }
            }
        }
    }

    #[test]
    fn positions_are_inside(hash in any::<u64>(), slots in 1u32..1000, log2 in 0u8..=18, segments in 1u32..1000) {
        for layout in [Layout::Blocks { slots }, Layout::Fuse { log2, segments }] {
            let positions = layout.positions(hash);
            prop_assert!(positions.iter().all(|&p| (p as u64) < layout.len()));
            prop_assert_eq!(BTreeSet::from(positions).len(), 3);
        }
    }
}
