//! A range forward.
//!
//! The newest version of a key comes first, so the first one that is not newer than the reader decides; the key's
//! older ones are passed over only when the next entry is asked for, and until then the cursor stays where the
//! entry lies: nothing is copied.

use super::head::Head;
use super::key::LastKey;
use super::merge::MergeCursor;
use super::scan::{Limit, STEPS_BEFORE_SEEK, View};
use crate::Result;
use crate::kv::{OpKind, Run, ScanSource};
use crate::lsm::cursor::Cursor;
use std::cmp::Ordering;
use std::ops::Bound;

#[derive(Debug)]
pub(super) struct ForwardScan<C> {
    cursor: MergeCursor<C>,
    start: Bound<Vec<u8>>,
    end: Limit,
    view: View,
    at: Place,
    passed: Passed,
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
    pub(super) fn new(cursor: MergeCursor<C>, start: Bound<&[u8]>, end: Bound<&[u8]>, view: View) -> Self {
        Self {
            cursor,
            start: start.map(<[u8]>::to_vec),
            end: Limit::new(end),
            view,
            at: Place::BeforeStart,
            passed: Passed::default(),
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
        self.passed.set(&self.cursor);
        self.cursor.next()?;
        if self.passed.is_at(&self.cursor) { self.pass_versions() } else { Ok(()) }
    }

    #[cold]
    fn pass_versions(&mut self) -> Result<()> {
        for _ in 0..STEPS_BEFORE_SEEK {
            self.cursor.next()?;
            if !self.passed.is_at(&self.cursor) {
                return Ok(());
            }
        }
        self.seek_in_key(0)
    }

    /// Past a version that is too new for the reader.
    fn pass_too_new(&mut self) -> Result<()> {
        self.passed.set(&self.cursor);
        for _ in 0..STEPS_BEFORE_SEEK {
            self.cursor.next()?;
            if !self.passed.is_at(&self.cursor) || self.cursor.seq() <= self.view.seq {
                return Ok(());
            }
        }
        self.seek_in_key(self.view.seq)
    }

    /// To this key's newest version that is not newer than `seq`; if there is none, to the next key.
    #[cold]
    fn seek_in_key(&mut self, seq: u64) -> Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(self.cursor.key());
        self.cursor.seek(&self.scratch, seq)
    }

    /// To the next version that the reader sees, if need be.
    #[inline]
    fn find(&mut self) -> Result<bool> {
        while self.cursor.valid() {
            if self.end.is_passed(&self.cursor, Ordering::Greater) {
                return Ok(false);
            }
            let &Head { seq, kind, .. } = self.cursor.present();
            if seq > self.view.seq {
                self.pass_too_new()?;
                continue;
            }
            let mut covered = false;
            if kind == OpKind::Put {
                let tombstones = &mut self.view.tombstones;
                covered = !tombstones.is_empty() && tombstones.covering_seq(self.cursor.key()) > seq;
                if !covered {
                    return Ok(true);
                }
            }
            if let Some(walk) = &mut self.view.walk {
                walk.pass(&self.start);
            }
            self.pass_key()?;
            if covered {
                self.view.leave_covered(&mut self.cursor)?;
            }
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
        if let Some(walk) = self.view.walk.take() {
            let is_found = self.at == Place::Dealt;
            walk.end(if is_found { Some(self.cursor.key()) } else { self.end.lowest_beyond() });
        }
        Ok(self.at == Place::Dealt)
    }

    fn take_run(&mut self, run: &mut Run) -> bool {
        // Whether a deleted range covers them is asked of each.
        self.view.tombstones.is_empty() && self.cursor.take_run(self.view.seq, self.end.lowest_beyond(), run)
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

/// The key that was passed last.
#[derive(Debug, Default)]
struct Passed {
    prefix: u128,
    key_len: usize,
    /// The key itself, if it is longer than the prefix.
    long: LastKey,
}

impl Passed {
    #[inline]
    fn set<C: Cursor>(&mut self, cursor: &MergeCursor<C>) {
        let head = cursor.present();
        self.prefix = head.prefix;
        self.key_len = head.key_len;
        if !head.has_whole_key() {
            self.long.replace(cursor.key());
        }
    }

    #[inline]
    fn is_at<C: Cursor>(&self, cursor: &MergeCursor<C>) -> bool {
        let head = cursor.present();
        head.prefix == self.prefix
            && head.key_len == self.key_len
            && cursor.valid()
            && (head.has_whole_key() || self.long.is(cursor.key()))
    }
}
