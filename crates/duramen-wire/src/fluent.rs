//! Fluent's forward protocol: MessagePack over TCP, as Fluentd, Fluent Bit and the fluent loggers send it.
//!
//! ```text
//! Message        [tag, time, record, option?]
//! Forward        [tag, [[time, record]…], option?]
//! PackedForward  [tag, bytes of [time, record]…, option?]     with option "compressed": "gzip" those are packed
//! time           seconds, or the extension 0: seconds u32, nanoseconds u32
//! ```
//!
//! An option `chunk` is to be acknowledged with `{"ack": chunk}` ([`ack`]) once the entries are safe. The tag becomes
//! the field `tag`, and makes the stream; a record's fields are as those of a JSON line, and the time is the event's.
//! The handshake with a shared key is not spoken: listen where only senders can connect.

use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::json::ObjectRows;
use crate::msgpack::{Cursor, Item, Scan, Stop};
use crate::params::Params;
use duramen_formats::text_of;
use flate2::read::MultiGzDecoder;
use std::io::Read;

const WHAT: &str = "a message of Fluent's forward protocol";
/// How deep a record may be nested.
const MAX_DEPTH: usize = 64;
/// The stream field, unless others are asked for.
pub const STREAM_FIELDS: [&str; 1] = ["tag"];

/// Reads the messages of a connection, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Forward {
    rows: ObjectRows,
    /// Bytes of a message that is not whole yet, and how far it was looked at.
    buffer: Vec<u8>,
    scanned: usize,
    scan: Scan,
    json: Vec<u8>,
    unpacked: Vec<u8>,
    max_message_bytes: usize,
    tag: String,
}

/// What a message asks for.
#[derive(Debug, Default)]
struct Options<'a> {
    chunk: Option<&'a [u8]>,
    gzip: bool,
}

impl Forward {
    /// For one connection. A message may have `max_message_bytes`, packed and unpacked.
    pub fn new(params: &Params, now_ns: i64, max_message_bytes: usize) -> Self {
        Self {
            rows: ObjectRows::with_streams(params, now_ns, &STREAM_FIELDS, None),
            buffer: Vec::new(),
            scanned: 0,
            scan: Scan::default(),
            json: Vec::new(),
            unpacked: Vec::new(),
            max_message_bytes,
            tag: String::new(),
        }
    }

