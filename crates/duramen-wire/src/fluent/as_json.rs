//! Messages in JSON, as Fluentd takes them, too: Go's fluent-logger sends them where `MarshalAsJSON` is set.
//!
//! ```text
//! Message   ["tag", seconds, {record}, {option}]         Forward   ["tag", [[seconds, {record}], …], {option}]
//! ```
//!
//! They are acknowledged in JSON.

use super::{Forward, NO_MORE, NO_PAIR, NO_TIME, WHAT, time_of};
use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::json::{end_of, mended};
use crate::msgpack::{Cursor, Item, Stop};
use jiter::{Jiter, JiterResult, Peek};
use std::ops::Range;

/// Whether a byte may stand between two messages; none of MessagePack begins with it.
pub(super) fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Finds the end of a list in bytes that come in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// How many brackets are open.
    open: usize,
    in_text: bool,
    escaped: bool,
}

impl Scan {
    /// Goes on from the cursor, which stands where the last call left it. Ends behind the list.
    pub fn go_on(&mut self, cursor: &mut Cursor<'_>) -> std::result::Result<(), Stop> {
        for (i, byte) in cursor.rest.iter().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.in_text,
                b'"' => self.in_text = !self.in_text,
                b'[' | b'{' if !self.in_text => self.open += 1,
                b']' | b'}' if !self.in_text => self.open = self.open.saturating_sub(1),
                _ => {}
            }
            if self.open == 0 {
                cursor.rest = &cursor.rest[i + 1..];
                return Ok(());
            }
        }
        cursor.rest = &[];
        Err(Stop::TooShort)
    }
}

impl Forward {
    /// Takes a message; gives what acknowledges it.
    pub(super) fn json_message(
        &mut self,
        message: &[u8],
        now_ns: i64,
        out: &mut Decoded,
    ) -> Result<Option<Vec<u8>>> {
        let wrong = |detail: &str| Error::malformed(WHAT, detail, 0);
        let message = &*mended(message);
        let (elements, len) =
            first_elements(message).map_err(|e| wrong(&format!("its JSON: {}", e.error_type)))?;
        let Some([tag, second, rest @ ..]) = elements.get(..len.min(4)) else {
            return Err(wrong("it has no events"));
        };
        let tag = Jiter::new(tag).next_str().map(str::to_owned);
        self.tag = tag.map_err(|_| wrong("its tag is no text"))?;
        self.group.clear();
        self.metadata.clear();
        let option = if second.starts_with(b"[") {
            let no_list = |_| wrong("its events are no list");
            let (mut jiter, mut at, before) = (reader(second), 0, out.accepted());
            let mut event = jiter.next_array().map_err(no_list)?;
            while let Some(peek) = event {
                let next = element(second, &mut jiter, &mut at, peek).map(|range| {
                    let event = first_elements(second.get(range).unwrap_or_default());
                    (event, jiter.array_step())
                });
                let next = match next {
                    Ok((Ok((pair, 2)), next)) => {
                        self.json_event(pair[0], pair[1], now_ns, out)?;
                        next
                    }
                    Ok((_, next)) => {
                        out.reject(|| NO_PAIR.to_owned());
                        next
                    }
                    Err(e) => Err(e),
                };
                event = match next {
                    Ok(next) => next,
                    // Who was not acknowledged would send those before it again and again.
                    Err(_) if out.accepted() > before => {
                        out.reject(|| NO_MORE.to_owned());
                        None
                    }
                    Err(e) => return Err(no_list(e)),
                };
            }
            rest.first()
        } else {
            let record = rest.first().ok_or_else(|| wrong("it has no record"))?;
            self.json_event(second, record, now_ns, out)?;
            rest.get(1)
        };
        let chunk = option.and_then(|option| chunk_of(option).ok().flatten());
        Ok(chunk.map(|chunk| serde_json::json!({ "ack": chunk }).to_string().into_bytes()))
    }

    fn json_event(&mut self, time: &[u8], record: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        if let Err(e) = out.check_line(record.len()) {
            out.reject(|| e.to_string());
            return Ok(());
        }
        let Some(time_ns) = time_of(number(time), now_ns) else {
            out.reject(|| NO_TIME.to_owned());
            return Ok(());
        };
        self.json.clear();
        self.json.extend_from_slice(record);
        self.take_record(time_ns, out)
    }
}

/// A time as it stands in a message.
fn number(text: &[u8]) -> Item<'_> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    match (text, text.parse(), text.parse()) {
        ("null", ..) => Item::Nil,
        (_, Ok(whole), _) => Item::Int(whole),
        (_, _, Ok(seconds)) => Item::Float(seconds),
        _ => Item::Bool(false),
    }
}

/// A reader that takes what Python and others write for numbers that are none (`NaN`), as that of the records does.
fn reader(text: &[u8]) -> Jiter<'_> {
    Jiter::new(text).with_allow_inf_nan()
}

/// The first four elements of a list, and how many there are: who sends many that mean nothing is to pay for them alone.
fn first_elements(list: &[u8]) -> JiterResult<([&[u8]; 4], usize)> {
    let (mut jiter, mut at, mut first, mut len) = (reader(list), 0, [&list[..0]; 4], 0);
    let mut next = jiter.next_array()?;
    while let Some(peek) = next {
        let range = element(list, &mut jiter, &mut at, peek)?;
        if let Some(place) = first.get_mut(len) {
            *place = list.get(range).unwrap_or_default();
        }
        len += 1;
        next = jiter.array_step()?;
    }
    jiter.finish()?;
    Ok((first, len))
}

/// Skips an element of a list and says where it lies, whatever is wrong within its brackets: it is its record's to be rejected, not
/// its chunk's. The cursor's bytes begin at `at`.
fn element<'l>(
    list: &'l [u8],
    jiter: &mut Jiter<'l>,
    at: &mut usize,
    peek: Peek,
) -> JiterResult<Range<usize>> {
    let start = *at + jiter.current_index();
    if let Err(e) = jiter.known_skip(peek) {
        *at = end_of(list, start).ok_or(e)?;
        *jiter = reader(list.get(*at..).unwrap_or_default());
    }
    Ok(start..*at + jiter.current_index())
}

/// The option `chunk`, if it is a text.
fn chunk_of(option: &[u8]) -> JiterResult<Option<String>> {
    let mut jiter = reader(option);
    let mut key = jiter.next_object()?;
    while let Some(name) = key {
        let is_chunk = name == "chunk";
        let peek = jiter.peek()?;
        if is_chunk && peek == Peek::String {
            return Ok(Some(jiter.known_str()?.to_owned()));
        }
        jiter.known_skip(peek)?;
        key = jiter.next_key()?;
    }
    Ok(None)
}
