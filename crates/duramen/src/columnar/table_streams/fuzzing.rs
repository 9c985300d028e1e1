//! [`crate::fuzzing`]'s way to what tables tell of streams: everything that can be asked of it is.

#![allow(dead_code)] // compiled with the tests too, so that it stays right

use super::super::EncodeOptions;
use super::super::bytes::put_varint;
use super::super::compress::Zstd;
use super::super::labels::{Label, LabelSet};
use super::{StreamRows, TableStreams, TableStreamsBuilder};
use std::sync::Arc;

/// Reads the property, and what it tells of every set, label and block. Panics if a number leads nowhere, or rows are not so many
/// as is said.
pub(crate) fn look_at_all(property: &[u8]) {
    let Ok(table) = TableStreams::decode(property) else { return };
    let (table, mut names) = (Arc::new(table), Vec::new());
    for set in 0..table.sets().min(1 << 10) {
        table.with_set(set, |labels| names.extend(labels.iter().map(|(name, _)| (*name).to_owned())));
    }
    names.sort_unstable();
    names.dedup();
    for label in names.iter().filter_map(|name| table.label(name)) {
        assert!(label.of_sets().iter().all(|&number| (number as usize) < label.numbers()));
        (0..label.numbers()).for_each(|number| _ = label.value(number));
    }
    assert_eq!(table.rows().len(), table.sets());
    assert!(table.of_block(table.blocks(), 0).is_none());
    for (number, block) in table.blocks.iter().enumerate() {
        let Some(streams) = table.of_block(number, block.rows) else { continue };
        let rows = streams.rows().fold(0u64, |sum, (_, rows)| sum.saturating_add(rows.into()));
        assert_eq!(rows, block.rows);
        assert!(streams.rows().all(|(set, _)| set < table.sets()));
    }
    let _any = table.bytes();
}

/// Bytes as a property that stores them as they are.
pub(crate) fn stored(plain: &[u8]) -> Vec<u8> {
    let mut property = vec![0];
    put_varint(&mut property, plain.len() as u64);
    property.extend_from_slice(plain);
    property
}

/// What tables of no, few and many streams tell, with a name; compressed if that makes it smaller.
pub(crate) fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let label = |name: &str, value: String| Label { name: name.into(), value: value.into(), kind: 0 };
    let sets = |count: usize| -> Vec<LabelSet> {
        let set = |i| match i % 5 {
            0 => vec![label("app", format!("app-{}", i % 3))],
            _ => vec![label("app", format!("app-{}", i % 3)), label("pod", format!("pod-{i}"))],
        };
        (0..count).map(set).collect()
    };
    let mut seeds = Vec::new();
    for (name, count) in [("none", 0), ("few", 3), ("many", 60)] {
        let mut builder = TableStreamsBuilder::default();
        for block in 0..2u32 {
            let rows = (0..count as u32).map(|i| i * 7 % 300 + block).collect();
            builder.add_block(Some(&StreamRows { sets: Arc::new(sets(count)), rows }));
        }
        let written = Zstd::new(EncodeOptions::default())
            .and_then(|mut zstd| builder.finish(&|name| name == "pod" && count == 3, &mut zstd));
        seeds.extend(written.ok().flatten().map(|property| (name, property)));
    }
    seeds
}
