//! Which table, and which columns are what.

use jiff::tz::TimeZone;

/// Which table to import, and which of its columns are what. Without a table, the one that sinks write.
///
/// Of another table every column becomes a field. Which of them hold time, message and level is told by their names
/// and values, as of a JSON line: `timestamp`, `created_at`, `message`, `severity` and many others are known; others
/// can be named.
#[derive(Clone, Debug)]
pub struct TableOptions {
    pub(crate) table: Option<String>,
    pub(crate) key_column: Option<String>,
    pub(crate) time_column: Option<String>,
    pub(crate) message_column: Option<String>,
    pub(crate) level_column: Option<String>,
    pub(crate) stream_fields: Vec<String>,
    pub(crate) timezone: TimeZone,
    pub(crate) now_ns: i64,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl TableOptions {
    /// The table that sinks write, no stream fields, UTC.
    pub fn new() -> Self {
        Self {
            table: None,
            key_column: None,
            time_column: None,
            message_column: None,
            level_column: None,
            stream_fields: Vec::new(),
            timezone: TimeZone::UTC,
            now_ns: 0,
        }
    }

    /// The table's name; in PostgreSQL as SQL has it, with a schema or not. Default the one that sinks write.
    pub fn table(mut self, name: Option<String>) -> Self {
        self.table = name;
        self
    }

    /// The column whose values only grow: integers, each once. Default SQLite's rowid, or PostgreSQL's primary key
    /// if that is one integer column.
    pub fn key_column(mut self, name: Option<String>) -> Self {
        self.key_column = name;
        self
    }

    /// The column with the time, looked at before those that are known by their names.
    pub fn time_column(mut self, name: Option<String>) -> Self {
        self.time_column = name;
        self
    }

    /// The column with the message, looked at before those that are known by their names.
    pub fn message_column(mut self, name: Option<String>) -> Self {
        self.message_column = name;
        self
    }

    /// The column with the level, looked at before those that are known by their names.
    pub fn level_column(mut self, name: Option<String>) -> Self {
        self.level_column = name;
        self
    }

    /// The fields that tell one stream of entries from another. Default none.
    pub fn stream_fields(mut self, names: Vec<String>) -> Self {
        self.stream_fields = names;
        self
    }

    /// The zone of times that name none. Default UTC.
    pub fn timezone(mut self, timezone: TimeZone) -> Self {
        self.timezone = timezone;
        self
    }

    /// The present, in ns since the epoch, which gives the year to times without one.
    pub fn now_ns(mut self, now_ns: i64) -> Self {
        self.now_ns = now_ns;
        self
    }

    /// Whether the table is one that sinks write.
    pub(crate) fn is_ours(&self) -> bool {
        self.table.is_none()
    }
}
