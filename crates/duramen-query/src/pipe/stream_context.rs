//! `stream_context before 2 after 5 time_window 1h`: the entries around those that the filter finds, of the same stream,
//! as `grep -B -A` shows lines.
//!
//! The blocks are read twice: for what the filter finds, and for the entries of these streams that are near in time.
//! Of both only places are held; the entries are read when they are shown.

use super::custom::{CustomPipe, OverBlocks};
use super::{Flow, Passes, Stage};
use crate::error::{ParseError, Result};
use crate::exec::RunStats;
use crate::exec::context::Run;
use crate::exec::open::Open;
use crate::exec::project::Projection;
use crate::exec::read::Reader;
use crate::exec::told::Told;
use crate::filter::Filter;
use crate::filter::time::TimeRange;
use crate::number::parse_duration_ns;
use crate::parse::Parser;
use crate::row::ResultRow;
use duramen::ValueKind;
use duramen::block::names;
use std::collections::BTreeMap;
use std::fmt;

/// The message between entries that do not follow each other.
const DELIMITER: &str = "---";
const DEFAULT_WINDOW_NS: i64 = 3_600_000_000_000;

/// Where an entry is: time, block, row.
type Place = (i64, usize, usize);

/// The places of entries by stream.
type Streams = BTreeMap<Box<str>, Vec<Place>>;

/// How much around each entry.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamContext {
    before: usize,
    after: usize,
    /// How far away in time at most.
    window_ns: i64,
    /// What entries must be to be shown: [`ParseOptions::also`](crate::ParseOptions::also).
    also: Filter,
}

impl StreamContext {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.must_be_first("stream_context")?;
        let also = p.options.also.clone();
        let mut context = Self { before: 0, after: 0, window_ns: DEFAULT_WINDOW_NS, also };
        while !p.at_pipe_end() {
            if p.eat_word("before")? {
                context.before = p.count("a number of entries")?;
            } else if p.eat_word("after")? {
                context.after = p.count("a number of entries")?;
            } else if p.eat_word("time_window")? {
                let at = p.token.start;
                let text = p.text_token("a duration such as 1h")?;
                context.window_ns = parse_duration_ns(&text).filter(|ns| *ns >= 0).ok_or_else(|| {
                    let message = format!("`{text}` is no duration");
                    ParseError::new(p.text, at, message, "expected a duration such as 1h")
                })?;
            } else {
                return Err(p.expected("`before N`, `after N`, `time_window 1h` or `|`"));
            }
        }
        Ok(context)
    }

    /// Of the entries of one stream, those that are shown, and whether a gap is before each.
    fn shown(&self, found: &[Place], all: &[Place]) -> Vec<(Place, bool)> {
        let mut shown: Vec<(Place, bool)> = Vec::new();
        let mut next = 0;
        for place in found {
            let Ok(at) = all.binary_search(place) else { continue };
            let near = |i: &usize| all[*i].0.abs_diff(place.0) <= self.window_ns.unsigned_abs();
            let from = (at.saturating_sub(self.before)..=at).find(near).unwrap_or(at);
            let to = (at..=at.saturating_add(self.after).min(all.len() - 1)).rev().find(near).unwrap_or(at);
            let gap = !shown.is_empty() && from > next;
            let new = all.get(from.max(next)..=to).unwrap_or_default();
            shown.extend(new.iter().enumerate().map(|(i, place)| (*place, gap && i == 0)));
            next = next.max(to + 1);
        }
        shown
    }
}

impl fmt::Display for StreamContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream_context before {} after {}", self.before, self.after)?;
        if self.window_ns == DEFAULT_WINDOW_NS {
            Ok(())
        } else {
            write!(f, " time_window {}ns", self.window_ns)
        }
    }
}

impl CustomPipe for StreamContext {
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

    fn widened(&self, (from, to): (i64, i64)) -> (i64, i64) {
        (from.saturating_sub(self.window_ns), to.saturating_add(self.window_ns))
    }
}

