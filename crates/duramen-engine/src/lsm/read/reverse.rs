//! A range backward.
//!
//! The oldest version of a key comes first, and which one a reader sees is only known at the one after it. So each
//! candidate is copied before moving on. With the few versions that keys mostly have this is cheaper than going
//! back to it.

use super::head::Head;
use super::merge::MergeCursor;
use super::scan::{Limit, STEPS_BEFORE_SEEK, View};
use crate::Result;
use crate::kv::{OpKind, ScanSource};
use crate::lsm::cursor::Cursor;
use std::cmp::Ordering;
use std::ops::Bound;

#[derive(Debug)]
pub(super) struct ReverseScan<C> {
    cursor: MergeCursor<C>,
    end: Bound<Vec<u8>>,
    start: Limit,
    view: View,
    at: Place,
    /// The present version, copied.
    head: Head,
    key: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    BeforeStart,
    /// At the oldest version of the key that comes before the present entry's.
    Beyond,
    End,
}

impl<C: Cursor> ReverseScan<C> {
    pub(super) fn new(cursor: MergeCursor<C>, start: Bound<&[u8]>, end: Bound<&[u8]>, view: View) -> Self {
        Self {
            cursor,
            end: end.map(<[u8]>::to_vec),
            start: Limit::new(start),
            view,
            at: Place::BeforeStart,
            head: Head::NONE,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    fn seek_to_end(&mut self) -> Result<()> {
        match &self.end {
            Bound::Unbounded => self.cursor.seek_to_last(),
            Bound::Included(key) => self.cursor.seek_before(key, 0),
            Bound::Excluded(key) => self.cursor.seek_before(key, u64::MAX),
        }
    }

    #[inline]
    fn keep_version(&mut self) {
        self.head = *self.cursor.present();
        self.value.clear();
        self.value.extend_from_slice(self.cursor.value());
    }

    /// Whether the cursor is still at a version of the key that was copied last.
    #[inline]
    fn at_same_key(&self) -> bool {
        self.cursor.valid()
            && self.cursor.present().cmp_keys(&self.head).unwrap_or_else(|| self.cursor.key().cmp(&self.key))
                == Ordering::Equal
    }

    /// Copies the newest version of the cursor's key that the reader sees, and goes to the key before; `false` if
    /// there is none. The cursor is at the key's oldest version.
    #[inline]
    fn take_key(&mut self) -> Result<bool> {
        self.key.clear();
        self.key.extend_from_slice(self.cursor.key());
        self.head = *self.cursor.present();
        let mut found = false;
        let mut steps = 0;
        while self.cursor.seq() <= self.view.seq {
            self.keep_version();
            found = true;
            self.cursor.prev()?;
            if !self.at_same_key() {
                return Ok(true);
            }
            steps += 1;
            if steps == STEPS_BEFORE_SEEK {
                self.cursor.seek(&self.key, self.view.seq)?;
                self.keep_version();
                break;
            }
        }
        self.pass_key()?;
        Ok(found)
    }

    /// To the key before the one that was copied, of which only versions follow that do not matter.
    fn pass_key(&mut self) -> Result<()> {
        for _ in 0..STEPS_BEFORE_SEEK {
            if !self.at_same_key() {
                return Ok(());
            }
            self.cursor.prev()?;
        }
        self.cursor.seek_before(&self.key, u64::MAX)
    }
}

impl<C: Cursor> ScanSource for ReverseScan<C> {
    #[inline]
    fn advance(&mut self) -> Result<bool> {
        match std::mem::replace(&mut self.at, Place::End) {
            Place::BeforeStart => self.seek_to_end()?,
            Place::Beyond => {}
            Place::End => return Ok(false),
        }
        while self.cursor.valid() && !self.start.is_passed(&self.cursor, Ordering::Less) {
            if self.take_key()? && self.head.kind == OpKind::Put {
                if self.view.tombstones.covering_seq(&self.key) < self.head.seq {
                    self.at = Place::Beyond;
                    return Ok(true);
                }
                self.view.leave_covered(&mut self.cursor)?;
            }
        }
        Ok(false)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        &self.key
    }

    #[inline]
    fn value(&self) -> &[u8] {
        &self.value
    }
}
