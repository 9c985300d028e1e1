//! A binary fuse filter: read from any bytes, and built of any hashes.
//!
//! ```text
//! input   flags u8 | bytes      flags bit 0: the bytes are hashes (u64 each) to build a filter of
//! ```

use super::Seed;
use crate::input::flags;
use duramen_engine::sstable::filter::{FuseFilter, FuseFilterRef};

/// Tries an input.
pub fn run(input: &[u8]) {
    let (flags, input) = flags(input);
    if flags & 1 != 0 {
        let hashes: Vec<u64> =
            input.as_chunks::<8>().0.iter().map(|hash| u64::from_le_bytes(*hash)).collect();
        let filter = FuseFilter::build(&mut hashes.clone());
        let decoded = FuseFilter::decode(&filter.encode()).unwrap();
        assert_eq!(decoded, filter);
        for hash in hashes {
            assert!(filter.contains(hash) && decoded.contains(hash), "{hash} is denied");
        }
    } else if let Ok(filter) = FuseFilterRef::parse(input) {
        for i in 0..64 {
            let _any = filter.contains(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i));
        }
        let _any = (filter.contains(0), filter.contains(u64::MAX));
    }
}

/// Filters of no, few and many hashes, and hashes.
pub fn seeds() -> Vec<Seed> {
    let hashes = |n: u64| (1..=n).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect::<Vec<_>>();
    let filter = |n: u64| [&[0][..], &FuseFilter::build(&mut hashes(n)).encode()].concat();
    let built =
        |n: u64| [&[1][..], &hashes(n).iter().flat_map(|h| h.to_le_bytes()).collect::<Vec<_>>()].concat();
    vec![
        ("none".into(), filter(0)),
        ("one".into(), filter(1)),
        ("blocks".into(), filter(40)),
        ("fuse".into(), filter(2500)),
        ("build".into(), built(30)),
    ]
}
