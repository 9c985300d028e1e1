//! Which fields of a query's rows tell series apart and which hold figures, for charts and alerts: those of its last
//! `stats`, as the pipes behind it leave them.

use crate::pipe::custom::Added;
use crate::pipe::fields::Fields;
use crate::pipe::rename::Rename;
use crate::pipe::stats::By;
use crate::pipe::stats::by::Bucket;
use crate::pipe::{Passes, Pipe};
use crate::query::Query;
use duramen::block::names;

/// The fields of the rows of a query that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// What tells series apart: the fields that `stats` groups by, and texts made behind it.
    pub labels: Vec<String>,
    /// What was counted, or computed of that by `math`.
    pub figures: Vec<String>,
}

/// What is wrong, for people.
type Parsed<T> = Result<T, String>;

const NO_STATS: &str = "the query must end with the pipe `stats`, and only filters may stand before it";

impl Query {
    /// Which fields of its rows tell series apart, and which hold figures.
    ///
    /// # Errors
    /// What is wrong, for people: it has no `stats`, or a pipe behind it takes away what tells series apart, or all figures.
    pub fn series(&self) -> Parsed<Series> {
        let at = self.pipes().iter().rposition(|pipe| matches!(pipe, Pipe::Stats(_)));
        let Some((Pipe::Stats(stats), behind)) = at.and_then(|at| self.pipes()[at..].split_first()) else {
            return Err("the query must end with the pipe `stats`".into());
        };
        let texts = |names: &mut dyn Iterator<Item = &Box<str>>| names.map(|name| name.to_string()).collect();
        let mut series = Series {
            labels: texts(&mut stats.aggregate.by.iter().map(|by| &by.field)),
            figures: texts(&mut stats.names.iter()),
        };
        for pipe in behind {
            match pipe {
                Pipe::Fields(fields) => series.choose(pipe, fields)?,
                Pipe::Rename(rename) => series.rename(rename)?,
                Pipe::Custom(custom) => match custom.pipe().adds() {
                    Some(added) => series.add(pipe, &added)?,
                    None => return Err(format!("`{pipe}` cannot stand behind `stats` here")),
                },
                Pipe::Top(_) | Pipe::Uniq(_) => {
                    return Err(format!("`{pipe}` leaves nothing of what `stats` has counted"));
                }
                Pipe::Filter(_) | Pipe::Sort(_) | Pipe::Limit(_) | Pipe::Offset(_) | Pipe::Stats(_) => {}
            }
        }
        if series.figures.is_empty() {
            return Err("the pipes behind `stats` leave nothing of what it has counted".into());
        }
        Ok(series)
    }

    /// The same query with the rows of each `stats` for each step of time, in the days of an offset east of UTC: in the
    /// place of the steps that it groups by already, if it does. What `sort`, `first` and `last` behind it choose, they
    /// choose in each step, and so does a `limit` right behind a `sort`.
    ///
    /// # Errors
    /// What is wrong, for people: it has no `stats`, or a pipe before it that needs all entries, or a `limit` behind it, or
    /// `step_ns` is less than 1.
    pub fn with_stats_by_time(mut self, step_ns: i64, offset_ns: i64) -> Parsed<Self> {
        let range = self.filter().time_range();
        let pipes = self.pipes_mut();
        let at = pipes.iter().position(|pipe| matches!(pipe, Pipe::Stats(_))).ok_or(NO_STATS)?;
        if step_ns < 1 {
            return Err("`step` is less than a nanosecond".into());
        }
        if pipes[..at].iter().any(|pipe| pipe.passes() == Passes::All) {
            return Err(NO_STATS.into());
        }
        limits_into_sorts(pipes, at);
        for pipe in &mut pipes[at..] {
            match pipe {
                Pipe::Stats(stats) => {
                    let bucket = Some(Bucket::Time { step_ns, offset_ns });
                    match stats.aggregate.by.iter_mut().find(|by| *by.field == *names::TIME) {
                        Some(by) => by.bucket = bucket,
                        None => stats.aggregate.by.insert(0, By { field: names::TIME.into(), bucket }),
                    }
                    stats.set_seconds(range);
                }
                Pipe::Sort(sort) if !sort.partition.iter().any(|name| **name == *names::TIME) => {
                    sort.partition.push(names::TIME.into());
                }
                Pipe::Limit(_) | Pipe::Offset(_) => {
                    return Err(format!(
                        "`{pipe}` behind `stats` would leave out steps: write `first 5 by (n)` or `sort by (n) limit 5`, which choose in each step"
                    ));
                }
                _ => {}
            }
        }
        Ok(self)
    }
}

