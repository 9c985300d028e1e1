//! The outcomes of a group of studies, kept as lines of JSON.

use crate::Result;
use crate::case::{Case, Outcome, Study};
use crate::data::Order;
use crate::plan::Group;
use crate::systems::{self, Description};
use serde::{Deserialize, Serialize};
use shared::kept::Kept;
use shared::machine::Machine;
use shared::middle::median;
use std::path::{Path, PathBuf};

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
pub(crate) struct Results(Kept<Header, Case>);

impl Results {
    pub(crate) fn new(machine: Machine, rounds: u32) -> Self {
        let systems = systems::all().iter().map(Description::from).collect();
        Self(Kept { header: Header { machine, rounds, systems }, outcomes: Vec::new() })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.0.header
    }

    pub(crate) fn push(&mut self, outcome: Outcome) {
        self.0.outcomes.push(outcome);
    }

    pub(crate) fn save(&self, dir: &Path, group: Group) -> Result<()> {
        self.0.save(&file(dir, group))
    }

    /// What was saved; `None` if nothing was.
    pub(crate) fn load(dir: &Path, group: Group) -> Result<Option<Self>> {
        Ok(Kept::load(&file(dir, group))?.map(Self))
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        let failed =
            |o: &Outcome| o.error.as_ref().map(|e| format!("{:?} {}: {e}", o.case.study, o.case.system));
        self.0.outcomes.iter().filter_map(failed).collect()
    }

    /// A figure in all rounds of a case.
    pub(crate) fn rounds(&self, at: &At, system: &str, figure: &str) -> Rounds {
        self.0
            .outcomes
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
            |name: &str| self.0.outcomes.iter().any(|o| o.case.study == study && o.case.system == name);
        self.0.header.systems.iter().filter(|s| took_part(&s.name)).collect()
    }

    /// The places at which a study measured, in order.
    pub(crate) fn places(&self, study: Study) -> Vec<At> {
        let mut all: Vec<At> =
            self.0.outcomes.iter().map(|o| At::of(&o.case)).filter(|at| at.study == study).collect();
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

fn file(dir: &Path, group: Group) -> PathBuf {
    dir.join(format!("{}.jsonl", group.name()))
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
    }
}
