//! Where a table's rows come from: which flush put them into a table, and up to which sequence number. It tells
//! a [`Tail`](super::Tail), when tables were merged, which of their rows it has had.

use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Name of the table property that holds its [`Origins`].
pub(crate) const ORIGINS_PROPERTY: &str = "origins";

/// By the number of the table that a flush wrote, and writer: the last sequence number of its rows in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origins {
    last_seq: BTreeMap<(u64, u64), u64>,
}

impl Origins {
    /// A flush put this row into the table.
    pub(crate) fn add_row(&mut self, table: u64, writer: u64, seq: u64) {
        let last = self.last_seq.entry((table, writer)).or_insert(seq);
        *last = seq.max(*last);
    }

    /// Adds those of a table that is merged with others.
    pub(crate) fn add(&mut self, other: Self) {
        self.last_seq.extend(other.last_seq);
    }

    /// The writers that its rows are of, some more than once.
    pub(crate) fn writers(&self) -> impl Iterator<Item = u64> {
        self.last_seq.keys().map(|&(_, writer)| writer)
    }

    /// The tables that flushes put its rows into, some more than once.
    pub(crate) fn tables(&self) -> impl Iterator<Item = u64> {
        self.last_seq.keys().map(|&(table, _)| table)
    }

    /// The last sequence number of a writer's rows.
    pub(crate) fn last_of(&self, writer: u64) -> Option<u64> {
        self.last_seq.iter().filter(|((_, of), _)| *of == writer).map(|(_, &seq)| seq).max()
    }

    /// Whether some rows of both may come from the same flush.
    pub(crate) fn share(&self, other: &Self) -> bool {
        self.last_seq.keys().any(|key| other.last_seq.contains_key(key))
    }

    /// Up to which sequence number each writer's rows were put into tables before `table`.
    pub(crate) fn before(&self, table: u64) -> BTreeMap<u64, u64> {
        let mut last = BTreeMap::new();
        for (&(_, writer), &seq) in self.last_seq.range(..(table, 0)) {
            let known = last.entry(writer).or_insert(seq);
            *known = seq.max(*known);
        }
        last
    }

    /// CBOR: an array of arrays `[table, writer, last sequence number]`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flat: Vec<(u64, u64, u64)> = self.last_seq.iter().map(|(&(t, w), &s)| (t, w, s)).collect();
        let mut out = Vec::new();
        // Writing to a Vec cannot fail.
        let _infallible = minicbor::encode(flat, &mut out);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let flat: Vec<(u64, u64, u64)> =
            minicbor::decode(bytes).map_err(|e| Error::decode("a table's origins", e))?;
        Ok(Self { last_seq: flat.into_iter().map(|(t, w, s)| ((t, w), s)).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_add_up_come_back_and_tell_the_old_from_the_new() {
        let mut merged = Origins::default();
        for (table, writer, seq) in [(1, 7, 10), (1, 7, 9), (2, 8, 5), (4, 7, 20)] {
            let mut one = Origins::default();
            one.add_row(table, writer, seq);
            one.add_row(table, writer, seq - 1);
            let known = merged.last_seq.get(&(table, writer)).copied().unwrap_or(0);
            if seq > known {
                merged.add(one);
            }
        }
        assert_eq!(Origins::decode(&merged.encode()).unwrap(), merged);
        assert_eq!(merged.before(4), BTreeMap::from([(7, 10), (8, 5)]));
        assert_eq!(merged.before(5), BTreeMap::from([(7, 20), (8, 5)]));
        assert_eq!(merged.before(1), BTreeMap::new());
        assert!(Origins::decode(b"nonsense").is_err());
    }
}
