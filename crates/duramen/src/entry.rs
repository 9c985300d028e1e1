//! An entry, and its bytes in the WAL.
//!
//! One entry is one CBOR (RFC 8949) array:
//!
//! ```text
//! [ time,      int     ns since 1970-01-01T00:00:00Z
//!   level,     uint    0 unknown, 1 trace … 6 fatal
//!   raw_len,   uint    bytes of the line it was read from, with its line end; 0 if it never was a line
//!   message,   text
//!   stream,    map     name => value: the fields that make its stream
//!   fields ]   map     name => value: all others
//!
//! value = text | int | float64 | bool | null | undefined | 262(bytes)
//! ```
//!
//! `undefined` stands for the message's text (a JSON line's `msg` is both), and tag 262, embedded JSON, holds
//! a number that neither an int nor a float gives back to the letter, an array, or an empty object.

use crate::block::names;
use crate::cbor::{MAX_HEAD_BYTES, Reader, Writer, Wrong, text_len};
use crate::error::{Error, Result};
use crate::value::{Level, Value};
use std::ops::Range;

/// The most bytes a field's name may have.
pub const MAX_FIELD_NAME_BYTES: usize = 1024;
/// The most fields an entry may have, those of its stream included.
pub const MAX_FIELDS: usize = 16_384;
/// The most bytes an entry may take in the WAL.
pub const MAX_ENTRY_BYTES: usize = 32 << 20;

/// CBOR's registered tag for JSON inside a byte string.
pub(crate) const EMBEDDED_JSON: u64 = 262;

/// Builds entries, one after another, without allocating once its buffers have grown.
///
/// ```
/// use duramen::{EntryBuf, Level, Value};
/// let mut entry = EntryBuf::new(["app", "host"]);
/// entry.start(1_700_000_000_000_000_000).level(Level::Error).message("payment refused");
/// entry.field("app", "checkout").field("amount", 12.5).field("order", Value::Int(4711));
/// let bytes = entry.finish()?;
/// assert_eq!(duramen::EntryRef::decode(bytes)?.message, "payment refused");
/// # Ok::<(), duramen::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct EntryBuf {
    stream_fields: Vec<Box<str>>,
    time: i64,
    level: Level,
    raw_len: u32,
    message_len: usize,
    stream: Pairs,
    fields: Pairs,
    too_long_name: bool,
    /// Room for what comes before the message, the message, and when it is finished, the rest. As long as the longest
    /// entry so far.
    out: Vec<u8>,
}

/// The most bytes that come before the message's: heads of the array, the time, the level, the length of the line, and
/// of the message.
const BEFORE_MESSAGE_BYTES: usize = 1 + 9 + 1 + 5 + 9;
/// Where the message lies while an entry is built.
const MESSAGE_AT: usize = BEFORE_MESSAGE_BYTES.next_multiple_of(32);

/// Encoded pairs of a map, at the start of memory that grows if need be and never shrinks.
#[derive(Debug, Default)]
struct Pairs {
    memory: Vec<u8>,
    len: usize,
    count: u64,
}

impl Pairs {
    fn clear(&mut self) {
        self.len = 0;
        self.count = 0;
    }

    fn bytes(&self) -> &[u8] {
        self.memory.get(..self.len).unwrap_or_default()
    }

    /// Adds a pair; without a value, the message's text is it.
    #[inline]
    fn push(&mut self, name: &str, value: Option<Value<'_>>) {
        let bytes = 2 * MAX_HEAD_BYTES + name.len() + value.as_ref().map_or(0, text_len);
        let end = self.len + bytes;
        if self.memory.len() < end {
            self.memory.resize(end.next_power_of_two(), 0);
        }
        let mut w = Writer::new(&mut self.memory[self.len..]);
        let written = w.text(name).and_then(|()| match value {
            Some(value) => w.value(value),
            None => w.undefined(),
        });
        debug_assert!(written.is_some(), "it was reckoned how much room it takes");
        self.len += w.len();
        self.count += 1;
    }
}

