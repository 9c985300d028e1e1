//! Graylog's GELF: JSON objects over UDP, in chunks or not, packed or not; over TCP, each with a NUL behind it; over
//! HTTP, one a request.
//!
//! ```text
//! {"version":"1.1","host":"web-1","short_message":"…","full_message":"…","timestamp":1719446407.123,"level":3,"_user":7}
//! chunk   1e 0f   id 8 bytes   number u8   count u8 (at most 128)   a piece of the message
//! ```
//!
//! `short_message` is the message, `level` a severity of syslog's: it tells the level and is kept by name as
//! `severity`. Additional fields lose their underscore; they never take the name of these two, wherever in the message
//! they stand. `host` makes the stream.

mod chunks;

pub use chunks::Chunks;

use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::json::{each_value, mended, text_of};
use crate::params::Params;
use duramen::{EntryBuf, Value};
use duramen_formats::{NameFilter, Names, StampParser, level, syslog::SEVERITIES};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use jiff::tz::TimeZone;
use jiter::{Jiter, JiterError, JiterResult, Peek};
use std::io::Read;

/// The stream field, unless others are asked for.
pub const STREAM_FIELDS: [&str; 1] = ["host"];

/// Makes entries of messages, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Messages {
    entry: EntryBuf,
    left_out: NameFilter,
    names: Names,
    extra_fields: Vec<(String, String)>,
    stamps: StampParser,
    params: Params,
}

/// The memory of messages over so many bytes is given back: connections stay for days.
const KEPT_BYTES: usize = 4 << 10;

impl Messages {
    /// Of the parameters, `_stream_fields`, `ignore_fields` and `extra_fields` count.
    pub fn new(params: &Params) -> Self {
        Self {
            entry: params.new_entry(&STREAM_FIELDS),
            left_out: params.left_out(),
            names: Names::new(),
            extra_fields: params.rules.extra_fields.clone(),
            // GELF's times are numbers, and texts of those who do not know it: no year is guessed.
            stamps: StampParser::new(TimeZone::UTC, 0, None),
            params: params.clone(),
        }
    }

    /// Takes a message, unpacked; one that is none is rejected.
    ///
    /// # Errors
    /// [`Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn message(&mut self, message: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        match self.read(message, now_ns, out) {
            Ok(()) => {
                let _counted_in_out = out.take(&mut self.entry)?;
            }
            Err(reason) => out.reject(|| reason),
        }
        if message.len() > KEPT_BYTES {
            (self.entry, self.names) = (self.params.new_entry(&STREAM_FIELDS), Names::new());
        }
        Ok(())
    }

    /// Takes a body: messages one after another, white space between them or not, or an array of them.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is not JSON; [`Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn document(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        each_value("GELF messages", body, |message| self.message(message, now_ns, out))
    }

    fn read(&mut self, message: &[u8], now_ns: i64, out: &Decoded) -> Result<(), String> {
        out.check_line(message.len()).map_err(|e| e.to_string())?;
        // Rust's tracing-gelf puts behind datagrams, too, what ends a message over TCP.
        let message = &*mended(message.strip_suffix(b"\0").unwrap_or(message));
        let text = text_of(message)?;
        self.names.clear();
        self.entry.start(now_ns).raw_len(message.len() + 1);
        let wrong = |e: JiterError| format!("not a GELF message: {}", e.error_type);
        let (mut has_message, mut has_late) = (false, false);
        each_member(text, |name, value| {
            has_message |= name == "short_message" && matches!(value, Value::Str(_));
            match is_late(name) {
                true => has_late = true,
                false => self.member(name, value),
            }
        })
        .map_err(wrong)?;
        if !has_message {
            return Err("not a GELF message: it has no short_message".to_owned());
        }
        if has_late {
            self.names.reserve("host");
            each_member(text, |name, value| {
                if is_late(name) {
                    self.member(name, value);
                }
            })
            .map_err(wrong)?;
        }
        for (name, value) in &self.extra_fields {
            self.entry.field(name, value.as_str());
        }
        Ok(())
    }

    fn member(&mut self, name: &str, value: Value<'_>) {
        let Self { entry, left_out, names, stamps, .. } = self;
        let text = match value {
            Value::Str(text) | Value::Number(text) => text,
            _ => "",
        };
        match name {
            "version" => {}
            "short_message" => _ = entry.message(text),
            "timestamp" if stamps.parse_value(text).is_some() => {
                _ = stamps.parse_value(text).map(|ns| entry.time(ns));
            }
            "level" if text.parse().ok().and_then(level::of_syslog_severity).is_some() => {
                let severity: u8 = text.parse().unwrap_or_default();
                entry.level(level::of_syslog_severity(severity).unwrap_or_default());
                let severity = SEVERITIES.get(usize::from(severity)).copied().unwrap_or_default();
                if !left_out.has("severity")
                    && let Some(name) = names.take("severity", Value::Str(severity))
                {
                    entry.field(name, severity);
                }
            }
            name => {
                let name = name.strip_prefix('_').filter(|rest| !rest.is_empty()).unwrap_or(name);
                if !left_out.has(name)
                    && let Some(name) = names.take(name, value)
                {
                    entry.field(name, value);
                }
            }
        }
    }
}

/// Whether a member is looked at after all others: its name is one that others have more right to.
fn is_late(name: &str) -> bool {
    matches!(name, "_host" | "_severity" | "severity")
}

/// Calls `f` with name and value of each member of an object.
fn each_member(text: &str, mut f: impl FnMut(&str, Value<'_>)) -> JiterResult<()> {
    let mut jiter = Jiter::new(text.as_bytes());
    let mut name = String::new();
    let mut key = jiter.next_object()?;
    while let Some(k) = key {
        name.clear();
        name.push_str(k);
        let peek = jiter.peek()?;
        if peek == Peek::String {
            f(&name, Value::Str(jiter.known_str()?));
        } else {
            let start = jiter.current_index();
            jiter.known_skip(peek)?;
            let raw = text.get(start..jiter.current_index()).unwrap_or_default().trim();
            let value = match peek {
                Peek::Null => Value::Null,
                Peek::True | Peek::False => Value::Bool(peek == Peek::True),
                Peek::Array => Value::Json(raw),
                Peek::Object => Value::Str(raw),
                _ => Value::Number(raw),
            };
            f(&name, value);
        }
        key = jiter.next_key()?;
    }
    jiter.finish()
}

/// Unpacks a message that gzip or zlib may have packed; which, its first bytes say.
///
/// # Errors
/// [`Error::Malformed`] if it is packed and damaged; [`Error::Limit`] if it would be over `max_bytes`.
pub fn unpack(message: &[u8], max_bytes: usize) -> Result<std::borrow::Cow<'_, [u8]>> {
    let mut unpacked = Vec::new();
    let limit = max_bytes as u64 + 1;
    let read = match message {
        [0x1f, 0x8b, ..] => MultiGzDecoder::new(message).take(limit).read_to_end(&mut unpacked),
        // zlib's header is a multiple of 31, and its method 8.
        [a, b, ..] if a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0 => {
            ZlibDecoder::new(message).take(limit).read_to_end(&mut unpacked)
        }
        _ => return Ok(message.into()),
    };
    read.map_err(|e| Error::malformed("a packed GELF message", e, 0))?;
    if unpacked.len() > max_bytes {
        let detail = "a GELF message when unpacked".to_owned();
        return Err(Error::Limit { name: "max_line_bytes", limit: max_bytes, detail });
    }
    Ok(unpacked.into())
}

#[cfg(test)]
mod tests;
