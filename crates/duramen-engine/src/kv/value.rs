//! What was found.

use crate::memory::SharedBytes;
use crate::wal::SegmentReader;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A value that was found. It derefs to its bytes, and keeps whatever they lie in (a cached block, a memtable)
/// in memory for as long as it lives: copy it ([`Value::into_vec`]) to keep it for long.
#[derive(Clone)]
pub struct Value(Place);

#[derive(Clone)]
enum Place {
    Owned(Vec<u8>),
    Block(SharedBytes, Part),
    Segment(Arc<SegmentReader>, Part),
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
        debug_assert!(segment.bytes(offset, len).is_some());
        Self(Place::Segment(segment, Part::new(offset, len)))
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
            Place::Segment(segment, part) => segment.bytes(part.offset(), part.len()).unwrap_or_default(),
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
