//! The tables.

use crate::ask::Asked;
use crate::live::Live;
use crate::peer::Load;
use crate::restart::{Killed, Starts};
use crate::subject::Subject;
use std::fmt::{Result, Write};

/// What was measured. Peers are in the same order everywhere: Duramen, VictoriaLogs, then the others.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) connections: usize,
    /// Warm runs.
    pub(crate) repeat: usize,
    /// Names, and what else is to be said.
    pub(crate) peers: Vec<(&'static str, String)>,
    pub(crate) loads: Vec<Option<Load>>,
    /// What a request takes that asks for nothing.
    pub(crate) empty_ms: Vec<(&'static str, f64)>,
    pub(crate) warm: Vec<Asked>,
    pub(crate) cold: Vec<Asked>,
    pub(crate) starts: Vec<Starts>,
    /// Of each server.
    pub(crate) lives: Vec<Live>,
    pub(crate) kills: Vec<(&'static str, Killed)>,
}

impl<'a> Report<'a> {
    /// Of nothing measured yet.
    pub(crate) fn new(subject: &'a Subject, peers: Vec<(&'static str, String)>) -> Self {
        Self {
            subject,
            connections: 0,
            repeat: 0,
            peers,
            loads: Vec::new(),
            empty_ms: Vec::new(),
            warm: Vec::new(),
            cold: Vec::new(),
            starts: Vec::new(),
            lives: Vec::new(),
            kills: Vec::new(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::from("# The server beside VictoriaLogs\n\n");
        // Writing to a string does not fail.
        let _written = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> Result {
        self.head(out)?;
        if !self.loads.is_empty() {
            self.load(out)?;
        }
        self.queries(out, "warm", &self.warm)?;
        let empty: Vec<_> =
            self.empty_ms.iter().map(|(name, took)| format!("{name} {}", ms(*took))).collect();
        writeln!(out, "An empty request (`/health`), ms, the median of 100: {}.\n", empty.join(", "))?;
        if !self.cold.is_empty() {
            self.queries(out, "cold", &self.cold)?;
        }
        if let [ours, theirs] = &self.starts[..] {
            starts(out, ours, theirs)?;
        }
        if let [ours, theirs] = &self.lives[..] {
            self.live(out, ours, theirs)?;
        }
        if !self.kills.is_empty() {
            kills(out, &self.kills)?;
        }
        writeln!(out, "The queries:\n")?;
        for asked in &self.warm {
            let limit = asked.question.limit.map(|limit| format!(", `limit={limit}`")).unwrap_or_default();
            writeln!(out, "- {}: `{}`{limit}", asked.question.name, asked.question.shown)?;
        }
        Ok(())
    }

    fn head(&self, out: &mut String) -> Result {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpu.lines().find(|line| line.starts_with("model name")).unwrap_or("unknown CPU");
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        writeln!(
            out,
            "`{}`, {} lines. {cores} cores, {}; load average at the end {}. The same requests to both: bodies of 1 MB over \
             {} connections; queries over one, kept open, in turns, one run each that does not count, then the \
             median of {} (least to most). Duramen acknowledges what survives `kill -9` (durability `process`); \
             VictoriaLogs, with its default settings, what is in its memory.\n",
            self.subject.file.file_name().unwrap_or_default().to_string_lossy(),
            self.subject.count,
            model.split(':').next_back().unwrap_or_default().trim(),
            load.trim(),
            self.connections,
            self.repeat,
        )?;
        let abouts = || self.peers.iter().filter(|(_, about)| !about.is_empty());
        for (name, about) in abouts() {
            writeln!(out, "- {name}: {about}")?;
        }
        if abouts().next().is_some() { writeln!(out) } else { Ok(()) }
    }

    /// The heads of columns: a ratio follows the first two peers.
    fn columns(&self, out: &mut String, first: &str, last: &[&str]) -> Result {
        let mut heads = vec![first];
        for (i, (name, _)) in self.peers.iter().enumerate() {
            heads.push(name);
            heads.extend((i == 1).then_some("ratio"));
        }
        heads.extend(last);
        writeln!(out, "| {} |", heads.join(" | "))?;
        // Words stand at the left.
        let line = |head: &&str| if *head == first || *head == "answers" { "---" } else { "--:" };
        writeln!(out, "|{}|", heads.iter().map(line).collect::<Vec<_>>().join("|"))
    }

    fn load(&self, out: &mut String) -> Result {
        self.columns(out, "load", &[])?;
        let mut row = |name: &str, of: &dyn Fn(&Load) -> Option<f64>| {
            write!(out, "| {name} |")?;
            let values: Vec<_> = self.loads.iter().map(|load| of(load.as_ref()?)).collect();
            for (i, value) in values.iter().enumerate() {
                write!(out, " {} |", value.map_or("–".to_owned(), |value| format!("{value:.1}")))?;
                if let (1, Some(Some(ours)), Some(theirs)) = (i, values.first(), value) {
                    write!(out, " {:.2} |", ours / theirs)?;
                }
            }
            writeln!(out)
        };
        row("wall, s", &|load| Some(load.wall_s))?;
        row("raw MB a second", &|load| Some(load.raw_bytes as f64 / 1e6 / load.wall_s))?;
        row("CPU seconds, merges included", &|load| Some(load.cpu_s))?;
        row("peak resident MB", &|load| Some(load.peak_bytes as f64 / 1e6))?;
        row("resident MB afterwards", &|load| Some(load.resident_bytes? as f64 / 1e6))?;
        row("of these, of no file", &|load| Some(load.anonymous_bytes? as f64 / 1e6))?;
        row("MB on disk", &|load| Some(load.disk_bytes as f64 / 1e6))?;
        if self.loads.iter().flatten().any(|load| load.stopped_bytes.is_some()) {
            row("MB on disk after a stop", &|load| Some(load.stopped_bytes? as f64 / 1e6))?;
        }
        writeln!(out)
    }

    fn queries(&self, out: &mut String, temperature: &str, all: &[Asked]) -> Result {
        // With one other, it is the best, and the ratio is there.
        let others = self.peers.len() > 2;
        let best: &[&str] =
            if others { &["best other", "ratio to it", "rows", "answers"] } else { &["rows", "answers"] };
        self.columns(out, &format!("query, {temperature}, ms"), best)?;
        for asked in all {
            write!(out, "| {} |", asked.question.name)?;
            let ours = asked.answers.first().and_then(Option::as_ref).map_or(f64::NAN, |ours| ours.median);
            for (i, answer) in asked.answers.iter().enumerate() {
                match answer {
                    Some(it) => write!(out, " {} ({}–{}) |", ms(it.median), ms(it.least), ms(it.most))?,
                    None => write!(out, " cannot |")?,
                }
                if let (1, Some(it)) = (i, answer) {
                    write!(out, " {:.2} |", ours / it.median)?;
                }
            }
            if others {
                match asked.best_other() {
                    Some((peer, ms)) => write!(out, " {} | {:.2} |", self.peers[peer].0, ours / ms)?,
                    None => write!(out, " – | – |")?,
                }
            }
            writeln!(out, " {} | {} |", asked.rows, self.agreement(asked))?;
        }
        writeln!(out)
    }

    fn live(&self, out: &mut String, ours: &Live, theirs: &Live) -> Result {
        writeln!(
            out,
            "While {} lines a second are sent, to one server after the other ({} and {} lines, {:.0} and {:.0} a second, all of \
             them counted afterwards): the first ones again, with their old times. All queries in turns, with a pause of 20 ms \
             before each, which alone makes small ones slower, and so before that while nothing comes; once through does not \
             count, then medians of {} (least to most):\n",
            ours.wanted_rate, ours.lines, theirs.lines, ours.rate, theirs.rate, self.repeat,
        )?;
        writeln!(
            out,
            "| query, with pauses, ms | Duramen, quiet | VictoriaLogs | ratio | while lines come | VictoriaLogs | ratio |"
        )?;
        writeln!(out, "|---|--:|--:|--:|--:|--:|--:|")?;
        for (number, question) in self.subject.questions.iter().enumerate() {
            write!(out, "| {} |", question.name)?;
            for (ours, theirs) in [(&ours.quiet_ms, &theirs.quiet_ms), (&ours.times_ms, &theirs.times_ms)] {
                let (Some(ours), Some(theirs)) = (ours.get(number), theirs.get(number)) else { continue };
                let ratio = median(ours) / median(theirs);
                write!(out, " {} | {} | {ratio:.2} |", cell(ours), cell(theirs))?;
            }
            writeln!(out)?;
        }
        writeln!(out)
    }

    fn agreement(&self, asked: &Asked) -> String {
        let differs = |((name, _), answer): (&(&str, String), &Option<crate::ask::Timed>)| {
            let differs = answer.as_ref()?.differs.as_ref()?;
            let what = if self.subject.is_foreign {
                String::new()
            } else {
                format!(": {}", differs.replace('|', "\\|"))
            };
            Some(format!("**{name} differs**{what}"))
        };
        let differing: Vec<_> = self.peers.iter().zip(&asked.answers).filter_map(differs).collect();
        if differing.is_empty() { "agree".to_owned() } else { differing.join("; ") }
    }
}

/// Milliseconds, with as many decimals as tell something.
fn ms(ms: f64) -> String {
    if ms < 0.95 { format!("{ms:.2}") } else { format!("{ms:.1}") }
}

/// The one in the middle, of ascending times.
fn median(times_ms: &[f64]) -> f64 {
    times_ms.get(times_ms.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median, and the least and the most, of ascending times.
fn cell(times_ms: &[f64]) -> String {
    match times_ms {
        [] => String::new(),
        [least, ..] => {
            format!("{} ({}–{})", ms(median(times_ms)), ms(*least), ms(*times_ms.last().unwrap_or(least)))
        }
    }
}

fn starts(out: &mut String, ours: &Starts, theirs: &Starts) -> Result {
    writeln!(out, "| start to first answer, ms | Duramen | VictoriaLogs | ratio |\n|---|--:|--:|--:|")?;
    for (name, ours, theirs) in [
        ("files in the page cache", &ours.warm_ms, &theirs.warm_ms),
        ("files dropped from it", &ours.cold_ms, &theirs.cold_ms),
    ] {
        let ratio = median(ours) / median(theirs);
        writeln!(out, "| {name} | {} | {} | {ratio:.2} |", cell(ours), cell(theirs))?;
    }
    writeln!(out)
}

fn kills(out: &mut String, kills: &[(&str, Killed)]) -> Result {
    writeln!(out, "| `kill -9` under load | after, s | lines acknowledged | of them lost | % |")?;
    writeln!(out, "|---|--:|--:|--:|--:|")?;
    for (name, Killed { after_s, acknowledged, lost }) in kills {
        let percent = *lost as f64 / *acknowledged as f64 * 100.0;
        writeln!(out, "| {name} | {after_s:.1} | {acknowledged} | {lost} | {percent:.1} |")?;
    }
    writeln!(out)
}
