//! A range forward.
//!
//! The newest version of a key comes first, so the first one that is not newer than the reader decides; the key's
//! older ones are passed over only when the next entry is asked for, and until then the cursor stays where the
//! entry lies: nothing is copied.

use super::key::LastKey;
use super::scan::{Limit, STEPS_BEFORE_SEEK, View};
use crate::Result;
use crate::kv::{OpKind, ScanSource};
use crate::lsm::cursor::Cursor;
use std::ops::Bound;

#[derive(Debug)]
pub(super) struct ForwardScan<C> {
    cursor: C,
    start: Bound<Vec<u8>>,
    end: Limit,
    view: View,
    at: Place,
    last: LastKey,
    scratch: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BeforeStart,
    /// At a version of a key that has been dealt with.
    Dealt,
    End,
}

impl<C: Cursor> ForwardScan<C> {
    pub(super) fn new(cursor: C, start: Bound<&[u8]>, end: Bound<&[u8]>, view: View) -> Self {
        Self {
            cursor,
            start: start.map(<[u8]>::to_vec),
            end: Limit::new(end),
            view,
            at: Place::BeforeStart,
            last: LastKey::default(),
            scratch: Vec::new(),
        }
    }

    fn seek_to_start(&mut self) -> Result<()> {
        match &self.start {
            Bound::Unbounded => self.cursor.seek_to_first(),
            Bound::Included(key) => self.cursor.seek(key, self.view.seq),
            Bound::Excluded(key) => self.cursor.seek(key, 0),
        }
    }

    /// To the first version of the next key.
    #[inline]
    fn pass_key(&mut self) -> Result<()> {
        self.last.replace(self.cursor.key());
        self.cursor.next()?;
        if self.cursor.valid() && self.last.is(self.cursor.key()) {
            return self.pass_versions();
        }
        Ok(())
    }

    #[cold]
    fn pass_versions(&mut self) -> Result<()> {
        for _ in 0..STEPS_BEFORE_SEEK {
            self.cursor.next()?;
            if !self.cursor.valid() || !self.last.is(self.cursor.key()) {
                return Ok(());
            }
        }
        self.seek_in_key(0)
    }

    /// To this key's newest version that is not newer than `seq`; if there is none, to the next key.
    #[cold]
    fn seek_in_key(&mut self, seq: u64) -> Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(self.cursor.key());
        self.cursor.seek(&self.scratch, seq)
    }

    #[inline]
    fn find(&mut self) -> Result<bool> {
        let mut too_new: u32 = 0;
        while self.cursor.valid() {
            if self.end.is_below(self.cursor.key()) {
                return Ok(false);
            }
            let seq = self.cursor.seq();
            if seq > self.view.seq {
                too_new = if self.last.replace(self.cursor.key()) { too_new + 1 } else { 1 };
                if too_new > STEPS_BEFORE_SEEK {
                    self.seek_in_key(self.view.seq)?;
                } else {
                    self.cursor.next()?;
                }
                continue;
            }
            if self.cursor.kind() == OpKind::Put && seq > self.view.tombstones.covering_seq(self.cursor.key())
            {
                return Ok(true);
            }
            self.pass_key()?;
        }
        Ok(false)
    }
}

impl<C: Cursor> ScanSource for ForwardScan<C> {
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.at, Place::End) {
            Place::BeforeStart => self.seek_to_start()?,
            Place::Dealt => self.pass_key()?,
            Place::End => return Ok(false),
        }
        if self.find()? {
            self.at = Place::Dealt;
        }
        Ok(self.at == Place::Dealt)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.cursor.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.cursor.value()
    }
}