    /// Takes the next bytes of the connection, and the entries of every message that they complete. `chunks` gets
    /// what is to be acknowledged, in order, once the entries are safe.
    ///
    /// # Errors
    /// [`Error::Malformed`] and [`Error::Limit`]: nothing that follows can be understood; close the connection.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        now_ns: i64,
        out: &mut Decoded,
        chunks: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        let mut start = 0;
        let outcome = loop {
            let mut cursor = Cursor { rest: &self.buffer[self.scanned..] };
            let scanned = self.scan.go_on(&mut cursor);
            self.scanned = self.buffer.len() - cursor.rest.len();
            match scanned {
                Err(Stop::TooShort) => break Ok(()),
                Err(Stop::Malformed) => {
                    break Err(Error::malformed(WHAT, "an unknown marker", self.scanned - start));
                }
                Ok(()) => {}
            }
            let buffer = std::mem::take(&mut self.buffer);
            let outcome = self.message(&buffer[start..self.scanned], now_ns, out);
            self.buffer = buffer;
            start = self.scanned;
            self.scan = Scan::default();
            match outcome {
                Ok(chunk) => chunks.extend(chunk),
                Err(e) => break Err(e),
            }
        };
        self.buffer.drain(..start);
        self.scanned -= start;
        if self.buffer.len() > self.max_message_bytes {
            return Err(over(self.max_message_bytes));
        }
        outcome
    }

    /// How many bytes it holds of a message that is not whole yet.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Takes a message; gives its chunk.
    fn message(&mut self, message: &[u8], now_ns: i64, out: &mut Decoded) -> Result<Option<Vec<u8>>> {
        let wrong = |detail: &str| Error::malformed(WHAT, detail, 0);
        let mut cursor = Cursor { rest: message };
        let Ok(Item::Array(items @ 2..=4)) = cursor.next() else {
            return Err(wrong("it is no array of two to four"));
        };
        let Ok(Item::Bytes(tag)) = cursor.next() else { return Err(wrong("its tag is no text")) };
        self.tag.clear();
        self.tag.push_str(&text_of(tag));
        let second = cursor;
        let first = cursor.next().map_err(|_| wrong("it ends too soon"))?;
        let mut options = Options::default();
        match first {
            Item::Array(events) => {
                let mut behind = second;
                behind.skip().map_err(|_| wrong("it ends too soon"))?;
                if items == 3 {
                    options = read_options(behind);
                }
                for _ in 0..events {
                    self.event(&mut cursor, now_ns, out)?;
                }
            }
            Item::Bytes(packed) => {
                if items == 3 {
                    options = read_options(cursor);
                }
                self.packed(packed, options.gzip, now_ns, out)?;
            }
            time => {
                let time_ns = time_of(time, now_ns).ok_or_else(|| wrong("its time is none"))?;
                let record = cursor.skip().map_err(|_| wrong("it has no record"))?;
                self.record(record, time_ns, out)?;
                if items == 4 {
                    options = read_options(cursor);
                }
            }
        }
        Ok(options.chunk.map(<[u8]>::to_vec))
    }

    fn packed(&mut self, packed: &[u8], gzip: bool, now_ns: i64, out: &mut Decoded) -> Result<()> {
        let mut unpacked = std::mem::take(&mut self.unpacked);
        unpacked.clear();
        let events = if gzip {
            let limit = self.max_message_bytes as u64;
            let read = MultiGzDecoder::new(packed).take(limit + 1).read_to_end(&mut unpacked);
            read.map_err(|e| Error::malformed(WHAT, format!("its events are no gzip: {e}"), 0))?;
            if unpacked.len() as u64 > limit {
                return Err(over(self.max_message_bytes));
            }
            &unpacked[..]
        } else {
            packed
        };
        let mut cursor = Cursor { rest: events };
        let mut outcome = Ok(());
        while outcome.is_ok() && !cursor.rest.is_empty() {
            outcome = self.event(&mut cursor, now_ns, out);
        }
        self.unpacked = unpacked;
        outcome
    }

    /// `[time, record]`; Fluent Bit also sends `[[time, metadata], record]`.
    fn event(&mut self, cursor: &mut Cursor<'_>, now_ns: i64, out: &mut Decoded) -> Result<()> {
        let wrong = |detail: &str| Error::malformed(WHAT, detail, 0);
        let Ok(Item::Array(2)) = cursor.next() else { return Err(wrong("an event is no pair")) };
        let mut time = cursor.next();
        if time == Ok(Item::Array(2)) {
            time = cursor.next();
            cursor.skip().map_err(|_| wrong("an event ends too soon"))?;
        }
        let time_ns = time
            .ok()
            .and_then(|time| time_of(time, now_ns))
            .ok_or_else(|| wrong("an event's time is none"))?;
        let record = cursor.skip().map_err(|_| wrong("an event has no record"))?;
        self.record(record, time_ns, out)
    }

    fn record(&mut self, record: &[u8], time_ns: i64, out: &mut Decoded) -> Result<()> {
        if let Err(e) = out.check_line(record.len()) {
            out.reject(|| e.to_string());
            return Ok(());
        }
        self.json.clear();
        if push_json(&mut Cursor { rest: record }, &mut self.json, MAX_DEPTH).is_none() {
            out.reject(|| format!("its record is nested over {MAX_DEPTH} deep"));
            return Ok(());
        }
        let tag = [("tag", self.tag.as_str())];
        let tag = if self.tag.is_empty() { &[] } else { &tag[..] };
        let _counted_in_out = self.rows.take_as(&self.json, tag, time_ns, out, |rows, _| {
            rows.entry.time(time_ns).raw_len(0);
        })?;
        Ok(())
    }
}

