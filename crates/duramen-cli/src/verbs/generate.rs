//! `duramen generate`: realistic log lines to stdout.

use crate::args::GenerateArgs;
use crate::failure::{Failure, Outcome, say};
use crate::moment::{now_in, parse_moment};
use duramen_engine::io::Env;
use duramen_generate::{Generator, Options, Pace};
use jiff::tz::TimeZone;
use std::io::Write;
use std::process::ExitCode;

/// How much is written at once.
const WRITE_BYTES: usize = 64 << 10;

/// Writes the lines.
pub(crate) fn run(args: &GenerateArgs, env: &Env) -> Outcome {
    let now = now_in(TimeZone::UTC, &*env.clock);
    let start_ns =
        parse_moment(&args.start, &now).map_err(|why| Failure::Usage(format!("--start: {why}")))?;
    let defaults = Options::default();
    let options = Options {
        seed: args.seed,
        lines: args.lines,
        start_ns,
        pace: args.rate.map_or(defaults.pace, Pace::PerSecond),
        kind: args.kind.into(),
        format: args.format.into(),
        incidents: !args.no_incidents,
        ..defaults
    };
    let mut generator = Generator::new(options).map_err(|e| Failure::Usage(e.to_string()))?;
    let mut out = std::io::stdout().lock();
    let mut text = Vec::with_capacity(WRITE_BYTES * 2);
    loop {
        let more = generator.write_line(&mut text);
        if !more || text.len() >= WRITE_BYTES {
            out.write_all(&text).map_err(Failure::output)?;
            text.clear();
        }
        if !more {
            break;
        }
    }
    out.flush().map_err(Failure::output)?;
    if args.planted {
        for (text, lines) in generator.planted() {
            say(&format!("planted on {lines} lines: {text}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}
