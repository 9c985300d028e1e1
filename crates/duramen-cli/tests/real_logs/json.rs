//! One line of NDJSON to its leaves: nested names joined by dots, numbers and arrays to the letter.
//!
//! A general JSON library rounds numbers and orders names, so that what must come back to the letter is cut out
//! of the line here; the library unescapes the strings, and counts the leaves again.

use crate::record::{Kind, Leaf};

/// Takes a line apart. Nested objects are flattened only where `nested` allows for them: the command's answers
/// must have none.
pub fn leaves(line: &str, nested: bool) -> Vec<(String, Leaf)> {
    let mut scan = Scan { text: line, at: 0, nested, found: Vec::new() };
    scan.object("");
    scan.blanks();
    assert_eq!(scan.at, line.len(), "something follows the object: {line}");
    let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    assert_eq!(scan.found.len(), count(&value), "{line}");
    scan.found
}

fn count(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Object(members) if !members.is_empty() => members.values().map(count).sum(),
        _ => 1,
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    nested: bool,
    found: Vec<(String, Leaf)>,
}

impl<'a> Scan<'a> {
    fn blanks(&mut self) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> u8 {
        self.blanks();
        self.text.as_bytes()[self.at]
    }

    fn skip(&mut self, expected: u8) {
        assert_eq!(self.peek() as char, expected as char, "at {} of {}", self.at, self.text);
        self.at += 1;
    }

    fn object(&mut self, path: &str) {
        self.skip(b'{');
        while self.peek() != b'}' {
            let name = self.string();
            let name = if path.is_empty() { name } else { format!("{path}.{name}") };
            self.skip(b':');
            self.value(name);
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    fn value(&mut self, name: String) {
        let (kind, text) = match self.peek() {
            b'"' => (Kind::Text, self.string()),
            b'{' if self.has_members() => {
                assert!(self.nested, "{name} is an object: {}", self.text);
                return self.object(&name);
            }
            b'{' | b'[' => (Kind::Json, self.brackets().to_owned()),
            b't' | b'f' => (Kind::Bool, self.plain().to_owned()),
            b'n' => {
                self.plain();
                (Kind::Null, String::new())
            }
            _ => (Kind::Number, self.plain().to_owned()),
        };
        self.found.push((name, Leaf { kind, text: text.into() }));
    }

    fn has_members(&self) -> bool {
        !self.text[self.at + 1..].trim_start().starts_with('}')
    }

    /// Moves behind a string.
    fn quoted(&mut self) -> &'a str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            self.at += memchr::memchr2(b'"', b'\\', &bytes[self.at..]).unwrap();
            if bytes[self.at] == b'"' {
                self.at += 1;
                return &self.text[start..self.at];
            }
            self.at += 2;
        }
    }

    fn string(&mut self) -> String {
        assert_eq!(self.peek(), b'"');
        serde_json::from_str(self.quoted()).unwrap()
    }

    /// Moves behind an array or object, whatever is in it.
    fn brackets(&mut self) -> &'a str {
        let start = self.at;
        let mut depth = 0;
        loop {
            match self.text.as_bytes()[self.at] {
                b'"' => {
                    self.quoted();
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return &self.text[start..self.at];
            }
        }
    }

    /// A number, or one of JSON's words.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let len = rest.find(|c: char| matches!(c, ',' | '}' | ']') || c.is_ascii_whitespace()).unwrap();
        self.at += len;
        &rest[..len]
    }
}
