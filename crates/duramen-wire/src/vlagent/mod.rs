//! VictoriaLogs' native rows, as `vlagent` sends them.
//!
//! ```text
//! body    row *
//! row     account u32, project u32, length and bytes of the stream, time i64 in ns, how many fields, field *
//! stream  how many fields, field *
//! field   length and bytes of its name, length and bytes of its value
//! ```
//!
//! Integers of a fixed size are big-endian; lengths and numbers of fields are varints, seven bits a byte, the lowest first. The field
//! without a name, or called `_msg`, is the message. Fields of the stream are among the fields, too. The level is that of a
//! field (`level`, `severity` and the like), or the one that the message shows. Whose tenant the rows are is the request's to say, not theirs.

use crate::decoded::Decoded;
use crate::error::{Error, Result};
use crate::level;
use crate::params::{MAX_STREAM_FIELDS, Params};
use crate::varint;
use duramen::entry::MAX_FIELDS;
use duramen::{EntryBuf, Value};
use duramen_formats::{NameFilter, Names, level::of_named, text_of};

/// The version of the form that is read, which a request names in `version`.
pub const VERSION: &str = "v1";
const WHAT: &str = "rows of VictoriaLogs";

/// Reads bodies, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Rows {
    entry: EntryBuf,
    left_out: NameFilter,
    extra_fields: Vec<(String, String)>,
    /// Whether the rows' own streams count.
    has_streams: bool,
    /// The stream that `entry` has the names of, as it was sent, if it has, and they.
    stream: Option<Vec<u8>>,
    stream_names: Vec<String>,
    names: Names,
}

impl Rows {
    /// As the parameters say: of them, `_stream_fields` (else a row's own stream counts), `ignore_fields` and `extra_fields` count.
    pub fn new(params: &Params) -> Self {
        Self {
            entry: EntryBuf::new(params.stream_fields().iter().map(String::as_str)),
            left_out: params.left_out(),
            extra_fields: params.rules.extra_fields.clone(),
            has_streams: params.stream_fields.is_none(),
            stream: None,
            stream_names: Vec::new(),
            names: Names::new(),
        }
    }

    /// Takes a body. Rejected rows are counted from 0.
    ///
    /// # Errors
    /// [`Error::Malformed`], and none of it is of use; [`Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn read(&mut self, body: &[u8], out: &mut Decoded) -> Result<()> {
        let mut body = Bytes { rest: body, len: body.len() };
        while !body.rest.is_empty() {
            let before = body.rest.len();
            let _tenant: &[u8; 8] = body.chunk()?;
            let stream = body.text()?;
            let time_ns = i64::from_be_bytes(*body.chunk()?);
            let count = body.varint()?;
            let mut fields = body;
            for _ in 0..count {
                body.text()?;
                body.text()?;
            }
            let bytes = before - body.rest.len();
            let refused = if count > MAX_FIELDS as u64 {
                Some(format!("its fields are more than {MAX_FIELDS}"))
            } else {
                out.check_line(bytes).err().map(|e| e.to_string())
            };
            match refused {
                Some(reason) => out.reject(|| reason),
                None => {
                    self.set_stream(stream)?;
                    self.row(time_ns, count, &mut fields, bytes)?;
                    let _counted_in_out = out.take(&mut self.entry)?;
                }
            }
        }
        Ok(())
    }

    /// Has the entry the stream fields that are named here. Rows that follow each other are mostly of one stream.
    fn set_stream(&mut self, stream: Bytes<'_>) -> Result<()> {
        if !self.has_streams || self.stream.as_deref() == Some(stream.rest) {
            return Ok(());
        }
        let mut sent = self.stream.take().unwrap_or_default();
        self.stream_names.clear();
        self.stream_names
            .extend(self.extra_fields.iter().map(|(name, _)| name.clone()).take(MAX_STREAM_FIELDS));
        let mut fields = stream;
        let count = if stream.rest.is_empty() { 0 } else { fields.varint()? };
        for _ in 0..count {
            let name = text_of(fields.text()?.rest).into_owned();
            fields.text()?;
            if self.stream_names.len() < MAX_STREAM_FIELDS {
                self.stream_names.push(name);
            }
        }
        if !fields.rest.is_empty() {
            return Err(fields.wrong("a stream has more bytes than fields"));
        }
        self.entry.set_stream_fields(&self.stream_names);
        sent.clear();
        sent.extend_from_slice(stream.rest);
        self.stream = Some(sent);
        Ok(())
    }

    fn row(&mut self, time_ns: i64, count: u64, fields: &mut Bytes<'_>, bytes: usize) -> Result<()> {
        let Self { entry, names, left_out, .. } = self;
        entry.start(time_ns).raw_len(bytes);
        names.clear();
        let (mut level, mut message) = (None, None);
        for _ in 0..count {
            let (name, value) = (text_of(fields.text()?.rest), text_of(fields.text()?.rest));
            if matches!(&*name, "" | "_msg") && message.is_none() {
                entry.message(&value);
                message = Some(value);
                continue;
            }
            level = level.or_else(|| of_named(&name, &value));
            let name = if name.is_empty() { "_msg" } else { &*name };
            if !left_out.has(name)
                && let Some(name) = names.take(name, Value::Str(&value))
            {
                entry.field(name, &*value);
            }
        }
        for (name, value) in &self.extra_fields {
            entry.field(name, value.as_str());
        }
        let level = level.or_else(|| level::of_line(message.as_deref().unwrap_or_default()));
        entry.level(level.unwrap_or_default());
        Ok(())
    }
}

/// What is yet to be read, of so many bytes.
#[derive(Clone, Copy, Debug)]
struct Bytes<'a> {
    rest: &'a [u8],
    /// With all before it, up to the end of `rest`.
    len: usize,
}

impl<'a> Bytes<'a> {
    fn wrong(&self, detail: &str) -> Error {
        Error::malformed(WHAT, detail, self.len - self.rest.len())
    }

    fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N]> {
        let (chunk, rest) = self.rest.split_first_chunk().ok_or_else(|| self.wrong("it ends too soon"))?;
        self.rest = rest;
        Ok(chunk)
    }

    fn varint(&mut self) -> Result<u64> {
        let (value, rest) =
            varint::split(self.rest).ok_or_else(|| self.wrong("a number that does not end"))?;
        self.rest = rest;
        Ok(value)
    }

    /// Bytes behind their length.
    fn text(&mut self) -> Result<Self> {
        let mut behind = *self;
        let len = behind.varint()?;
        let split = usize::try_from(len).ok().and_then(|len| behind.rest.split_at_checked(len));
        let (text, rest) = split.ok_or_else(|| self.wrong("a text is longer than the body"))?;
        self.rest = rest;
        Ok(Self { rest: text, len: self.len - rest.len() })
    }
}

#[cfg(test)]
mod tests;
