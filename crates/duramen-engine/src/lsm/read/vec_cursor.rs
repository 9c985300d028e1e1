//! A cursor over a sorted vector: the plainest source there can be, for tests.

use crate::kv::{OpKind, Run};
use crate::lsm::cursor::Cursor;
use crate::lsm::read::Covered;
use crate::memory::SharedBytes;
use crate::{Error, Result};
use std::cmp::Reverse;
use std::sync::Arc;

/// A version, for tests: its place in the order, what it does and its value.
pub(crate) type Version = ((Vec<u8>, Reverse<u64>), OpKind, Vec<u8>);

/// Goes through versions in memory. Panics where it is misused.
#[derive(Clone, Debug, Default)]
pub(crate) struct VecCursor {
    versions: Arc<[Version]>,
    /// Where it is; 0 is nowhere, 1 the first.
    at: usize,
    /// Every move fails once so many moves were made.
    fails_after: Option<usize>,
}

impl VecCursor {
    /// Over these versions, in any order.
    pub(crate) fn new(versions: impl IntoIterator<Item = (Vec<u8>, u64, OpKind, Vec<u8>)>) -> Self {
        let mut versions: Vec<_> =
            versions.into_iter().map(|(key, seq, kind, value)| ((key, Reverse(seq)), kind, value)).collect();
        versions.sort();
        Self { versions: versions.into(), at: 0, fails_after: None }
    }

    /// Fails after so many moves.
    pub(crate) fn failing(mut self, after: usize) -> Self {
        self.fails_after = Some(after);
        self
    }

    /// The newest sequence number.
    pub(crate) fn max_seq(&self) -> u64 {
        self.versions.iter().map(|version| version.0.1.0).max().unwrap_or(0)
    }

    fn go(&mut self, to: usize) -> Result<()> {
        self.at = 0;
        match &mut self.fails_after {
            Some(0) => return Err(Error::InvalidArgument("a planned failure".into())),
            Some(moves) => *moves -= 1,
            None => {}
        }
        self.at = if to > self.versions.len() { 0 } else { to };
        Ok(())
    }

    fn before(&self, key: &[u8], seq: u64) -> usize {
        self.versions.partition_point(|((k, s), _, _)| (k.as_slice(), *s) < (key, Reverse(seq)))
    }

    fn version(&self) -> &Version {
        &self.versions[self.at - 1]
    }
}

impl Cursor for VecCursor {
    fn seek_to_first(&mut self) -> Result<()> {
        self.go(1)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.go(self.versions.len())
    }

    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.go(self.before(key, seq) + 1)
    }

    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        self.go(self.before(key, seq))
    }

    fn leave(&mut self, covered: &Covered<'_>, reverse: bool) -> Result<bool> {
        let leaves = self.max_seq() < covered.seq && self.valid() && covered.contains(self.key());
        match (leaves, reverse) {
            (false, _) => {}
            (true, false) => self.seek(covered.end, u64::MAX)?,
            (true, true) => self.seek_before(covered.start, u64::MAX)?,
        }
        Ok(leaves)
    }

    fn take_run(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        let block: Vec<u8> = self.versions.iter().flat_map(|version| version.2.iter().copied()).collect();
        let value_at = |nth: usize| {
            let start = self.versions[..nth].iter().map(|version| version.2.len()).sum();
            start..start + self.versions[nth].2.len()
        };
        run.begin(&SharedBytes::from(&block[..]), 1);
        let (mut dealt, mut taken): (Option<&[u8]>, _) = (None, None);
        // Ends after a few, so that there are many.
        for (nth, ((key, Reverse(own)), kind, _)) in
            self.versions.iter().enumerate().skip(self.at - 1).take(5)
        {
            if below.is_some_and(|below| key.as_slice() >= below) {
                break;
            }
            if dealt == Some(key) || *own > seq {
                continue;
            }
            dealt = Some(key);
            if *kind == OpKind::Put {
                let place = run.put(key);
                run.take(&place, value_at(nth));
                taken = Some(nth + 1);
            }
        }
        self.at = taken.unwrap_or(self.at);
        taken.is_some()
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        assert!(self.valid());
        self.go(self.at + 1)
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        assert!(self.valid());
        self.go(self.at - 1)
    }

    #[inline]
    fn valid(&self) -> bool {
        self.at != 0
    }

    #[inline]
    fn key(&self) -> &[u8] {
        &self.version().0.0
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.version().0.1.0
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.version().1
    }

    #[inline]
    fn value(&self) -> &[u8] {
        &self.version().2
    }
}
