//! OTLP's logs: `ExportLogsServiceRequest`, in protobuf and in JSON.
//!
//! ```text
//! request         resource_logs = 1
//! resource logs   resource = 1 (attributes = 1)   scope_logs = 2
//! scope logs      scope = 1 (name = 1, version = 2, attributes = 3)   log_records = 2
//! log record      time_unix_nano = 1   severity_number = 2   severity_text = 3   body = 5   attributes = 6
//!                 dropped_attributes_count = 7   flags = 8   trace_id = 9   span_id = 10
//!                 observed_time_unix_nano = 11   event_name = 12
//! ```
//!
//! | of a record | becomes |
//! |---|---|
//! | time, else observed time, else now | the time |
//! | severity number, else its text, else what an attribute or the body shows | the level |
//! | body: a text, a number | the message |
//! | body: a map | fields; the one called `message`, `msg`, `body` and the like is the message, too |
//! | resource attributes | stream fields (`service.name`), the first 64 of them, unless the request says which fields are |
//! | scope | `scope.name`, `scope.version`, its attributes as `scope.NAME` |
//! | attributes | fields: maps as `a.b`, lists as JSON, bytes as base64 |
//! | trace id, span id | `trace_id`, `span_id`, in hexadecimal digits |
//! | severity text, event name, flags, count of dropped attributes | `severity_text`, `event_name`, `flags`, `dropped_attributes_count`, where they say something |

mod attributes;
mod json;
mod record;
mod reply;

pub use reply::{reply_json, reply_protobuf, retry_info, status_json, status_protobuf};

use crate::decoded::Decoded;
use crate::error::Result;
use crate::params::{MAX_STREAM_FIELDS, Params};
use crate::protobuf::Message;
use attributes::{Leaf, Refusal};
use duramen::{EntryBuf, Level, Value};
use duramen_formats::{NameFilter, Names};
use std::ops::Range;

/// What the records of a resource share.
struct Resource<'a> {
    /// How many bytes it has.
    bytes: usize,
    /// Its attributes, each with where its name stands in [`Logs::resource_text`].
    leaves: Vec<(Range<usize>, Leaf<'a>)>,
    /// The level that one of them shows.
    level: Option<Level>,
    /// Why no record of it can be taken.
    outcome: std::result::Result<(), Refusal>,
}

/// Reads requests, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Logs {
    params: Params,
    left_out: NameFilter,
    entry: EntryBuf,
    /// The names of the resource's attributes, for [`EntryBuf::set_stream_fields`].
    resource_names: Vec<String>,
    /// The names that the resource's attributes have as fields.
    resource_text: String,
    /// A field's name while its maps are walked.
    path: String,
    text: String,
    /// Those of the resource, and behind the mark those of the record.
    names: Names,
    transcoded: Vec<u8>,
}

impl Logs {
    /// As the parameters say: of them, `_stream_fields` (else the resource's attributes make the stream),
    /// `ignore_fields` and `extra_fields` count.
    pub fn new(params: &Params) -> Self {
        Self {
            left_out: params.left_out(),
            entry: EntryBuf::new(params.stream_fields().iter().map(String::as_str)),
            params: params.clone(),
            resource_names: Vec::new(),
            resource_text: String::new(),
            path: String::new(),
            text: String::new(),
            names: Names::new(),
            transcoded: Vec::new(),
        }
    }

    /// Takes a request in protobuf. Rejected rows are counted by record, from 0, over all resources.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if it is none; [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn protobuf(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        self.request(Message::body("an OTLP logs request in protobuf", body), now_ns, out)
    }

    /// Takes a request in JSON: ids in hexadecimal digits, enumerations as numbers or names, 64-bit integers as texts
    /// or numbers, names in camel or snake case; unknown ones are passed over.
    ///
    /// # Errors
    /// As [`Logs::protobuf`].
    pub fn json(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        let mut writer = crate::protobuf::Writer { out: std::mem::take(&mut self.transcoded) };
        writer.out.clear();
        let outcome = json::transcode(body, &mut writer).and_then(|()| {
            self.request(Message::body("an OTLP logs request, read from JSON", &writer.out), now_ns, out)
        });
        self.transcoded = writer.out;
        outcome
    }

    fn request(&mut self, request: Message<'_>, now_ns: i64, out: &mut Decoded) -> Result<()> {
        request.each(1, |resource_logs| {
            let resource = self.begin_resource(resource_logs.message(1)?)?;
            resource_logs.each(2, |scope_logs| {
                let scope = scope_logs.message(1)?;
                scope_logs.each(2, |record| {
                    let bytes = resource.bytes + scope.bytes.len() + record.bytes.len();
                    if let Err(e) = out.check_line(bytes) {
                        out.reject(|| e.to_string());
                        return Ok(());
                    }
                    match self.record(&resource, scope, record, now_ns)? {
                        Ok(()) => _ = out.take(&mut self.entry)?,
                        Err(reason) => out.reject(|| reason.to_owned()),
                    }
                    Ok(())
                })
            })
        })
    }

    fn begin_resource<'a>(&mut self, resource: Message<'a>) -> Result<Resource<'a>> {
        let Self { names, resource_names, resource_text, left_out, text, .. } = self;
        names.clear();
        resource_names.clear();
        resource_names.extend(self.params.rules.extra_fields.iter().map(|(name, _)| name.clone()));
        resource_text.clear();
        self.path.clear();
        let (mut leaves, mut level, mut error) = (Vec::new(), None, None);
        let outcome = attributes::each_leaf(resource, 1, &mut self.path, &mut |name, leaf| {
            if resource_names.len() < MAX_STREAM_FIELDS {
                resource_names.push(name.to_owned());
            }
            level = level.or_else(|| leaf.level_by(name));
            if left_out.has(name) {
                return;
            }
            let take = |value: Value<'_>| {
                if let Some(name) = names.take(name, value) {
                    let start = resource_text.len();
                    resource_text.push_str(name);
                    leaves.push((start..resource_text.len(), leaf));
                }
            };
            if let Err(wrong) = attributes::with_value(leaf, text, take) {
                error.get_or_insert(wrong);
            }
        })?;
        names.mark();
        if let Some(error) = error {
            return Err(error);
        }
        if self.params.stream_fields.is_none() {
            self.entry.set_stream_fields(resource_names);
        }
        Ok(Resource { bytes: resource.bytes.len(), leaves, level, outcome })
    }
}

#[cfg(test)]
mod tests;
