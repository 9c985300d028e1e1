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
use duramen::EntryBuf;
use duramen_formats::{NameFilter, Names};

/// Reads requests, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Logs {
    params: Params,
    left_out: NameFilter,
    entry: EntryBuf,
    /// The names of the resource's attributes, for [`EntryBuf::set_stream_fields`].
    resource_names: Vec<String>,
    /// A field's name while its maps are walked.
    path: String,
    text: String,
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
            let resource = resource_logs.message(1)?;
            self.begin_resource(resource)?;
            resource_logs.each(2, |scope_logs| {
                let scope = scope_logs.message(1)?;
                scope_logs.each(2, |record| {
                    let bytes = resource.bytes.len() + scope.bytes.len() + record.bytes.len();
                    if let Err(e) = out.check_line(bytes) {
                        out.reject(|| e.to_string());
                        return Ok(());
                    }
                    match self.record(resource, scope, record, now_ns)? {
                        Ok(()) => _ = out.take(&mut self.entry)?,
                        Err(reason) => out.reject(|| reason.to_owned()),
                    }
                    Ok(())
                })
            })
        })
    }

    fn begin_resource(&mut self, resource: Message<'_>) -> Result<()> {
        if self.params.stream_fields.is_some() {
            return Ok(());
        }
        let names = &mut self.resource_names;
        names.clear();
        names.extend(self.params.rules.extra_fields.iter().map(|(name, _)| name.clone()));
        self.path.clear();
        attributes::each_leaf(resource, 1, &mut self.path, &mut |name, _| {
            if names.len() < MAX_STREAM_FIELDS {
                names.push(name.to_owned());
            }
        })?
        // Its records are rejected for the same reason.
        .unwrap_or_default();
        self.entry.set_stream_fields(names);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
