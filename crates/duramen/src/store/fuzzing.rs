//! [`crate::fuzzing`]'s way to what is private to the store.

#![allow(dead_code)] // compiled with the tests too, so that it stays right

use super::field_counts::{FieldCount, FieldCounts};
use super::origins::Origins;
use super::retention::{Retention, RetentionRule};
use super::source::SourcePosition;
use super::table_facts::{BlockFacts, ClassPart, Classes, TableFacts};
use crate::value::Level;

pub(crate) use super::payload::{entry_ranges, source_of};

pub(crate) fn source(bytes: &[u8]) -> Option<Vec<u8>> {
    SourcePosition::decode(bytes).ok().map(|source| source.to_bytes())
}

pub(crate) fn origins(bytes: &[u8]) -> Option<Vec<u8>> {
    Origins::decode(bytes).ok().map(|origins| origins.encode())
}

pub(crate) fn facts(bytes: &[u8]) -> Option<Vec<u8>> {
    let facts = TableFacts::decode(bytes).ok()?;
    let _any = (facts.rows(), facts.time_range(), facts.classes_by(1));
    Some(facts.encode())
}

pub(crate) fn field_counts(bytes: &[u8]) -> Option<Vec<u8>> {
    FieldCounts::of_property(bytes).ok().map(|counts| counts.encode())
}

pub(crate) fn retention(bytes: &[u8]) -> Option<Vec<u8>> {
    Retention::decode(bytes).ok().map(|policy| policy.encode())
}

pub(crate) fn seeds() -> [(&'static str, Vec<u8>); 5] {
    let source = SourcePosition {
        name: "/var/log/x".into(),
        head_bytes: 10,
        head_hash: 1,
        read_bytes: 99,
        read_hash: 2,
        entries: 3,
    };
    let mut origins = Origins::default();
    origins.add_row(1, 7, 10);
    origins.add_row(2, 8, 5);
    let blocks = vec![BlockFacts { rows: 3, min_time: -5, max_time: 9 }; 2];
    let classes = Some(Classes { id: 1, parts: vec![ClassPart { class: 1, rows: 6, max_time: 9 }] });
    let stream = r#"{app="x"}"#.parse().ok().map(|streams| RetentionRule::stream(streams, None));
    let rules = stream.into_iter().chain([RetentionRule::level(Level::Debug, None)]).collect();
    let policy = Retention { max_bytes: Some(1), rules, ..Retention::default() };
    let mut counts = FieldCounts::default();
    for name in ["app", "status"] {
        counts.fields.insert(name.into(), FieldCount { rows: 5, kinds: 3 });
    }
    [
        ("source", source.to_bytes()),
        ("origins", origins.encode()),
        (
            "facts",
            TableFacts { raw_bytes: 7, blocks, classes, is_well_cut: Some(true), id: Some(1) }.encode(),
        ),
        ("retention", policy.encode()),
        ("field-counts", counts.encode()),
    ]
}
