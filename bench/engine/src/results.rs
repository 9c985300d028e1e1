//! The outcomes of a group of studies, kept as lines of JSON: the machine first.

use crate::Result;
use crate::case::{Case, Outcome, Study};
use crate::data::Order;
use crate::machine::Machine;
use crate::plan::Group;
use crate::systems::{self, Description};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::Path;

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) machine: Machine,
    /// How often cases were measured, at most.
    pub(crate) rounds: u32,
    /// Those that there are, in the order of the tables.
    pub(crate) systems: Vec<Description>,
}

/// What was measured, and on what.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    pub(crate) header: Header,
    pub(crate) outcomes: Vec<Outcome>,
}

impl Results {
    pub(crate) fn new(machine: Machine, rounds: u32) -> Self {
        let systems = systems::all().iter().map(Description::from).collect();
        Self { header: Header { machine, rounds, systems }, outcomes: Vec::new() }
    }

    pub(crate) fn save(&self, dir: &Path, group: Group) -> Result<()> {
        let mut out = serde_json::to_string(&self.header)?;
        for outcome in &self.outcomes {
            write!(out, "\n{}", serde_json::to_string(outcome)?)?;
        }
        out.push('\n');
        std::fs::create_dir_all(dir)?;
        Ok(std::fs::write(dir.join(format!("{}.jsonl", group.name())), out)?)
    }

    /// What was saved; `None` if nothing was.
    pub(crate) fn load(dir: &Path, group: Group) -> Result<Option<Self>> {
        let path = dir.join(format!("{}.jsonl", group.name()));
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path)?;
        let parse = || {
            let (header, lines) = text.split_once('\n').ok_or("it is empty")?;
            let outcomes = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
            Ok(Self { header: serde_json::from_str(header)?, outcomes })
        };
        parse()
            .map(Some)
            .map_err(|e: Box<dyn std::error::Error + Send + Sync>| format!("{}: {e}", path.display()).into())
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        let failed =
            |o: &Outcome| o.error.as_ref().map(|e| format!("{:?} {}: {e}", o.case.study, o.case.system));
        self.outcomes.iter().filter_map(failed).collect()
    }

    /// A figure in all rounds of a case.
    pub(crate) fn rounds(&self, at: &At, system: &str, figure: &str) -> Rounds {
        self.outcomes
            .iter()
            .filter(|o| o.case.system == system && at.is(&o.case))
            .filter_map(|o| Some((o.case.round, *o.figures.get(figure)?)))
            .collect()
    }

    /// The median of a figure.
    pub(crate) fn median(&self, at: &At, system: &str, figure: &str) -> Option<f64> {
        median(self.rounds(at, system, figure).into_iter().map(|(_, value)| value).collect())
    }

    /// Those of the systems that took part in a study.
    pub(crate) fn systems(&self, study: Study) -> Vec<&Description> {
        let took_part =
            |name: &str| self.outcomes.iter().any(|o| o.case.study == study && o.case.system == name);
        self.header.systems.iter().filter(|s| took_part(&s.name)).collect()
    }

    /// The places at which a study measured, in order.
    pub(crate) fn places(&self, study: Study) -> Vec<At> {
        let mut all: Vec<At> =
            self.outcomes.iter().map(|o| At::of(&o.case)).filter(|at| at.study == study).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// What all systems of a column have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) study: Study,
    pub(crate) order: Order,
    pub(crate) threads: u32,
    pub(crate) entries: u64,
}

impl At {
    fn of(case: &Case) -> Self {
        Self { study: case.study, order: case.order, threads: case.threads, entries: case.entries }
    }

    fn is(&self, case: &Case) -> bool {
        Self::of(case) == *self
    }
}

/// A figure of a case in all rounds: round and value.
pub(crate) type Rounds = Vec<(u32, f64)>;

/// The middle one; `None` of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match (values.get(n / 2), values.get((n.max(1) - 1) / 2)) {
        (Some(upper), Some(lower)) => Some((upper + lower) / 2.0),
        _ => None,
    }
}

/// How many times `a` is `b`: the median of the ratios within each round, or of all medians if they share none.
pub(crate) fn ratio(a: &[(u32, f64)], b: &[(u32, f64)]) -> Option<f64> {
    let within: Vec<f64> =
        a.iter().filter_map(|(round, x)| Some(x / b.iter().find(|(other, _)| other == round)?.1)).collect();
    if within.len() == a.len().max(b.len()) {
        return median(within);
    }
    let middle = |values: &[(u32, f64)]| median(values.iter().map(|v| v.1).collect());
    Some(middle(a)? / middle(b)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_within_a_round() {
        let a = [(0, 10.0), (1, 40.0), (2, 30.0)];
        let b = [(0, 5.0), (1, 10.0), (2, 10.0)];
        assert_eq!(ratio(&a, &b), Some(3.0));
        assert_eq!(ratio(&a, &[(0, 15.0)]), Some(2.0), "by medians, if not every round has both");
        assert_eq!(ratio(&a, &[]), None);
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }
}