/// Makes `sort by (n) | limit 5` behind the pipe at `from` what it is meant as, `sort by (n) limit 5`, which can choose in each step.
fn limits_into_sorts(pipes: &mut Vec<Pipe>, from: usize) {
    let mut at = from;
    while at + 1 < pipes.len() {
        match (&pipes[at], &pipes[at + 1]) {
            (Pipe::Sort(sort), &Pipe::Limit(limit)) if sort.partition.is_empty() => {
                let mut sort = sort.clone();
                sort.limit = Some(sort.limit.map_or(limit, |own| own.min(limit)));
                pipes[at] = Pipe::Sort(sort);
                pipes.remove(at + 1);
            }
            _ => at += 1,
        }
    }
}

impl Series {
    fn choose(&mut self, pipe: &Pipe, fields: &Fields) -> Parsed<()> {
        let stays = |name: &str| fields.patterns.iter().any(|p| p.matches(name)) != fields.delete;
        if let Some(label) = self.labels.iter().find(|label| !stays(label)) {
            return Err(format!("`{pipe}` takes away the field `{label}`, which tells series apart"));
        }
        self.figures.retain(|name| stays(name));
        Ok(())
    }

    fn rename(&mut self, rename: &Rename) -> Parsed<()> {
        for (from, to) in rename.pairs.iter().filter(|(from, to)| from != to) {
            let renamed = |name: &str| {
                let rest = name.strip_prefix(&*from.name).filter(|_| from.matches(name));
                rest.map(|rest| format!("{}{}", to.name, if to.prefix { rest } else { "" }))
            };
            let labels: Vec<_> = self.labels.iter().map(|name| renamed(name)).collect();
            let figures: Vec<_> = self.figures.iter().map(|name| renamed(name)).collect();
            // What gets the name of another field takes its place; so does a field that is not there.
            let one = (!from.prefix).then(|| to.name.to_string());
            if !to.prefix && labels.iter().chain(&figures).flatten().count() > 1 {
                return Err(format!("`{rename}` gives one name to several fields"));
            }
            for new in labels.iter().chain(&figures).flatten().chain(&one) {
                self.unlabelled(&rename.to_string(), new)?;
                self.figures.retain(|name| name != new);
            }
            if !rename.copy {
                self.labels.retain(|name| renamed(name).is_none());
                self.figures.retain(|name| renamed(name).is_none());
            }
            self.labels.extend(labels.into_iter().flatten());
            self.figures.extend(figures.into_iter().flatten());
        }
        Ok(())
    }

    fn add(&mut self, pipe: &Pipe, added: &Added<'_>) -> Parsed<()> {
        for name in &added.figures {
            self.unlabelled(&pipe.to_string(), name)?;
            if !self.figures.iter().any(|figure| figure == name) {
                self.figures.push((*name).to_owned());
            }
        }
        for name in &added.labels {
            self.unlabelled(&pipe.to_string(), name)?;
            self.figures.retain(|figure| figure != name);
            self.labels.push((*name).to_owned());
        }
        Ok(())
    }

    fn unlabelled(&self, pipe: &str, name: &str) -> Parsed<()> {
        if self.labels.iter().any(|label| label == name) {
            return Err(format!("`{pipe}` overwrites the field `{name}`, which tells series apart"));
        }
        Ok(())
    }
}
