//! A log record as an entry.

use super::attributes::{Any, Leaf, Refusal, any, each_leaf, with_value};
use super::{Logs, Resource};
use crate::error::Result;
use crate::protobuf::{Message, Wire};
use duramen::{EntryBuf, Level, Value};
use duramen_formats::{MESSAGE_FIELDS, NameFilter, Names, level, text_of};
use std::fmt::Write;

/// The parts of a record that are not walked over later.
#[derive(Clone, Copy, Default)]
struct Parts<'a> {
    time: u64,
    observed: u64,
    severity: u64,
    severity_text: &'a str,
    body: Option<Message<'a>>,
    dropped: u64,
    flags: u32,
    trace_id: &'a [u8],
    span_id: &'a [u8],
    event_name: &'a str,
}

fn parts(record: Message<'_>) -> Result<Parts<'_>> {
    let mut parts = Parts::default();
    for field in record.fields() {
        match field? {
            (1, Wire::Fixed64(ns)) => parts.time = ns,
            (2, Wire::Varint(n)) => parts.severity = n,
            (3, Wire::Bytes(text)) => parts.severity_text = text.text()?,
            (5, Wire::Bytes(value)) => parts.body = Some(value),
            (7, Wire::Varint(n)) => parts.dropped = n,
            (8, Wire::Fixed32(bits)) => parts.flags = bits,
            (9, Wire::Bytes(id)) => parts.trace_id = id.bytes,
            (10, Wire::Bytes(id)) => parts.span_id = id.bytes,
            (11, Wire::Fixed64(ns)) => parts.observed = ns,
            (12, Wire::Bytes(name)) => parts.event_name = name.text()?,
            _ => {}
        }
    }
    Ok(parts)
}

impl Logs {
    /// Starts the entry of a record.
    pub(super) fn record(
        &mut self,
        resource: &Resource<'_>,
        scope: Message<'_>,
        record: Message<'_>,
        now_ns: i64,
    ) -> Result<Result<(), Refusal>> {
        let parts = parts(record)?;
        if let Err(refusal) = resource.outcome {
            return Ok(Err(refusal));
        }
        let time = [parts.time, parts.observed].into_iter().find(|ns| *ns != 0);
        let Ok(time_ns) = time.map_or(Ok(now_ns), i64::try_from) else {
            return Ok(Err("its time is after the year 2261"));
        };
        self.entry.start(time_ns);
        for (name, leaf) in &resource.leaves {
            let name = self.resource_text.get(name.clone()).unwrap_or_default();
            with_value(*leaf, &mut self.text, |value| _ = self.entry.field(name, value))?;
        }
        // Of two of one name the first is what counts: a resource makes the stream, whatever a record says.
        self.names.rewind();
        let mut fields = Fields {
            entry: &mut self.entry,
            left_out: &self.left_out,
            names: &mut self.names,
            text: &mut self.text,
            level: resource.level,
            error: None,
        };
        self.path.clear();
        let path = &mut self.path;
        fields.known(&parts);
        fields.scope_name(scope)?;
        path.push_str("scope.");
        let scoped = each_leaf(scope, 3, path, &mut |name, leaf| fields.add(name, leaf))?;
        path.clear();
        let attributes = each_leaf(record, 6, path, &mut |name, leaf| fields.add(name, leaf))?;
        if let Err(refusal) = scoped.and(attributes) {
            return Ok(Err(refusal));
        }
        if let Err(refusal) = fields.body(parts.body, path)? {
            return Ok(Err(refusal));
        }
        let (found, error) = (fields.level, fields.error.take());
        if let Some(error) = error {
            return Err(error);
        }
        for (name, value) in &self.params.rules.extra_fields {
            self.entry.field(name, value.as_str());
        }
        let severity = u8::try_from(parts.severity).ok().and_then(level::of_otel_severity);
        let named =
            || if parts.severity_text.is_empty() { None } else { Level::of_value(parts.severity_text) };
        let level = severity.or_else(named).or(found).unwrap_or_default();
        self.entry.level(level);
        Ok(Ok(()))
    }
}

/// Fields on their way into an entry.
struct Fields<'a> {
    entry: &'a mut EntryBuf,
    left_out: &'a NameFilter,
    names: &'a mut Names,
    text: &'a mut String,
    /// The level that a field showed.
    level: Option<Level>,
    error: Option<crate::Error>,
}

