//! `facets 5 max_values_per_field 1000 max_value_len 128 keep_const_fields`: the most frequent values of every field that
//! has few.

use super::{Bounds, Census};
use crate::error::{ParseError, Result};
use crate::exec::Cancel;
use crate::exec::context::Run;
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::order;
use crate::parse::Parser;
use crate::pipe::custom::{CustomPipe, OverBlocks};
use crate::pipe::stats::give;
use crate::pipe::{Flow, Passes, Stage};
use crate::row::ResultRow;
use duramen::ValueKind;
use std::fmt;

const DEFAULT_LIMIT: usize = 10;
const DEFAULT_BOUNDS: Bounds = Bounds { max_values: 1000, max_value_bytes: 128 };

/// How many values, of which fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facets {
    limit: usize,
    bounds: Bounds,
    /// Whether fields are shown that have one value in all rows.
    keep_const: bool,
}

impl Facets {
    pub(in crate::pipe) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let word =
            p.at_word("max_values_per_field") || p.at_word("max_value_len") || p.at_word("keep_const_fields");
        let limit = if word || p.at_pipe_end() { DEFAULT_LIMIT } else { p.count("a number of values")? };
        let mut facets = Self { limit, bounds: DEFAULT_BOUNDS, keep_const: false };
        while !p.at_pipe_end() {
            if p.eat_word("max_values_per_field")? {
                facets.bounds.max_values = p.count("a number of values")?;
            } else if p.eat_word("max_value_len")? {
                facets.bounds.max_value_bytes = p.count("a number of bytes")?;
            } else if p.eat_word("keep_const_fields")? {
                facets.keep_const = true;
            } else {
                return Err(
                    p.expected("`max_values_per_field N`, `max_value_len N`, `keep_const_fields` or `|`")
                );
            }
        }
        Ok(facets)
    }

    fn rows(&self, census: &Census<'_>) -> Vec<ResultRow> {
        let mut rows = Vec::new();
        for (name, counted) in census.in_order() {
            let Some(values) = &counted.values else { continue };
            if values.len() == 1 && counted.hits == census.rows && !self.keep_const {
                continue;
            }
            let mut values: Vec<(&str, u64)> = values.iter().map(|(text, hits)| (&**text, *hits)).collect();
            values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| order::compare(a.0, b.0)));
            for (text, hits) in values.into_iter().take(self.limit) {
                let mut row = ResultRow::new();
                row.push("field_name", name, ValueKind::String);
                row.push("field_value", text, ValueKind::String);
                row.push("hits", &hits.to_string(), ValueKind::Number);
                rows.push(row);
            }
        }
        rows
    }
}

impl fmt::Display for Facets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "facets {}", self.limit)?;
        if self.bounds.max_values != DEFAULT_BOUNDS.max_values {
            write!(f, " max_values_per_field {}", self.bounds.max_values)?;
        }
        if self.bounds.max_value_bytes != DEFAULT_BOUNDS.max_value_bytes {
            write!(f, " max_value_len {}", self.bounds.max_value_bytes)?;
        }
        f.write_str(if self.keep_const { " keep_const_fields" } else { "" })
    }
}

impl CustomPipe for Facets {
    fn passes(&self) -> Passes {
        Passes::All
    }

    fn needs(&self, _needed: Projection) -> Projection {
        Projection::All
    }

    fn stage<'a>(&'a self, run: &'a Run<'a>, next: Box<dyn Stage + 'a>) -> Result<Box<dyn Stage + 'a>> {
        let census = Census::new(Some(self.bounds), run.memory);
        Ok(Box::new(FacetsStage { facets: self, census, cancel: run.cancel, next }))
    }

    fn over_blocks(&self) -> Option<&dyn OverBlocks> {
        Some(self)
    }
}

impl OverBlocks for Facets {
    fn run(&self, run: &Run<'_>, reader: &Reader<'_>, _: &Projection, next: &mut dyn Stage) -> Result<()> {
        give(&mut self.rows(&Census::of_blocks(Some(self.bounds), run, reader)?), next, run.cancel)
    }
}

struct FacetsStage<'a> {
    facets: &'a Facets,
    census: Census<'a>,
    cancel: &'a Cancel,
    next: Box<dyn Stage + 'a>,
}

impl Stage for FacetsStage<'_> {
    fn push(&mut self, row: &mut ResultRow) -> Result<Flow> {
        self.census.add_row(row)?;
        Ok(Flow::Continue)
    }

    fn finish(&mut self) -> Result<()> {
        give(&mut self.facets.rows(&self.census), &mut *self.next, self.cancel)?;
        self.next.finish()
    }
}
