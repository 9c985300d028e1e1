//! Attributes, and values of any type, as fields.
//!
//! ```text
//! KeyValue   key = 1   value = 2 AnyValue
//! AnyValue   string = 1 | bool = 2 | int = 3 | double = 4 | array = 5 (values = 1) | map = 6 (KeyValue = 1) | bytes = 7
//! ```

use crate::error::Result;
use crate::protobuf::{Message, Wire};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use duramen::entry::{MAX_FIELD_NAME_BYTES, MAX_FIELDS};
use duramen::{Level, Value};
use duramen_formats::{level, text_of};
use std::fmt::Write;

/// How deep maps and lists may lie in each other.
const MAX_DEPTH: usize = 64;

/// Why a record cannot be taken. The body as a whole is well formed.
pub(super) type Refusal = &'static str;

/// A value that is no map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leaf<'a> {
    Text(&'a [u8]),
    Bool(bool),
    Int(i64),
    Double(f64),
    Array(Message<'a>),
    Bytes(&'a [u8]),
    EmptyMap,
    Nothing,
}

impl Leaf<'_> {
    /// The level that an attribute of this name and value shows.
    pub fn level_by(&self, name: &str) -> Option<Level> {
        let Leaf::Text(value) = self else { return None };
        level::of_named(name, std::str::from_utf8(value).ok()?)
    }
}

/// An `AnyValue`.
pub(super) enum Any<'a> {
    Leaf(Leaf<'a>),
    Map(Message<'a>),
}

/// Reads an `AnyValue`; the last of its alternatives counts.
pub(super) fn any(value: Message<'_>) -> Result<Any<'_>> {
    let mut any = Any::Leaf(Leaf::Nothing);
    for field in value.fields() {
        any = match field? {
            (1, Wire::Bytes(text)) => Any::Leaf(Leaf::Text(text.bytes)),
            (2, Wire::Varint(b)) => Any::Leaf(Leaf::Bool(b != 0)),
            (3, Wire::Varint(n)) => Any::Leaf(Leaf::Int(n as i64)),
            (4, Wire::Fixed64(bits)) => Any::Leaf(Leaf::Double(f64::from_bits(bits))),
            (5, Wire::Bytes(array)) => Any::Leaf(Leaf::Array(array)),
            (6, Wire::Bytes(map)) if map.bytes.is_empty() => Any::Leaf(Leaf::EmptyMap),
            (6, Wire::Bytes(map)) => Any::Map(map),
            (7, Wire::Bytes(bytes)) => Any::Leaf(Leaf::Bytes(bytes.bytes)),
            _ => any,
        };
    }
    Ok(any)
}

/// Calls `f` with name and value of each attribute in the field `number` of a message: what maps hold, by names with
/// dots, each after what `path` holds.
pub(super) fn each_leaf<'a>(
    message: Message<'a>,
    number: u32,
    path: &mut String,
    f: &mut dyn FnMut(&str, Leaf<'a>),
) -> Result<Result<(), Refusal>> {
    let mut left = MAX_FIELDS;
    walk(message, number, path, MAX_DEPTH, &mut left, f)
}

fn walk<'a>(
    message: Message<'a>,
    number: u32,
    path: &mut String,
    depth: usize,
    left: &mut usize,
    f: &mut dyn FnMut(&str, Leaf<'a>),
) -> Result<Result<(), Refusal>> {
    let parent = path.len();
    let mut outcome = Ok(());
    for field in message.fields() {
        let (n, Wire::Bytes(pair)) = field? else { continue };
        if n != number || outcome.is_err() {
            continue;
        }
        let name = pair.message(1)?.text()?;
        // What is over a limit must not be copied for each of the fields below it.
        if parent + name.len() > MAX_FIELD_NAME_BYTES {
            outcome = Err("an attribute's name is over 1024 bytes");
            continue;
        }
        path.truncate(parent);
        path.push_str(name);
        outcome = match any(pair.message(2)?)? {
            Any::Leaf(_) if *left == 0 => Err("it has over 16384 attributes"),
            Any::Leaf(leaf) => {
                *left -= 1;
                f(path, leaf);
                Ok(())
            }
            Any::Map(_) if depth <= 1 => Err("its attributes are nested over 64 deep"),
            Any::Map(map) => {
                path.push('.');
                walk(map, 1, path, depth - 1, left, f)?
            }
        };
    }
    path.truncate(parent);
    Ok(outcome)
}

/// Calls `f` with a leaf as a field's value; `text` is a buffer for those that are not texts yet.
pub(super) fn with_value<T>(leaf: Leaf<'_>, text: &mut String, f: impl FnOnce(Value<'_>) -> T) -> Result<T> {
    text.clear();
    Ok(match leaf {
        Leaf::Text(bytes) => f(Value::Str(&text_of(bytes))),
        Leaf::Bool(b) => f(Value::Bool(b)),
        Leaf::Int(n) => f(Value::Int(n)),
        Leaf::Double(x) => f(Value::Float(x)),
        Leaf::Nothing => f(Value::Null),
        Leaf::EmptyMap => f(Value::Json("{}")),
        Leaf::Bytes(bytes) => {
            STANDARD.encode_string(bytes, text);
            f(Value::Str(text))
        }
        Leaf::Array(array) => {
            push_array(array, text, MAX_DEPTH)?;
            f(Value::Json(text))
        }
    })
}

/// Writes an array as JSON. What is nested too deep becomes `null`.
fn push_array(array: Message<'_>, text: &mut String, depth: usize) -> Result<()> {
    text.push('[');
    let mut first = true;
    array.each(1, |value| {
        if !std::mem::take(&mut first) {
            text.push(',');
        }
        push_json(value, text, depth)
    })?;
    text.push(']');
    Ok(())
}

fn push_json(value: Message<'_>, text: &mut String, depth: usize) -> Result<()> {
    if depth == 0 {
        text.push_str("null");
        return Ok(());
    }
    // Writing to a String cannot fail.
    let _infallible = match any(value)? {
        Any::Map(map) => {
            text.push('{');
            let mut first = true;
            map.each(1, |pair| {
                if !std::mem::take(&mut first) {
                    text.push(',');
                }
                push_text(pair.message(1)?.text()?, text);
                text.push(':');
                push_json(pair.message(2)?, text, depth - 1)
            })?;
            text.push('}');
            Ok(())
        }
        Any::Leaf(Leaf::Text(bytes)) => {
            push_text(&text_of(bytes), text);
            Ok(())
        }
        Any::Leaf(Leaf::Bool(b)) => write!(text, "{b}"),
        Any::Leaf(Leaf::Int(n)) => write!(text, "{n}"),
        Any::Leaf(Leaf::Double(x)) if x.is_finite() => write!(text, "{x:?}"),
        Any::Leaf(Leaf::Double(x)) => write!(text, "\"{x}\""),
        Any::Leaf(Leaf::EmptyMap) => text.write_str("{}"),
        Any::Leaf(Leaf::Nothing) => text.write_str("null"),
        Any::Leaf(Leaf::Array(array)) => {
            push_array(array, text, depth - 1)?;
            Ok(())
        }
        Any::Leaf(Leaf::Bytes(bytes)) => write!(text, "\"{}\"", STANDARD.encode(bytes)),
    };
    Ok(())
}

/// Writes a text as JSON.
fn push_text(s: &str, text: &mut String) {
    text.push_str(&serde_json::Value::from(s).to_string());
}
