//! Asks, and times the answers, from the request to the last byte.

use crate::Result;
use crate::lines::Question;
use crate::peer::Peer;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

/// What became of a question.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) question: Question,
    /// Milliseconds, of each peer: the median, the least and the most.
    pub(crate) times_ms: Vec<[f64; 3]>,
    /// Rows of the answer.
    pub(crate) rows: usize,
    /// What differs, if something does.
    pub(crate) differs: Option<String>,
}

pub(crate) fn ask(peers: &[Peer], question: Question, repeat: usize) -> Result<Row> {
    let agent = ureq::Agent::new_with_defaults();
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("query", &question.query);
    if let Some(limit) = question.limit {
        form.append_pair("limit", &limit.to_string());
    }
    let form = form.finish();
    let mut times_ms: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    let mut answers = vec![Vec::new(); peers.len()];
    // In turns, so that what the machine does meanwhile is shared.
    for run in 0..=repeat {
        for (i, peer) in peers.iter().enumerate() {
            let started = Instant::now();
            let request = agent.post(format!("{}/select/logsql/query", peer.url));
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            let mut response =
                request.send(&form).map_err(|e| format!("{}, {}: {e}", peer.name, question.query))?;
            let text = response.body_mut().with_config().limit(1 << 30).read_to_string()?;
            let took = started.elapsed().as_secs_f64() * 1e3;
            if run > 0 {
                times_ms[i].push(took);
            }
            answers[i] = rows_of(&text)?;
        }
    }
    let differs = difference(&question, &answers);
    let times_ms = times_ms
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            [times[times.len() / 2], times[0], times[times.len() - 1]]
        })
        .collect();
    Ok(Row { question, times_ms, rows: answers[0].len(), differs })
}

type Answer = BTreeMap<String, String>;

fn rows_of(text: &str) -> Result<Vec<Answer>> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let row: BTreeMap<String, Value> = serde_json::from_str(line)?;
        // An empty value is as none.
        let texts = row.into_iter().map(|(name, value)| match value {
            Value::String(text) => (name, text),
            value => (name, value.to_string()),
        });
        rows.push(texts.filter(|(_, text)| !text.is_empty()).collect());
    }
    rows.sort();
    Ok(rows)
}

fn difference(question: &Question, answers: &[Vec<Answer>]) -> Option<String> {
    let (first, others) = answers.split_first()?;
    for other in others {
        if first.len() != other.len() {
            return Some(format!("{} rows : {} rows", first.len(), other.len()));
        }
        for (a, b) in first.iter().zip(other) {
            let same = a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((n, x), (m, y))| n == m && (x == y || question.about && is_about(x, y)));
            if !same {
                return Some(format!("{a:?} : {b:?}"));
            }
        }
    }
    None
}

fn is_about(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 0.05 * a.abs().max(b.abs()),
        _ => false,
    }
}
