//! A line's bytes, written in one go: the form is drawn atop [`crate::entry`].
//!
//! [`crate::EntryBuf`] takes an entry bit by bit, in any order, and so has to put it together at the end. Here all of
//! it is known from the start, and the fields that every line has are encoded already.

use crate::entry::{MAX_FIELD_NAME_BYTES, check_limits, encode_value, readable_name};
use crate::error::Result;
use crate::logger::Record;
use crate::value::Value;
use minicbor::Encoder;
use std::convert::Infallible;

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
}

impl Constants {
    /// A value, encoded.
    pub(super) fn value(value: Value<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_value(&mut Encoder::new(&mut bytes), value);
        bytes
    }

    pub(super) fn add(&mut self, stream_fields: &[Box<str>], name: &str, value: &[u8]) {
        let (bytes, count) = if is_in(stream_fields, name) {
            (&mut self.stream, &mut self.stream_count)
        } else {
            (&mut self.fields, &mut self.field_count)
        };
        let _infallible = Encoder::new(&mut *bytes).str(readable_name(name));
        bytes.extend_from_slice(value);
        *count += 1;
        self.too_long_name |= name.len() > MAX_FIELD_NAME_BYTES;
    }

    /// Refuses what would make every line be refused.
    pub(super) fn checked(self) -> Result<Self> {
        let bytes = self.stream.len() + self.fields.len();
        check_limits(self.too_long_name, self.stream_count + self.field_count, bytes)?;
        Ok(self)
    }
}

fn is_in(stream_fields: &[Box<str>], name: &str) -> bool {
    stream_fields.iter().any(|field| **field == *name)
}

/// A line's message, cut to what is allowed, and how long it was if it had to be.
pub(super) fn cut(message: &str, max_bytes: usize) -> (&str, Option<usize>) {
    if message.len() <= max_bytes {
        return (message, None);
    }
    let end = (0..=max_bytes).rev().find(|&end| message.is_char_boundary(end)).unwrap_or(0);
    (&message[..end], Some(message.len()))
}

/// Writes a line's entry into `out`, in place of what was there. `message` is the record's, cut if need be, and
/// `cut_from` its length before.
///
/// # Errors
/// [`crate::Error::Invalid`] if the entry is over a limit.
pub(super) fn encode(
    out: &mut Vec<u8>,
    stream_fields: &[Box<str>],
    constants: &Constants,
    record: &Record<'_>,
    (message, cut_from): (&str, Option<usize>),
) -> Result<()> {
    let mut own_in_stream = 0;
    let mut too_long_name = false;
    let mut bytes = 64 + message.len() + constants.stream.len() + constants.fields.len();
    for (name, value) in record.fields {
        own_in_stream += u64::from(is_in(stream_fields, name));
        too_long_name |= name.len() > MAX_FIELD_NAME_BYTES;
        bytes += 24 + name.len() + text_len(value);
    }
    let own = record.fields.len() as u64 + u64::from(cut_from.is_some());
    check_limits(too_long_name, own + constants.stream_count + constants.field_count, bytes)?;

    out.clear();
    out.reserve(bytes);
    let mut e = Encoder::new(out);
    // Writing to a Vec cannot fail.
    let _infallible = (|| {
        e.array(6)?.i64(record.time_ns)?.u8(record.level as u8)?.u32(0)?.str(message)?;
        e.map(constants.stream_count + own_in_stream)?;
        e.writer_mut().extend_from_slice(&constants.stream);
        if own_in_stream > 0 {
            for (name, value) in record.fields.iter().filter(|(name, _)| is_in(stream_fields, name)) {
                e.str(readable_name(name))?;
                encode_value(&mut e, *value);
            }
        }
        e.map(constants.field_count + own - own_in_stream)?;
        e.writer_mut().extend_from_slice(&constants.fields);
        for (name, value) in record.fields {
            if own_in_stream == 0 || !is_in(stream_fields, name) {
                e.str(readable_name(name))?;
                encode_value(&mut e, *value);
            }
        }
        if let Some(len) = cut_from {
            e.str(TRUNCATED_FIELD)?.u64(len as u64)?;
        }
        Ok::<(), minicbor::encode::Error<Infallible>>(())
    })();
    Ok(())
}

fn text_len(value: &Value<'_>) -> usize {
    match value {
        Value::Str(text) | Value::Number(text) | Value::Json(text) => text.len(),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Null => 0,
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
            own in prop::collection::vec(("app|host|_time|user|", value()), 0..8),
        ) {
            let stream_fields: Vec<Box<str>> = vec!["host".into(), "app".into()];
            let mut constants = Constants::default();
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
            encode(&mut out, &stream_fields, &constants, &record, (&message, None)).unwrap();
            prop_assert_eq!(&out[..], entry.finish().unwrap());
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
        encode(&mut out, &[], &Constants::default(), &record, cut("abcdef", 3)).unwrap();
        let entry = EntryRef::decode(&out).unwrap();
        assert_eq!(entry.message, "abc");
        assert_eq!(entry.fields().collect::<Vec<_>>(), [(TRUNCATED_FIELD, Value::Int(6))]);
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
