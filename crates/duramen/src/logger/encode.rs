//! A line's bytes, written in one go: the form is drawn atop [`crate::entry`].
//!
//! [`crate::EntryBuf`] takes an entry bit by bit, in any order, and so has to put it together at the end. Here all of
//! it is known from the start, and the fields that every line has are encoded already.

use crate::cbor::{MAX_HEAD_BYTES, Writer, text_len};
use crate::entry::{MAX_FIELD_NAME_BYTES, check_limits, readable_name};
use crate::error::{Error, Result};
use crate::logger::Record;
use crate::value::Value;

/// The field that a line has whose message was cut: how many bytes the message had.
pub const TRUNCATED_FIELD: &str = "truncated_from_bytes";

/// The fields that each line gets, encoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Constants {
    stream: Vec<u8>,
    stream_count: u64,
    fields: Vec<u8>,
    field_count: u64,
    too_long_name: bool,
    /// By length, up to 63, whether the name of a stream field has it: most names of fields need not be compared.
    stream_name_lens: u64,
}

impl Constants {
    /// None yet, of a logger with these stream fields.
    pub(super) fn new(stream_fields: &[Box<str>]) -> Self {
        let stream_name_lens = stream_fields.iter().fold(0, |lens, field| lens | len_bit(field));
        Self { stream_name_lens, ..Self::default() }
    }

    /// Whether a field of this name is one of the stream's.
    #[inline(always)]
    fn is_in_stream(&self, stream_fields: &[Box<str>], name: &str) -> bool {
        self.stream_name_lens & len_bit(name) != 0 && is_in(stream_fields, name)
    }

    /// A value, encoded.
    pub(super) fn value(value: Value<'_>) -> Vec<u8> {
        written(MAX_HEAD_BYTES + text_len(&value), |w| w.value(value))
    }

    pub(super) fn add(&mut self, stream_fields: &[Box<str>], name: &str, value: &[u8]) {
        self.too_long_name |= name.len() > MAX_FIELD_NAME_BYTES;
        let (bytes, count) = if is_in(stream_fields, name) {
            (&mut self.stream, &mut self.stream_count)
        } else {
            (&mut self.fields, &mut self.field_count)
        };
        let name = if is_in(stream_fields, name) { readable_name(name) } else { kept_name(name) };
        bytes.extend(written(MAX_HEAD_BYTES + name.len(), |w| w.text(name)));
        bytes.extend_from_slice(value);
        *count += 1;
    }

    /// Refuses what would make every line be refused.
    pub(super) fn checked(self) -> Result<Self> {
        let bytes = self.stream.len() + self.fields.len();
        check_limits(self.too_long_name, self.stream_count + self.field_count, bytes)?;
        Ok(self)
    }
}

/// The name under which a field is kept. One called `level` would hide the line's own, so that nobody who asks for errors
/// would find it; a label of that name was asked for by whoever opened the logger.
#[inline(always)]
fn kept_name(name: &str) -> &str {
    match name.as_bytes() {
        // As few of a name's bytes are looked at as tell that it is another.
        [] | [b'_', ..] | [b'l', _, _, _, b'l'] => name_beside(name),
        _ => name,
    }
}

#[inline(never)]
fn name_beside(name: &str) -> &str {
    if name == "level" { "level#1" } else { readable_name(name) }
}

