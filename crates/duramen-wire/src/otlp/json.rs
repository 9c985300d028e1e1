//! OTLP in JSON, written anew as the protobuf that it stands for: then there is one reader of records, and it does not
//! matter in which order the members of an object come.

use crate::error::{Error, Result};
use crate::json::{deep_end, mended};
use crate::protobuf::Writer;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jiter::{Jiter, JiterError, Peek};
use std::ops::{Deref, DerefMut};
use std::str::FromStr;

const WHAT: &str = "an OTLP logs request in JSON";
/// Base64, with `=` at its end or without.
const USUAL: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PADDED_OR_NOT);
const OF_URLS: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, PADDED_OR_NOT);
const PADDED_OR_NOT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
/// How deep objects may lie in each other: a map in a map takes three.
const MAX_DEPTH: usize = 224;

/// A member of a message: its names, its number, and what it is.
struct Member {
    names: [&'static str; 2],
    number: u32,
    kind: Kind,
}

enum Kind {
    Message(&'static [Member]),
    Messages(&'static [Member]),
    /// The same, where null stands for a value that is none.
    Values(&'static [Member]),
    Text,
    Hex,
    Base64,
    Fixed64,
    Fixed32,
    Varint,
    Double,
    Bool,
    Severity,
}

const fn member(camel: &'static str, snake: &'static str, number: u32, kind: Kind) -> Member {
    Member { names: [camel, snake], number, kind }
}

static REQUEST: [Member; 1] = [member("resourceLogs", "resource_logs", 1, Kind::Messages(&RESOURCE_LOGS))];
static RESOURCE_LOGS: [Member; 2] = [
    member("resource", "resource", 1, Kind::Message(&RESOURCE)),
    member("scopeLogs", "scope_logs", 2, Kind::Messages(&SCOPE_LOGS)),
];
static RESOURCE: [Member; 1] = [member("attributes", "attributes", 1, Kind::Messages(&KEY_VALUE))];
static SCOPE_LOGS: [Member; 2] = [
    member("scope", "scope", 1, Kind::Message(&SCOPE)),
    member("logRecords", "log_records", 2, Kind::Messages(&RECORD)),
];
static SCOPE: [Member; 3] = [
    member("name", "name", 1, Kind::Text),
    member("version", "version", 2, Kind::Text),
    member("attributes", "attributes", 3, Kind::Messages(&KEY_VALUE)),
];
static RECORD: [Member; 11] = [
    member("timeUnixNano", "time_unix_nano", 1, Kind::Fixed64),
    member("severityNumber", "severity_number", 2, Kind::Severity),
    member("severityText", "severity_text", 3, Kind::Text),
    member("body", "body", 5, Kind::Message(&ANY)),
    member("attributes", "attributes", 6, Kind::Messages(&KEY_VALUE)),
    member("droppedAttributesCount", "dropped_attributes_count", 7, Kind::Varint),
    member("flags", "flags", 8, Kind::Fixed32),
    member("traceId", "trace_id", 9, Kind::Hex),
    member("spanId", "span_id", 10, Kind::Hex),
    member("observedTimeUnixNano", "observed_time_unix_nano", 11, Kind::Fixed64),
    member("eventName", "event_name", 12, Kind::Text),
];
static KEY_VALUE: [Member; 2] =
    [member("key", "key", 1, Kind::Text), member("value", "value", 2, Kind::Message(&ANY))];
static ANY: [Member; 7] = [
    member("stringValue", "string_value", 1, Kind::Text),
    member("boolValue", "bool_value", 2, Kind::Bool),
    member("intValue", "int_value", 3, Kind::Varint),
    member("doubleValue", "double_value", 4, Kind::Double),
    member("arrayValue", "array_value", 5, Kind::Message(&ARRAY)),
    member("kvlistValue", "kvlist_value", 6, Kind::Message(&MAP)),
    member("bytesValue", "bytes_value", 7, Kind::Base64),
];
static ARRAY: [Member; 1] = [member("values", "values", 1, Kind::Values(&ANY))];
static MAP: [Member; 1] = [member("values", "values", 1, Kind::Messages(&KEY_VALUE))];

/// Writes the request as protobuf.
pub(super) fn transcode(body: &[u8], out: &mut Writer) -> Result<()> {
    let body = &*mended(body);
    let mut source = Source { jiter: Jiter::new(body), bytes: body };
    object(&mut source, &REQUEST, out, MAX_DEPTH)?;
    source.finish().map_err(wrong)
}

/// What is read, and the bytes that the reader has: it cannot get over what is nested too deep by itself.
struct Source<'j> {
    jiter: Jiter<'j>,
    bytes: &'j [u8],
}

impl<'j> Deref for Source<'j> {
    type Target = Jiter<'j>;

    fn deref(&self) -> &Jiter<'j> {
        &self.jiter
    }
}

impl<'j> DerefMut for Source<'j> {
    fn deref_mut(&mut self) -> &mut Jiter<'j> {
        &mut self.jiter
    }
}

impl Source<'_> {
    /// Skips the value at the cursor, however deep it is nested.
    fn skip(&mut self, peek: Peek) -> Result<()> {
        let start = self.jiter.current_index();
        if let Err(e) = self.jiter.known_skip(peek) {
            let end = deep_end(self.bytes, start, &e).ok_or_else(|| wrong(e))?;
            self.bytes = &self.bytes[end..];
            self.jiter = Jiter::new(self.bytes);
        }
        Ok(())
    }
}

fn wrong(e: JiterError) -> Error {
    Error::malformed(WHAT, &e.error_type, e.index)
}

