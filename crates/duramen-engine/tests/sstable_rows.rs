//! Row blocks against a sorted map, and against damage that checksums do not see.
#![allow(clippy::unwrap_used, clippy::panic)] // the helpers of a test may fail as the test does

use duramen_engine::sstable::rows::RowCodec;
use duramen_engine::sstable::{BlockCodec, BlockMeta, ChunkHandle, ChunkSink, MemoryChunks};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn block(map: &BTreeMap<Vec<u8>, Vec<u8>>, codec: RowCodec) -> (Arc<MemoryChunks>, BlockMeta) {
    let rows: Vec<(&[u8], &[u8])> = map.iter().map(|(k, v)| (&k[..], &v[..])).collect();
    let mut chunks = MemoryChunks::default();
    let meta = codec.encode(&rows, &mut chunks).unwrap();
    (Arc::new(chunks), meta)
}

/// Keys of few letters, so that they share beginnings.
fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(b'a'..b'd', 0..8)
}

proptest! {
    #[test]
    fn a_block_answers_as_a_map_does(
        map in prop::collection::btree_map(keys(), prop::collection::vec(any::<u8>(), 0..5), 1..80),
        probes in prop::collection::vec(keys(), 10),
        restart_interval in 1usize..20, filter in any::<bool>(),
    ) {
        let codec = RowCodec { restart_interval, filter };
        let (chunks, meta) = block(&map, codec);
        prop_assert_eq!(&meta.min_key, map.keys().next().unwrap());
        prop_assert_eq!(&meta.max_key, map.keys().next_back().unwrap());
        prop_assert_eq!(meta.entries, map.len() as u64);
        let opened = codec.open(chunks.clone(), &meta).unwrap();
        for probe in probes.iter().chain(map.keys()) {
            prop_assert_eq!(opened.get(probe).unwrap(), map.get(probe).map(Vec::as_slice));
            if map.contains_key(probe) {
                prop_assert!(RowCodec::may_contain(&*chunks, &meta, probe).unwrap());
            }
            let mut cursor = opened.seek(probe).unwrap();
            for (key, value) in map.range(probe.clone()..) {
                prop_assert!(cursor.advance().unwrap());
                prop_assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
            }
            prop_assert!(!cursor.advance().unwrap());
            prop_assert!(!cursor.advance().unwrap(), "the end stays the end");
        }
    }

    #[test]
    fn rows_that_make_no_sense_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..60), restarts in 0u32..4) {
        let mut sealed = bytes.clone();
        (0..restarts).for_each(|i| sealed.extend_from_slice(&(i * 5).to_le_bytes()));
        sealed.extend_from_slice(&restarts.to_le_bytes());
        for bytes in [bytes, sealed] {
            read(&bytes);
        }
    }

    #[test]
    fn mutated_rows_are_errors_or_other_rows(at in any::<prop::sample::Index>(), flip in 1u8..) {
        let map = (0..40u8).map(|i| (vec![b'k', i / 10, i], vec![i; 3])).collect();
        let (chunks, meta) = block(&map, RowCodec { restart_interval: 4, filter: false });
        let mut bytes = duramen_engine::sstable::ChunkSource::read_chunk(&*chunks, meta.directory).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        read(&bytes);
    }
}

/// Reads whatever a block of these bytes gives. Its checksum is right.
fn read(bytes: &[u8]) {
    let mut chunks = MemoryChunks::default();
    let directory = chunks.add_chunk(bytes).unwrap();
    let meta = BlockMeta {
        min_key: Vec::new(),
        max_key: Vec::new(),
        entries: 1,
        directory,
        filters: vec![ChunkHandle { offset: 8, len: bytes.len() as u32 }],
        user: Vec::new(),
    };
    let chunks = Arc::new(chunks);
    let _ = RowCodec::may_contain(&*chunks, &meta, b"k");
    if let Ok(block) = RowCodec::default().open(chunks, &meta) {
        let _ = block.get(b"k");
        let mut cursor = block.iter();
        while cursor.advance().is_ok_and(|more| more) {}
    }
}

#[test]
fn rows_out_of_order_and_no_rows_are_refused() {
    let codec = RowCodec::default();
    let mut chunks = MemoryChunks::default();
    assert!(codec.encode(&[], &mut chunks).is_err());
    assert!(codec.encode(&[(b"b", b""), (b"a", b"")], &mut chunks).is_err());
    assert!(codec.encode(&[(b"a", b""), (b"a", b"")], &mut chunks).is_err());
    assert!(RowCodec { restart_interval: 0, filter: false }.encode(&[(b"a", b"")], &mut chunks).is_err());
    assert!(chunks.is_empty(), "nothing was written");
}
