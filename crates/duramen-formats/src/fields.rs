//! Fields on their way into an entry.
//!
//! A JSON or logfmt line is first read into [`Fields`], because only when all of it is known can be said
//! which of its fields holds the message, and whether a name is said again later: the last one keeps the
//! name, the ones before it are kept as `name#1`, `name#2` and so on.
//!
//! Nothing is copied that can be pointed at: a text is a range of the line, or, if it had escapes, of a
//! buffer of unescaped text. All buffers are kept for the next line.

use crate::level;
use crate::roles::{LINE, Role, Roles};
use crate::rules::NameFilter;
use crate::time::StampParser;
use duramen::entry::{MAX_FIELD_NAME_BYTES, MAX_FIELDS};
use duramen::{EntryBuf, Level, Value};
use foldhash::fast::FixedState;
use std::collections::HashSet;
use std::hash::BuildHasher;

/// A range of bytes in one of the buffers. Lines are far below 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// `None` past 4 GiB.
    pub fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
    }

    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A value, pointing into the line or the unescaped text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raw {
    Text(Span),
    Unescaped(Span),
    Number(Span),
    Json(Span),
    Bool(bool),
    Null,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    name: Span,
    value: Raw,
    /// How many fields of this name there are up to here, this one counted.
    ordinal: u32,
    /// Whether another of this name comes later.
    superseded: bool,
}

/// A slot of the table of names: valid in the line whose number it has.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    line: u32,
    field: u32,
    hash: u32,
}

/// The fields of one line. Reused from line to line.
#[derive(Debug, Default)]
pub struct Fields {
    names: String,
    unescaped: String,
    fields: Vec<Field>,
    slots: Vec<Slot>,
    line: u32,
    /// Hashes of the names that were added again, each with its value.
    added: HashSet<(u64, u64), FixedState>,
    hasher: FixedState,
    renamed: String,
}

impl Fields {
    /// No fields; all buffers empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the line before.
    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.unescaped.clear();
        self.fields.clear();
        self.added.clear();
        self.line = self.line.wrapping_add(1);
        if self.line == 0 {
            // Slots of four billion lines ago must not look valid.
            self.slots.fill(Slot::default());
            self.line = 1;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Keeps unescaped text and says where.
    pub(crate) fn keep(&mut self, text: &str) -> Option<Span> {
        let start = self.unescaped.len();
        self.unescaped.push_str(text);
        Span::new(start, self.unescaped.len())
    }

    /// The buffer of unescaped text, for those who unescape into it.
    pub(crate) fn unescaped(&mut self) -> &mut String {
        &mut self.unescaped
    }

    /// Adds a field. `None` if it is one more, or its name longer, than an entry can hold.
    pub(crate) fn push(&mut self, name: &str, value: Raw) -> Option<()> {
        // Room for the `#` and number that a repeated name gets.
        if self.fields.len() >= MAX_FIELDS || name.len() > MAX_FIELD_NAME_BYTES - 8 {
            return None;
        }
        let start = self.names.len();
        self.names.push_str(name);
        let span = Span::new(start, self.names.len())?;
        let index = u32::try_from(self.fields.len()).ok()?;
        let earlier = self.enter(name, index);
        let ordinal = match earlier.and_then(|i| self.fields.get_mut(i as usize)) {
            Some(earlier) => {
                earlier.superseded = true;
                earlier.ordinal + 1
            }
            None => 1,
        };
        self.fields.push(Field { name: span, value, ordinal, superseded: false });
        Some(())
    }

    /// Calls `f` with a name that no field here has: `name`, or `name#1` and so on, and counts it as had; not if the name
    /// has this value already. `line` is the line that the fields were read from.
    pub(crate) fn with_free_name(&mut self, name: &str, value: Value<'_>, line: &str, f: impl FnOnce(&str)) {
        let mut number = String::new();
        let value = shown(value, &mut number);
        let found = self.find(name);
        if let Some(i) = found {
            let hashes = (self.hasher.hash_one(name.as_bytes()), self.hasher.hash_one(value.as_bytes()));
            let is_first = self.fields.get(i).is_some_and(|field| {
                let mut number = String::new();
                shown(text_value(field.value, line, &self.unescaped), &mut number) == value
            });
            if is_first || !self.added.insert(hashes) {
                return;
            }
        }
        match found.and_then(|i| self.fields.get_mut(i)) {
            Some(field) => {
                // As if it had been said before the one that keeps the name.
                let said = Field { superseded: true, ..*field };
                field.ordinal += 1;
                f(final_name(&said, &self.names, &mut self.renamed));
            }
            None => {
                f(name);
                let _one_more_than_counts =
                    self.keep(value).and_then(|span| self.push(name, Raw::Unescaped(span)));
            }
        }
    }

    /// Whether it was written where a container's lines are.
    fn is_of_a_container(&self, line: &str) -> bool {
        self.has_text("source", "stdout", line) || self.has_text("source", "stderr", line)
    }

    /// Whether the field of this name has this text.
    pub(crate) fn has_text(&self, name: &str, text: &str, line: &str) -> bool {
        let field = self.find(name).and_then(|i| self.fields.get(i));
        field.is_some_and(|field| self.string(field.value, line) == Some(text))
    }

    /// The last field of this name.
    fn find(&self, name: &str) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = &self.slots[self.slot_of(name, self.hasher.hash_one(name.as_bytes()) as u32)];
        (slot.line == self.line).then_some(slot.field as usize)
    }