fn object(jiter: &mut Source<'_>, members: &'static [Member], out: &mut Writer, depth: usize) -> Result<()> {
    if depth == 0 {
        // Deeper than the reader of records goes, which rejects the record, or takes it without this. Others are not to be lost.
        let peek = jiter.peek().map_err(wrong)?;
        return jiter.skip(peek);
    }
    let mut key = jiter.next_object().map_err(wrong)?;
    while let Some(name) = key {
        let member = members.iter().find(|member| member.names.contains(&name));
        match (jiter.peek().map_err(wrong)?, member) {
            (Peek::Null, _) => jiter.known_null().map_err(wrong)?,
            (_, Some(member)) => value(jiter, member, out, depth - 1)?,
            (peek, None) => jiter.skip(peek)?,
        }
        key = jiter.next_key().map_err(wrong)?;
    }
    Ok(())
}

fn value(jiter: &mut Source<'_>, member: &'static Member, out: &mut Writer, depth: usize) -> Result<()> {
    let number = member.number;
    let at = jiter.current_index();
    let bad = |what: &str| Error::malformed(WHAT, format!("{} is not {what}", member.names[0]), at);
    match member.kind {
        Kind::Message(members) => message(jiter, number, members, out, depth)?,
        Kind::Messages(members) | Kind::Values(members) => {
            let mut element = jiter.next_array().map_err(wrong)?;
            while let Some(peek) = element {
                if peek == Peek::Null && matches!(member.kind, Kind::Values(_)) {
                    jiter.known_null().map_err(wrong)?;
                    out.bytes(number, &[]);
                } else {
                    message(jiter, number, members, out, depth)?;
                }
                element = jiter.array_step().map_err(wrong)?;
            }
        }
        Kind::Text => out.bytes(number, jiter.next_str().map_err(wrong)?.as_bytes()),
        Kind::Hex => {
            let digits = jiter.next_str().map_err(wrong)?;
            out.bytes(number, &hex(digits).ok_or_else(|| bad("hexadecimal digits"))?);
        }
        Kind::Base64 => {
            let text = jiter.next_str().map_err(wrong)?;
            let engine = if text.contains(['-', '_']) { &OF_URLS } else { &USUAL };
            out.bytes(number, &engine.decode(text).map_err(|_| bad("base64"))?);
        }
        Kind::Fixed64 => {
            // Some write none as an empty text.
            let n = with_number(jiter, |text| if text.is_empty() { Some(0) } else { whole(text) })?;
            out.fixed64(number, n.ok_or_else(|| bad("a 64-bit number"))?);
        }
        Kind::Fixed32 => {
            let n = with_number(jiter, whole)?;
            out.fixed32(number, n.ok_or_else(|| bad("a 32-bit number"))?);
        }
        Kind::Varint => {
            let n: Option<i64> = with_number(jiter, whole)?;
            out.varint(number, n.ok_or_else(|| bad("a 64-bit number"))? as u64);
        }
        Kind::Severity => {
            let n = with_number(jiter, |text| whole(text).or_else(|| severity(text)))?;
            out.varint(number, n.ok_or_else(|| bad("a severity"))?);
        }
        Kind::Double => {
            let x = with_number(jiter, |text| match text {
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                text => text.parse::<f64>().ok(),
            })?;
            out.fixed64(number, x.ok_or_else(|| bad("a number"))?.to_bits());
        }
        Kind::Bool => out.varint(number, u64::from(jiter.next_bool().map_err(wrong)?)),
    }
    Ok(())
}

fn message(
    jiter: &mut Source<'_>,
    number: u32,
    members: &'static [Member],
    out: &mut Writer,
    depth: usize,
) -> Result<()> {
    let began = out.begin(number);
    object(jiter, members, out, depth)?;
    out.end(began);
    Ok(())
}

/// Reads a number, or the text that holds one.
fn with_number<T>(jiter: &mut Source<'_>, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>> {
    let peek = jiter.peek().map_err(wrong)?;
    if peek == Peek::String {
        return Ok(read(jiter.known_str().map_err(wrong)?));
    }
    let digits = jiter.known_number_bytes(peek).map_err(wrong)?;
    Ok(std::str::from_utf8(digits).ok().and_then(read))
}

/// An integer, as JSON may write it: `5`, `5.0`, `1.7e18`; exact, as no float would be.
fn whole<T: FromStr + TryFrom<i128>>(text: &str) -> Option<T> {
    if let Ok(n) = text.parse() {
        return Some(n);
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (unsigned, sign) = mantissa.strip_prefix('-').map_or((mantissa, 1), |unsigned| (unsigned, -1));
    let (before, behind) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let all = [before, behind].concat();
    if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_end_matches('0');
    let zeros = i64::from(exponent.parse::<i32>().ok()?) + before.len() as i64 - digits.len() as i64;
    let n = match digits {
        "" => 0,
        digits => digits.parse::<i128>().ok()?.checked_mul(10i128.checked_pow(zeros.try_into().ok()?)?)?,
    };
    T::try_from(sign * n).ok()
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let nibble = |b: u8| char::from(b).to_digit(16).map(|n| n as u8);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some(nibble(pair[0])? << 4 | nibble(*pair.get(1)?)?)).collect()
}

/// `SEVERITY_NUMBER_WARN2` is 14.
fn severity(name: &str) -> Option<u64> {
    let name = name.strip_prefix("SEVERITY_NUMBER_")?;
    if name == "UNSPECIFIED" {
        return Some(0);
    }
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let band =
        ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"].iter().position(|known| *known == word)?;
    let step = match &name[word.len()..] {
        "" => 0,
        digit => digit.parse::<u64>().ok().filter(|n| (2..=4).contains(n))? - 1,
    };
    Some(band as u64 * 4 + 1 + step)
}
