//! NDJSON: one object a line.
//!
//! Nested objects are flattened: `{"a":{"b":1}}` is the field `a.b`. Numbers keep the text they were sent
//! with; arrays and empty objects are kept as JSON text; `null` is null. `NaN` and `Infinity`, which are no JSON, but which
//! Python writes, are texts.
//!
//! `quick` reads lines as most are; here is what reads them all, and says what is wrong with one.

mod quick;

use crate::fields::{Fields, Found, Raw, Span};
use crate::roles::Roles;
use crate::time::StampParser;
use crate::{FieldRules, NameFilter, ReaderOptions, level};
use duramen::{EntryBuf, Level, Value};
use jiter::{Jiter, JiterResult, Peek};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// How deep objects may be nested.
pub const MAX_DEPTH: usize = 128;

/// Why a line is not an entry's fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// It is not a JSON object, or something follows it.
    #[error("not a JSON object: {0}")]
    Syntax(String),
    /// Objects nested over [`MAX_DEPTH`] deep, more fields or longer names than an entry can hold.
    #[error("the object is too deep, or has too many fields or too long a name for an entry")]
    Limit,
}

impl From<jiter::JiterError> for JsonError {
    fn from(e: jiter::JiterError) -> Self {
        Self::Syntax(e.error_type.to_string())
    }
}

/// Reads JSON lines, keeping its buffers from line to line. Can be sent to another thread, not shared.
#[derive(Debug, Default)]
pub struct JsonParser {
    tape: Vec<u8>,
    path: String,
}

impl JsonParser {
    /// One with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the fields of the one object that `line` is; white space may stand around it.
    ///
    /// # Errors
    /// [`JsonError`] if it is not one, or over a limit; `fields` are then of no use.
    pub fn parse(&mut self, line: &str, fields: &mut Fields) -> Result<(), JsonError> {
        fields.clear();
        self.path.clear();
        if quick::read(line, &mut self.path, &mut self.tape, fields).is_some() {
            return Ok(());
        }
        self.parse_any(line, fields)
    }

    /// The same by the library, which knows all of JSON, and what is wrong with a line.
    fn parse_any(&mut self, line: &str, fields: &mut Fields) -> Result<(), JsonError> {
        fields.clear();
        self.path.clear();
        let mut jiter =
            Jiter::with_tape(line.as_bytes(), std::mem::take(&mut self.tape)).with_allow_inf_nan();
        let result = (|| {
            if jiter.peek()? != Peek::Object {
                return Err(JsonError::Syntax("it begins with something else".to_owned()));
            }
            if !object(&mut jiter, line, &mut self.path, fields, MAX_DEPTH)? {
                return Err(JsonError::Limit);
            }
            jiter.finish()?;
            Ok(())
        })();
        self.tape = jiter.into_tape();
        result
    }

    /// The same of a line of a file, which may be one of an array that has an object a line.
    ///
    /// # Errors
    /// As [`JsonParser::parse`].
    pub(crate) fn parse_line<'l>(
        &mut self,
        line: &'l str,
        fields: &mut Fields,
    ) -> Result<Cow<'l, str>, JsonError> {
        let whole = self.parse_repaired(line, fields);
        match (whole, in_array(line)) {
            (Err(_), Some(object)) => self.parse_repaired(object, fields),
            (whole, _) => whole,
        }
    }

    /// The same of a line in which lone surrogates may stand, as they do where programs cut texts in the middle of a pair:
    /// they are kept as they were written. Gives the text that the fields lie in.
    ///
    /// # Errors
    /// As [`JsonParser::parse`].
    pub(crate) fn parse_repaired<'l>(
        &mut self,
        line: &'l str,
        fields: &mut Fields,
    ) -> Result<Cow<'l, str>, JsonError> {
        let Err(e) = self.parse(line, fields) else { return Ok(line.into()) };
        let repaired = repaired(line).ok_or(e)?;
        self.parse(&repaired, fields)?;
        Ok(repaired.into())
    }
}

