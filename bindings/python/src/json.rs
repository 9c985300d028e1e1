//! Lists and what is in them, as JSON text.

use crate::convert::{digits, pairs, text};
use crate::room::{Room, beginning};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::fmt::Write as _;

/// How deep dicts and lists are followed.
const MAX_DEPTH: usize = 64;

/// Appends a value as JSON; what JSON does not know is a string: `str(value)`. False if there was no room for all of it:
/// then it is no JSON, but the beginning of some.
pub(crate) fn write(out: &mut String, value: &Bound<'_, PyAny>, room: &mut Room) -> bool {
    if !room.value(out.len()) {
        return false;
    }
    if let Ok(text) = value.cast::<PyString>() {
        return string(out, &text.to_string_lossy(), room);
    } else if value.is_none() {
        out.push_str("null");
    } else if let Ok(truth) = value.cast::<PyBool>() {
        out.push_str(if truth.is_true() { "true" } else { "false" });
    } else if value.is_instance_of::<PyInt>() {
        match digits(value) {
            Some(digits) => out.push_str(&digits),
            None => return string(out, &text(value), room),
        }
    } else if let Ok(x) = value.cast::<PyFloat>() {
        let x = x.value();
        if x.is_finite() {
            out.push_str(&format!("{x:?}"));
        } else {
            return string(out, &x.to_string(), room);
        }
    } else if let Ok(dict) = value.cast::<PyDict>() {
        return inside(out, value, "\"{...}\"", room, |out, room| object(out, dict, room));
    } else if let Ok(list) = value.cast::<PyList>() {
        return inside(out, value, "\"[...]\"", room, |out, room| array(out, list.iter().collect(), room));
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        return inside(out, value, "\"[...]\"", room, |out, room| array(out, tuple.iter().collect(), room));
    } else {
        return string(out, &text(value), room);
    }
    true
}

/// Appends what is in `value`; `mark` instead if it lies too deep, or in itself.
fn inside(
    out: &mut String,
    value: &Bound<'_, PyAny>,
    mark: &str,
    room: &mut Room,
    write: impl FnOnce(&mut String, &mut Room) -> bool,
) -> bool {
    if room.depth() >= MAX_DEPTH || !room.enter(value) {
        out.push_str(mark);
        return true;
    }
    let whole = write(out, room);
    room.leave();
    whole
}

fn object(out: &mut String, dict: &Bound<'_, PyDict>, room: &mut Room) -> bool {
    out.push('{');
    for (i, (key, value)) in pairs(dict).into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if !string(out, &text(&key), room) {
            return false;
        }
        out.push(':');
        if !write(out, &value, room) {
            return false;
        }
    }
    out.push('}');
    true
}

fn array(out: &mut String, items: Vec<Bound<'_, PyAny>>, room: &mut Room) -> bool {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if !write(out, item, room) {
            return false;
        }
    }
    out.push(']');
    true
}

/// Appends a string; its beginning, and false, if there is no room for more.
fn string(out: &mut String, text: &str, room: &mut Room) -> bool {
    let part = beginning(text, room.bytes().saturating_sub(out.len()));
    let whole = part.len() == text.len();
    if !whole {
        room.lack();
    }
    push_string(out, part);
    whole
}

/// An array of these.
pub(crate) fn strings(texts: &[String]) -> String {
    let mut out = String::from("[");
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        push_string(&mut out, text);
    }
    out.push(']');
    out
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                // Writing to a String cannot fail.
                let _infallible = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
