//! Runs of all files, interleaved, with times that run on.

use crate::Result;
use crate::input::{Source, write_line};
use crate::redraw::Redraw;
use crate::stamp::Stamps;
use crate::token::Tokens;
use crate::vocabulary::Vocabulary;
use fastrand::Rng;
use serde_json::Map;
use std::io::Write;
use std::ops::Range;

/// Entries of a run.
const RUN: Range<usize> = 50..500;
const MS_NS: i64 = 1_000_000;

/// What to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) lines: u64,
    pub(crate) seed: u64,
    pub(crate) from_ns: i64,
    pub(crate) span_ns: f64,
    /// Whether what can be read from a text is added, after it was drawn anew: fields say what their text says.
    pub(crate) parse: bool,
}

/// A file, and the run that is taken from it now.
#[derive(Debug)]
struct Stream<'a> {
    source: &'a Source,
    redraw: Redraw<'a>,
    run: Range<usize>,
    rng: Rng,
}

/// Writes the lines: in order of time, each file as often as it has entries.
pub(crate) fn write(sources: &[Source], plan: Plan, out: &mut impl Write) -> Result<()> {
    let (tokens, stamps) = (Tokens::new()?, Stamps::new()?);
    let mut rng = Rng::with_seed(plan.seed);
    let mut streams = Vec::new();
    let mut up_to = Vec::new();
    let mut entries = 0;
    for source in sources {
        let vocabulary = Vocabulary::of(source, &tokens);
        let redraw = Redraw::new(&tokens, &stamps, vocabulary, rng.fork());
        streams.push(Stream { source, redraw, run: 0..0, rng: rng.fork() });
        entries += source.entries.len();
        up_to.push(entries);
    }
    let mut since_ns = 0.0;
    let mean_ns = plan.span_ns / plan.lines.max(1) as f64;
    for _ in 0..plan.lines {
        since_ns += gap(mean_ns, &mut rng);
        let at = rng.usize(..entries);
        let stream = &mut streams[up_to.partition_point(|up_to| *up_to <= at)];
        // Real logs have milliseconds at the most, as a rule.
        let time_ns = (plan.from_ns.saturating_add(since_ns as i64)) / MS_NS * MS_NS;
        stream.write(time_ns, plan.parse, out)?;
    }
    Ok(())
}

/// Lines come in bursts: half of them soon after the one before, others later, on average after the mean.
fn gap(mean_ns: f64, rng: &mut Rng) -> f64 {
    let factor = if rng.bool() { 0.1 } else { 1.9 };
    -(1.0 - rng.f64()).ln() * mean_ns * factor
}

