//! Loki's push: streams with labels, and in each lines with their time.
//!
//! ```text
//! PushRequest   streams = 1   labels = 1 text, as {app="web"}   entries = 2
//! entry         timestamp = 1 (seconds = 1, nanos = 2)   line = 2   structuredMetadata = 3 (name = 1, value = 2)
//!
//! {"streams":[{"stream":{"app":"web"},"values":[["1718452800000000000","the line",{"trace_id":"0af7"}]]}]}
//! ```
//!
//! Labels become stream fields (the first 64; any others plain fields), structured metadata fields, the line the message, whatever it is: a line of JSON stays
//! one, and queries take it apart (`unpack_json`). The level is that of the metadata or of the labels (`level`,
//! `detected_level`, `severity` and the like), or the one that the line shows.

mod json;
mod labels;

mod protobuf;

use crate::decoded::Decoded;
use crate::error::Result;
use crate::level;
use crate::params::{MAX_STREAM_FIELDS, Params};
use duramen::entry::MAX_FIELDS;
use duramen::{EntryBuf, Level, Value};
use duramen_formats::{NameFilter, Names, StampParser, level::of_named};
use jiff::tz::TimeZone;

/// Reads pushes, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Push {
    params: Params,
    left_out: NameFilter,
    entry: EntryBuf,
    labels: Vec<(String, String)>,
    label_level: Option<Level>,
    /// The labels' names, for [`EntryBuf::set_stream_fields`].
    label_names: Vec<String>,
    /// Those of the labels, and behind the mark those of the line.
    names: Names,
    stamps: StampParser,
    /// Why no line of this stream can be taken.
    wrong_stream: Option<String>,
}

impl Push {
    /// As the parameters say: of them, `_stream_fields` (else all labels make the stream), `ignore_fields` and
    /// `extra_fields` count.
    pub fn new(params: &Params) -> Self {
        Self {
            left_out: params.left_out(),
            entry: EntryBuf::new(params.stream_fields().iter().map(String::as_str)),
            params: params.clone(),
            labels: Vec::new(),
            label_level: None,
            label_names: Vec::new(),
            names: Names::new(),
            // A push says in which year it is.
            stamps: StampParser::new(TimeZone::UTC, 0, None),
            wrong_stream: None,
        }
    }

    /// Forgets the labels of the stream before.
    fn clear_labels(&mut self) {
        self.labels.clear();
        self.names.clear();
    }

    /// Adds a label of the stream that begins. Of more than a line may have, one is enough to tell.
    fn add_label(&mut self, name: &str, value: &str) {
        if self.labels.len() <= MAX_FIELDS
            && let Some(name) = self.names.take(name, Value::Str(value))
        {
            self.labels.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Begins a stream whose labels are in `self.labels`.
    fn begin_stream(&mut self, labels_bytes: usize, out: &Decoded) {
        self.names.mark();
        let too_long = out.check_line(labels_bytes).err().map(|e| format!("its labels: {e}"));
        let too_many = || format!("its labels are more than {MAX_FIELDS}");
        self.wrong_stream = too_long.or_else(|| (self.labels.len() > MAX_FIELDS).then(too_many));
        self.label_level = self.labels.iter().find_map(|(name, value)| of_named(name, value));
        if self.params.stream_fields.is_none() {
            self.label_names.clear();
            let extra = self.params.rules.extra_fields.iter();
            let names = extra.chain(&self.labels).map(|(name, _)| name.clone());
            self.label_names.extend(names.take(MAX_STREAM_FIELDS));
            self.entry.set_stream_fields(&self.label_names);
        }
    }

    /// Takes a line of the stream; `metadata` calls back with each name and value, and is called in any case.
    fn line(
        &mut self,
        time_ns: i64,
        line: &str,
        metadata: impl FnOnce(&mut dyn FnMut(&str, &str)) -> Result<()>,
        out: &mut Decoded,
    ) -> Result<()> {
        let wrong =
            self.wrong_stream.clone().or_else(|| out.check_line(line.len()).err().map(|e| e.to_string()));
        if let Some(reason) = wrong {
            out.reject(|| reason);
            return metadata(&mut |_, _| {});
        }
        let entry = &mut self.entry;
        entry.start(time_ns).message(line).raw_len(line.len() + 1);
        for (name, value) in self.labels.iter().filter(|(name, _)| !self.left_out.has(name)) {
            entry.field(name, value.as_str());
        }
        let mut level = None;
        // Metadata are no labels, whatever they are called: they must not change the stream, nor hide a label.
        let names = &mut self.names;
        names.rewind();
        metadata(&mut |name, value| {
            level = level.or_else(|| of_named(name, value));
            if !self.left_out.has(name)
                && let Some(name) = names.take(name, Value::Str(value))
            {
                entry.field(name, value);
            }
        })?;
        for (name, value) in &self.params.rules.extra_fields {
            entry.field(name, value.as_str());
        }
        let level = level.or(self.label_level).or_else(|| level::of_line(line));
        entry.level(level.unwrap_or_default());
        let _counted_in_out = out.take(entry)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
