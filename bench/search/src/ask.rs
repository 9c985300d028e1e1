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

/// Asks all peers, in turns, so that what the machine does meanwhile is shared. Warm, one run more does not count.
pub(crate) fn ask(
    peers: &mut [Box<dyn Peer + '_>],
    question: Question,
    repeat: usize,
    before: Before,
) -> Result<Asked> {
    let mut times_ms: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    let mut answers: Vec<Option<Vec<Row>>> = vec![None; peers.len()];
    let uncounted = usize::from(before == Before::Itself);
    for run in 0..repeat + uncounted {
        for (i, peer) in peers.iter_mut().enumerate() {
            if run > 0 && answers[i].is_none() {
                continue;
            }
            if before == Before::Start {
                peer.start_cold()?;
            }
            let Some(answer) = peer.ask(&question)? else { continue };
            if run >= uncounted {
                times_ms[i].push(answer.took_ms);
            }
            answers[i] = Some(answer.rows);
        }
    }
    let first = answers.first().cloned().flatten().ok_or("the first peer has no answer")?;
    let timed = |(mut times, rows): (Vec<f64>, Option<Vec<Row>>)| {
        times.sort_by(f64::total_cmp);
        let (least, most) = (*times.first()?, *times.last()?);
        let differs = difference(&question, &first, &rows?);
        Some(Timed { median: times[times.len() / 2], least, most, differs })
    };
    let answers = times_ms.into_iter().zip(answers).map(timed).collect();
    Ok(Asked { answers, rows: first.len(), question })
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
        let question =
            Question { name: "", what: What::CountAll, query: String::new(), limit: None, about: false };
        let answers =
            vec![timed(1.0, None), timed(5.0, None), timed(2.0, Some("1 : 2")), None, timed(4.0, None)];
        let mut asked = Asked { question, answers, rows: 1 };
        assert_eq!(asked.best_other(), Some((4, 4.0)));
        asked.answers.truncate(1);
        assert_eq!(asked.best_other(), None);
    }
}
