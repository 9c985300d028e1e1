//! Several writes that happen together, and their bytes: the payload of a WAL record.
//!
//! ```text
//! batch   op * count
//! op      kind u8 | key length varint | value length varint | key | value
//! ```
//!
//! Kind 0 is a deletion (its value is empty), 1 a put, 2 the deletion of a range (key: where it starts, value:
//! where it ends). Each op takes one sequence number, in order: that of the record is the first one's.

use super::limits::{MAX_BATCH_BYTES, check_key, check_value};
use crate::{Error, Result};

/// What an op does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum OpKind {
    /// The key is gone.
    Delete = 0,
    /// The key has this value.
    Put = 1,
    /// Every key from `key`, to below `value`, is gone.
    DeleteRange = 2,
}

impl OpKind {
    #[inline]
    pub(crate) fn from_u8(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Delete),
            1 => Some(Self::Put),
            2 => Some(Self::DeleteRange),
            _ => None,
        }
    }
}

/// One write of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op<'a> {
    pub(crate) kind: OpKind,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> Op<'a> {
    /// The op at the start of `bytes`, and its length. `None` if there is none: bytes from disk may be anything.
    #[inline]
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<(Self, usize)> {
        // Mostly both lengths are one byte.
        if let [kind, key_len @ ..128, value_len @ ..128, rest @ ..] = bytes {
            let kind = OpKind::from_u8(*kind)?;
            let (key, rest) = rest.split_at_checked(usize::from(*key_len))?;
            let value = rest.get(..usize::from(*value_len))?;
            return Some((Self { kind, key, value }, 3 + key.len() + value.len()));
        }
        Self::decode_long(bytes)
    }

    /// Apart, so that the usual case is a few instructions where it is wanted.
    #[inline(never)]
    fn decode_long(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let kind = OpKind::from_u8(*bytes.first()?)?;
        let (key_len, key_len_bytes) = read_varint(bytes.get(1..)?)?;
        let (value_len, value_len_bytes) = read_varint(bytes.get(1 + key_len_bytes..)?)?;
        let key_at = 1 + key_len_bytes + value_len_bytes;
        let value_at = key_at.checked_add(key_len)?;
        let end = value_at.checked_add(value_len)?;
        let key = bytes.get(key_at..value_at)?;
        let value = bytes.get(value_at..end)?;
        Some((Self { kind, key, value }, end))
    }
}

impl Op<'_> {
    /// Whether a [`WriteBatch`] could hold it: bytes from disk may be anything.
    pub(crate) fn is_within_limits(&self) -> bool {
        check_key(self.key).is_ok()
            && match self.kind {
                OpKind::Delete => self.value.is_empty(),
                OpKind::Put => check_value(self.value).is_ok(),
                OpKind::DeleteRange => self.key < self.value && check_key(self.value).is_ok(),
            }
    }
}

/// The ops of a batch, in order, with where each begins. Ends early where the bytes make no sense: compare
/// the number of ops with the record's count.
#[derive(Clone, Debug)]
pub(crate) struct Ops<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Ops<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether nothing is left.
    pub(crate) fn is_done(&self) -> bool {
        self.at == self.bytes.len()
    }
}

impl<'a> Iterator for Ops<'a> {
    type Item = (usize, Op<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (op, len) = Op::decode(self.bytes.get(self.at..)?)?;
        let at = self.at;
        self.at += len;
        Some((at, op))
    }
}

#[inline]
fn read_varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((usize::from(first), 1));
    }
    let mut value = usize::from(first & 0x7f);
    for (nth, byte) in bytes.iter().enumerate().take(5).skip(1) {
        value |= usize::from(byte & 0x7f) << (7 * nth);
        if *byte < 0x80 {
            return Some((value, nth + 1));
        }
    }
    None
}

