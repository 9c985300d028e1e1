//! A row as an entry.

use super::TableOptions;
use crate::line::{Decoder, Stored};
use duramen::EntryBuf;
use duramen_formats::ReaderOptions;
use duramen_formats::json::JsonFlattener;
use xxhash_rust::xxh3::Xxh3;

/// A row as the database gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawRow<'a> {
    /// Of the table that sinks write.
    Ours(Stored<'a>),
    /// Of another: an object of its columns.
    Json(&'a str),
}

impl RawRow<'_> {
    /// A hash of its content.
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
            Self::Json(text) => hash.update(text.as_bytes()),
        }
        hash.digest()
    }
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
