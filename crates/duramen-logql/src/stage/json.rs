//! The stages `json` and `unpack`: lines that are JSON objects.

use super::errors;
use crate::ast::{JsonPath, JsonStep};
use crate::labels::Entry;
use jiter::{Jiter, JiterError, Peek};

/// How deep objects may be nested, so that the stack is safe.
pub(super) const MAX_DEPTH: usize = 100;

/// The key under which promtail's stage `pack` has the line.
const PACKED_LINE: &str = "_entry";

/// Why a line cannot be read.
enum Wrong {
    Json(JiterError),
    TooDeep,
    Scalar,
}

impl From<JiterError> for Wrong {
    fn from(e: JiterError) -> Self {
        Self::Json(e)
    }
}

impl From<jiter::JsonError> for Wrong {
    fn from(e: jiter::JsonError) -> Self {
        Self::Json(JiterError { error_type: jiter::JiterErrorType::JsonError(e.error_type), index: e.index })
    }
}

fn fail(entry: &mut Entry<'_>, wrong: Wrong) {
    let details = match wrong {
        Wrong::Json(e) => format!("{e}"),
        Wrong::Scalar => "it is no object, array or text".into(),
        Wrong::TooDeep => format!("it is nested more than {MAX_DEPTH} deep"),
    };
    entry.fail(errors::JSON, details);
}

/// The stage without parameters: every value but arrays, nested ones under the names of all objects around them, joined
/// by `_`. A line that is not JSON gives none.
pub(super) fn all(entry: &mut Entry<'_>) {
    let mut found = Vec::new();
    match flatten(&entry.line, &mut found) {
        Ok(()) => found.iter().for_each(|(name, value)| entry.set_parsed(name, value)),
        Err(wrong) => fail(entry, wrong),
    }
}

fn flatten(line: &str, found: &mut Vec<(String, String)>) -> Result<(), Wrong> {
    let mut jiter = Jiter::new(line.as_bytes());
    let mut name = String::new();
    object(&mut jiter, line, &mut name, 0, found)?;
    Ok(jiter.finish()?)
}

fn object(
    jiter: &mut Jiter<'_>,
    line: &str,
    name: &mut String,
    depth: usize,
    found: &mut Vec<(String, String)>,
) -> Result<(), Wrong> {
    if depth == MAX_DEPTH {
        return Err(Wrong::TooDeep);
    }
    let outer = name.len();
    let mut key = jiter.next_object()?.map(str::to_string);
    while let Some(k) = key {
        name.truncate(outer);
        // As in Loki, blanks around a key play no part, and one of blanks alone makes no part of a name.
        let k = k.trim();
        if outer > 0 && !k.is_empty() {
            name.push('_');
        }
        name.push_str(k);
        match jiter.peek()? {
            peek @ (Peek::Array | Peek::Null) => jiter.known_skip(peek)?,
            Peek::Object => object(jiter, line, name, depth + 1, found)?,
            peek => {
                let value = scalar(jiter, line, peek)?;
                found.push((name.clone(), value));
            }
        }
        key = jiter.next_key()?.map(str::to_string);
    }
    name.truncate(outer);
    Ok(())
}

/// A text without its quotes and escapes; anything else as it stands there.
fn scalar(jiter: &mut Jiter<'_>, line: &str, peek: Peek) -> Result<String, Wrong> {
    if peek == Peek::String {
        return Ok(jiter.known_str()?.to_string());
    }
    let start = jiter.current_index();
    jiter.known_skip(peek)?;
    let text = line.get(start..jiter.current_index()).unwrap_or("").trim();
    Ok(if peek == Peek::Null { String::new() } else { text.to_string() })
}

/// The stage with parameters: what is at each path, as the label that stands before it. Of an empty line that is nothing,
/// and no error.
pub(super) fn some(fields: &[(Box<str>, JsonPath)], entry: &mut Entry<'_>) {
    if entry.line.is_empty() {
        return;
    }
    let mut found = Vec::new();
    let line = std::mem::take(&mut entry.line);
    // The whole line is looked at, so that one that breaks off later is known to be no JSON.
    let mut whole = Jiter::new(line.as_bytes());
    let valid = (|| -> Result<(), Wrong> {
        let peek = whole.peek()?;
        whole.known_skip(peek)?;
        whole.finish()?;
        if matches!(peek, Peek::Object | Peek::Array | Peek::String) { Ok(()) } else { Err(Wrong::Scalar) }
    })();
    let result = valid.and_then(|()| {
        for (label, path) in fields {
            let mut jiter = Jiter::new(line.as_bytes());
            if let Some(value) = at_path(&mut jiter, &line, &path.steps)? {
                found.push((label, value));
            }
        }
        Ok(())
    });
    entry.line = line;
    match result {
        Ok(()) => found.iter().for_each(|(label, value)| entry.set_named(label, value)),
        Err(wrong) => fail(entry, wrong),
    }
}

fn at_path(jiter: &mut Jiter<'_>, line: &str, steps: &[JsonStep]) -> Result<Option<String>, Wrong> {
    let peek = jiter.peek()?;
    let Some((step, rest)) = steps.split_first() else { return Ok(Some(scalar(jiter, line, peek)?)) };
    match (step, peek) {
        (JsonStep::Key(wanted), Peek::Object) => {
            let mut key = jiter.next_object()?;
            while let Some(found) = key {
                if *found == **wanted {
                    return at_path(jiter, line, rest);
                }
                jiter.next_skip()?;
                key = jiter.next_key()?;
            }
            Ok(None)
        }
        (JsonStep::Index(index), Peek::Array) => {
            let mut item = jiter.next_array()?;
            let mut at = 0;
            while let Some(peek) = item {
                if at == *index {
                    return at_path(jiter, line, rest);
                }
                jiter.known_skip(peek)?;
                item = jiter.array_step()?;
                at += 1;
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// The stage `unpack`: the texts of an object become labels, and that of `_entry` the line; without one, it was not packed,
/// and stays as it is. An empty line stays one, too.
pub(super) fn unpack(entry: &mut Entry<'_>) {
    if entry.line.is_empty() {
        return;
    }
    let mut found = Vec::new();
    let read = (|| -> Result<(), Wrong> {
        let mut jiter = Jiter::new(entry.line.as_bytes());
        let mut key = jiter.next_object()?.map(str::to_string);
        while let Some(k) = key {
            match jiter.peek()? {
                Peek::String => found.push((k, jiter.known_str()?.to_string())),
                peek => jiter.known_skip(peek)?,
            }
            key = jiter.next_key()?.map(str::to_string);
        }
        Ok(jiter.finish()?)
    })();
    match read {
        Ok(()) if found.iter().all(|(name, _)| name != PACKED_LINE) => {}
        Ok(()) => {
            for (name, value) in found {
                if name == PACKED_LINE {
                    entry.line = value.into();
                } else {
                    entry.set_parsed(&name, &value);
                }
            }
        }
        Err(wrong) => fail(entry, wrong),
    }
}
