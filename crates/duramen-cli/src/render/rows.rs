//! Writes the rows of an answer to stdout, in the form that was asked for.

use crate::args::OutputArg;
use crate::render::color::Styles;
use crate::render::table::{Align, Table};
use crate::render::terminal::{LineRenderer, LogLine, local_time};
use duramen::block::names;
use duramen_query::ResultRow;
use jiff::tz::TimeZone;
use std::io::{self, Write};

/// Rows that wait, so that a table's columns are known before its first line.
const LOOKAHEAD_ROWS: usize = 1000;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON object a line.
    Ndjson,
    /// For people.
    Text,
    /// The message; of rows without one, the values, between tabs.
    Raw,
}

impl Form {
    /// What was asked for, where the output goes to a terminal or not.
    pub(crate) fn resolve(asked: OutputArg, terminal: bool) -> Self {
        match asked {
            OutputArg::Ndjson => Self::Ndjson,
            OutputArg::Raw => Self::Raw,
            OutputArg::Text => Self::Text,
            OutputArg::Auto if terminal => Self::Text,
            OutputArg::Auto => Self::Ndjson,
        }
    }
}

/// Writes rows.
pub(crate) struct RowWriter<W: Write> {
    form: Form,
    styles: Styles,
    zone: TimeZone,
    lines: LineRenderer,
    out: W,
    /// Whether somebody is watching: then every row is written at once.
    live: bool,
    text: String,
    json: Vec<u8>,
    tabular: Tabular,
    rows: u64,
}

/// Rows that are no log entries, on their way into a table.
#[derive(Default)]
struct Tabular {
    columns: Vec<String>,
    /// The first rows, each with its cells in the order of `columns`.
    held: Vec<Vec<String>>,
    table: Option<Table>,
}

impl<W: Write> RowWriter<W> {
    /// A writer to `out`.
    pub(crate) fn new(form: Form, styles: Styles, zone: TimeZone, live: bool, out: W) -> Self {
        Self {
            form,
            styles,
            zone: zone.clone(),
            lines: LineRenderer::new(styles, zone),
            out,
            live,
            text: String::new(),
            json: Vec::new(),
            tabular: Tabular::default(),
            rows: 0,
        }
    }

    /// Whether rows are JSON, which [`RowWriter::json`] takes.
    pub(crate) fn writes_json(&self) -> bool {
        self.form == Form::Ndjson
    }

    /// Writes rows that are JSON already.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn json(&mut self, lines: &[u8], rows: usize) -> io::Result<()> {
        self.rows += rows as u64;
        self.out.write_all(lines)?;
        if self.live { self.out.flush() } else { Ok(()) }
    }

    /// Writes a row.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn row(&mut self, row: &ResultRow) -> io::Result<()> {
        self.rows += 1;
        match self.form {
            Form::Ndjson => {
                self.json.clear();
                row.write_json(&mut self.json);
                self.json.push(b'\n');
                self.out.write_all(&self.json)?;
            }
            Form::Raw => self.raw(row)?,
            Form::Text if is_entry(row) => self.entry(row)?,
            Form::Text => return self.table_row(row),
        }
        if self.live { self.out.flush() } else { Ok(()) }
    }

    /// Writes what is held back.
    ///
    /// # Errors
    /// The output's.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.start_table()?;
        if let Some(table) = &mut self.tabular.table {
            table.flush(&self.styles, &mut self.out)?;
        }
        self.out.flush()
    }

    /// How many rows there were.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    fn raw(&mut self, row: &ResultRow) -> io::Result<()> {
        if let Some(message) = row.get(names::MESSAGE) {
            self.out.write_all(message.as_bytes())?;
        } else {
            for (i, (_, value, _)) in row.iter().enumerate() {
                if i > 0 {
                    self.out.write_all(b"\t")?;
                }
                self.out.write_all(value.as_bytes())?;
            }
        }
        self.out.write_all(b"\n")
    }

    fn entry(&mut self, row: &ResultRow) -> io::Result<()> {
        let time_ns = row.time_ns().filter(|_| row.get(names::TIME).is_some());
        let message = row.get(names::MESSAGE).unwrap_or_default();
        let fields: Vec<(&str, &str)> = row
            .iter()
            .filter(|(name, ..)| ![names::TIME, names::MESSAGE, names::STREAM, names::LEVEL].contains(name))
            .map(|(name, value, _)| (name, value))
            .collect();
        let line = LogLine {
            time_ns,
            level: row.get(names::LEVEL),
            message,
            message_skip: time_ns.map_or(0, |time_ns| self.repeated_time(message, time_ns)),
            fields: &fields,
        };
        self.text.clear();
        self.lines.render(&line, &mut self.text);
        self.out.write_all(self.text.as_bytes())
    }

    /// How many bytes at the start of the message say the time that stands before it: a time stamp, also
    /// in brackets.
    fn repeated_time(&self, message: &str, time_ns: i64) -> usize {
        let (stamp, bracket) = match message.strip_prefix('[') {
            Some(rest) => (rest, true),
            None => (message, false),
        };
        match duramen_formats::parse_timestamp(stamp, &self.zone, time_ns) {
            Some((stamp_ns, bytes)) if stamp_ns == time_ns && !bracket => bytes,
            Some((stamp_ns, bytes)) if stamp_ns == time_ns && stamp[bytes..].starts_with(']') => bytes + 2,
            _ => 0,
        }
    }

    fn table_row(&mut self, row: &ResultRow) -> io::Result<()> {
        let is_new = |name: &str, columns: &[String]| !columns.iter().any(|column| column == name);
        if row.iter().any(|(name, ..)| is_new(name, &self.tabular.columns)) {
            // Too late for the table being written: another one.
            if self.tabular.table.is_some() {
                self.flush()?;
                self.tabular = Tabular::default();
            }
            for (name, ..) in row.iter() {
                if is_new(name, &self.tabular.columns) {
                    self.tabular.columns.push(name.to_owned());
                }
            }
        }
        let cells = self.tabular.columns.iter().map(|column| match row.get(column) {
            Some(value) if column == names::TIME => value
                .parse::<jiff::Timestamp>()
                .ok()
                .and_then(|time| i64::try_from(time.as_nanosecond()).ok())
                .map_or_else(|| value.to_owned(), |time_ns| local_time(time_ns, &self.zone)),
            Some(value) => value.to_owned(),
            None => String::new(),
        });
        let cells: Vec<String> = cells.collect();
        if let Some(table) = &mut self.tabular.table {
            return table.row(cells, &self.styles, &mut self.out);
        }
        self.tabular.held.push(cells);
        if self.tabular.held.len() >= LOOKAHEAD_ROWS { self.start_table() } else { Ok(()) }
    }

    fn start_table(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.tabular.held);
        if held.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(self.tabular.columns.iter().map(|column| (column, Align::Auto)));
        for cells in held {
            table.row(cells, &self.styles, &mut self.out)?;
        }
        self.tabular.table = Some(table);
        Ok(())
    }
}

/// Whether a row is shown as a log entry: it is one, and what makes it one has not been left out.
fn is_entry(row: &ResultRow) -> bool {
    row.time_ns().is_some() && (row.get(names::MESSAGE).is_some() || row.get(names::TIME).is_some())
}