/// What is written into memory of so many bytes, which must be enough.
fn written(max_bytes: usize, write: impl FnOnce(&mut Writer<'_>) -> Option<()>) -> Vec<u8> {
    let mut bytes = vec![0; max_bytes];
    let mut w = Writer::new(&mut bytes);
    let _enough = write(&mut w);
    let len = w.len();
    bytes.truncate(len);
    bytes
}

#[inline(always)]
fn len_bit(name: &str) -> u64 {
    1 << name.len().min(63)
}

fn is_in(stream_fields: &[Box<str>], name: &str) -> bool {
    // Most names that are as long as a stream field's begin otherwise.
    let first = name.as_bytes().first();
    stream_fields.iter().any(|field| field.as_bytes().first() == first && **field == *name)
}

/// A line's message, cut to what is allowed, and how long it was if it had to be.
pub(super) fn cut(message: &str, max_bytes: usize) -> (&str, Option<usize>) {
    if message.len() <= max_bytes {
        return (message, None);
    }
    let end = (0..=max_bytes).rev().find(|&end| message.is_char_boundary(end)).unwrap_or(0);
    (&message[..end], Some(message.len()))
}

/// Writes a line's entry to the start of `out`, which grows if need be and never shrinks, and says how long it is.
/// `message` is the record's, cut if need be, and `cut_from` its length before.
///
/// # Errors
/// [`Error::Invalid`] if the entry is over a limit.
#[inline]
pub(super) fn encode(
    out: &mut Vec<u8>,
    stream_fields: &[Box<str>],
    constants: &Constants,
    record: &Record<'_>,
    (message, cut_from): (&str, Option<usize>),
) -> Result<usize> {
    let mut in_stream = InStream::default();
    let mut too_long_name = false;
    let mut bytes = FRAME_BYTES + message.len() + constants.stream.len() + constants.fields.len();
    for (i, (name, value)) in record.fields.iter().enumerate() {
        in_stream.note(i, constants.is_in_stream(stream_fields, name));
        too_long_name |= name.len() > MAX_FIELD_NAME_BYTES;
        bytes += 2 * MAX_HEAD_BYTES + name.len() + text_len(value);
    }
    let own = record.fields.len() as u64 + u64::from(cut_from.is_some());
    check_limits(too_long_name, own + constants.stream_count + constants.field_count, bytes)?;
    if out.len() < bytes {
        out.resize(bytes, 0);
    }

    let mut w = Writer::new(out);
    let written = (|| {
        w.array(6)?;
        w.int(record.time_ns)?;
        w.unsigned(record.level as u64)?;
        w.unsigned(0)?; // it never was a line of a file
        w.text(message)?;
        w.map(constants.stream_count + in_stream.count)?;
        w.put(&constants.stream)?;
        if in_stream.count > 0 {
            for (i, (name, value)) in record.fields.iter().enumerate() {
                if in_stream.has(i, || is_in(stream_fields, name)) {
                    w.text(readable_name(name))?;
                    w.value(*value)?;
                }
            }
        }
        w.map(constants.field_count + own - in_stream.count)?;
        w.put(&constants.fields)?;
        for (i, (name, value)) in record.fields.iter().enumerate() {
            if in_stream.count == 0 || !in_stream.has(i, || is_in(stream_fields, name)) {
                w.text(kept_name(name))?;
                w.value(*value)?;
            }
        }
        if let Some(len) = cut_from {
            w.text(TRUNCATED_FIELD)?;
            w.unsigned(len as u64)?;
        }
        Some(w.len())
    })();
    written.ok_or_else(|| Error::Invalid("an entry longer than was reckoned".into()))
}

/// More than an entry takes besides its message and fields, heads of both and a cut message's field included.
const FRAME_BYTES: usize = 128;

/// Which of a line's fields make its stream: remembered of the first 64, asked again of others.
#[derive(Debug, Default)]
struct InStream {
    first: u64,
    count: u64,
}

impl InStream {
    #[inline]
    fn note(&mut self, i: usize, is: bool) {
        self.count += u64::from(is);
        if i < 64 {
            self.first |= u64::from(is) << i;
        }
    }

    #[inline]
    fn has(&self, i: usize, ask: impl FnOnce() -> bool) -> bool {
        if i < 64 { self.first >> i & 1 != 0 } else { self.count > 0 && ask() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntryBuf, EntryRef, Level};
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value<'static>> {
        let texts =
            prop::sample::select(vec!["", "x", "häßlich", "a text that is longer than twenty-four bytes"]);
        prop_oneof![
            texts.prop_map(Value::Str),
            any::<i64>().prop_map(Value::Int),
            any::<f64>().prop_map(Value::Float),
            any::<bool>().prop_map(Value::Bool),
            Just(Value::Null),
            Just(Value::Number("1.50")),
            Just(Value::Json("[1]")),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn it_is_what_an_entry_buf_makes_of_it(
            time_ns: i64,
            level in 0u8..7,
            message in "\\PC{0,40}",
            fixed in prop::collection::vec(("app|host|_msg|x", value()), 0..3),
            own in prop::collection::vec(("app|host|_time|user|", value()), 0..80),
        ) {
            let stream_fields: Vec<Box<str>> = vec!["host".into(), "app".into()];
            let mut constants = Constants::new(&stream_fields);
            let mut entry = EntryBuf::new(stream_fields.clone());
            let level = Level::from_u8(level).unwrap();
            entry.start(time_ns).level(level).message(&message);
            for (name, value) in &fixed {
                constants.add(&stream_fields, name, &Constants::value(*value));
                entry.field(name, *value);
            }
            for (name, value) in &own {
                entry.field(name, *value);
            }
            let fields: Vec<(&str, Value<'_>)> = own.iter().map(|(n, v)| (n.as_str(), *v)).collect();
            let record = Record { time_ns, level, message: &message, fields: &fields };
            let mut out = vec![1, 2, 3];
            let len = encode(&mut out, &stream_fields, &constants, &record, (&message, None)).unwrap();
            prop_assert_eq!(&out[..len], entry.finish().unwrap());
        }

        #[test]
        fn a_message_is_cut_between_characters(message in "\\PC{0,30}", max in 0usize..40) {
            let (cut, from) = cut(&message, max);
            prop_assert!(message.starts_with(cut));
            match from {
                None => prop_assert_eq!(cut, &message),
                Some(len) => {
                    prop_assert_eq!(len, message.len());
                    prop_assert!(cut.len() <= max && cut.len() + 4 > max);
                }
            }
        }
    }

    #[test]
    fn a_cut_line_says_how_long_its_message_was() {
        let record = Record { time_ns: 7, level: Level::Info, message: "abcdef", fields: &[] };
        let mut out = Vec::new();
        let len = encode(&mut out, &[], &Constants::default(), &record, cut("abcdef", 3)).unwrap();
        let entry = EntryRef::decode(&out[..len]).unwrap();
        assert_eq!(entry.message, "abc");
        assert_eq!(entry.fields().collect::<Vec<_>>(), [(TRUNCATED_FIELD, Value::Int(6))]);
    }

    #[test]
    fn a_field_called_level_does_not_hide_the_level() {
        let stream_fields: Vec<Box<str>> = vec!["level".into()];
        for (stream_fields, name) in [(&[][..], "level#1"), (&stream_fields[..], "level")] {
            let mut constants = Constants::new(stream_fields);
            constants.add(stream_fields, "level", &Constants::value(Value::Int(1)));
            let fields = [("level", Value::Int(2))];
            let record = Record { time_ns: 7, level: Level::Error, message: "m", fields: &fields };
            let mut out = Vec::new();
            let len = encode(&mut out, stream_fields, &constants, &record, ("m", None)).unwrap();
            let entry = EntryRef::decode(&out[..len]).unwrap();
            let found: Vec<_> = entry.stream().chain(entry.fields()).collect();
            assert_eq!(found, [(name, Value::Int(1)), (name, Value::Int(2))]);
        }
    }

    #[test]
    fn limits_are_errors() {
        let mut out = Vec::new();
        let long = "n".repeat(MAX_FIELD_NAME_BYTES + 1);
        let fields = [(long.as_str(), Value::Null)];
        let record = Record { time_ns: 0, level: Level::Info, message: "m", fields: &fields };
        let message = ("m", None);
        assert!(encode(&mut out, &[], &Constants::default(), &record, message).is_err());
        let many = vec![("n", Value::Null); crate::entry::MAX_FIELDS + 1];
        let record = Record { fields: &many, ..record };
        assert!(encode(&mut out, &[], &Constants::default(), &record, message).is_err());
    }
}
