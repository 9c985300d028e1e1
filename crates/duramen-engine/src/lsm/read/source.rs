//! Versions in order, once through: all that a flush or a compaction needs of where they come from.

use crate::Result;
use crate::kv::OpKind;
use crate::lsm::cursor::Cursor;

/// Gives versions in order: by key, those of one key from the newest to the oldest.
pub(crate) trait ForwardSource {
    /// Goes to the first version, then to each next one; `false` after the last.
    fn advance(&mut self) -> Result<bool>;
    /// The present version's key; after `advance` returned true, like the methods below.
    fn key(&self) -> &[u8];
    fn seq(&self) -> u64;
    /// Put or Delete.
    fn kind(&self) -> OpKind;
    fn value(&self) -> &[u8];
}

/// All versions of a cursor, from the first on.
#[derive(Debug)]
pub(crate) struct FromStart<C> {
    cursor: C,
    started: bool,
}

impl<C: Cursor> FromStart<C> {
    /// Of this cursor, wherever it is.
    pub(crate) fn new(cursor: C) -> Self {
        Self { cursor, started: false }
    }
}

impl<C: Cursor> ForwardSource for FromStart<C> {
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        if !self.started {
            self.started = true;
            self.cursor.seek_to_first()?;
        } else if self.cursor.valid() {
            self.cursor.next()?;
        }
        Ok(self.cursor.valid())
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.cursor.key()
    }

    #[inline]
    fn seq(&self) -> u64 {
        self.cursor.seq()
    }

    #[inline]
    fn kind(&self) -> OpKind {
        self.cursor.kind()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.cursor.value()
    }
}
