//! Fluent's forward protocol: MessagePack over TCP, as Fluentd, Fluent Bit and the fluent loggers send it.
//!
//! ```text
//! Message        [tag, time, record, option?]
//! Forward        [tag, [[time, record]…], option?]
//! PackedForward  [tag, bytes of [time, record]…, option?]     with option "compressed": "gzip" or "zstd" those are packed
//! time           seconds, or the extension 0: seconds i32, nanoseconds u32
//! ```
//!
//! Fluent Bit sends `[[time, metadata], record]`, too; of seconds -1 it begins a group of records, of which the record
//! says more (`resource`, `scope`), and of -2 it ends one. Metrics and traces, which it marks with the option
//! `fluent_signal`, are rejected. What is wrong with one event costs no other: it is rejected, and its chunk acknowledged.
//!
//! What begins with `[`, which nothing in MessagePack does that is a message, is one in JSON (`as_json.rs`).
//!
//! An option `chunk` is to be acknowledged with `{"ack": chunk}` ([`ack`]) once the entries are safe. The tag becomes
//! the field `tag`, and makes the stream; a record's fields are as those of a JSON line, and the time is the event's.
//! The handshake with a shared key is not spoken: listen where only senders can connect.

mod as_json;
mod beside;
mod json;
mod time;

use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::json::ObjectRows;
use crate::msgpack::{Cursor, Item, Scan, Stop};
use crate::params::Params;
use as_json::Scan as JsonScan;
use beside::Beside;
use duramen_formats::text_of;
use flate2::read::MultiGzDecoder;
use json::push_json;
use std::io::Read;
use time::{event_time, seconds_of, time_of};

const WHAT: &str = "a message of Fluent's forward protocol";
/// How deep a record may be nested.
const MAX_DEPTH: usize = 64;
/// The seconds of what begins a group of Fluent Bit's, and of what ends it.
const GROUP_BEGINS: i64 = -1;
const GROUP_ENDS: i64 = -2;
const NO_PAIR: &str = "an event that is no pair";
const NO_MORE: &str = "no event, nor are there any behind it in its chunk";
const NO_TIME: &str = "an event whose time is none, or before 1970";
/// The stream field, unless others are asked for.
pub const STREAM_FIELDS: [&str; 1] = ["tag"];

/// A connection keeps buffers of so many bytes at most from one message to the next: it may rest for hours.
const KEPT_BYTES: usize = 4 << 20;

/// Reads the messages of a connection, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Forward {
    rows: ObjectRows,
    /// Bytes of a message that is not whole yet, and how far it was looked at.
    buffer: Vec<u8>,
    scanned: usize,
    scan: Scan,
    /// The same of a message in JSON.
    json_scan: JsonScan,
    json: Vec<u8>,
    /// What is said of the group of the events to come, and of one event.
    group: Beside,
    metadata: Beside,
    members: String,
    unpacked: Vec<u8>,
    max_message_bytes: usize,
    tag: String,
    params: Params,
}

/// What a message asks for.
#[derive(Debug, Default)]
struct Options<'a> {
    chunk: Option<&'a [u8]>,
    compressed: &'a [u8],
    /// What the events are, where they are no logs: metrics (1), traces (2) and so on.
    signal: u64,
}

impl Forward {
    /// For one connection. A message may have `max_message_bytes`, packed and unpacked.
    pub fn new(params: &Params, now_ns: i64, max_message_bytes: usize) -> Self {
        Self {
            rows: ObjectRows::with_streams(params, now_ns, &STREAM_FIELDS, None),
            buffer: Vec::new(),
            scanned: 0,
            scan: Scan::default(),
            json_scan: JsonScan::default(),
            json: Vec::new(),
            group: Beside::default(),
            metadata: Beside::default(),
            members: String::new(),
            unpacked: Vec::new(),
            max_message_bytes,
            tag: String::new(),
            params: params.clone(),
        }
    }