impl EntryBuf {
    /// A builder for which fields of these names make the stream.
    pub fn new<S: Into<Box<str>>>(stream_fields: impl IntoIterator<Item = S>) -> Self {
        Self { stream_fields: stream_fields.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Changes which fields make the stream, from the next entry on.
    pub fn set_stream_fields(&mut self, names: &[String]) -> &mut Self {
        let same = self.stream_fields.len() == names.len()
            && self.stream_fields.iter().zip(names).all(|(a, b)| **a == **b);
        if !same {
            self.stream_fields = names.iter().map(|name| name.as_str().into()).collect();
        }
        self
    }

    /// Begins an entry at `time_ns` since the epoch, forgetting the one before.
    pub fn start(&mut self, time_ns: i64) -> &mut Self {
        self.time = time_ns;
        self.level = Level::Unknown;
        self.raw_len = 0;
        self.message_len = 0;
        self.stream.clear();
        self.fields.clear();
        self.too_long_name = false;
        self
    }

    /// Sets the time, for those who find it late.
    pub fn time(&mut self, time_ns: i64) -> &mut Self {
        self.time = time_ns;
        self
    }

    /// The time as it stands.
    pub fn current_time(&self) -> i64 {
        self.time
    }

    /// Sets the level.
    pub fn level(&mut self, level: Level) -> &mut Self {
        self.level = level;
        self
    }

    /// The level as it stands.
    pub fn current_level(&self) -> Level {
        self.level
    }

    /// Sets how many bytes the line had that this was read from, with its line end.
    pub fn raw_len(&mut self, bytes: usize) -> &mut Self {
        self.raw_len = u32::try_from(bytes).unwrap_or(u32::MAX);
        self
    }

    /// Sets the message.
    pub fn message(&mut self, text: &str) -> &mut Self {
        let end = MESSAGE_AT + text.len();
        self.reserve(end);
        self.out[MESSAGE_AT..end].copy_from_slice(text.as_bytes());
        self.message_len = text.len();
        self
    }

    /// Adds a field. One added twice under one name is there twice, and the later one is found by its name.
    ///
    /// `_time`, `_msg`, `_stream` and `_stream_id` are names that the store gives, and a field without a name could not
    /// be asked for: fields that are called so are kept as `_time#1`, `_msg#1`, `_stream#1`, `_stream_id#1` and `#1`.
    /// Whether one is part of the stream goes by the name it is given here.
    pub fn field<'v>(&mut self, name: &str, value: impl Into<Value<'v>>) -> &mut Self {
        self.put(name, Some(value.into()))
    }

    /// Adds a field whose value is the message's text, without writing it twice.
    pub fn field_same_as_message(&mut self, name: &str) -> &mut Self {
        self.put(name, None)
    }

    #[inline]
    fn put(&mut self, name: &str, value: Option<Value<'_>>) -> &mut Self {
        self.too_long_name |= name.len() > MAX_FIELD_NAME_BYTES;
        let in_stream = self.stream_fields.iter().any(|f| **f == *name);
        let pairs = if in_stream { &mut self.stream } else { &mut self.fields };
        pairs.push(readable_name(name), value);
        self
    }

    fn reserve(&mut self, bytes: usize) {
        if self.out.len() < bytes {
            self.out.resize(bytes.next_power_of_two(), 0);
        }
    }

    /// The entry's bytes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is over [`MAX_ENTRY_BYTES`], [`MAX_FIELDS`] or [`MAX_FIELD_NAME_BYTES`].
    pub fn finish(&mut self) -> Result<&[u8]> {
        let len = self.message_len + self.stream.len + self.fields.len + 40;
        check_limits(self.too_long_name, self.stream.count + self.fields.count, len)?;
        let message_end = MESSAGE_AT + self.message_len;
        self.reserve(message_end + self.stream.len + self.fields.len + 2 * MAX_HEAD_BYTES);
        let written = self.write_around_message(message_end);
        let entry = written.and_then(|range| self.out.get(range));
        entry.ok_or_else(|| Error::Invalid("an entry longer than was reckoned".into()))
    }

    /// Writes what stands before the message and after it, and says where the entry lies.
    fn write_around_message(&mut self, message_end: usize) -> Option<Range<usize>> {
        let mut head = [0; BEFORE_MESSAGE_BYTES];
        let mut w = Writer::new(&mut head);
        w.array(6)?;
        w.int(self.time)?;
        w.unsigned(self.level as u64)?;
        w.unsigned(u64::from(self.raw_len))?;
        w.text_head(self.message_len)?;
        let head_len = w.len();
        let start = MESSAGE_AT.checked_sub(head_len)?;
        self.out.get_mut(start..MESSAGE_AT)?.copy_from_slice(head.get(..head_len)?);
        let mut w = Writer::new(self.out.get_mut(message_end..)?);
        w.map(self.stream.count)?;
        w.put(self.stream.bytes())?;
        w.map(self.fields.count)?;
        w.put(self.fields.bytes())?;
        Some(start..message_end + w.len())
    }
}

/// Refuses an entry that is over a limit.
pub(crate) fn check_limits(too_long_name: bool, field_count: u64, bytes: usize) -> Result<()> {
    if too_long_name {
        return Err(Error::Invalid(format!("a field name is longer than {MAX_FIELD_NAME_BYTES} bytes")));
    }
    if field_count > MAX_FIELDS as u64 {
        return Err(Error::Invalid(format!("{field_count} fields in one entry; at most {MAX_FIELDS}")));
    }
    if bytes > MAX_ENTRY_BYTES {
        return Err(Error::Invalid(format!("an entry of {bytes} bytes; at most {MAX_ENTRY_BYTES}")));
    }
    Ok(())
}

/// The name under which a field is kept, so that it can be read back.
#[inline(always)]
pub(crate) fn readable_name(name: &str) -> &str {
    match name.as_bytes() {
        [] | [b'_', ..] => not_reserved(name),
        _ => name,
    }
}

fn not_reserved(name: &str) -> &str {
    match name {
        names::TIME => "_time#1",
        names::MESSAGE => "_msg#1",
        names::STREAM => "_stream#1",
        names::STREAM_ID => "_stream_id#1",
        "" => "#1",
        other => other,
    }
}

/// The integer whose plain decimal text (no leading zero, no plus, no `-0`) is exactly `text`.
pub fn plain_integer(text: &str) -> Option<i64> {
    let digits = match text.as_bytes() {
        [b'-', digits @ ..] | digits => digits,
    };
    match digits {
        [b'0'] if digits.len() == text.len() => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.len() < 19 && rest.iter().all(u8::is_ascii_digit) => {
            text.parse().ok()
        }
        _ => None,
    }
}

/// An entry read in place from its bytes.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef<'a> {
    /// Nanoseconds since the epoch.
    pub time: i64,
    /// The level.
    pub level: Level,
    /// Bytes of the line it was read from; 0 if it never was a line.
    pub raw_len: u32,
    /// The message.
    pub message: &'a str,
    stream: Map<'a>,
    fields: Map<'a>,
}

