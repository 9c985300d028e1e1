//! Reading what C gave: texts, fields, options. The layouts are those of the header.
#![allow(unsafe_code)]

use crate::status::Failure;
use duramen::{Durability, Level, Logger, LoggerBuilder, OnFull, Value};
use jiter::{Jiter, Peek};
use std::borrow::Cow;
use std::ffi::{CStr, OsStr, c_char};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

/// The length of a text that ends with a zero byte: `DURAMEN_NUL`.
const NUL: usize = usize::MAX;

/// The field that a line gets if a text of it was not UTF-8.
const INVALID_UTF8_FIELD: &str = "invalid_utf8";

/// `duramen_field`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Field {
    /// Ends with a zero byte; may be null.
    pub name: *const c_char,
    /// One of `DURAMEN_TYPE_…`.
    pub kind: i32,
    /// Which of them is there, `kind` says.
    pub value: FieldValue,
}

/// The value of a [`Field`].
#[repr(C)]
#[derive(Clone, Copy)]
pub union FieldValue {
    /// A string, or JSON.
    pub text: Text,
    /// An integer.
    pub integer: i64,
    /// A floating-point number.
    pub number: f64,
    /// A truth value: 0 is false, all else true.
    pub boolean: i32,
}

/// A text and its length.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// May be null.
    pub data: *const c_char,
    /// Bytes, or `DURAMEN_NUL`.
    pub len: usize,
}

/// `duramen_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many bytes the caller's own has: it tells programs that were compiled with another version's header.
    pub size: usize,
    /// `none`, `process`, `interval:MS` or `sync`.
    pub durability: *const c_char,
    /// Names, with commas between.
    pub stream_fields: *const c_char,
    /// Fields that each line gets.
    pub fields: *const Field,
    /// How many.
    pub nfields: usize,
    /// The sum of `1 << level`.
    pub sync_levels: u32,
    /// `DURAMEN_PID`, `DURAMEN_NO_KEEPER`.
    pub flags: u32,
    /// 0 is the default, negative is not at all.
    pub block_timeout_ms: i64,
    /// 0 is the default.
    pub max_message_bytes: usize,
    /// 0 is the default.
    pub write_buffer_size: usize,
}

impl Options {
    /// The options of the first version, which later ones only add to.
    const FIRST_SIZE: usize = std::mem::offset_of!(Self, write_buffer_size) + size_of::<usize>();

    /// Reads those that the caller's version of the header has; others are zero, the default.
    ///
    /// # Errors
    /// [`Failure::Invalid`] for a size that no version has had so far.
    ///
    /// # Safety
    /// `options` points to as many bytes as its `size` says.
    unsafe fn read(options: *const Self) -> Result<Self, Failure> {
        // SAFETY: `size` is the first of them in every version.
        let size = unsafe { (*options).size };
        if !(Self::FIRST_SIZE..=size_of::<Self>()).contains(&size) {
            return Err(Failure::Invalid(format!(
                "options.size is {size}: set it to sizeof(duramen_options)"
            )));
        }
        let mut all = MaybeUninit::<Self>::zeroed();
        // SAFETY: the caller has so many bytes, and `all` as many or more; of each option, zero is a value.
        unsafe {
            std::ptr::copy_nonoverlapping(options.cast::<u8>(), all.as_mut_ptr().cast(), size);
            Ok(all.assume_init())
        }
    }
}

const SYNC_NONE: u32 = 1 << 31;
const PID: u32 = 1;
const NO_KEEPER: u32 = 2;

/// A line's texts, and whether they were UTF-8.
pub(crate) struct Line<'a> {
    fields: Vec<(Cow<'a, str>, Owned<'a>)>,
    invalid: bool,
}

