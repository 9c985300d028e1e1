//! Versions of keys, in order, wherever they come from.
//!
//! The same key may have several versions, told apart by their sequence numbers. The order of versions is: by key,
//! then the newest first. Deleted ranges are not among them; each source lists its own beside
//! ([`RangeTombstone`]).

use super::read::{Covered, Head};
use crate::Result;
use crate::kv::{OpKind, Run, Value};

/// What was found of a key: its newest version that a reader may see.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) seq: u64,
    /// Put or Delete.
    pub(crate) kind: OpKind,
    pub(crate) value: Value,
}

/// The keys from `start` on, below `end`, have no version older than `seq` any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RangeTombstone {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
    pub(crate) seq: u64,
}

impl RangeTombstone {
    /// The greatest key of the range if it can be named; its end, which lies behind, if not: below `b` there is no
    /// greatest key, below `b\0` it is `b`.
    pub(crate) fn last_key(&self) -> &[u8] {
        match self.end.split_last() {
            Some((0, last_key)) => last_key,
            _ => &self.end,
        }
    }
}

/// Goes through versions in order, both ways. New, it is nowhere ([`Cursor::valid`] is false): seek first.
/// After an error it is nowhere.
pub(crate) trait Cursor: Send {
    /// To the first version.
    fn seek_to_first(&mut self) -> Result<()>;
    /// To the last version.
    fn seek_to_last(&mut self) -> Result<()>;
    /// To the first version of `key` that is not newer than `seq`; if there is none, to what follows.
    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()>;
    /// To the last version that is before what [`Cursor::seek`] of the same would find.
    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()>;
    /// To the version after this one; nowhere after the last. Only while valid.
    fn next(&mut self) -> Result<()>;
    /// To the version before this one; nowhere before the first. Only while valid.
    fn prev(&mut self) -> Result<()>;
    /// Whether it is at a version. The methods below are only for then.
    fn valid(&self) -> bool;
    fn key(&self) -> &[u8];
    fn seq(&self) -> u64;
    /// Put or Delete.
    fn kind(&self) -> OpKind;
    fn value(&self) -> &[u8];

    /// What lies within `covered` and is older than its tombstone does not matter to whoever asks. If the cursor is
    /// within, and can tell that all it holds there is older, it leaves these keys: to the first version after
    /// them, or with `reverse` to the last one before. Says whether it moved.
    fn leave(&mut self, covered: &Covered<'_>, reverse: bool) -> Result<bool> {
        let (_, _) = (covered, reverse);
        Ok(false)
    }

    /// Says in short where it is; `false`, and nothing, if it is nowhere. One call for several.
    #[inline]
    fn head(&self, head: &mut Head) -> bool {
        let valid = self.valid();
        if valid {
            head.set(self.key(), self.seq(), self.kind());
        }
        valid
    }

    /// Puts the present version, which a reader at `seq` sees, and what that reader sees of those that follow it into
    /// `run`, as far as that can be done at once and keys are below `below`. It is then at the last of them. `false`: it
    /// did not, and is where it was. Only while valid.
    fn take_run(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        let (_, _, _) = (seq, below, run);
        false
    }

    /// [`Cursor::next`], then [`Cursor::head`].
    #[inline]
    fn next_head(&mut self, head: &mut Head) -> Result<bool> {
        self.next()?;
        Ok(self.head(head))
    }

    /// [`Cursor::prev`], then [`Cursor::head`].
    #[inline]
    fn prev_head(&mut self, head: &mut Head) -> Result<bool> {
        self.prev()?;
        Ok(self.head(head))
    }
}

impl<C: Cursor + ?Sized> Cursor for Box<C> {
    #[inline]
    fn seek_to_first(&mut self) -> Result<()> {
        (**self).seek_to_first()
    }

    #[inline]
    fn seek_to_last(&mut self) -> Result<()> {
        (**self).seek_to_last()
    }

    #[inline]
    fn seek(&mut self, key: &[u8], seq: u64) -> Result<()> {
        (**self).seek(key, seq)
    }

    #[inline]
    fn seek_before(&mut self, key: &[u8], seq: u64) -> Result<()> {
        (**self).seek_before(key, seq)
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        (**self).next()
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        (**self).prev()
    }

    #[inline]
    fn valid(&self) -> bool {
        (**self).valid()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        (**self).key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        (**self).seq()
    }

    #[inline]
    fn kind(&self) -> OpKind {
        (**self).kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        (**self).value()
    }

    fn leave(&mut self, covered: &Covered<'_>, reverse: bool) -> Result<bool> {
        (**self).leave(covered, reverse)
    }

    fn take_run(&mut self, seq: u64, below: Option<&[u8]>, run: &mut Run) -> bool {
        (**self).take_run(seq, below, run)
    }

    #[inline]
    fn head(&self, head: &mut Head) -> bool {
        (**self).head(head)
    }

    #[inline]
    fn next_head(&mut self, head: &mut Head) -> Result<bool> {
        (**self).next_head(head)
    }

    #[inline]
    fn prev_head(&mut self, head: &mut Head) -> Result<bool> {
        (**self).prev_head(head)
    }
}
