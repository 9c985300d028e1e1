//! `blocks_count` and `block_stats`: how the entries that the filter finds lie in blocks.

use super::custom::{CustomPipe, OverBlocks};
use super::stats::give;
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::RunStats;
use crate::exec::context::Run;
use crate::exec::open::Named;
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::filter::storage::StorageKind;
use crate::parse::{Parser, quote};
use crate::pipe::fields::NamePattern;
use crate::row::ResultRow;
use duramen::ValueKind;
use duramen::column::{Column, ColumnData};
use std::fmt;

/// What is said of the blocks that hold matching entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// How many they are, under this name.
    Count(Box<str>),
    /// How each holds each of its fields.
    Stats,
}

impl Blocks {
    pub(super) fn parse_count(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.must_be_first("blocks_count")?;
        Ok(Self::Count(p.result_name()?.unwrap_or_else(|| "blocks_count".into())))
    }

    pub(super) fn parse_stats(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.must_be_first("block_stats")?;
        p.end_of_pipe()?;
        Ok(Self::Stats)
    }
}

impl Parser<'_> {
    /// The error that a pipe stands behind others that looks at blocks.
    pub(crate) fn must_be_first(&self, name: &str) -> Result<(), ParseError> {
        if self.first_pipe {
            return Ok(());
        }
        let message = format!("{name} looks at stored entries, and must be the first pipe");
        Err(ParseError::new(self.text, self.last_end, message, "put it straight behind the filter"))
    }
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(name) => write!(f, "blocks_count as {}", quote(name)),
            Self::Stats => f.write_str("block_stats"),
        }
    }
}

impl CustomPipe for Blocks {
    fn passes(&self) -> Passes {
        Passes::All
    }

    fn needs(&self, needed: Projection) -> Projection {
        needed
    }

    fn stage<'a>(&'a self, _run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        // It is the first pipe, and therefore never has a stage.
        Ok(next)
    }

    fn over_blocks(&self) -> Option<&dyn OverBlocks> {
        Some(self)
    }
}

impl OverBlocks for Blocks {
    fn run(&self, run: &Run<'_>, reader: &Reader<'_>, _: &Projection, next: &mut dyn Stage) -> Result<()> {
        let mut stats = RunStats::default();
        let mut count = 0u64;
        for (number, handle) in run.blocks.iter().enumerate() {
            let Some((mut open, _)) = reader.open(&**handle, &mut stats)? else { continue };
            count += 1;
            if *self != Self::Stats {
                continue;
            }
            // How the block holds a field does not hang on which rows the filter has found.
            open.all();
            let columns = open.matching(&NamePattern::all());
            stats.bytes_read += open.bytes_since_last();
            let columns: Vec<Named> = match columns {
                Ok(columns) => columns,
                Err(e) => {
                    stats.failed(e);
                    continue;
                }
            };
            let rows = columns.iter().map(|(name, column)| column_row(number, handle.rows(), name, column));
            give(&mut rows.collect::<Vec<_>>(), next, run.cancel)?;
        }
        run.spent(&mut stats);
        if let Self::Count(name) = self {
            let mut row = ResultRow::new();
            row.push(name, &count.to_string(), ValueKind::Number);
            return next.push(&mut row).map(|_: Flow| ());
        }
        Ok(())
    }
}

/// How a block holds a field.
fn column_row(block: usize, rows: usize, name: &str, column: &Column) -> ResultRow {
    let mut row = ResultRow::new();
    row.push("field", name, ValueKind::String);
    let mut number = |name: &str, n: usize| row.push(name, &n.to_string(), ValueKind::Number);
    number("block", block);
    number("rows", rows);
    number("values_bytes", column.bytes());
    if let ColumnData::Dict { values, .. } = &column.data {
        number("dict_items", values.len());
        number("dict_bytes", values.iter().map(|text| text.len()).sum());
    }
    row.push("type", StorageKind::of(&column.data).name(), ValueKind::String);
    row
}