    /// Where in the table, which has room, a name is, or else has its place.
    fn slot_of(&self, name: &str, hash: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            let has_name = |field: &Field| field.name.of(&self.names) == name;
            if slot.line != self.line
                || slot.hash == hash && self.fields.get(slot.field as usize).is_some_and(has_name)
            {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Puts a name into the table and gives the field that had it before.
    fn enter(&mut self, name: &str, index: u32) -> Option<u32> {
        if self.slots.len() < (self.fields.len() + 1) * 2 {
            self.grow();
        }
        let hash = self.hasher.hash_one(name.as_bytes()) as u32;
        let at = self.slot_of(name, hash);
        let slot = &mut self.slots[at];
        if slot.line != self.line {
            *slot = Slot { line: self.line, field: index, hash };
            return None;
        }
        Some(std::mem::replace(&mut slot.field, index))
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        for slot in old.into_iter().filter(|slot| slot.line == self.line) {
            let mut at = slot.hash as usize & (size - 1);
            while self.slots[at].line == self.line {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = slot;
        }
    }

    /// The fields in their order, with the names they have in an entry (`name#1` for those said again
    /// later). `line` is the line they were read from.
    pub fn for_each(&mut self, line: &str, mut f: impl FnMut(&str, Value<'_>)) {
        for field in &self.fields {
            let value = text_value(field.value, line, &self.unescaped);
            f(final_name(field, &self.names, &mut self.renamed), value);
        }
    }

    /// Tells which fields hold time, message and level.
    pub(crate) fn find_roles(&self, line: &str, roles: &Roles, stamps: &StampParser) -> Found {
        let mut found = Found::default();
        let (mut time_rank, mut message_rank, mut level_rank) = (u8::MAX, u8::MAX, u8::MAX);
        for (i, field) in self.fields.iter().enumerate() {
            let name = field.name.of(&self.names);
            // `type=USER_LOGIN msg=audit(1717200000.123:45): … msg='op=login …'`: the time is in the first of two.
            if found.audit_time.is_none() && name == "msg" {
                let audit = self.string(field.value, line).and_then(|s| s.strip_prefix("audit("));
                found.audit_time = audit.and_then(|audit| stamps.parse(audit)).map(|(time, _)| time);
            }
            if field.superseded {
                continue;
            }
            match roles.of(name) {
                Some(Role::Time(rank)) if rank < time_rank => {
                    let time = match field.value {
                        Raw::Number(span) => {
                            let time = stamps.parse_number(span.of(line));
                            time.map(|time| time + self.nanos_beside(name, line))
                        }
                        _ => self.string(field.value, line).and_then(|s| {
                            // Protobuf writes an integer of 64 bits as text.
                            let is_number = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
                            let beside = if is_number { self.nanos_beside(name, line) } else { 0 };
                            Some(stamps.parse_value(s)? + beside)
                        }),
                    };
                    let time = time.or_else(|| self.time_on_date(name, line, stamps));
                    if let Some(time) = time {
                        (time_rank, found.time, found.time_field) = (rank, Some(time), i);
                    }
                }
                Some(Role::Message(rank)) if rank < message_rank => {
                    let is_message = match field.value {
                        Raw::Text(_) | Raw::Unescaped(_) => {
                            self.string(field.value, line).is_some_and(|s| !s.is_empty())
                                && (name != LINE || rank <= roles.own_message || self.is_of_a_container(line))
                        }
                        Raw::Number(_) | Raw::Json(_) | Raw::Bool(_) => rank <= roles.own_message,
                        Raw::Null => false,
                    };
                    if is_message {
                        (message_rank, found.message) = (rank, Some(i));
                    }
                }
                Some(Role::Level(rank)) if rank < level_rank => {
                    let text = match field.value {
                        Raw::Number(span) => Some(span.of(line)),
                        _ => self.string(field.value, line),
                    };
                    let windows = name == "Level" && self.has("EventID");
                    if let Some(level) = text
                        .and_then(|text| level::of_field(name, text, windows))
                        // GELF has syslog's numbers.
                        .or_else(|| {
                            let gelf = name == "level" && self.has("short_message");
                            text.filter(|_| gelf).and_then(|text| level::of_field("PRIORITY", text, false))
                        })
                    {
                        (level_rank, found.level) = (rank, Some(level));
                    }
                }
                _ => {}
            }
        }
        found.time = found.time.or(found.audit_time);
        found.own_time = time_rank <= roles.own_time;
        found.own_message = message_rank <= roles.own_message;
        found
    }

    /// The rest of `"instant":{"epochSecond":1717200000,"nanoOfSecond":123000000}`, as Log4j writes it, and of Google's
    /// `"timestamp":{"seconds":1717200000,"nanos":123000000}`.
    fn nanos_beside(&self, name: &str, line: &str) -> i64 {
        let nanos = match name {
            "instant.epochSecond" => "instant.nanoOfSecond",
            "timestamp.seconds" => "timestamp.nanos",
            "timestampSeconds" => "timestampNanos",
            _ => return 0,
        };
        let field = self.find(nanos).and_then(|i| self.fields.get(i));
        match field.map(|field| field.value) {
            Some(Raw::Number(span)) => {
                span.of(line).parse().ok().filter(|ns| (0..1_000_000_000).contains(ns)).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// The time of `date=2024-06-01 time=00:00:07 tz="+0200"`, as firewalls write it.
    fn time_on_date(&self, name: &str, line: &str, stamps: &StampParser) -> Option<i64> {
        let text = |name: &str| {
            let field =
                self.fields.iter().find(|field| !field.superseded && field.name.of(&self.names) == name)?;
            self.string(field.value, line)
        };
        if name != "time" {
            return None;
        }
        let (date, time) = (text("date")?, text("time")?);
        let zone = text("tz").filter(|tz| tz.starts_with(['+', '-'])).unwrap_or_default();
        stamps.parse_value(&format!("{date} {time} {zone}"))
    }

    /// Whether there is a field of this name that is neither null nor an empty text.
    pub(crate) fn says(&self, name: &str, line: &str) -> bool {
        let field = self.find(name).and_then(|i| self.fields.get(i));
        field.is_some_and(|field| field.value != Raw::Null && self.string(field.value, line) != Some(""))
    }

    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name.of(&self.names) == name)
    }

    fn string<'a>(&'a self, value: Raw, line: &'a str) -> Option<&'a str> {
        match value {
            Raw::Text(span) => Some(span.of(line)),
            Raw::Unescaped(span) => Some(span.of(&self.unescaped)),
            _ => None,
        }
    }

    /// The text that [`Found::message`] points at.
    pub(crate) fn message<'a>(&'a self, found: &Found, line: &'a str) -> &'a str {
        let Some(field) = found.message.and_then(|i| self.fields.get(i)) else { return "" };
        match field.value {
            Raw::Number(span) | Raw::Json(span) => span.of(line),
            Raw::Bool(true) => "true",
            Raw::Bool(false) => "false",
            value => self.string(value, line).unwrap_or_default(),
        }
    }

    /// Adds the fields to an entry, the one that is the message as such, and not those that `ignored` names. The
    /// names `_time`, `_msg` and the empty one belong to the entry: the fields of these names are left out if they are its time
    /// and message, or say nothing, and keep their values under `_time#1` and `_msg#1` if not.
    pub(crate) fn add_to(&mut self, entry: &mut EntryBuf, line: &str, found: &Found, ignored: &NameFilter) {
        for (i, field) in self.fields.iter().enumerate() {
            let name = final_name(field, &self.names, &mut self.renamed);
            if found.own_time && found.time_field == i {
                continue;
            }
            if found.message == Some(i) {
                if !found.own_message && !ignored.has(name) {
                    entry.field_same_as_message(name);
                }
                continue;
            }
            if ignored.has(name) {
                continue;
            }
            let value = text_value(field.value, line, &self.unescaped);
            match name {
                "_msg" | "" if matches!(value, Value::Str("") | Value::Null) => {}
                "_time" if matches!(value, Value::Str("" | "0") | Value::Number("0") | Value::Null) => {}
                // A field of this name is what is asked for levels: one that says none would hide the one that was found.
                "level" if found.level.is_some() && !is_level(value) => {
                    let mut others = (field.ordinal..).map(|ordinal| format!("level#{ordinal}"));
                    if let Some(free) = others.find(|name| self.find(name).is_none()) {
                        entry.field(&free, value);
                    }
                }
                name => _ = entry.field(name, value),
            }
        }
    }
}

/// What [`Fields::find_roles`] found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    pub time: Option<i64>,
    /// The time of Linux's audit, which stands in its `msg`.
    audit_time: Option<i64>,
    time_field: usize,
    own_time: bool,
    pub message: Option<usize>,
    own_message: bool,
    pub level: Option<Level>,
}

impl Found {
    /// The same for a line whose message is the line itself.
    pub fn without_message(self) -> Self {
        Self { message: None, own_message: false, ..self }
    }
}

fn text_value<'a>(value: Raw, line: &'a str, unescaped: &'a str) -> Value<'a> {
    match value {
        Raw::Text(span) => Value::Str(span.of(line)),
        Raw::Unescaped(span) => Value::Str(span.of(unescaped)),
        Raw::Number(span) => Value::Number(span.of(line)),
        Raw::Json(span) => Value::Json(span.of(line)),
        Raw::Bool(b) => Value::Bool(b),
        Raw::Null => Value::Null,
    }
}

/// A value's text; `number` is room for that of one.
fn shown<'a>(value: Value<'a>, number: &'a mut String) -> &'a str {
    match value {
        Value::Str(text) | Value::Number(text) | Value::Json(text) => text,
        Value::Int(n) => {
            *number = n.to_string();
            number
        }
        Value::Float(x) => {
            *number = x.to_string();
            number
        }
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Null => "",
    }
}

/// Whether a field of this value, called `level`, is found as some level.
fn is_level(value: Value<'_>) -> bool {
    let mut number = String::new();
    Level::of_value(shown(value, &mut number)).is_some()
}

fn final_name<'a>(field: &Field, names: &'a str, renamed: &'a mut String) -> &'a str {
    let name = field.name.of(names);
    if !field.superseded {
        return name;
    }
    renamed.clear();
    renamed.push_str(name);
    renamed.push('#');
    renamed.push_str(&field.ordinal.to_string());
    renamed
}
