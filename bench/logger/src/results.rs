//! The outcomes of a study, kept as lines of JSON.

use crate::Result;
use crate::case::{Case, Outcome};
use crate::plan::Group;
use serde::{Deserialize, Serialize};
use shared::kept::Kept;
use shared::machine::Machine;
use shared::middle::median;
use std::path::{Path, PathBuf};

/// The first line of a file of results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
}

/// All of a study's outcomes.
#[derive(Clone, Debug)]
pub(crate) struct Results(Kept<Header, Case>);

impl Results {
    pub(crate) fn new(header: Header, outcomes: Vec<Outcome>) -> Self {
        Self(Kept { header, outcomes })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.0.header
    }

    pub(crate) fn save(&self, dir: &Path, group: Group) -> Result<()> {
        self.0.save(&file(dir, group))
    }

    /// What was kept; `None` if nothing was.
    pub(crate) fn load(dir: &Path, group: Group) -> Result<Option<Self>> {
        Ok(Kept::load(&file(dir, group))?.map(Self))
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        let failure = |o: &Outcome| {
            let Case { study, system, lines, threads, .. } = &o.case;
            let error = o.error.as_ref()?.replace('\n', " ");
            Some(format!("{study:?}, {system}, {lines} lines, {threads} threads: {error}"))
        };
        self.0.outcomes.iter().filter_map(failure).collect()
    }

    /// A figure of a case in each round that has it.
    pub(crate) fn rounds(&self, case: &Case, figure: &str) -> Vec<(u32, f64)> {
        let same = |o: &&Outcome| Case { round: o.case.round, ..case.clone() } == o.case;
        let found = self.0.outcomes.iter().filter(same);
        found.filter_map(|o| Some((o.case.round, *o.figures.get(figure)?))).collect()
    }

    /// The median of a figure over the rounds.
    pub(crate) fn median(&self, case: &Case, figure: &str) -> Option<f64> {
        median(self.rounds(case, figure).into_iter().map(|(_, value)| value).collect())
    }

    /// The median of the ratios, within the rounds, of two figures.
    pub(crate) fn ratio(&self, above: (&Case, &str), below: (&Case, &str)) -> Option<f64> {
        let divisors = self.rounds(below.0, below.1);
        let ratio = |(round, value): (u32, f64)| {
            let (_, divisor) = divisors.iter().find(|(r, _)| *r == round)?;
            (*divisor > 0.0).then(|| value / divisor)
        };
        median(self.rounds(above.0, above.1).into_iter().filter_map(ratio).collect())
    }
}

fn file(dir: &Path, group: Group) -> PathBuf {
    dir.join(format!("logger-{}.jsonl", group.name()))
}