/// What acknowledges a chunk.
pub fn ack(chunk: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x81, 0xa3, b'a', b'c', b'k'];
    // Writing to a Vec cannot fail.
    let _infallible = rmp::encode::write_str_len(&mut bytes, u32::try_from(chunk.len()).unwrap_or(u32::MAX));
    bytes.extend_from_slice(chunk);
    bytes
}

fn over(limit: usize) -> Error {
    Error::Limit { name: "max_message_bytes", limit, detail: "a message of Fluent's forward protocol".into() }
}

/// The options at the cursor; what is none of them is passed over.
fn read_options(mut cursor: Cursor<'_>) -> Options<'_> {
    let mut options = Options::default();
    let Ok(Item::Map(pairs)) = cursor.next() else { return options };
    for _ in 0..pairs {
        let key = cursor.next();
        let mut value = cursor;
        if cursor.skip().is_err() {
            break;
        }
        match (key, value.next()) {
            (Ok(Item::Bytes(b"chunk")), Ok(Item::Bytes(chunk))) => options.chunk = Some(chunk),
            (Ok(Item::Bytes(b"compressed")), Ok(Item::Bytes(how))) => options.gzip = how == b"gzip",
            _ => {}
        }
    }
    options
}

/// `None` if it is no time; 0 and nil stand for now.
fn time_of(item: Item<'_>, now_ns: i64) -> Option<i64> {
    let ns = match item {
        Item::Nil => 0,
        Item::Uint(secs) => i64::try_from(secs).ok()?.checked_mul(1_000_000_000)?,
        Item::Int(secs) => secs.checked_mul(1_000_000_000)?,
        Item::Float(secs) if (0.0..9e9).contains(&secs) => (secs * 1e9) as i64,
        Item::Ext(0, bytes) => {
            let n = u64::from_be_bytes(bytes.try_into().ok()?);
            (n >> 32) as i64 * 1_000_000_000 + (n & 0xffff_ffff) as i64
        }
        _ => return None,
    };
    Some(if ns == 0 { now_ns } else { ns })
}

/// Writes the value at the cursor as JSON. `None` if it is nested too deep, or not whole.
fn push_json(cursor: &mut Cursor<'_>, json: &mut Vec<u8>, depth: usize) -> Option<()> {
    if depth == 0 {
        return None;
    }
    match cursor.next().ok()? {
        Item::Nil => json.extend_from_slice(b"null"),
        Item::Bool(b) => json.extend_from_slice(if b { b"true" } else { b"false" }),
        Item::Int(n) => json.extend_from_slice(n.to_string().as_bytes()),
        Item::Uint(n) => json.extend_from_slice(n.to_string().as_bytes()),
        Item::Float(x) if x.is_finite() => json.extend_from_slice(format!("{x:?}").as_bytes()),
        Item::Float(x) => push_text(x.to_string().as_bytes(), json),
        Item::Bytes(text) => push_text(text, json),
        Item::Ext(_, bytes) => match time_of(Item::Ext(0, bytes), 0) {
            Some(ns) if bytes.len() == 8 => json.extend_from_slice(ns.to_string().as_bytes()),
            _ => push_text(bytes, json),
        },
        Item::Array(n) => {
            json.push(b'[');
            for i in 0..n {
                if i > 0 {
                    json.push(b',');
                }
                push_json(cursor, json, depth - 1)?;
            }
            json.push(b']');
        }
        Item::Map(n) => {
            json.push(b'{');
            for i in 0..n {
                if i > 0 {
                    json.push(b',');
                }
                match cursor.next().ok()? {
                    Item::Bytes(key) => push_text(key, json),
                    Item::Int(n) => push_text(n.to_string().as_bytes(), json),
                    Item::Uint(n) => push_text(n.to_string().as_bytes(), json),
                    Item::Bool(b) => push_text(b.to_string().as_bytes(), json),
                    _ => return None,
                }
                json.push(b':');
                push_json(cursor, json, depth - 1)?;
            }
            json.push(b'}');
        }
    }
    Some(())
}

fn push_text(text: &[u8], json: &mut Vec<u8>) {
    // Writing a text to a Vec cannot fail.
    let _infallible = serde_json::to_writer(json, &text_of(text));
}

#[cfg(test)]
mod tests;