#[inline]
fn put_varint(out: &mut Vec<u8>, mut n: usize) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends an op.
#[inline]
pub(crate) fn put_op(out: &mut Vec<u8>, kind: OpKind, key: &[u8], value: &[u8]) {
    out.reserve(11 + key.len() + value.len());
    out.push(kind as u8);
    put_varint(out, key.len());
    put_varint(out, value.len());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Several writes that happen together: after a crash all of them are there or none, and no reader sees a part.
/// They apply in the order in which they were added.
///
/// ```
/// use duramen_engine::kv::WriteBatch;
/// let mut batch = WriteBatch::new();
/// batch.put(b"paid", b"yes")?;
/// batch.delete(b"open")?;
/// batch.delete_range(b"cart/17/", b"cart/170")?;
/// assert_eq!(batch.len(), 3);
/// # Ok::<(), duramen_engine::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    count: u32,
}

impl WriteBatch {
    /// An empty one. Writing an empty batch does nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key's value.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] over [`MAX_KEY_BYTES`](super::MAX_KEY_BYTES),
    /// [`MAX_VALUE_BYTES`](super::MAX_VALUE_BYTES) or [`MAX_BATCH_BYTES`]. The batch is as before.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_value(value)?;
        self.add(OpKind::Put, key, value)
    }

    /// Removes a key, if it is there.
    ///
    /// # Errors
    /// As [`WriteBatch::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(OpKind::Delete, key, &[])
    }

    /// Removes every key from `start` on that is below `end`. Nothing, if `end` is not above `start`.
    ///
    /// # Errors
    /// As [`WriteBatch::put`].
    pub fn delete_range(&mut self, start: &[u8], end: &[u8]) -> Result<()> {
        check_key(end)?;
        if start >= end {
            return check_key(start);
        }
        self.add(OpKind::DeleteRange, start, end)
    }

    fn add(&mut self, kind: OpKind, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(key)?;
        let bytes = self.bytes.len() + 11 + key.len() + value.len();
        if bytes > MAX_BATCH_BYTES || self.count >= crate::wal::format::COUNT_MAX {
            return Err(Error::InvalidArgument(format!(
                "a batch of {bytes} bytes and {} writes is over the limit of {MAX_BATCH_BYTES} bytes (MAX_BATCH_BYTES) or {} writes",
                u64::from(self.count) + 1,
                crate::wal::format::COUNT_MAX,
            )));
        }
        put_op(&mut self.bytes, kind, key, value);
        self.count += 1;
        Ok(())
    }

    /// How many writes there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many bytes it takes in the WAL.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes all writes out; the memory stays, for the next ones.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    pub(crate) fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ops_come_back(ops in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(any::<u8>(), 0..300)), 0..20)) {
            let mut batch = WriteBatch::new();
            for (put, key, value) in &ops {
                if *put { batch.put(key, value).unwrap() } else { batch.delete(key).unwrap() }
            }
            let found: Vec<_> = Ops::new(batch.encoded()).map(|(_, op)| (op.kind == OpKind::Put, op.key.to_vec(), op.value.to_vec())).collect();
            let expected: Vec<_> = ops.into_iter().map(|(put, k, v)| (put, k, if put { v } else { vec![] })).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes: Vec<u8>) {
            let _any = Ops::new(&bytes).count();
        }
    }

    #[test]
    fn what_is_too_large_is_refused_and_leaves_the_batch_as_it_was() {
        let mut batch = WriteBatch::new();
        batch.put(b"a", b"1").unwrap();
        let before = batch.clone();
        assert!(batch.put(&vec![0; super::super::MAX_KEY_BYTES + 1], b"").is_err());
        assert!(batch.put(b"k", &vec![0; super::super::MAX_VALUE_BYTES + 1]).is_err());
        assert!(batch.delete_range(b"a", &vec![255; super::super::MAX_KEY_BYTES + 1]).is_err());
        assert_eq!(batch, before);
        let value = vec![0; super::super::MAX_VALUE_BYTES];
        let taken = (0..10).take_while(|_| batch.put(b"k", &value).is_ok()).count();
        assert_eq!(taken, 3, "MAX_BATCH_BYTES");
        batch.put(&vec![1; super::super::MAX_KEY_BYTES], b"").unwrap();
    }
}
