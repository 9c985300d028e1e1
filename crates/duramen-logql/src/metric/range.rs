//! Functions over ranges: one pass over the entries, in order of time.
//!
//! The windows `(t - range, t]` of all steps overlap or leave gaps. Their ends cut time into stretches, and the entries
//! of a stretch are in the same windows, so that one [`Summary`] of each is enough:
//!
//! ```text
//! step 1  (--------------]                     ends, sorted:    0    1    2    3    4    5
//! step 2       (--------------]                               --(----(----(----]----]----]--
//! step 3            (--------------]           stretch:         0  1    2    3    4    5    6
//! ```
//!
//! A series holds the stretches of the windows that are not over, and no entry is held.

use super::window::{Sample, Summary};
use super::{LabelSet, Run, Series};
use crate::ast::{Grouping, RangeAggregation, RangeFunction, TextTest};
use crate::error::{Error, Result};
use crate::labels::{ERROR, Entry, EntryReader};
use crate::plan::Plan;
use crate::stage::errors;
use duramen_query::filter::time::TimeRange;
use duramen_query::{Order, RunOptions};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::ops::ControlFlow;

/// A series while its windows go by.
struct Open {
    series: Series,
    /// Numbers of stretches, ascending, and what is in them.
    stretches: VecDeque<(usize, Summary)>,
}

struct Windows<'a> {
    run: &'a Run<'a>,
    range: &'a RangeAggregation,
    grouping: Option<&'a Grouping>,
    /// Whether what a parser could not read is counted: the query looks at `__error__`, and knows.
    counts_errors: bool,
    /// When the windows end, before the offset is added.
    ends: Vec<i64>,
    /// Where windows begin and end, sorted.
    cuts: Vec<i64>,
    /// The stretch of the last entry.
    stretch: usize,
    /// The first step whose window is not over.
    step: usize,
    open: Vec<Open>,
    /// Which of them have stretches.
    live: Vec<usize>,
    by_key: HashMap<String, usize, FixedState>,
    key: String,
}

