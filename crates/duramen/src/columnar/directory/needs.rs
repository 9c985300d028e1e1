//! Which bundles are read before others.

use super::super::bytes::{Reader, bad, put_varint};
use crate::error::Result;
use std::collections::BTreeMap;

/// What is read before a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Whose streams come before its own, for zstd.
    pub(crate) base: Option<usize>,
    /// Whose integers tell its own.
    pub(crate) key: Option<usize>,
}

impl Needs {
    /// The one or two.
    pub(crate) fn bundles(self) -> impl Iterator<Item = usize> {
        self.base.into_iter().chain(self.key)
    }
}

/// Writes which bundles need others.
pub(super) fn put_needs(p: &mut Vec<u8>, all: &BTreeMap<usize, Needs>) {
    put_varint(p, all.len() as u64);
    for (&bundle, needs) in all {
        put_varint(p, bundle as u64);
        for needed in [needs.base, needs.key] {
            put_varint(p, needed.map_or(0, |needed| needed as u64 + 1));
        }
    }
}

/// Which of so many bundles need others.
pub(super) fn read_needs(r: &mut Reader<'_>, bundles: usize) -> Result<BTreeMap<usize, Needs>> {
    let mut all = BTreeMap::new();
    for _ in 0..r.count(bundles)? {
        let bundle = r.count(bundles)?;
        let mut needed = || r.count(bundles).map(|n| n.checked_sub(1));
        let needs = Needs { base: needed()?, key: needed()? };
        let is_next = all.last_key_value().is_none_or(|(&last, _)| last < bundle);
        let can_be_needed = |needed: usize| needed < bundle && !all.contains_key(&needed);
        if bundle == bundles || !is_next || !needs.bundles().all(can_be_needed) {
            return Err(bad("a bundle needs what cannot be read before it"));
        }
        all.insert(bundle, needs);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_is_needed_is_before_and_needs_nothing() {
        let read = |bytes: &[u8]| read_needs(&mut Reader::new(bytes), 4);
        let of = |base, key| Needs { base, key };
        assert_eq!(read(&[0]).unwrap(), BTreeMap::new());
        assert_eq!(read(&[1, 1, 0, 0]).unwrap(), BTreeMap::from([(1, of(None, None))]));
        let two = BTreeMap::from([(1, of(Some(0), None)), (3, of(Some(2), Some(0)))]);
        assert_eq!(read(&[2, 1, 1, 0, 3, 3, 1]).unwrap(), two);
        for (bytes, why) in [
            (&[1, 1, 2, 0][..], "itself"),
            (&[1, 1, 0, 3], "one behind it"),
            (&[1, 4, 2, 0], "no bundle"),
            (&[1, 3, 5, 0], "none"),
            (&[2, 1, 1, 0, 2, 2, 0], "one that needs another"),
            (&[2, 1, 1, 0, 2, 0, 2], "one that needs another"),
            (&[2, 2, 1, 0, 1, 1, 0], "not in order"),
            (&[2, 2, 1, 0, 2, 1, 0], "twice"),
            (&[5], "too many"),
            (&[1, 1, 1], "cut off"),
        ] {
            assert!(read(bytes).unwrap_err().is_corruption(), "{why}");
        }
    }
}