/// Whether a line may be an object, or one of an array's.
pub(crate) fn may_be(line: &str) -> bool {
    let text = line.trim_ascii_start();
    text.starts_with('{')
        || text.strip_prefix(['[', ',']).is_some_and(|rest| rest.trim_ascii_start().starts_with('{'))
}

/// The object of a line of an array that has one a line: `[{"a":1},`, `{"a":2},`, `,{"a":3}`, `{"a":4}]`.
pub(crate) fn in_array(line: &str) -> Option<&str> {
    let text = line.trim_ascii();
    let begun = text.strip_prefix(['[', ',']).unwrap_or(text).trim_ascii_start();
    let object = begun.strip_suffix([',', ']']).unwrap_or(begun).trim_ascii_end();
    (object.len() < text.len() && object.starts_with('{') && object.ends_with('}')).then_some(object)
}

/// The line with the backslash of each lone surrogate (`\ud83d` without its other half) doubled, so that it is JSON and
/// the surrogate is kept as it was written; `None` if it has none.
pub fn repaired(line: &str) -> Option<String> {
    // `\u` and four digits at `at`, if they are of a surrogate: whether it is the first of a pair.
    let surrogate = |at: usize| {
        let digits = line.get(at..)?.strip_prefix("\\u")?.as_bytes();
        let kind = digits.get(1)? | 0x20;
        (digits.first()? | 0x20 == b'd' && matches!(kind, b'8' | b'9' | b'a'..=b'f'))
            .then_some(matches!(kind, b'8' | b'9' | b'a' | b'b'))
    };
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(next) = memchr::memchr(b'\\', line.as_bytes().get(at..)?) {
        at += next;
        match (surrogate(at), surrogate(at + 6)) {
            (Some(true), Some(false)) => at += 12,
            (Some(_), _) => {
                out.push_str(line.get(copied..at)?);
                out.push('\\');
                copied = at;
                at += 6;
            }
            (None, _) => at += 2,
        }
    }
    out.push_str(line.get(copied..).filter(|_| copied > 0)?);
    Some(out)
}

/// Reads an object at the cursor into `fields`, each name after `path`. `Ok(false)` if over a limit.
fn object(
    jiter: &mut Jiter<'_>,
    line: &str,
    path: &mut String,
    fields: &mut Fields,
    depth: usize,
) -> JiterResult<bool> {
    let parent = path.len();
    let mut key = jiter.known_object()?;
    while let Some(name) = key {
        path.truncate(parent);
        path.push_str(name);
        let peek = jiter.peek()?;
        let start = jiter.current_index();
        let value = match peek {
            Peek::String => {
                let text = jiter.known_str()?;
                // Without escapes the text lies in the line itself, after the quote.
                if text.as_ptr() == line.as_bytes()[start..].as_ptr().wrapping_add(1) {
                    Span::new(start + 1, start + 1 + text.len()).map(Raw::Text)
                } else {
                    fields.keep(text).map(Raw::Unescaped)
                }
            }
            Peek::True | Peek::False => Some(Raw::Bool(jiter.known_bool(peek)?)),
            Peek::Null => {
                jiter.known_null()?;
                Some(Raw::Null)
            }
            Peek::Object if is_empty_object(line, start) => {
                jiter.known_object()?;
                Span::new(start, jiter.current_index()).map(Raw::Json)
            }
            Peek::Object => {
                if depth <= 1 {
                    return Ok(false);
                }
                path.push('.');
                if !object(jiter, line, path, fields, depth - 1)? {
                    return Ok(false);
                }
                key = jiter.next_key()?;
                continue;
            }
            Peek::Array => {
                jiter.known_skip(peek)?;
                let end = jiter.current_index();
                if path == "MESSAGE"
                    && let Some(text) = line.get(start..end).and_then(text_of_bytes)
                {
                    if fields.keep(&text).and_then(|span| fields.push(path, Raw::Unescaped(span))).is_none() {
                        return Ok(false);
                    }
                    key = jiter.next_key()?;
                    continue;
                }
                let kind =
                    if is_json(line.get(start..end).unwrap_or_default()) { Raw::Json } else { Raw::Text };
                Span::new(start, end).map(kind)
            }
            _ => {
                jiter.known_number_bytes(peek)?;
                let end = jiter.current_index();
                // Neither `NaN` nor `Infinity` ends with a digit.
                let is_number = line.as_bytes()[..end].last().is_some_and(u8::is_ascii_digit);
                Span::new(start, end).map(if is_number { Raw::Number } else { Raw::Text })
            }
        };
        if value.and_then(|value| fields.push(path, value)).is_none() {
            return Ok(false);
        }
        key = jiter.next_key()?;
    }
    Ok(true)
}