    /// Takes the next bytes of the connection, and the entries of every message that they complete. `acks` gets
    /// what acknowledges them, in order, to be sent once the entries are safe.
    ///
    /// # Errors
    /// [`Error::Malformed`] and [`Error::Limit`]: nothing that follows can be understood; close the connection.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        now_ns: i64,
        out: &mut Decoded,
        acks: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        let mut start = 0;
        let outcome = loop {
            if self.scanned == start && self.buffer.get(start).is_some_and(|byte| as_json::is_between(*byte))
            {
                (start, self.scanned) = (start + 1, start + 1);
                continue;
            }
            let is_json = self.buffer.get(start) == Some(&b'[');
            let mut cursor = Cursor { rest: &self.buffer[self.scanned..] };
            let scanned = match is_json {
                true => self.json_scan.go_on(&mut cursor),
                false => self.scan.go_on(&mut cursor),
            };
            self.scanned = self.buffer.len() - cursor.rest.len();
            match scanned {
                Err(Stop::TooShort) => break Ok(()),
                Err(Stop::Malformed) => {
                    break Err(Error::malformed(WHAT, "an unknown marker", self.scanned - start));
                }
                Ok(()) => {}
            }
            let buffer = std::mem::take(&mut self.buffer);
            let message = &buffer[start..self.scanned];
            let outcome = match is_json {
                true => self.json_message(message, now_ns, out),
                false => self.message(message, now_ns, out).map(|chunk| chunk.map(|chunk| ack(&chunk))),
            };
            self.buffer = buffer;
            start = self.scanned;
            (self.scan, self.json_scan) = (Scan::default(), JsonScan::default());
            match outcome {
                Ok(ack) => acks.extend(ack),
                Err(e) => break Err(e),
            }
        };
        self.buffer.drain(..start);
        self.scanned -= start;
        if start > 0 {
            self.buffer.shrink_to(self.buffer.len().max(KEPT_BYTES));
            self.json.shrink_to(KEPT_BYTES);
        }
        if self.buffer.len() > self.max_message_bytes {
            return Err(over(self.max_message_bytes));
        }
        outcome
    }

    /// Gives memory back that it only keeps for messages to come.
    pub fn rest(&mut self, now_ns: i64) {
        self.buffer.shrink_to_fit();
        (self.json, self.unpacked, self.members) = (Vec::new(), Vec::new(), String::new());
        self.rows = ObjectRows::with_streams(&self.params, now_ns, &STREAM_FIELDS, None);
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
        self.group.clear();
        self.metadata.clear();
        let mut behind = cursor;
        behind.skip().map_err(|_| wrong("it ends too soon"))?;
        let first = cursor.next().map_err(|_| wrong("it ends too soon"))?;
        let mut options = Options::default();
        match first {
            Item::Array(_) | Item::Bytes(_) => {
                if items == 3 {
                    options = read_options(behind);
                }
                match first {
                    _ if options.signal != 0 => {
                        let signal = options.signal;
                        out.reject(|| format!("its events are no logs (fluent_signal {signal})"));
                    }
                    Item::Bytes(packed) => self.packed(packed, options.compressed, now_ns, out)?,
                    Item::Array(events) => {
                        for _ in 0..events {
                            let event = cursor.skip().map_err(|_| wrong("it ends too soon"))?;
                            self.event(event, now_ns, out)?;
                        }
                    }
                    _ => {}
                }
            }
            time => {
                let record = behind.skip().map_err(|_| wrong("it has no record"))?;
                match time_of(time, now_ns) {
                    Some(time_ns) => self.record(record, time_ns, out)?,
                    None => out.reject(|| NO_TIME.to_owned()),
                }
                if items == 4 {
                    options = read_options(behind);
                }
            }
        }
        Ok(options.chunk.map(<[u8]>::to_vec))
    }

    fn packed(&mut self, packed: &[u8], how: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        let mut unpacked = std::mem::take(&mut self.unpacked);
        unpacked.clear();
        let limit = self.max_message_bytes as u64;
        let wrong =
            |e: std::io::Error| Error::malformed(WHAT, format!("its events are no {}: {e}", text_of(how)), 0);
        match how {
            b"" | b"text" => {}
            b"gzip" => {
                let read = MultiGzDecoder::new(packed).take(limit + 1).read_to_end(&mut unpacked);
                _ = read.map_err(wrong)?;
            }
            b"zstd" => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(wrong)?;
                decoder.window_log_max(27).map_err(wrong)?;
                _ = decoder.take(limit + 1).read_to_end(&mut unpacked).map_err(wrong)?;
            }
            other => {
                let told = format!("its events are packed with `{}`, not gzip or zstd", text_of(other));
                return Err(Error::malformed(WHAT, told, 0));
            }
        }
        if unpacked.len() as u64 > limit {
            return Err(over(self.max_message_bytes));
        }
        let is_packed = !matches!(how, b"" | b"text");
        let outcome = self.events(if is_packed { &unpacked } else { packed }, now_ns, out);
        if unpacked.capacity() <= KEPT_BYTES {
            self.unpacked = unpacked;
        }
        outcome
    }

    /// Events one after another, up to where there is none.
    fn events(&mut self, events: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        let mut cursor = Cursor { rest: events };
        while !cursor.rest.is_empty() {
            let is_array = matches!({ cursor }.next(), Ok(Item::Array(_)));
            match cursor.skip() {
                Ok(event) if is_array => self.event(event, now_ns, out)?,
                _ => {
                    out.reject(|| NO_MORE.to_owned());
                    break;
                }
            }
        }
        Ok(())
    }

    /// `[time, record]` or `[[time, metadata], record]`.
    fn event(&mut self, event: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        match self.read_event(event, now_ns) {
            Ok(Some((time_ns, record))) => self.record(record, time_ns, out),
            Ok(None) => Ok(()),
            Err(reason) => {
                out.reject(|| reason.to_owned());
                Ok(())
            }
        }
    }

    /// An event's time and record, with its metadata beside them; `None` if it begins or ends a group.
    fn read_event<'e>(
        &mut self,
        event: &'e [u8],
        now_ns: i64,
    ) -> Result<Option<(i64, &'e [u8])>, &'static str> {
        let mut cursor = Cursor { rest: event };
        let Ok(Item::Array(2)) = cursor.next() else { return Err(NO_PAIR) };
        let mut time = cursor.next();
        self.metadata.clear();
        let mut metadata = None;
        if time == Ok(Item::Array(2)) {
            time = cursor.next();
            metadata = Some(cursor);
            cursor.skip().map_err(|_| "an event that ends too soon")?;
        }
        let time = time.map_err(|_| NO_TIME)?;
        let record = cursor;
        match seconds_of(time) {
            Some(GROUP_BEGINS) => {
                self.group.clear();
                self.group.add_group(record).ok_or("a group of which it is not told what it is of")?;
                return Ok(None);
            }
            Some(GROUP_ENDS) => {
                self.group.clear();
                return Ok(None);
            }
            _ => {}
        }
        let time_ns = time_of(time, now_ns).ok_or(NO_TIME)?;
        if let Some(metadata) = metadata {
            self.metadata.add_metadata(metadata).ok_or("an event whose metadata is none")?;
        }
        Ok(Some((time_ns, { record }.skip().map_err(|_| "an event without a record")?)))
    }

    fn record(&mut self, record: &[u8], time_ns: i64, out: &mut Decoded) -> Result<()> {
        if let Err(e) = out.check_line(record.len() + self.group.len() + self.metadata.len()) {
            out.reject(|| e.to_string());
            return Ok(());
        }
        self.json.clear();
        if push_json(&mut Cursor { rest: record }, &mut self.json).is_none() {
            out.reject(|| format!("its record is nested over {MAX_DEPTH} deep"));
            return Ok(());
        }
        self.take_record(time_ns, out)
    }

    /// Takes the record that is JSON now.
    fn take_record(&mut self, time_ns: i64, out: &mut Decoded) -> Result<()> {
        match self.read_record(time_ns, out) {
            Ok(()) => {
                let _counted_in_out = out.take(&mut self.rows.entry)?;
            }
            Err(reason) => out.reject(|| reason),
        }
        Ok(())
    }

    /// Fills the entry from the record that is JSON now, and what stands beside it.
    fn read_record(&mut self, time_ns: i64, out: &Decoded) -> Result<(), String> {
        let tag = [("tag", self.tag.as_str())];
        let tag = if self.tag.is_empty() { &[] } else { &tag[..] };
        let text = self.rows.read(&self.json, tag, time_ns, out)?;
        self.rows.entry.time(time_ns).raw_len(0);
        for beside in [&self.group, &self.metadata] {
            if beside.write(&mut self.members) {
                self.rows.add_fields(text, &self.members)?;
            }
            if let Some(level) = beside.level {
                self.rows.entry.level(level);
            }
        }
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
            (Ok(Item::Bytes(b"compressed")), Ok(Item::Bytes(how))) => options.compressed = how,
            (Ok(Item::Bytes(b"fluent_signal")), Ok(Item::Uint(signal))) => options.signal = signal,
            _ => {}
        }
    }
    options
}

#[cfg(test)]
mod tests;