impl Run<'_> {
    /// A function over a range, for each group of labels; for each set of labels where there is no grouping.
    pub(super) fn range(&self, range: &RangeAggregation, grouping: Option<&Grouping>) -> Result<Vec<Series>> {
        let absent = range.function == RangeFunction::Absent;
        let everything = Grouping { without: false, labels: Vec::new() };
        let grouping = if absent { Some(&everything) } else { grouping };
        let mut plan = Plan::new(&range.log);
        let by_nothing = grouping.is_some_and(|grouping| !grouping.without && grouping.labels.is_empty());
        plan.leave_out_unseen(!by_nothing || range.unwrap.is_some(), sees_lines(range));
        let ends: Vec<i64> = self.steps.times().map(|t| t.saturating_sub(range.offset_ns)).collect();
        if let Some(series) = self.counted(range, grouping, &plan, &ends)? {
            return Ok(series);
        }
        let wanted = wanted(range, grouping, &plan);
        let (Some(first), Some(last)) = (ends.first(), ends.last()) else { return Ok(Vec::new()) };
        let time = TimeRange { min: first.saturating_sub(range.range_ns).saturating_add(1), max: *last };
        let blocks = (self.source)(time.min, time.max);
        let query = plan.query(time, wanted.as_ref().map(|(labels, line)| (labels, *line)));
        let options = RunOptions { limit: None, order: Order::OldestFirst, ..self.limits.run.clone() };
        let mut windows = Windows::new(self, range, grouping, ends);
        windows.counts_errors = wanted.as_ref().is_some_and(|(labels, _)| labels.contains(ERROR));
        let mut reader = EntryReader::default();
        let mut failed = None;
        let labels = wanted.as_ref().map(|(labels, _)| labels);
        let stats = query.run(blocks, &options, self.cancel, &mut |row| {
            let mut entry = reader.read(row, labels);
            match plan.apply(&mut entry).then(|| windows.entry(&mut entry)) {
                Some(Err(e)) => {
                    failed = Some(e);
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        })?;
        self.stats.borrow_mut().add(stats);
        if let Some(e) = failed {
            return Err(e);
        }
        let series = windows.finish()?;
        if absent { self.absent(range, series) } else { Ok(series) }
    }

    /// 1 where there is nothing, with the labels that the selector asks for, each by one matcher alone.
    fn absent(&self, range: &RangeAggregation, found: Vec<Series>) -> Result<Vec<Series>> {
        let mut labels: LabelSet = Vec::new();
        let selector = &range.log.selector;
        for matcher in selector {
            let alone = selector.iter().filter(|other| other.label == matcher.label).count() == 1;
            match &matcher.test {
                TextTest::Is(value) if alone && !matcher.negated && !value.is_empty() => {
                    labels.push((matcher.label.clone(), value.clone()));
                }
                _ => {}
            }
        }
        labels.sort_unstable();
        let mut series = self.empty_series(labels)?;
        for (i, point) in series.points.iter_mut().enumerate() {
            *point = if found.iter().any(|s| s.points[i].is_some()) { None } else { Some(1.0) };
        }
        Ok(vec![series])
    }
}

/// Whether the function is of the lines themselves.
fn sees_lines(range: &RangeAggregation) -> bool {
    matches!(range.function, RangeFunction::Bytes | RangeFunction::BytesRate)
}

/// Which labels matter, and whether the line does, if that is not all.
fn wanted(
    range: &RangeAggregation,
    grouping: Option<&Grouping>,
    plan: &Plan<'_>,
) -> Option<(BTreeSet<Box<str>>, bool)> {
    let grouping = grouping.filter(|grouping| !grouping.without)?;
    let mut labels: BTreeSet<Box<str>> = grouping.labels.iter().cloned().collect();
    let mut line = sees_lines(range);
    plan.for_each_input(&mut |input| match input {
        Some(label) => {
            labels.insert(label.into());
        }
        None => line = true,
    });
    if let Some(unwrap) = &range.unwrap {
        labels.insert(unwrap.label.clone());
        for filter in &unwrap.filters {
            filter.for_each_label(&mut |label| {
                labels.insert(label.into());
            });
        }
    }
    // What is called so only because a field has its name needs the field.
    let bare: Vec<Box<str>> =
        labels.iter().filter_map(|label| label.strip_suffix("_extracted")).map(Into::into).collect();
    labels.extend(bare);
    Some((labels, line))
}

impl<'a> Windows<'a> {
    fn new(
        run: &'a Run<'a>,
        range: &'a RangeAggregation,
        grouping: Option<&'a Grouping>,
        ends: Vec<i64>,
    ) -> Self {
        let mut cuts: Vec<i64> = ends.iter().flat_map(|e| [e.saturating_sub(range.range_ns), *e]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        Self {
            run,
            range,
            grouping,
            counts_errors: false,
            ends,
            cuts,
            stretch: 0,
            step: 0,
            open: Vec::new(),
            live: Vec::new(),
            by_key: HashMap::default(),
            key: String::new(),
        }
    }

    /// Takes an entry, which is not before the last.
    fn entry(&mut self, entry: &mut Entry<'_>) -> Result<()> {
        let time = entry.time_ns;
        while self.ends.get(self.step).is_some_and(|end| *end < time) {
            self.end_of_window()?;
        }
        // Between two windows nothing counts, and nothing that is wrong with it matters.
        if self.ends.get(self.step).is_none_or(|end| time <= end.saturating_sub(self.range.range_ns)) {
            return Ok(());
        }
        let function = self.range.function;
        let value = match (&self.range.unwrap, function) {
            (Some(unwrap), _) => match unwrap.value(entry) {
                Some(value) => value,
                None => return Ok(()),
            },
            (None, RangeFunction::Bytes | RangeFunction::BytesRate) => entry.line.len() as f64,
            (None, _) => 1.0,
        };
        if let Some(error) = entry.error
            && !(self.counts_errors && errors::is_of_parser(error))
        {
            let mut labels: Vec<_> = entry.all_labels().map(|(name, value, _)| (name, value)).collect();
            labels.sort_unstable();
            return Err(Error::Pipeline { error, labels: show_labels(&labels) });
        }
        while self.cuts.get(self.stretch).is_some_and(|cut| *cut < time) {
            self.stretch += 1;
        }
        let open = self.series_of(entry)?;
        let summary = Summary::new(function, Sample { seconds: time as f64 / 1e9, value });
        let bytes = summary.heap_bytes();
        if bytes > 0 {
            self.run.memory.charge(bytes, "the values of a window")?;
        }
        let stretches = &mut self.open[open].stretches;
        match stretches.back_mut() {
            Some((stretch, all)) if *stretch == self.stretch => all.merge(&summary),
            _ => {
                self.run.memory.charge(size_of::<(usize, Summary)>(), "the values of a window")?;
                if stretches.is_empty() {
                    self.live.push(open);
                }
                stretches.push_back((self.stretch, summary));
            }
        }
        Ok(())
    }

    /// The series that an entry belongs to. Only who asks for the unwrapped label sees it there.
    fn series_of(&mut self, entry: &Entry<'_>) -> Result<usize> {
        let unwrapped = self.range.unwrap.as_ref().map(|unwrap| &*unwrap.label);
        let mut labels: Vec<(&str, &str)> = match self.grouping {
            Some(Grouping { without: false, labels }) => {
                labels.iter().filter_map(|label| Some((&**label, entry.get(label)?))).collect()
            }
            without => {
                let out = without.map_or(&[][..], |without| &without.labels);
                let all = entry.labels.iter().map(|l| (&*l.name, &*l.value));
                all.filter(|(name, _)| Some(*name) != unwrapped && !out.iter().any(|o| **o == **name))
                    .collect()
            }
        };
        labels.sort_unstable();
        labels.dedup();
        self.key.clear();
        for (name, value) in &labels {
            // With the length between them, no two sets make the same text.
            let _infallible = write!(self.key, "{}:{name}{}:{value}", name.len(), value.len());
        }
        if let Some(&open) = self.by_key.get(&self.key) {
            return Ok(open);
        }
        let labels = labels.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let series = self.run.empty_series(labels)?;
        self.run.memory.charge(self.key.len() + size_of::<Open>(), "series")?;
        self.open.push(Open { series, stretches: VecDeque::new() });
        self.by_key.insert(self.key.clone(), self.open.len() - 1);
        Ok(self.open.len() - 1)
    }

    /// Works out the values of the first step that is not over.
    fn end_of_window(&mut self) -> Result<()> {
        self.run.cancel.check()?;
        let (range, end) = (self.range, self.ends[self.step]);
        // The first stretch of the window is behind the cut at its beginning.
        let first = 1 + self.cuts.partition_point(|cut| *cut < end.saturating_sub(range.range_ns));
        let (open, memory, step) = (&mut self.open, &self.run.memory, self.step);
        self.live.retain(|&i| {
            let Open { series, stretches } = &mut open[i];
            while let Some((_, summary)) = stretches.front().filter(|(stretch, _)| *stretch < first) {
                memory.release(size_of::<(usize, Summary)>() + summary.heap_bytes());
                stretches.pop_front();
            }
            let mut parts = stretches.iter().map(|(_, summary)| summary);
            let Some(mut all) = parts.next().cloned() else { return false };
            parts.for_each(|part| all.merge(part));
            let parameter = range.parameter.unwrap_or(0.0);
            let seconds = |ns: i64| ns as f64 / 1e9;
            series.points[step] =
                Some(all.result(range.function, parameter, seconds(end), seconds(range.range_ns)));
            true
        });
        self.step += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Series>> {
        while self.step < self.ends.len() {
            self.end_of_window()?;
        }
        Ok(self.open.into_iter().map(|open| open.series).collect())
    }
}

/// `{app="x", host="y"}`
fn show_labels(labels: &[(&str, &str)]) -> String {
    let labels: Vec<_> = labels.iter().map(|(n, v)| format!("{n}={}", crate::lexer::quote(v))).collect();
    format!("{{{}}}", labels.join(", "))
}