impl OverBlocks for StreamContext {
    fn run(
        &self,
        run: &Run<'_>,
        reader: &Reader<'_>,
        projection: &Projection,
        next: &mut dyn Stage,
    ) -> Result<()> {
        let mut stats = RunStats::default();
        let mut found = Streams::new();
        places(run, reader, &mut stats, &mut |stream, place| {
            found.entry(stream.into()).or_default().push(place);
            true
        })?;
        found.values_mut().for_each(|places| places.sort_unstable());
        let hull = |(from, to): (i64, i64), places: &Vec<Place>| match (places.first(), places.last()) {
            (Some(first), Some(last)) => (from.min(first.0), to.max(last.0)),
            _ => (from, to),
        };
        let (min, max) = self.widened(found.values().fold((i64::MAX, i64::MIN), hull));
        let near = Filter::Time(TimeRange { min, max }).and(self.also.clone());
        let near = run.answered(&near)?;
        let near = Told::of(&near, &[]);
        let mut all = Streams::new();
        if !found.is_empty() {
            places(run, &Reader { told: &near, ..*reader }, &mut stats, &mut |stream, place| {
                // Only entries near one that was found are remembered.
                let matches = found.get(stream).is_some_and(|found| {
                    let after = found.partition_point(|f| f.0 < place.0);
                    let beside = [after.checked_sub(1).and_then(|i| found.get(i)), found.get(after)];
                    beside
                        .into_iter()
                        .flatten()
                        .any(|f| f.0.abs_diff(place.0) <= self.window_ns.unsigned_abs())
                });
                if matches {
                    all.entry(stream.into()).or_default().push(place);
                }
                matches
            })?;
        }
        let mut shower = Shower { run, projection, open: None, row: ResultRow::new() };
        let mut last: Option<i64> = None;
        for (stream, mut all) in all {
            all.sort_unstable();
            let Some(found) = found.get(&stream) else { continue };
            for (i, (place, gap)) in self.shown(found, &all).into_iter().enumerate() {
                if let Some(time) = last.filter(|_| gap || i == 0)
                    && next.push(&mut delimiter(time, &stream))? == Flow::Stop
                {
                    return Ok(());
                }
                last = Some(place.0);
                if shower.show(place, &mut stats, next)? == Flow::Stop {
                    return Ok(());
                }
            }
        }
        run.spent(&mut stats);
        Ok(())
    }
}

/// Calls `see` with stream and place of every row that a reader finds, which is charged for if it says so.
fn places(
    run: &Run<'_>,
    reader: &Reader<'_>,
    stats: &mut RunStats,
    see: &mut dyn FnMut(&str, Place) -> bool,
) -> Result<()> {
    for (number, handle) in run.blocks.iter().enumerate() {
        let Some((mut open, rows)) = reader.open(&**handle, stats)? else { continue };
        let read = open.times().and_then(|times| Ok((times, open.column(names::STREAM)?)));
        stats.bytes_read += open.bytes_since_last();
        let (times, streams) = match read {
            Ok(read) => read,
            Err(e) => {
                stats.failed(e);
                continue;
            }
        };
        for row in rows.iter() {
            let kept = crate::exec::cells::cell(streams.as_deref(), row)
                .with_text(|stream| see(stream, (times[row], number, row)));
            if kept {
                run.memory.charge(2 * size_of::<Place>(), "the entries around those found")?;
            }
        }
    }
    Ok(())
}

fn delimiter(time: i64, stream: &str) -> ResultRow {
    let mut row = ResultRow::new();
    row.push_time(time);
    if !stream.is_empty() {
        row.push(names::STREAM, stream, ValueKind::String);
    }
    row.push(names::MESSAGE, DELIMITER, ValueKind::String);
    row
}

/// Reads entries by their places; a block stays open until another is needed.
struct Shower<'a> {
    run: &'a Run<'a>,
    projection: &'a Projection,
    open: Option<(usize, Open)>,
    row: ResultRow,
}

impl Shower<'_> {
    fn show(&mut self, place: Place, stats: &mut RunStats, next: &mut dyn Stage) -> Result<Flow> {
        let (time, number, row) = place;
        self.run.cancel.check()?;
        if self.open.as_ref().is_none_or(|(n, _)| *n != number) {
            match self.run.blocks[number].open() {
                Ok(block) => self.open = Some((number, Open::new(block))),
                Err(e) => {
                    stats.failed(e);
                    return Ok(Flow::Continue);
                }
            }
        }
        let Some((_, open)) = &mut self.open else { return Ok(Flow::Continue) };
        let filled = open.fill(row, time, self.projection, &mut self.row);
        stats.bytes_read += open.bytes_since_last();
        match filled {
            Ok(()) => next.push(&mut self.row),
            Err(e) => {
                stats.failed(e);
                Ok(Flow::Continue)
            }
        }
    }
}