impl Fields<'_> {
    fn add(&mut self, name: &str, leaf: Leaf<'_>) {
        self.level = self.level.or_else(|| leaf.level_by(name));
        if self.left_out.has(name) {
            return;
        }
        let put = |value: Value<'_>| {
            if let Some(name) = self.names.take(name, value) {
                self.entry.field(name, value);
            }
        };
        if let Err(error) = with_value(leaf, self.text, put) {
            self.error.get_or_insert(error);
        }
    }

    fn put(&mut self, name: &str, value: Value<'_>) {
        if !self.left_out.has(name)
            && let Some(name) = self.names.take(name, value)
        {
            self.entry.field(name, value);
        }
    }

    fn scope_name(&mut self, scope: Message<'_>) -> Result<()> {
        for (number, name) in [(1, "scope.name"), (2, "scope.version")] {
            let value = scope.message(number)?.text()?;
            if !value.is_empty() {
                self.put(name, Value::Str(value));
            }
        }
        Ok(())
    }

    /// The message, and of a map its fields.
    fn body(&mut self, body: Option<Message<'_>>, path: &mut String) -> Result<Result<(), Refusal>> {
        let Some(body) = body else { return Ok(Ok(())) };
        let map = match any(body)? {
            Any::Leaf(leaf) => {
                self.message(leaf)?;
                return Ok(Ok(()));
            }
            Any::Map(map) => map,
        };
        // The field that is best known for messages, of those that are texts.
        let mut best: Option<(usize, &str)> = None;
        map.each(1, |pair| {
            let name = pair.message(1)?.text()?;
            if let Any::Leaf(Leaf::Text(text)) = any(pair.message(2)?)?
                && !text.is_empty()
                && let Some(rank) = MESSAGE_FIELDS.iter().position(|known| *known == name)
                && best.is_none_or(|(best, _)| rank < best)
            {
                best = Some((rank, name));
                self.entry.message(&text_of(text));
            }
            Ok(())
        })?;
        path.clear();
        each_leaf(map, 1, path, &mut |name, leaf| match (best, leaf) {
            (Some((_, message)), Leaf::Text(text)) if message == name => {
                best = None;
                if !matches!(name, "_msg" | "")
                    && !self.left_out.has(name)
                    && let Some(name) = self.names.take(name, Value::Str(&text_of(text)))
                {
                    self.entry.field_same_as_message(name);
                }
            }
            _ => self.add(name, leaf),
        })
    }

    fn message(&mut self, leaf: Leaf<'_>) -> Result<()> {
        let found = &mut self.level;
        with_value(leaf, self.text, |value| {
            let entry = &mut *self.entry;
            match value {
                Value::Str(s) | Value::Json(s) | Value::Number(s) => {
                    if found.is_none() {
                        *found = crate::level::of_line(s);
                    }
                    entry.message(s)
                }
                Value::Int(n) => entry.message(&n.to_string()),
                Value::Float(x) => entry.message(&x.to_string()),
                Value::Bool(b) => entry.message(if b { "true" } else { "false" }),
                Value::Null => entry,
            };
        })
    }

    /// What records have by name. Attributes of these names come after.
    fn known(&mut self, parts: &Parts<'_>) {
        for (name, id) in [("trace_id", parts.trace_id), ("span_id", parts.span_id)] {
            // All zeros stand for none.
            if id.iter().any(|b| *b != 0) {
                let mut hex = String::with_capacity(2 * id.len());
                for byte in id {
                    let _infallible = write!(hex, "{byte:02x}");
                }
                self.put(name, Value::Str(&hex));
            }
        }
        for (name, text) in [("severity_text", parts.severity_text), ("event_name", parts.event_name)] {
            if !text.is_empty() {
                self.put(name, Value::Str(text));
            }
        }
        for (name, n) in
            [("flags", u64::from(parts.flags)), ("dropped_attributes_count", parts.dropped & 0xffff_ffff)]
        {
            if n != 0 {
                self.put(name, Value::Int(n as i64));
            }
        }
    }
}