impl Stream<'_> {
    fn write(&mut self, time_ns: i64, parse: bool, out: &mut impl Write) -> Result<()> {
        let entry = match self.run.next() {
            Some(next) => next,
            None => {
                let count = self.source.entries.len();
                let first = self.rng.usize(..count);
                self.run = first + 1..count.min(first + self.rng.usize(RUN));
                self.redraw.begin_run();
                first
            }
        };
        let entry = &self.source.entries[entry];
        let mut object: Map<_, _> = serde_json::from_str(&entry.json)?;
        // They are written anew.
        object.remove("_time");
        object.remove(crate::input::FILE_FIELD);
        // What is read from a text is read anew.
        let parse = parse && entry.is_text;
        if parse {
            object.retain(|name, _| name == "_msg");
        }
        self.redraw.entry(&mut object, entry.time_ns, time_ns);
        if parse && let Some(text) = object.get("_msg").and_then(|text| text.as_str()) {
            object = self.source.parsed(text)?;
        }
        write_line(out, time_ns, &self.source.name, &serde_json::to_string(&object)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::{HashMap, HashSet};

    const PLAN: Plan =
        Plan { lines: 20_000, seed: 1, from_ns: 1_767_571_200_000_000_000, span_ns: 86_400e9, parse: false };

    fn sources() -> Vec<Source> {
        let of =
            |name, text: String| Source::of(name, text.as_bytes(), 1_720_000_000_000_000_000, false).unwrap();
        let mut rng = Rng::with_seed(9);
        let line = |i: usize| {
            let status = [200, 200, 200, 200, 200, 200, 200, 301, 404, 500][rng.usize(..10)];
            let (client, session) = (rng.usize(..200), rng.u64(1 << 60..));
            format!(
                "2024-06-27 {:02}:{:02}:{:02}.{:03} 10.0.1.{client} session {session:016x} status {status}\n\tdetail\n",
                i / 3600 % 24,
                i / 60 % 60,
                i % 60,
                i % 1000
            )
        };
        let text = of("text.log", (0..3_000).map(line).collect());
        let json = |i: usize| {
            format!(
                "{{\"ts\":{},\"n\":{},\"message\":\"took {} ms\"}}\n",
                1_719_446_408 + i,
                i % 7,
                i * 7_919 % 997
            )
        };
        vec![text, of("json.ndjson", (0..1_000).map(json).collect())]
    }

    fn resampled(plan: Plan) -> String {
        let mut out = Vec::new();
        write(&sources(), plan, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_seed_gives_the_same_lines_and_another_one_others() {
        let plan = Plan { lines: 2_000, ..PLAN };
        assert_eq!(resampled(plan), resampled(plan));
        assert_ne!(resampled(plan), resampled(Plan { seed: 2, ..plan }));
    }

    #[test]
    fn every_line_parses_in_order_of_time_and_each_file_has_its_share() {
        let text = resampled(PLAN);
        let rows: Vec<HashMap<String, Value>> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 20_000);
        let times: Vec<jiff::Timestamp> =
            rows.iter().map(|row| row["_time"].as_str().unwrap().parse().unwrap()).collect();
        assert!(times.is_sorted());
        let span_s = times[19_999].as_second() - times[0].as_second();
        assert!((80_000..93_000).contains(&span_s), "{span_s} s");
        let texts = rows.iter().filter(|row| row["log_file"] == "text.log").count();
        assert!((14_500..15_500).contains(&texts), "{texts}");
        for (row, time) in rows.iter().zip(times) {
            match row.get("_msg") {
                Some(msg) => {
                    assert_eq!(msg.as_str().unwrap()[..19], time.to_string().replace('T', " ")[..19])
                }
                None => assert_eq!(row["ts"], time.as_second()),
            }
        }
    }

    #[test]
    fn fields_say_what_their_text_says() {
        let line = |i: usize| {
            let (client, status, bytes) = (i * 7 % 250, [200, 304, 404][i % 3], i * 7_919 % 9_999);
            format!(
                "10.0.1.{client} - - [27/Jun/2024:00:{:02}:{:02} +0000] \"GET /a/{client}?page={} HTTP/1.1\" {status} {bytes} \"-\" \"curl/8.{}\"\n",
                i / 60 % 60,
                i % 60,
                i % 11,
                i % 5
            )
        };
        let text: String = (0..2_000).map(line).collect();
        let source = Source::of("access.log", text.as_bytes(), 1_720_000_000_000_000_000, true).unwrap();
        let mut out = Vec::new();
        write(&[source], Plan { lines: 3_000, parse: true, ..PLAN }, &mut out).unwrap();
        for line in String::from_utf8(out).unwrap().lines() {
            let row: Map<String, Value> = serde_json::from_str(line).unwrap();
            let message = row["_msg"].as_str().unwrap();
            for name in ["ip", "path", "status", "bytes", "agent"] {
                let value = row[name].to_string();
                assert!(message.contains(value.trim_matches('"')), "{name}={value}: {message}");
            }
        }
    }

    #[test]
    fn frequent_values_stay_frequent_and_identities_single() {
        let text = resampled(PLAN);
        let messages: Vec<String> = text
            .lines()
            .filter_map(|line| {
                Some(serde_json::from_str::<Map<_, _>>(line).unwrap().get("_msg")?.as_str()?.to_owned())
            })
            .collect();
        let word = |message: &str, at: usize| message.split_whitespace().nth(at).unwrap().to_owned();
        let share = messages.iter().filter(|m| word(m, 6) == "200").count() as f64 / messages.len() as f64;
        assert!((0.65..0.75).contains(&share), "status 200: {share}");
        let statuses: HashSet<_> = messages.iter().map(|m| word(m, 6)).collect();
        assert_eq!(statuses.len(), 4);
        let clients: HashSet<_> = messages.iter().map(|m| word(m, 2)).collect();
        assert!((150..=200).contains(&clients.len()), "{} clients", clients.len());
        let sessions: HashSet<_> = messages.iter().map(|m| word(m, 4)).collect();
        assert!(sessions.len() > messages.len() * 99 / 100, "{} sessions", sessions.len());
        assert!(messages.iter().all(|m| m.ends_with("\n\tdetail") && word(m, 4).len() == 16));
    }
}