/// Whether an array or object that was read holds neither `NaN` nor `Infinity`, which are no JSON, beside its strings.
pub fn is_json(text: &str) -> bool {
    let may_be_other = |word: &[u8]| memchr::memmem::find(text.as_bytes(), word).is_some();
    if !may_be_other(b"NaN") && !may_be_other(b"Infinity") {
        return true;
    }
    let mut jiter = Jiter::new(text.as_bytes());
    jiter.next_skip().is_ok() && jiter.finish().is_ok()
}

/// The text of an array of bytes: so `journalctl -o json` writes a message that is not all of characters that can be printed, be it
/// only for its colours.
fn text_of_bytes(array: &str) -> Option<String> {
    let numbers = array.strip_prefix('[')?.strip_suffix(']')?;
    let bytes: Option<Vec<u8>> = numbers.split(',').map(|byte| byte.trim_ascii().parse().ok()).collect();
    bytes.map(|bytes| crate::lines::text_of(&bytes).into_owned())
}

/// Whether the object at `start` has no members.
fn is_empty_object(line: &str, start: usize) -> bool {
    line.as_bytes()[start + 1..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'}')
}

/// Makes entries of JSON lines as [`EntryReader`](crate::EntryReader) does: time, message and level from
/// the fields that hold them, all fields as they were sent.
#[derive(Debug)]
pub struct JsonFlattener {
    parser: JsonParser,
    fields: Fields,
    roles: Arc<Roles>,
    stamps: StampParser,
    ignored: NameFilter,
    extra_fields: Vec<(String, String)>,
}

/// The roles of those who ask for nothing else, so that making a flattener costs next to nothing.
static USUAL_ROLES: LazyLock<Arc<Roles>> = LazyLock::new(|| Arc::new(Roles::new(&ReaderOptions::new(0))));
/// The same with those of events for Splunk's collector.
static ROLES_OF_EVENTS: LazyLock<Arc<Roles>> =
    LazyLock::new(|| Arc::new(Roles::clone(&USUAL_ROLES).and_of_an_event()));

impl JsonFlattener {
    /// For the zone and field names of these options.
    pub fn new(options: &ReaderOptions) -> Self {
        Self::with_rules(options, FieldRules::default())
    }

    /// The same, with rules of the sender's.
    pub fn with_rules(options: &ReaderOptions, rules: FieldRules) -> Self {
        let usual = rules.time_fields.is_empty()
            && rules.message_fields.is_empty()
            && options.time_field.is_none()
            && options.message_field.is_none()
            && options.level_field.is_none();
        let roles = if usual { USUAL_ROLES.clone() } else { Arc::new(Roles::with_rules(options, &rules)) };
        Self {
            parser: JsonParser::new(),
            fields: Fields::new(),
            roles,
            stamps: StampParser::new(options.timezone.clone(), options.reference_time_ns, options.year),
            ignored: rules.left_out(),
            extra_fields: rules.extra_fields,
        }
    }

    /// One for events that Splunk's collector is sent, too: a container's line, as Docker's driver has it beside where it was
    /// written (`{"line":"…","source":"stdout"}`), is the message, and so is the text of a `message` or a `line` that is an object.
    pub fn of_events(self) -> Self {
        let roles = match Arc::ptr_eq(&self.roles, &USUAL_ROLES) {
            true => ROLES_OF_EVENTS.clone(),
            false => Arc::new(Roles::clone(&self.roles).and_of_an_event()),
        };
        Self { roles, ..self }
    }

