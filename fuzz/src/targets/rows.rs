//! A block of prefix-compressed rows: going through it, and searching it.
//!
//! ```text
//! input   part: a key to search | the block
//! ```

use super::Seed;
use crate::input::put_part;
use duramen_engine::sstable::rows::RowCodec;
use duramen_engine::sstable::{BlockCodec, BlockMeta, ChunkHandle, ChunkSink, ChunkSource, MemoryChunks};
use std::sync::Arc;

/// Tries an input.
pub fn run(input: &[u8]) {
    let Some((len, rest)) = input.split_first_chunk::<2>() else { return };
    let (probe, block) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
    let mut chunks = MemoryChunks::default();
    let Ok(directory) = chunks.add_chunk(block) else { return };
    let Ok(block) = RowCodec::default().open(Arc::new(chunks), &meta(directory)) else { return };
    let mut rows = Vec::new();
    let mut cursor = block.iter();
    let whole = loop {
        match cursor.advance() {
            Ok(true) => rows.push((cursor.key().to_vec(), cursor.value())),
            Ok(false) => break true,
            Err(_) => break false,
        }
    };
    let found = block.seek(probe).and_then(|mut cursor| Ok(cursor.advance()?.then(|| cursor.key().to_vec())));
    let _any = block.get(probe);
    if whole && rows.is_sorted_by(|a, b| a.0 < b.0) {
        // Restarts may lie anywhere in bytes that nobody wrote, so a search may miss or fail, but not invent.
        for (key, value) in &rows {
            if let Ok(Some(found)) = block.get(key) {
                assert!(rows.iter().any(|row| row.1 == found) || found != *value);
            }
        }
        if let Ok(Some(found)) = found {
            assert!(found.as_slice() >= probe);
        }
    }
}

fn meta(directory: ChunkHandle) -> BlockMeta {
    BlockMeta { min_key: vec![], max_key: vec![], entries: 1, directory, filters: vec![], user: vec![] }
}

/// Blocks whose keys share much and little.
pub fn seeds() -> Vec<Seed> {
    let block = |probe: &str, restart_interval: usize, keys: &[&str]| {
        let rows: Vec<_> = keys.iter().map(|key| (key.as_bytes(), key.as_bytes())).collect();
        let mut chunks = MemoryChunks::default();
        let codec = RowCodec { restart_interval, filter: false };
        let meta = codec.encode(&rows, &mut chunks).unwrap();
        let mut input = Vec::new();
        put_part(&mut input, probe.as_bytes());
        input.extend(chunks.read_chunk(meta.directory).unwrap());
        input
    };
    let many: Vec<String> = (0..40).map(|n| format!("user/{:03}/name", n * 7)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    vec![
        ("one".into(), block("a", 16, &["a"])),
        ("few".into(), block("app", 2, &["", "a", "apple", "applesauce", "b"])),
        ("many".into(), block("user/100", 16, &many)),
        ("every".into(), block("zebra", 1, &many[..8])),
    ]
}
