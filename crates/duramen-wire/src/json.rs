//! Rows that are JSON objects: what all protocols that send such share.

use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::params::Params;
use duramen::{EntryBuf, Value};
use duramen_formats::fields::Fields;
use duramen_formats::json::{JsonFlattener, JsonParser, repaired};
use duramen_formats::{ReaderOptions, without_bom};
use jiter::{Jiter, JsonErrorType, Peek};
use std::borrow::Cow;
use std::ops::Range;

/// Makes entries of JSON objects, keeping its buffers.
#[derive(Debug)]
pub(crate) struct ObjectRows {
    flattener: JsonFlattener,
    parser: JsonParser,
    fields: Fields,
    extra_fields: Vec<(String, String)>,
    pub entry: EntryBuf,
}

impl ObjectRows {
    /// As the parameters say; `now_ns` tells the year of time stamps without one.
    pub fn new(params: &Params, now_ns: i64) -> Self {
        Self::with_streams(params, now_ns, &[], None)
    }

    /// The same, with the stream fields of a protocol where the parameters name none, and its name for the level.
    pub fn with_streams(params: &Params, now_ns: i64, streams: &[&str], level_field: Option<&str>) -> Self {
        let mut options = ReaderOptions::new(now_ns);
        options.level_field = level_field.map(str::to_owned);
        Self::with_options(params, &options, streams)
    }

    /// The same, read as the options say.
    pub fn with_options(params: &Params, options: &ReaderOptions, streams: &[&str]) -> Self {
        Self {
            flattener: JsonFlattener::with_rules(options, params.rules.clone()),
            parser: JsonParser::new(),
            fields: Fields::new(),
            extra_fields: params.rules.extra_fields.clone(),
            entry: params.new_entry(streams),
        }
    }

    /// The same for events that Splunk's collector is sent.
    pub fn of_events(self) -> Self {
        Self { flattener: self.flattener.of_events(), ..self }
    }

    /// Starts the entry of a row in [`Self::entry`] and gives its text, or says why there is none. A row without a time
    /// has `now_ns`. Fields that stand beside the row keep their names, whatever its own are.
    pub fn read<'r>(
        &mut self,
        row: &'r [u8],
        beside: &[(&str, &str)],
        now_ns: i64,
        out: &Decoded,
    ) -> Result<&'r str, String> {
        let text = row_text(row, out)?;
        self.flattener.flatten_with(text, beside, now_ns, &mut self.entry).map_err(|e| e.to_string())?;
        self.entry.raw_len(row.len() + 1);
        Ok(text)
    }

    /// The same with a field that a row has if its own of this name says nothing.
    pub fn read_or<'r>(
        &mut self,
        row: &'r [u8],
        otherwise: (&str, &str),
        now_ns: i64,
        out: &Decoded,
    ) -> Result<&'r str, String> {
        let text = row_text(row, out)?;
        self.flattener.flatten_or(text, otherwise, now_ns, &mut self.entry).map_err(|e| e.to_string())?;
        self.entry.raw_len(row.len() + 1);
        Ok(text)
    }

    /// Starts the entry of a row that is no object.
    pub fn start(&mut self, time_ns: i64) -> &mut EntryBuf {
        self.flattener.forget();
        self.entry.start(time_ns)
    }

    /// Adds a field to the entry of the row that was read last, whose text `row` is; see [`JsonFlattener::add`].
    pub fn add<'v>(&mut self, row: &str, name: &str, value: impl Into<Value<'v>>) {
        self.flattener.add(row, name, value.into(), &mut self.entry);
    }

    /// Adds the fields that the sender wants each entry to have, to one that [`start`](Self::start) has begun.
    pub fn add_extra_fields(&mut self) {
        for (name, value) in &self.extra_fields {
            self.entry.field(name, value.as_str());
        }
    }

    /// Adds the members of another object to the entry, likewise.
    pub fn add_fields(&mut self, row: &str, object: &str) -> Result<(), String> {
        self.parser.parse(object, &mut self.fields).map_err(|e| e.to_string())?;
        let Self { flattener, fields, entry, .. } = self;
        fields.for_each(object, |name, value| flattener.add(row, name, value, entry));
        Ok(())
    }

    /// Takes a row into `out`, as an entry or as a rejection; says which.
    pub fn take(&mut self, row: &[u8], now_ns: i64, out: &mut Decoded) -> Result<Result<(), String>> {
        self.take_as(row, &[], now_ns, out, |_, _| {})
    }

    /// The same, with fields that stand beside the row, and with what `finish` does to the entry; it is given the text.
    pub fn take_as(
        &mut self,
        row: &[u8],
        beside: &[(&str, &str)],
        now_ns: i64,
        out: &mut Decoded,
        finish: impl FnOnce(&mut Self, &str),
    ) -> Result<Result<(), String>> {
        match self.read(row, beside, now_ns, out) {
            Ok(text) => {
                finish(self, text);
                out.take(&mut self.entry)
            }
            Err(reason) => {
                out.reject(|| reason.clone());
                Ok(Err(reason))
            }
        }
    }
}

/// The text of a row that is not too long.
fn row_text<'r>(row: &'r [u8], out: &Decoded) -> Result<&'r str, String> {
    out.check_line(row.len()).map_err(|e| e.to_string())?;
    let text = text_of(row)?;
    // Windows' programs mark a file's first line as UTF-8.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// A row's text.
