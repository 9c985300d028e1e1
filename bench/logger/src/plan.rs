//! Running a study's cases, in rounds, each on a quiet disk; and writing its page.

use crate::case::Case;
use crate::results::{Header, Results};
use crate::targets::System;
use crate::{Options, Result, direct, goals, store, table};
use shared::disk;
use shared::machine::{Machine, versions};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

/// What one command measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Direct,
    Store,
}

impl Group {
    pub(crate) const ALL: [Self; 2] = [Self::Direct, Self::Store];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Store => "store",
        }
    }
}

/// How many times as often a case runs that is over in some milliseconds, where each interruption counts.
const SHORT_ROUNDS: u32 = 5;

pub(crate) fn run(group: Group, options: &Options) -> Result<Results> {
    std::fs::create_dir_all(&options.work)?;
    let rounds = options.rounds.unwrap_or(if options.quick { 1 } else { 3 });
    let cases: Vec<Case> = match group {
        Group::Direct => direct::cases(options.quick),
        Group::Store => store::cases(options.quick),
    };
    let postgres = options.postgres.as_deref();
    let machine = Machine::look(&options.work, &peers());
    let begin = Instant::now();
    let mut outcomes = Vec::new();
    for round in 0..rounds * SHORT_ROUNDS {
        for case in cases.iter().filter(|case| round < rounds || case.is_short()) {
            if System::of(&case.system).is_some_and(|s| s.needs_server) && postgres.is_none() {
                continue;
            }
            let case = Case { round, ..case.clone() };
            eprintln!("round {}: {:?}, {}, {} lines", round + 1, case.study, case.system, case.lines);
            let dir = tempfile::tempdir_in(&options.work)?;
            disk::quiesce(&options.work)?;
            outcomes.push(case.in_child(dir.path(), postgres));
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Results::new(Header { machine, rounds, seconds }, outcomes))
}

fn peers() -> Vec<String> {
    let mut peers = versions(&["rusqlite", "postgres"]);
    peers.push(format!("SQLite {}", rusqlite::version()));
    peers
}

/// Writes every page that the results in a directory allow.
pub(crate) fn report(dir: &Path) -> Result<()> {
    let direct = Results::load(dir, Group::Direct)?;
    let store = Results::load(dir, Group::Store)?;
    if let Some(results) = &direct {
        let page = format!("{}{}", head("Study 001: the direct logger", results)?, direct::page(results)?);
        std::fs::write(dir.join("logger-direct.md"), page)?;
    }
    if let Some(results) = &store {
        let page = format!("{}{}", head("Study 003: the log store", results)?, store::page(results)?);
        std::fs::write(dir.join("logger-store.md"), page)?;
    }
    let Some(any) = direct.as_ref().or(store.as_ref()) else {
        return Err(format!("no results in {}", dir.display()).into());
    };
    let goals = goals::page(direct.as_ref(), store.as_ref())?;
    std::fs::write(dir.join("logger.md"), format!("{}{goals}", head("The direct logger's goals", any)?))?;
    Ok(())
}

fn head(title: &str, results: &Results) -> Result<String> {
    let Header { machine: m, rounds, seconds } = results.header();
    let mut out = String::new();
    writeln!(out, "# {title}\n")?;
    writeln!(out, "- Machine: {m}")?;
    writeln!(out, "- Versions: commit {}; {}; {}", m.commit, m.compiler, m.peers)?;
    writeln!(
        out,
        "- Each case a process of its own; rounds: {rounds}, interleaved; medians. Ratios are medians of the ratios \
         within the rounds. Took {} s.",
        table::short(*seconds)
    )?;
    writeln!(out, "- How it is measured: see [bench/README.md](../README.md#the-direct-logger)\n")?;
    let failures = results.failures();
    if !failures.is_empty() {
        writeln!(out, "**Failed:**\n")?;
        for failure in failures {
            writeln!(out, "- {failure}")?;
        }
        writeln!(out)?;
    }
    Ok(out)
}