    /// Starts an entry and fills it from a line; says whether the line has a time of its own. If not, the
    /// entry's is `time_ns`.
    ///
    /// # Errors
    /// [`JsonError`] as [`JsonParser::parse`]; the entry is then as it was.
    pub fn flatten(&mut self, line: &str, time_ns: i64, entry: &mut EntryBuf) -> Result<bool, JsonError> {
        self.flatten_with(line, &[], time_ns, entry)
    }

    /// The same with fields that stand beside the line: they keep their names, and those of the line that have one of
    /// them, and another value, are kept as `name#1`.
    ///
    /// # Errors
    /// As [`JsonFlattener::flatten`].
    pub fn flatten_with(
        &mut self,
        line: &str,
        beside: &[(&str, &str)],
        time_ns: i64,
        entry: &mut EntryBuf,
    ) -> Result<bool, JsonError> {
        let line = self.parser.parse_repaired(line, &mut self.fields)?;
        self.fill(&line, beside, time_ns, entry)
    }

    /// The same with a field that a line has if it has none of this name, or one that is null or empty.
    ///
    /// # Errors
    /// As [`JsonFlattener::flatten`].
    pub fn flatten_or(
        &mut self,
        line: &str,
        otherwise: (&str, &str),
        time_ns: i64,
        entry: &mut EntryBuf,
    ) -> Result<bool, JsonError> {
        let line = self.parser.parse_repaired(line, &mut self.fields)?;
        let otherwise = (!self.fields.says(otherwise.0, &line)).then_some(otherwise);
        self.fill(&line, otherwise.as_slice(), time_ns, entry)
    }

    fn fill(
        &mut self,
        line: &str,
        beside: &[(&str, &str)],
        time_ns: i64,
        entry: &mut EntryBuf,
    ) -> Result<bool, JsonError> {
        let Self { fields, roles, stamps, ignored, .. } = self;
        let has_time = fill(fields, line, roles, stamps, ignored, beside, |_| None, time_ns, entry)
            .ok_or(JsonError::Limit)?;
        for (name, value) in &self.extra_fields {
            entry.field(name, value.as_str());
        }
        Ok(has_time)
    }

    /// Forgets the line before: an entry is built of what [`add`](Self::add) is given.
    pub fn forget(&mut self) {
        self.fields.clear();
    }

    /// Adds a field to the entry that [`flatten`](Self::flatten) has filled from `line`: under its name, or if the line
    /// has one of that name and another value, as `name#1` and so on. Not one that the rules leave out.
    pub fn add(&mut self, line: &str, name: &str, value: Value<'_>, entry: &mut EntryBuf) {
        if self.ignored.has(name) {
            return;
        }
        self.fields.with_free_name(name, value, line, |name| _ = entry.field(name, value));
    }
}

/// Starts an entry and fills it from the fields of a line, and those that stand beside it. A line without a level field
/// has the level that its message shows, and one without a time what `time_of` says of the message, or `time_ns`. `None` if there are
/// more fields than an entry can hold.
#[allow(clippy::too_many_arguments)] // parts of two callers that they borrow apart
pub(crate) fn fill(
    fields: &mut Fields,
    line: &str,
    roles: &Roles,
    stamps: &StampParser,
    ignored: &NameFilter,
    beside: &[(&str, &str)],
    time_of: impl FnOnce(&str) -> Option<i64>,
    time_ns: i64,
    entry: &mut EntryBuf,
) -> Option<bool> {
    let found: Found = fields.find_roles(line, roles, stamps);
    for (name, value) in beside {
        if !ignored.has(name) && !fields.has_text(name, value, line) {
            let span = fields.keep(value)?;
            fields.push(name, Raw::Unescaped(span))?;
        }
    }
    let message = fields.message(&found, line);
    let level = found.level.or_else(|| level::find(message).map(|(level, _)| level));
    let time = found.time.or_else(|| time_of(message));
    entry.start(time.unwrap_or(time_ns)).level(level.unwrap_or(Level::Unknown)).message(message);
    fields.add_to(entry, line, &found, ignored);
    Some(time.is_some())
}

#[cfg(test)]
mod tests;