pub(crate) fn text_of(row: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(row).map_err(|e| format!("not UTF-8 at its byte {}", e.valid_up_to()))
}

/// A body of JSON without the mark of UTF-8 before it, and with lone surrogates (`\ud83d` without its other half) kept as
/// they were written: one text that a program has cut in the middle of a character must not cost the whole body.
pub(crate) fn mended(body: &[u8]) -> Cow<'_, [u8]> {
    let body = without_bom(body);
    let escapes = || memchr::memmem::find(body, b"\\ud").or_else(|| memchr::memmem::find(body, b"\\uD"));
    match escapes().and_then(|_| repaired(std::str::from_utf8(body).ok()?)) {
        Some(repaired) => Cow::Owned(repaired.into_bytes()),
        None => Cow::Borrowed(body),
    }
}

/// The lines of a body that are not blank, without their ends.
pub(crate) fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut ends = memchr::memchr_iter(b'\n', body);
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let start = at?;
        let end = ends.next();
        at = end.map(|end| end + 1);
        Some(&body[start..end.unwrap_or(body.len())])
    })
    .filter(|line| !line.trim_ascii().is_empty())
}

/// Calls `f` with each of the JSON values that stand one after another in a body, white space between them or not,
/// and with the elements of those that are arrays. One that is nested too deep to be read is `f`'s to reject, as any other that is
/// wrong in itself: the others of the body may be another's.
///
/// # Errors
/// [`Error::Malformed`] where something else stands; and what `f` returns.
pub(crate) fn each_value(
    what: &'static str,
    body: &[u8],
    mut f: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let body = &*mended(body);
    let mut at = 0;
    loop {
        at += body[at..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        if at == body.len() {
            return Ok(());
        }
        let mut jiter = Jiter::new(&body[at..]);
        let wrong = |e: jiter::JiterError, at: usize| Error::malformed(what, &e.error_type, at + e.index);
        if jiter.peek().map_err(|e| wrong(e, at))? == Peek::Array {
            let mut element = jiter.known_array().map_err(|e| wrong(e, at))?;
            while let Some(peek) = element {
                let start = at + jiter.current_index();
                if let Err(e) = jiter.known_skip(peek) {
                    at = deep_end(body, start, &e).ok_or_else(|| wrong(e, at))?;
                    jiter = Jiter::new(&body[at..]);
                }
                f(&body[start..at + jiter.current_index()])?;
                element = jiter.array_step().map_err(|e| wrong(e, at))?;
            }
        } else {
            let peek = jiter.peek().map_err(|e| wrong(e, at))?;
            let start = at + jiter.current_index();
            if let Err(e) = jiter.known_skip(peek) {
                at = deep_end(body, start, &e).ok_or_else(|| wrong(e, at))?;
                jiter = Jiter::new(&body[at..]);
            }
            f(&body[start..at + jiter.current_index()])?;
        }
        at += jiter.current_index();
    }
}

/// Where an object or an array ends that begins here, if what was wrong with it was that it is nested too deep, and it ends.
pub(crate) fn deep_end(body: &[u8], start: usize, e: &jiter::JiterError) -> Option<usize> {
    if !matches!(&e.error_type, jiter::JiterErrorType::JsonError(JsonErrorType::RecursionLimitExceeded)) {
        return None;
    }
    end_of(body, start)
}

/// Where an object or an array that begins here ends by its brackets, whatever else stands in it.
pub(crate) fn end_of(body: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0usize);
    if !matches!(body.get(start), Some(b'{' | b'[')) {
        return None;
    }
    loop {
        match body.get(at)? {
            b'"' => at = text_end(body, at + 1)?,
            b'[' | b'{' => (at, depth) = (at + 1, depth + 1),
            b']' | b'}' if depth <= 1 => return Some(at + 1),
            b']' | b'}' => (at, depth) = (at + 1, depth - 1),
            _ => at += 1,
        }
    }
}

/// Where the next byte is behind the quote that ends the text in which `at` is.
fn text_end(body: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', body.get(at..)?)?;
        match body.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Whether it is an object without members.
pub(crate) fn is_empty(row: &[u8]) -> bool {
    let inside = row.strip_prefix(b"{").and_then(|row| row.strip_suffix(b"}"));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

/// Skips the value at the cursor and says where it lies.
pub(crate) fn skipped(jiter: &mut Jiter<'_>, peek: Peek) -> jiter::JiterResult<Range<usize>> {
    let start = jiter.current_index();
    jiter.known_skip(peek)?;
    Ok(start..jiter.current_index())
}

/// Whether a whole JSON value ends with the first line of a body, as it does in NDJSON.
pub(crate) fn first_line_is_whole(body: &[u8]) -> bool {
    let Some(line) = lines(body).next() else { return true };
    let mut jiter = Jiter::new(line);
    match jiter.next_skip() {
        Ok(()) => true,
        // A line that is wrong in itself is for its own reader to reject; one that only ends too soon goes on.
        Err(e) => !ends_too_soon(&e.error_type),
    }
}

fn ends_too_soon(e: &jiter::JiterErrorType) -> bool {
    matches!(
        e,
        jiter::JiterErrorType::JsonError(
            JsonErrorType::EofWhileParsingList
                | JsonErrorType::EofWhileParsingObject
                | JsonErrorType::EofWhileParsingString
                | JsonErrorType::EofWhileParsingValue
        )
    )
}
