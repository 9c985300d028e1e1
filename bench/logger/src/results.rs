//! The outcomes of a study, kept as lines of JSON.

use crate::Result;
use crate::case::{Case, Outcome};
use crate::machine::Machine;
use crate::plan::Group;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::Path;

/// The first line of a file of results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
}

/// All of a study's outcomes.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    pub(crate) header: Header,
    pub(crate) outcomes: Vec<Outcome>,
}

impl Results {
    pub(crate) fn save(&self, dir: &Path, group: Group) -> Result<()> {
        let mut out = serde_json::to_string(&self.header)?;
        for outcome in &self.outcomes {
            write!(out, "\n{}", serde_json::to_string(outcome)?)?;
        }
        out.push('\n');
        std::fs::create_dir_all(dir)?;
        Ok(std::fs::write(file(dir, group), out)?)
    }

    /// What was kept; `None` if nothing was.
    pub(crate) fn load(dir: &Path, group: Group) -> Result<Option<Self>> {
        let Ok(text) = std::fs::read_to_string(file(dir, group)) else { return Ok(None) };
        let mut lines = text.lines();
        let header = serde_json::from_str(lines.next().unwrap_or_default())?;
        let outcomes = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Some(Self { header, outcomes }))
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        let failure = |o: &Outcome| {
            let Case { study, system, lines, threads, .. } = &o.case;
            let error = o.error.as_ref()?.replace('\n', " ");
            Some(format!("{study:?}, {system}, {lines} lines, {threads} threads: {error}"))
        };
        self.outcomes.iter().filter_map(failure).collect()
    }

    /// A figure of a case in each round that has it.
    pub(crate) fn rounds(&self, case: &Case, figure: &str) -> Vec<(u32, f64)> {
        let same = |o: &&Outcome| Case { round: o.case.round, ..case.clone() } == o.case;
        let found = self.outcomes.iter().filter(same);
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

fn file(dir: &Path, group: Group) -> std::path::PathBuf {
    dir.join(format!("logger-{}.jsonl", group.name()))
}

/// The middle one; the mean of the two in the middle if there are two.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(median(vec![9.0, 1.0, 3.0]), Some(3.0));
    }
}
