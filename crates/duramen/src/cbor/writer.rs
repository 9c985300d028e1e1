//! Writing into memory that is known to be long enough.
//!
//! Most texts of a log line are shorter than a call of `memcpy` is worth: they are copied as their first and last
//! few bytes, which overlap.

use crate::entry::{EMBEDDED_JSON, plain_integer};
use crate::value::Value;

const UNSIGNED: u8 = 0 << 5;
const NEGATIVE: u8 = 1 << 5;
const BYTES: u8 = 2 << 5;
const TEXT: u8 = 3 << 5;
const ARRAY: u8 = 4 << 5;
const MAP: u8 = 5 << 5;
const TAG: u8 = 6 << 5;
const FALSE: u8 = 0xf4;
const TRUE: u8 = 0xf5;
const NULL: u8 = 0xf6;
const UNDEFINED: u8 = 0xf7;
const FLOAT64: u8 = 0xfb;

/// The most bytes that a value takes besides its text: a tag's head and a text's.
pub(crate) const MAX_HEAD_BYTES: usize = 9 + 9;

/// The bytes of a value's text, if it has one.
#[inline]
pub(crate) fn text_len(value: &Value<'_>) -> usize {
    match value {
        Value::Str(text) | Value::Number(text) | Value::Json(text) => text.len(),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Null => 0,
    }
}

/// What is written, up to the end of the memory; past that every write is `None`. Some bytes behind what is written may
/// be overwritten.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    memory: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(memory: &'a mut [u8]) -> Self {
        Self { memory, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let end = self.len.checked_add(len)?;
        let room = self.memory.get_mut(self.len..end)?;
        self.len = end;
        Some(room)
    }

    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Option<()> {
        let len = bytes.len();
        copy(self.room(len)?, bytes);
        Some(())
    }

    #[inline]
    fn byte(&mut self, byte: u8) -> Option<()> {
        *self.memory.get_mut(self.len)? = byte;
        self.len += 1;
        Some(())
    }

    /// A head: what follows, and its number or length, in the shortest form.
    #[inline]
    fn head(&mut self, major: u8, n: u64) -> Option<()> {
        if n < 24 { self.byte(major | n as u8) } else { self.long_head(major, n) }
    }

    /// Where there is room eight bytes are written; what comes next is written over those that the number does not have.
    #[inline]
    fn long_head(&mut self, major: u8, n: u64) -> Option<()> {
        let log2 = u8::from(n > 0xff) + u8::from(n > 0xffff) + u8::from(n > 0xffff_ffff);
        let bytes = 1usize << log2;
        match self.memory.get_mut(self.len..).and_then(|rest| rest.first_chunk_mut::<9>()) {
            Some([first, rest @ ..]) => {
                *first = major | (24 + log2);
                *rest = (n << (64 - 8 * bytes)).to_be_bytes();
                self.len += 1 + bytes;
            }
            None => {
                let room = self.room(1 + bytes)?;
                room[0] = major | (24 + log2);
                room[1..].copy_from_slice(&n.to_be_bytes()[8 - bytes..]);
            }
        }
        Some(())
    }

    #[inline]
    pub(crate) fn array(&mut self, len: u64) -> Option<()> {
        self.head(ARRAY, len)
    }

    #[inline]
    pub(crate) fn map(&mut self, len: u64) -> Option<()> {
        self.head(MAP, len)
    }

    #[inline]
    pub(crate) fn unsigned(&mut self, n: u64) -> Option<()> {
        self.head(UNSIGNED, n)
    }

    #[inline(always)]
    pub(crate) fn int(&mut self, n: i64) -> Option<()> {
        if n >= 0 { self.head(UNSIGNED, n as u64) } else { self.head(NEGATIVE, !n as u64) }
    }

    #[inline(always)]
    pub(crate) fn text(&mut self, text: &str) -> Option<()> {
        if text.len() >= 24 {
            return self.long_text(text);
        }
        let [head, room @ ..] = self.room(1 + text.len())? else { return None };
        *head = TEXT | text.len() as u8;
        copy(room, text.as_bytes());
        Some(())
    }

    /// The head of a text of so many bytes.
    pub(crate) fn text_head(&mut self, len: usize) -> Option<()> {
        self.head(TEXT, len as u64)
    }

    fn long_text(&mut self, text: &str) -> Option<()> {
        self.text_head(text.len())?;
        self.put(text.as_bytes())
    }

    /// A field's value, as [`crate::EntryBuf::field`] writes it.
    #[inline(always)]
    pub(crate) fn value(&mut self, value: Value<'_>) -> Option<()> {
        match value {
            Value::Str(text) => self.text(text),
            Value::Int(n) => self.int(n),
            Value::Float(x) if x.is_finite() => {
                let room = self.room(9)?;
                room[0] = FLOAT64;
                room[1..].copy_from_slice(&x.to_be_bytes());
                Some(())
            }
            Value::Float(x) if x.is_nan() => self.long_text("NaN"),
            Value::Float(x) => self.long_text(if x > 0.0 { "inf" } else { "-inf" }),
            Value::Bool(b) => self.byte(if b { TRUE } else { FALSE }),
            Value::Null => self.byte(NULL),
            Value::Number(text) => self.number(text),
            Value::Json(text) => self.embedded_json(text),
        }
    }

    fn number(&mut self, text: &str) -> Option<()> {
        match plain_integer(text) {
            Some(n) => self.int(n),
            None => self.embedded_json(text),
        }
    }

    /// What stands for the message's text.
    #[inline]
    pub(crate) fn undefined(&mut self) -> Option<()> {
        self.byte(UNDEFINED)
    }

    fn embedded_json(&mut self, text: &str) -> Option<()> {
        self.head(TAG, EMBEDDED_JSON)?;
        self.head(BYTES, text.len() as u64)?;
        self.put(text.as_bytes())
    }
}

/// Copies as many bytes; both have the same length.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    let to = &mut to[..from.len()];
    match from.len() {
        0 => {}
        1..=3 => to.iter_mut().zip(from).for_each(|(to, from)| *to = *from),
        4..=7 => ends::<4>(to, from),
        8..=15 => ends::<8>(to, from),
        16..=32 => ends::<16>(to, from),
        33..=64 => ends::<32>(to, from),
        65..=128 => ends::<64>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes, which are all there are.
#[inline]
fn ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_the_shortest_and_texts_of_every_length_are_whole() {
        let text: String = (0..150).map(|n| char::from(b' ' + n % 90)).collect();
        for len in 0..text.len() {
            let mut memory = [0; 200];
            let mut w = Writer::new(&mut memory);
            w.text(&text[..len]).unwrap();
            let written = w.len();
            assert_eq!(minicbor::to_vec(&text[..len]).unwrap(), memory[..written]);
        }
        for n in [0, 23, 24, 255, 256, 65_535, 65_536, u64::from(u32::MAX), 1 << 32, u64::MAX] {
            let mut memory = [0; 20];
            let mut w = Writer::new(&mut memory);
            w.unsigned(n).unwrap();
            w.int(n as i64).unwrap();
            let written = w.len();
            assert_eq!(
                minicbor::to_vec(n).unwrap().len() + minicbor::to_vec(n as i64).unwrap().len(),
                written
            );
        }
    }

    #[test]
    fn memory_that_is_too_short_is_no_panic() {
        for len in 0..12 {
            let mut memory = vec![0; len];
            assert_eq!(Writer::new(&mut memory).text("twelve bytes"), None);
        }
    }
}