enum Owned<'a> {
    Text(Cow<'a, str>),
    Json(Cow<'a, str>),
    Other(Value<'a>),
}

impl<'a> Line<'a> {
    /// Reads fields.
    ///
    /// # Errors
    /// [`Failure::Invalid`] for a type or a length that is none, or no fields where there should be some.
    ///
    /// # Safety
    /// `fields` is null or points to `count` fields, whose texts stay as they are during `'a`.
    pub(crate) unsafe fn read(fields: *const Field, count: usize) -> Result<Self, Failure> {
        let mut line = Line { fields: Vec::with_capacity(count.min(64)), invalid: false };
        if count == 0 {
            return Ok(line);
        }
        if fields.is_null() {
            return Err(Failure::Invalid("fields is NULL, but nfields is not 0".into()));
        }
        for i in 0..count {
            // SAFETY: the caller says that there are so many.
            let field = unsafe { &*fields.add(i) };
            // SAFETY: the caller says that the texts are there, and `kind` says which value is.
            let (name, value) = unsafe {
                let name = line.text(Text { data: field.name, len: NUL })?;
                let value = match field.kind {
                    0 => Owned::Text(line.text(field.value.text)?),
                    1 => Owned::Other(Value::Int(field.value.integer)),
                    2 => Owned::Other(Value::Float(field.value.number)),
                    3 => Owned::Other(Value::Bool(field.value.boolean != 0)),
                    4 => Owned::Other(Value::Null),
                    5 => Owned::Json(line.text(field.value.text)?),
                    kind => {
                        return Err(Failure::Invalid(format!("a field of the type {kind}, which is none")));
                    }
                };
                (name, value)
            };
            line.fields.push((name, value));
        }
        Ok(line)
    }

    /// A text; one that is not UTF-8 is marked.
    ///
    /// # Errors
    /// As [`Text::bytes`].
    ///
    /// # Safety
    /// As for [`Text::bytes`].
    pub(crate) unsafe fn text(&mut self, text: Text) -> Result<Cow<'a, str>, Failure> {
        // SAFETY: as the caller says.
        let text = String::from_utf8_lossy(unsafe { text.bytes() }?);
        self.invalid |= matches!(text, Cow::Owned(_));
        Ok(text)
    }

    /// The fields.
    pub(crate) fn fields(&self) -> Vec<(&str, Value<'_>)> {
        let mut fields: Vec<(&str, Value<'_>)> = Vec::with_capacity(self.fields.len() + 1);
        fields.extend(self.fields.iter().map(|(name, value)| {
            let value = match value {
                Owned::Text(text) => Value::Str(text),
                Owned::Json(text) if is_embedded(text) => Value::Json(text),
                Owned::Json(text) => Value::Str(text),
                Owned::Other(value) => *value,
            };
            (&**name, value)
        }));
        if self.invalid {
            fields.push((INVALID_UTF8_FIELD, Value::Bool(true)));
        }
        fields
    }
}

/// Whether a text may be kept as JSON: an array, or an object without members. It comes out of an answer as it went in,
/// so what only looks like one would spoil the row it is in.
fn is_embedded(text: &str) -> bool {
    let mut json = Jiter::new(text.as_bytes());
    let may_be = match json.peek() {
        Ok(Peek::Array) => true,
        Ok(Peek::Object) => text.trim_ascii().strip_prefix('{').is_some_and(|rest| rest.trim_ascii() == "}"),
        _ => false,
    };
    may_be && json.next_skip().is_ok() && json.finish().is_ok()
}

impl Text {
    /// # Errors
    /// [`Failure::Invalid`] for a length that no text has: most likely a negative number.
    ///
    /// # Safety
    /// `data` is null, or points to `len` bytes or to some that end with a zero byte, which stay as they are during
    /// `'a`; if no text can be as long as `len`, there need be nothing.
    unsafe fn bytes<'a>(self) -> Result<&'a [u8], Failure> {
        if self.data.is_null() {
            return Ok(&[]);
        }
        if self.len == NUL {
            // SAFETY: as the caller says.
            return Ok(unsafe { CStr::from_ptr(self.data) }.to_bytes());
        }
        if isize::try_from(self.len).is_err() {
            return Err(Failure::Invalid(format!("a text of {} bytes: the length is negative", self.len)));
        }
        // SAFETY: as the caller says, and so many bytes may be.
        Ok(unsafe { std::slice::from_raw_parts(self.data.cast(), self.len) })
    }
}

/// A text that ends with a zero byte, and must be UTF-8.
///
/// # Errors
/// [`Failure::Invalid`] if it is null or not UTF-8.
///
/// # Safety
/// It is null, or ends with a zero byte and stays as it is during `'a`.
pub(crate) unsafe fn required<'a>(name: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::Invalid(format!("{name} is NULL")));
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { Text { data: text, len: NUL }.bytes() }?;
    std::str::from_utf8(bytes).map_err(|_| Failure::Invalid(format!("{name} is not UTF-8")))
}

/// A path that ends with a zero byte.
///
/// # Errors
/// [`Failure::Invalid`] if it is null or empty.
///
/// # Safety
/// As for [`required`].
pub(crate) unsafe fn path<'a>(dir: *const c_char) -> Result<&'a Path, Failure> {
    // SAFETY: as the caller says.
    let bytes = unsafe { Text { data: dir, len: NUL }.bytes() }?;
    if bytes.is_empty() {
        return Err(Failure::Invalid("dir is NULL or empty".into()));
    }
    Ok(Path::new(OsStr::from_bytes(bytes)))
}

/// A level's number.
///
/// # Errors
/// [`Failure::Invalid`] for a number that is none.
pub(crate) fn level(number: i32) -> Result<Level, Failure> {
    let level = u8::try_from(number).ok().and_then(Level::from_u8);
    level.ok_or_else(|| Failure::Invalid(format!("{number} is no level")))
}

/// A logger as the options have it.
///
/// # Errors
/// [`Failure::Invalid`] for an option that is none.
///
/// # Safety
/// `dir` is as for [`path`]; `options` is null or points to options, whose texts and fields are as for
/// [`required`] and [`Line::read`].
pub(crate) unsafe fn builder(dir: *const c_char, options: *const Options) -> Result<LoggerBuilder, Failure> {
    // SAFETY: as the caller says.
    let mut builder = Logger::builder(unsafe { path(dir) }?);
    if options.is_null() {
        return Ok(builder);
    }
    // SAFETY: as the caller says.
    let options = unsafe { Options::read(options) }?;
    if !options.durability.is_null() {
        // SAFETY: as the caller says.
        builder = builder.durability(durability(unsafe { required("durability", options.durability) }?)?);
    }
    if !options.stream_fields.is_null() {
        // SAFETY: as the caller says.
        let names = unsafe { required("stream_fields", options.stream_fields) }?;
        builder = builder.stream_fields(names.split(',').map(str::trim).filter(|name| !name.is_empty()));
    }
    // SAFETY: as the caller says.
    let line = unsafe { Line::read(options.fields, options.nfields) }?;
    for (name, value) in line.fields() {
        builder = builder.field(name, value);
    }
    if options.sync_levels != 0 {
        let levels: Vec<Level> = (0..7)
            .filter(|number| options.sync_levels & 1 << number != 0)
            .filter_map(Level::from_u8)
            .collect();
        if options.sync_levels & !(SYNC_NONE | 0x7f) != 0 {
            return Err(Failure::Invalid("sync_levels has a bit that stands for no level".into()));
        }
        builder = builder.sync_levels(&levels);
    }
    if options.flags & !(PID | NO_KEEPER) != 0 {
        return Err(Failure::Invalid("flags has a bit that this version does not know".into()));
    }
    builder = builder.pid(options.flags & PID != 0).keeper(options.flags & NO_KEEPER == 0);
    if options.block_timeout_ms != 0 {
        builder = builder.on_full(
            u64::try_from(options.block_timeout_ms)
                .map_or(OnFull::Count, |ms| OnFull::Block { timeout: Duration::from_millis(ms) }),
        );
    }
    if options.max_message_bytes != 0 {
        builder = builder.max_message_bytes(options.max_message_bytes);
    }
    if options.write_buffer_size != 0 {
        builder = builder.write_buffer_size(options.write_buffer_size);
    }
    Ok(builder)
}

fn durability(text: &str) -> Result<Durability, Failure> {
    let interval = |ms: &str| ms.parse().ok().filter(|&ms: &u64| ms > 0);
    match text {
        "none" => Ok(Durability::None),
        "process" => Ok(Durability::Process),
        "sync" => Ok(Durability::Sync),
        _ => text.strip_prefix("interval:").and_then(interval).map(Durability::IntervalMs).ok_or_else(|| {
            Failure::Invalid(format!("durability is none, process, interval:MS or sync, not {text:?}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_kept_as_json() {
        for text in ["[]", " [1, \"x\", {\"a\": null}]\n", "{}", "{ }"] {
            assert!(is_embedded(text), "{text}");
        }
        for text in
            ["", "[1", "[1] 2", "[oops]", "[NaN]", "['a']", "[1]}, {\"_msg\":[2]", "{\"a\":1}", "1", "\"x\""]
        {
            assert!(!is_embedded(text), "{text}");
        }
    }
}
