//! Objects as most lines are, of which only the texts with escapes are looked at twice: the line is known to be UTF-8, and what
//! goes over values eight bytes at once need not read them.
//!
//! What is unusual, and all that is wrong, is left to [`Jiter`], which reads the line anew: a name with escapes, a lone surrogate,
//! `NaN`, very long numbers, deep objects, arrays of bytes.

use crate::fields::{Fields, Raw, Span};
use jiter::Jiter;
use serde::de::{Deserializer as _, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Longer numbers are left to the other.
const MAX_NUMBER_BYTES: usize = 64;
/// Deeper objects are left to the other: here each is gone over again for each that it lies in.
const MAX_DEPTH: usize = 4;

/// Reads the fields of the one object that `line` is. `None` leaves it to the other; `fields` are then of no use.
pub(super) fn read(line: &str, path: &mut String, tape: &mut Vec<u8>, fields: &mut Fields) -> Option<()> {
    Object { line, path, tape, fields, depth: MAX_DEPTH }.read(line)
}

/// Where members go.
struct Object<'a> {
    line: &'a str,
    path: &'a mut String,
    tape: &'a mut Vec<u8>,
    fields: &'a mut Fields,
    depth: usize,
}

impl Object<'_> {
    fn read(self, object: &str) -> Option<()> {
        let mut reader = serde_json::Deserializer::from_str(object);
        reader.deserialize_map(self).ok()?;
        reader.end().ok()
    }

    #[inline]
    fn member(&mut self, name: &str, value: &str) -> Option<()> {
        let parent = self.path.len();
        let raw = match *value.as_bytes().first()? {
            b'{' if !super::is_empty_object(value, 0) => {
                let depth = self.depth.checked_sub(1).filter(|depth| *depth > 0)?;
                self.path.push_str(name);
                self.path.push('.');
                let Self { line, path, tape, fields, .. } = self;
                Object { line, path, tape, fields, depth }.read(value)?;
                self.path.truncate(parent);
                return Some(());
            }
            first => self.value(name, first, value)?,
        };
        if parent == 0 {
            return self.fields.push(name, raw);
        }
        self.path.push_str(name);
        self.fields.push(self.path, raw)?;
        self.path.truncate(parent);
        Some(())
    }

    #[inline]
    fn value(&mut self, name: &str, first: u8, value: &str) -> Option<Raw> {
        let start = (value.as_ptr() as usize).checked_sub(self.line.as_ptr() as usize)?;
        let end = start + value.len();
        Some(match first {
            b'"' if memchr::memchr(b'\\', value.as_bytes()).is_none() => {
                Raw::Text(Span::new(start + 1, end - 1)?)
            }
            b'"' => {
                let mut jiter = Jiter::with_tape(value.as_bytes(), std::mem::take(self.tape));
                let text = self.fields.keep(jiter.next_str().ok()?);
                *self.tape = jiter.into_tape();
                Raw::Unescaped(text?)
            }
            b'{' => Raw::Json(Span::new(start, end)?),
            b'[' if name != "MESSAGE" => {
                // How deep arrays may be is the other's to say.
                Jiter::new(value.as_bytes()).next_skip().ok()?;
                Raw::Json(Span::new(start, end)?)
            }
            b'[' => return None,
            b't' => Raw::Bool(true),
            b'f' => Raw::Bool(false),
            b'n' => Raw::Null,
            _ => Raw::Number(Span::new(start, end).filter(|_| value.len() <= MAX_NUMBER_BYTES)?),
        })
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some((name, value)) = members.next_entry::<&str, &RawValue>()? {
            self.member(name, value.get()).ok_or_else(|| A::Error::custom("for the other"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_lines_are_not_left_to_the_other() {
        let mut fields = Fields::new();
        let mut is_read = |line: &str| {
            fields.clear();
            read(line, &mut String::new(), &mut Vec::new(), &mut fields).is_some()
        };
        for line in [
            "{}",
            " { \"a\" : \"b\" , \"c\":-1.5e+3,\t\"d\":[1,{\"x\":[]}] } ",
            r#"{"a":{"b":{},"c":{"d":true}},"e":null,"f":false,"g":0,"ä":"\"\\\/\b\f\n\r\t\u00e9 ü \ud83d\ude00"}"#,
        ] {
            assert!(is_read(line), "{line}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(MAX_DEPTH + 1), "}".repeat(MAX_DEPTH + 1));
        let long = format!("{{\"a\":{}}}", "1".repeat(MAX_NUMBER_BYTES + 1));
        let arrays = format!("{{\"a\":{}{}}}", "[".repeat(1000), "]".repeat(1000));
        for line in [
            "",
            "[]",
            "{} x",
            r#"{"a":01}"#,
            r#"{"a":NaN}"#,
            r#"{"\n":1}"#,
            "{\"a\":\"\n\"}",
            &deep,
            &long,
            &arrays,
        ] {
            assert!(!is_read(line), "{line}");
        }
    }
}