/// The encoded pairs of a map, checked as they are read.
#[derive(Clone, Copy, Debug)]
struct Map<'a> {
    bytes: &'a [u8],
    count: u64,
}

impl<'a> EntryRef<'a> {
    /// Reads an entry's frame; its fields are read as they are iterated.
    ///
    /// # Errors
    /// [`Error::Decode`] if the bytes are not an entry.
    pub fn decode(bytes: &'a [u8]) -> Result<Self> {
        Self::decode_first(bytes).map(|(entry, _)| entry)
    }

    /// Reads the first of several entries that stand one after another, and says how long it is. All its
    /// fields are walked over, so that a success means that iterating them succeeds, too.
    ///
    /// # Errors
    /// [`Error::Decode`] if the bytes do not begin with an entry.
    pub fn decode_first(bytes: &'a [u8]) -> Result<(Self, usize)> {
        decode_entry(bytes).map_err(|e| Error::decode("an entry", e))
    }

    /// The time of an entry, ns since the epoch, without reading the rest of it.
    ///
    /// # Errors
    /// [`Error::Decode`] if the bytes do not begin as an entry does.
    pub fn peek_time(bytes: &[u8]) -> Result<i64> {
        let mut r = Reader::new(bytes);
        r.array().and_then(|_| r.int()).map_err(|e| Error::decode("an entry's time", e))
    }

    /// Reads an entry without walking over its fields, for bytes that [`EntryRef::decode`] has read before or
    /// that are about to be read by it: damage in the fields only ends their iteration.
    pub(crate) fn decode_known(bytes: &'a [u8]) -> Result<Self> {
        decode_known_entry(bytes).map_err(|e| Error::decode("an entry", e))
    }

    /// The fields that make its stream.
    pub fn stream(&self) -> Fields<'a> {
        self.iterate(self.stream)
    }

    /// All its other fields.
    pub fn fields(&self) -> Fields<'a> {
        self.iterate(self.fields)
    }

    /// The encoded pairs of [`EntryRef::stream`]: equal bytes are equal streams, unless one refers to the message.
    pub(crate) fn stream_bytes(&self) -> &'a [u8] {
        self.stream.bytes
    }

    /// The encoded pairs of [`EntryRef::fields`], and maybe more behind them.
    pub(crate) fn field_bytes(&self) -> &'a [u8] {
        self.fields.bytes
    }

    fn iterate(&self, map: Map<'a>) -> Fields<'a> {
        Fields { reader: Reader::new(map.bytes), left: map.count, message: self.message }
    }
}

fn decode_entry(bytes: &[u8]) -> Result<(EntryRef<'_>, usize), Wrong> {
    let mut r = Reader::new(bytes);
    if r.array()? != 6 {
        return Err("not an array of 6");
    }
    let time = r.int()?;
    let level = u8::try_from(r.unsigned()?).ok().and_then(Level::from_u8).ok_or("no such level")?;
    let raw_len = u32::try_from(r.unsigned()?).map_err(|_| "a line of over 4 GiB")?;
    let message = r.text()?;
    let stream = decode_map(&mut r, bytes)?;
    let fields = decode_map(&mut r, bytes)?;
    Ok((EntryRef { time, level, raw_len, message, stream, fields }, r.position()))
}

