//! What was found.
#![allow(unsafe_code)] // bytes of a segment, kept without a look at how far it may be read

use crate::memory::SharedBytes;
use crate::wal::SegmentReader;
use std::fmt;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;

/// A value that was found. It derefs to its bytes, and keeps whatever they lie in (a cached block, a memtable)
/// in memory for as long as it lives: copy it ([`Value::into_vec`]) to keep it for long.
#[derive(Clone)]
pub struct Value(Place);

#[derive(Clone)]
enum Place {
    Owned(Vec<u8>),
    Block(SharedBytes, Part),
    Segment(SegmentBytes),
}

/// Committed bytes of a segment. Where they are in memory is kept, and not looked for when they are read: that would be a
/// look at the counter that the writer raises all the time.
///
/// What makes it sound: a segment's bytes below its counter never change or move while its reader lives, and the reader is
/// held. They are given out only for as long as this is borrowed.
///
/// The reader is held as a pointer, since dropping an `Arc` takes its address, and then the compiler keeps a value in memory
/// that was just returned, and copies it there by larger words than it was written by, which waits for these.
struct SegmentBytes {
    /// From [`Arc::into_raw`]: counted.
    reader: NonNull<SegmentReader>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: bytes that nobody changes, and a counted reference to what threads may share.
unsafe impl Send for SegmentBytes {}
// SAFETY: as above.
unsafe impl Sync for SegmentBytes {}

impl SegmentBytes {
    #[inline]
    fn new(segment: Arc<SegmentReader>, offset: u32, len: u32) -> Self {
        let bytes = segment.bytes(offset, len);
        debug_assert!(bytes.is_some());
        let bytes = bytes.unwrap_or_default();
        let (start, len) = (NonNull::from(bytes).cast(), bytes.len());
        // SAFETY: an `Arc` points to something.
        let reader = unsafe { NonNull::new_unchecked(Arc::into_raw(segment).cast_mut()) };
        Self { reader, start, len }
    }
}

impl Deref for SegmentBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: pointer and length are a slice's of the reader, which lives at least as long as this.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Clone for SegmentBytes {
    fn clone(&self) -> Self {
        // SAFETY: it is from an `Arc` and counted, so somebody has it.
        unsafe { Arc::increment_strong_count(self.reader.as_ptr()) };
        Self { reader: self.reader, start: self.start, len: self.len }
    }
}

impl Drop for SegmentBytes {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it is from an `Arc`, and counted for this, which is used no more.
        drop(unsafe { Arc::from_raw(self.reader.as_ptr()) });
    }
}

/// Where it begins, and above that, how long it is. One word: a value is moved to whoever asked as soon as it is made, and
/// two halves that were just stored are waited for when they are read as one.
#[derive(Clone, Copy)]
struct Part(u64);

impl Part {
    #[inline]
    fn new(offset: u32, len: u32) -> Self {
        Self(u64::from(offset) | u64::from(len) << 32)
    }

    #[inline]
    fn offset(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn len(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl Value {
    /// A value of its own.
    pub(crate) fn owned(bytes: Vec<u8>) -> Self {
        Self(Place::Owned(bytes))
    }

    /// A part of a block, which is shorter than 4 GiB.
    #[inline]
    pub(crate) fn in_block(block: SharedBytes, range: Range<usize>) -> Self {
        debug_assert!(block.get(range.clone()).is_some() && range.end <= u32::MAX as usize);
        Self(Place::Block(block, Part::new(range.start as u32, range.len() as u32)))
    }

    /// Bytes of a segment that have been read before.
    #[inline]
    pub(crate) fn in_segment(segment: Arc<SegmentReader>, offset: u32, len: u32) -> Self {
        Self(Place::Segment(SegmentBytes::new(segment, offset, len)))
    }

    /// The bytes, copied unless they are already on their own.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Place::Owned(bytes) => bytes,
            _ => self.to_vec(),
        }
    }
}

impl Deref for Value {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Owned(bytes) => bytes,
            Place::Block(block, part) => {
                let start = part.offset() as usize;
                block.get(start..start + part.len() as usize).unwrap_or_default()
            }
            Place::Segment(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Value {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Value").field(&self.escape_ascii().to_string()).finish()
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Value {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl From<Value> for Vec<u8> {
    fn from(value: Value) -> Self {
        value.into_vec()
    }
}
