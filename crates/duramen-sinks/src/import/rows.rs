//! A row as an entry.

use super::TableOptions;
use crate::line::{Decoder, Stored};
use duramen::EntryBuf;
use duramen_formats::ReaderOptions;
use duramen_formats::json::JsonFlattener;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// A row as the database gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawRow<'a> {
    /// Of the table that sinks write.
    Ours(Stored<'a>),
    /// Of another: an object of its columns.
    Json(&'a str),
}

impl RawRow<'_> {
    /// A hash of its content. Columns that are null do not count: one that the table got since is null in older rows.
    pub fn hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        match self {
            Self::Ours(row) => {
                hash.update(&row.time_ns.to_le_bytes());
                for text in [row.level, row.message, row.fields] {
                    hash.update(&(text.len() as u64).to_le_bytes());
                    hash.update(text.as_bytes());
                }
            }
            Self::Json(text) => {
                members(text).filter(|member| !member.ends_with(b":null")).for_each(|member| {
                    hash.update(member);
                    hash.update(b",");
                })
            }
        }
        hash.digest()
    }

    /// Whether it has this hash, which earlier versions made of all columns.
    pub fn has(&self, hash: u64) -> bool {
        self.hash() == hash || matches!(self, Self::Json(text) if xxh3_64(text.as_bytes()) == hash)
    }
}

/// The members of an object as they stand there, `"name":value`; it has no blanks between them.
fn members(object: &str) -> impl Iterator<Item = &[u8]> {
    let inner = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(object);
    let mut rest = inner.as_bytes();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
        let ends = rest.iter().position(|byte| {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_text => escaped = true,
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => return depth == 0,
                _ => {}
            }
            false
        });
        let member = &rest[..ends.unwrap_or(rest.len())];
        rest = ends.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
        Some(member)
    })
}

/// A row's entry, as [`EntryBuf::finish`] gives it, or why it makes none; and what is odd about one that is kept whole
/// all the same.
pub(super) type Made<'a> = (Result<&'a [u8], String>, Option<String>);

/// Makes entries of rows.
#[derive(Debug)]
pub(super) struct Rows {
    entry: EntryBuf,
    decoder: Decoder,
    json: JsonFlattener,
}

impl Rows {
    pub fn new(options: &TableOptions) -> Self {
        let reader = ReaderOptions {
            timezone: options.timezone.clone(),
            time_field: options.time_column.clone(),
            message_field: options.message_column.clone(),
            level_field: options.level_column.clone(),
            ..ReaderOptions::new(options.now_ns)
        };
        Self {
            entry: EntryBuf::new(options.stream_fields.iter().map(String::as_str)),
            decoder: Decoder::default(),
            json: JsonFlattener::new(&reader),
        }
    }

    pub fn entry(&mut self, raw: RawRow<'_>) -> Made<'_> {
        let (note, filled) = match raw {
            RawRow::Ours(row) => {
                let why = self.decoder.fill(&row, &mut self.entry);
                (why.map(|why| format!("its fields are kept as a text: {why}")), Ok(()))
            }
            RawRow::Json(text) => (None, self.flatten(text)),
        };
        (filled.and_then(|()| self.entry.finish().map_err(|e| e.to_string())), note)
    }

    fn flatten(&mut self, text: &str) -> Result<(), String> {
        match self.json.flatten(text, 0, &mut self.entry) {
            Ok(true) => Ok(()),
            Ok(false) => Err("no column of it reads as a time; --time-column names one".into()),
            Err(e) => Err(e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_are_null_do_not_count() {
        let hash = |text: &str| RawRow::Json(text).hash();
        let row = r#"{"id":1,"a":"x,\"}{","b":{"c":[null,1],"d":null},"e":"null"}"#;
        let more =
            r#"{"new":null,"id":1,"n":null,"a":"x,\"}{","b":{"c":[null,1],"d":null},"e":"null","f":null}"#;
        assert_eq!(hash(row), hash(more));
        for another in [
            r#"{"id":1,"a":"x,\"}{","b":{"c":[null,1]},"e":"null"}"#,
            r#"{"id":1,"a":"x,\"}{","b":{"c":[null,1],"d":null}}"#,
            r#"{"id":1,"a":"x,\"}{","b":{"c":[null,1],"d":null},"e":"null","f":0}"#,
            "{}",
        ] {
            assert_ne!(hash(row), hash(another), "{another}");
        }
        assert!(RawRow::Json(row).has(xxh3_64(row.as_bytes())), "as earlier versions had it");
    }
}
