//! Asks, and times the answers, from the request to the last byte.

use crate::Result;
use crate::peer::Peer;
use crate::question::{Question, Row, difference};

/// What was there before a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// The same query.
    Itself,
    /// Nothing: the peer was just started, and its files were not in the page cache.
    Start,
}

/// What became of a question.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    /// By peer; nothing for one that cannot answer.
    pub(crate) answers: Vec<Option<Timed>>,
    /// Rows of the first peer's answer.
    pub(crate) rows: usize,
}

/// A peer's answers to a question.
#[derive(Debug)]
pub(crate) struct Timed {
    /// Milliseconds.
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// What differs from the first peer's answer, if something does.
    pub(crate) differs: Option<String>,
}

impl Asked {
    /// The fastest of the others, if any of them gave the first one's answer.
    pub(crate) fn best_other(&self) -> Option<(usize, f64)> {
        let others = self.answers.iter().enumerate().skip(1);
        let right = others.filter_map(|(peer, answer)| Some((peer, answer.as_ref()?)));
        let right = right.filter(|(_, answer)| answer.differs.is_none());
        right.map(|(peer, answer)| (peer, answer.median)).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Asks the two servers in turns, so that what the machine does meanwhile is shared, then each of the others by itself:
/// who reads a whole file with all cores leaves no warm caches to whoever comes next.
pub(crate) fn ask(
    peers: &mut [Box<dyn Peer + '_>],
    question: Question,
    repeat: usize,
    before: Before,
) -> Result<Asked> {
    let (servers, others) = peers.split_at_mut(peers.len().min(2));
    let mut runs = in_turns(servers, &question, repeat, before)?;
    for other in others {
        runs.extend(in_turns(std::slice::from_mut(other), &question, repeat, before)?);
    }
    let first = runs.first().and_then(|runs| runs.rows.clone()).ok_or("the first peer has no answer")?;
    let timed = |mut runs: Runs| {
        runs.times_ms.sort_by(f64::total_cmp);
        let (least, most) = (*runs.times_ms.first()?, *runs.times_ms.last()?);
        let median = runs.times_ms[runs.times_ms.len() / 2];
        Some(Timed { median, least, most, differs: difference(&question, &first, &runs.rows?) })
    };
    let answers = runs.into_iter().map(timed).collect();
    Ok(Asked { answers, rows: first.len(), question })
}

/// A peer's times, and the rows of its last answer.
#[derive(Clone, Debug, Default)]
struct Runs {
    times_ms: Vec<f64>,
    rows: Option<Vec<Row>>,
}

/// Warm, one run more does not count.
fn in_turns(
    peers: &mut [Box<dyn Peer + '_>],
    question: &Question,
    repeat: usize,
    before: Before,
) -> Result<Vec<Runs>> {
    let mut all = vec![Runs::default(); peers.len()];
    let uncounted = usize::from(before == Before::Itself);
    for run in 0..repeat + uncounted {
        for (peer, runs) in peers.iter_mut().zip(&mut all) {
            if run > 0 && runs.rows.is_none() {
                continue;
            }
            if before == Before::Start {
                peer.start_cold()?;
            }
            let Some(answer) = peer.ask(question)? else { continue };
            if run >= uncounted {
                runs.times_ms.push(answer.took_ms);
            }
            runs.rows = Some(answer.rows);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::What;

    #[test]
    fn a_wrong_answer_is_not_the_best() {
        let timed = |median, differs: Option<&str>| {
            let differs = differs.map(str::to_owned);
            Some(Timed { median, least: median, most: median, differs })
        };
        let question = Question::new("", What::CountAll, "");
        let answers =
            vec![timed(1.0, None), timed(5.0, None), timed(2.0, Some("1 : 2")), None, timed(4.0, None)];
        let mut asked = Asked { question, answers, rows: 1 };
        assert_eq!(asked.best_other(), Some((4, 4.0)));
        asked.answers.truncate(1);
        assert_eq!(asked.best_other(), None);
    }
}