fn decode_known_entry(bytes: &[u8]) -> Result<EntryRef<'_>, Wrong> {
    let mut r = Reader::new(bytes);
    r.array()?;
    let time = r.int()?;
    let level = u8::try_from(r.unsigned()?).ok().and_then(Level::from_u8).unwrap_or_default();
    let raw_len = u32::try_from(r.unsigned()?).map_err(|_| "a line of over 4 GiB")?;
    let message = r.text()?;
    let stream = decode_map(&mut r, bytes)?;
    let count = r.map()?;
    let fields = Map { bytes: bytes.get(r.position()..).unwrap_or_default(), count };
    Ok(EntryRef { time, level, raw_len, message, stream, fields })
}

fn decode_map<'a>(r: &mut Reader<'a>, bytes: &'a [u8]) -> Result<Map<'a>, Wrong> {
    let count = r.map()?;
    let start = r.position();
    for _ in 0..count {
        r.text()?;
        r.value("")?;
    }
    Ok(Map { bytes: bytes.get(start..r.position()).unwrap_or_default(), count })
}

/// The fields of an entry, in the order they were added.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    reader: Reader<'a>,
    left: u64,
    message: &'a str,
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // `decode_first` has walked the same bytes, so neither fails; a wrong guess ends the iteration.
        let name = self.reader.text().ok()?;
        let value = self.reader.value(self.message).ok()?;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_as_it_was() {
        let mut b = EntryBuf::new(["host", "app"]);
        b.start(-5).level(Level::Warn).raw_len(99).message("häß\u{0}lich");
        b.field("app", "x").field("n", 7).field("f", -0.5).field("t", true).field("z", Value::Null);
        b.field("big", Value::Number("1.50")).field("tags", Value::Json("[1]")).field_same_as_message("msg");
        b.field("small", Value::Number("-12")).field("inf", f64::INFINITY);
        let bytes = b.finish().unwrap();
        let e = EntryRef::decode(bytes).unwrap();
        assert_eq!((e.time, e.level, e.raw_len, e.message), (-5, Level::Warn, 99, "häß\u{0}lich"));
        assert_eq!(e.stream().collect::<Vec<_>>(), [("app", Value::Str("x"))]);
        let fields: Vec<_> = e.fields().collect();
        assert_eq!(
            fields,
            [
                ("n", Value::Int(7)),
                ("f", Value::Float(-0.5)),
                ("t", Value::Bool(true)),
                ("z", Value::Null),
                ("big", Value::Number("1.50")),
                ("tags", Value::Json("[1]")),
                ("msg", Value::Str("häß\u{0}lich")),
                ("small", Value::Int(-12)),
                ("inf", Value::Str("inf")),
            ]
        );
    }

    #[test]
    fn names_that_could_not_be_read_back_are_changed() {
        let mut b = EntryBuf::new(["_stream", "app"]);
        b.start(0).message("m").field("_time", 1).field("_msg", 2).field("_stream", 3).field("", 4);
        b.field("_time#1", 5).field("_stream_id", 6).field_same_as_message("_msg");
        let e = EntryRef::decode(b.finish().unwrap()).unwrap();
        assert_eq!(e.message, "m");
        assert_eq!(e.stream().collect::<Vec<_>>(), [("_stream#1", Value::Int(3))]);
        let fields: Vec<_> = e.fields().collect();
        let n = Value::Int;
        assert_eq!(fields[..3], [("_time#1", n(1)), ("_msg#1", n(2)), ("#1", n(4))]);
        assert_eq!(fields[3..], [("_time#1", n(5)), ("_stream_id#1", n(6)), ("_msg#1", Value::Str("m"))]);
    }

    #[test]
    fn limits_are_errors() {
        let mut b = EntryBuf::new([""; 0]);
        b.start(0).field(&"n".repeat(MAX_FIELD_NAME_BYTES + 1), 1);
        assert!(b.finish().unwrap_err().to_string().contains("1024"));
        b.start(0);
        for i in 0..=MAX_FIELDS {
            b.field(&i.to_string(), 1);
        }
        assert!(b.finish().unwrap_err().to_string().contains("16385 fields"));
        b.start(0).message(&"x".repeat(MAX_ENTRY_BYTES));
        assert!(b.finish().is_err());
    }

    #[test]
    fn only_plain_integers_are_integers() {
        for (text, n) in [("0", Some(0)), ("-1", Some(-1)), ("9223372036854775807", Some(i64::MAX))] {
            assert_eq!(plain_integer(text), n);
        }
        for text in ["", "-", "-0", "00", "01", "+1", "1.0", "1e3", "9223372036854775808", " 1"] {
            assert_eq!(plain_integer(text), None, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            if let Ok(e) = EntryRef::decode(&bytes) {
                e.stream().chain(e.fields()).for_each(drop);
            }
        }
    }
}
