//! `duramen import`: a table of a database into the store.

use crate::args::{ImportArgs, ImportFrom, ImportTableArgs};
use crate::failure::{Failure, Outcome, complain, say};
use crate::input::claim::Claims;
use crate::interrupt::Interrupt;
#[cfg(feature = "postgres")]
use crate::moment::parse_zone;
use crate::render::units::{count, counted, duration, per_second};
use duramen::{Store, StoreOptions};
use duramen_engine::io::Env;
use duramen_sinks::import::{Copied, Copying, SqlTable, TableOptions};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::tz::TimeZone;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// So many rows that are bad or odd are told one by one, with what is wrong with them; of the others, the keys.
const TOLD_ROWS: u64 = 20;
/// So many keys, or runs of them, are told.
const TOLD_KEYS: usize = 1_000;

/// Copies the rows that the store does not have yet.
pub(crate) fn run(args: &ImportArgs, dir: &Path, env: &Env, interrupt: &Interrupt) -> Outcome {
    let (args, table) = match &args.from {
        #[cfg(feature = "sqlite")]
        ImportFrom::Sqlite { file, table } => {
            (table, SqlTable::sqlite(file, &options(table, TimeZone::UTC, env)))
        }
        #[cfg(feature = "postgres")]
        ImportFrom::Postgres { url, table } => {
            let zone = parse_zone("local").map_err(Failure::Usage)?;
            (table, SqlTable::postgres(url, &options(table, zone, env)))
        }
    };
    let mut table = table?;
    if let Some(warning) = table.warning() {
        complain(&format!("{}: {warning}", table.name()));
    }
    let dir = args.dir.as_deref().unwrap_or(dir);
    let store = StoreOptions::new().env(env.clone()).durability(args.durability.into()).open(dir)?;
    let waits = |waits: &str| say(&format!("{}: {waits}", table.name()));
    let claim =
        Claims::of(env, dir).and_then(|mut claims| claims.take(table.identity_hash(), interrupt, waits));
    let copied = claim.and_then(|claim| match claim {
        Some(_held) => copy(&store, &mut table, args, env, interrupt),
        None => Ok(true),
    });
    // Whatever happened, what was taken is sealed and, if possible, put into tables.
    let (closed, incidents) = store.close_with_incidents();
    let incidents = incidents.messages;
    incidents.iter().for_each(|why| complain(why));
    let all_well = copied?;
    closed?;
    interrupt.check()?;
    Ok(ExitCode::from(u8::from(!all_well || !incidents.is_empty())))
}

fn options(args: &ImportTableArgs, zone: TimeZone, env: &Env) -> TableOptions {
    TableOptions::new()
        .table(args.table.clone())
        .key_column(args.key_column.clone())
        .time_column(args.time_column.clone())
        .message_column(args.message_column.clone())
        .level_column(args.level_column.clone())
        .stream_fields(args.stream_fields.clone())
        .timezone(args.timezone.clone().unwrap_or(zone))
        .now_ns(env.clock.now_unix_ns())
}

/// Copies, shows how far it is, and says what came of it; whether every row is an entry now.
fn copy(
    store: &Store,
    table: &mut SqlTable,
    args: &ImportTableArgs,
    env: &Env,
    interrupt: &Interrupt,
) -> Result<bool, Failure> {
    let name = table.name().to_owned();
    let known = store.source_positions()?;
    let mut position = match (args.again, args.go_on) {
        (true, _) => table.again(&known),
        (false, true) => table.go_on(&known),
        (false, false) => table.start(&known).map_err(|e| {
            Failure::Failed(format!(
                "{e}; --go-on takes what is behind its key all the same, --again all of it, also what the store has already"
            ))
        })?,
    };
    let had = position.entries;
    let expected = table.rows_after(&position)?;
    let bar = bar(expected, args.quiet);
    let started = env.clock.monotonic();
    let (mut told, mut others) = (0, Keys::default());
    let copied = table.copy(store, &mut position, &mut |event| {
        match event {
            Copying::Appended(copied) => bar.set_position(copied.rows),
            Copying::Bad { key, why } | Copying::Odd { key, why } => {
                told += 1;
                if told <= TOLD_ROWS {
                    bar.suspend(|| complain(&format!("{name}: row {key}: {why}")));
                } else {
                    others.push(key);
                }
            }
        }
        if interrupt.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let copied = copied?;
    if told > TOLD_ROWS {
        let more = counted(told - TOLD_ROWS, "such row", "such rows");
        complain(&format!("{name}: and {more} more: {}", others.text()));
    }
    if !args.quiet {
        say(&summary(&name, &copied, had, env.clock.monotonic().saturating_sub(started)));
    }
    if copied.interrupted {
        complain(&format!("{name}: interrupted; run it again to go on"));
        return Ok(false);
    }
    // What was there at the beginning is there to the end if all is of one moment. Of a key that SQLite keeps itself nothing
    // else can be wrong.
    let counts = table.is_of_one_moment() || args.key_column.is_some();
    if (counts && copied.rows != expected) || copied.entries + copied.bad_rows != copied.rows {
        complain(&format!(
            "{name}: {} were to be taken, and {} were: some have no key, or one that others have, too",
            counted(expected, "row", "rows"),
            count(copied.rows)
        ));
        return Ok(false);
    }
    Ok(copied.bad_rows == 0 && copied.odd_rows == 0)
}

/// Keys of rows, in their order: those that follow each other as one.
#[derive(Debug, Default)]
struct Keys {
    runs: Vec<(i64, i64)>,
    /// The last of those that found no place.
    last: Option<i64>,
}

impl Keys {
    fn push(&mut self, key: i64) {
        if let Some((_, last)) = self.runs.last_mut()
            && self.last.is_none()
            && last.checked_add(1) == Some(key)
        {
            *last = key;
        } else if self.runs.len() < TOLD_KEYS {
            self.runs.push((key, key));
        } else {
            self.last = Some(key);
        }
    }

    fn text(&self) -> String {
        let run = |&(first, last): &(i64, i64)| match last == first {
            true => first.to_string(),
            false => format!("{first} to {last}"),
        };
        let mut text = self.runs.iter().map(run).collect::<Vec<_>>().join(", ");
        if let Some(last) = self.last {
            text.push_str(&format!(", and so on up to {last}"));
        }
        text
    }
}

fn bar(rows: u64, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(rows), target);
    let template = "{wide_bar} {percent:>3}%  {human_pos}/{human_len} rows, {per_sec}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar
}

fn summary(name: &str, copied: &Copied, had: u64, elapsed: Duration) -> String {
    if copied.rows == 0 {
        return match had {
            0 => format!("{name}: empty"),
            n => format!("{name}: already in the store: {}, nothing new", counted(n, "entry", "entries")),
        };
    }
    let mut parts = vec![counted(copied.rows, "row", "rows"), counted(copied.entries, "entry", "entries")];
    for (n, what) in [(copied.bad_rows, "bad"), (copied.odd_rows, "odd, and kept whole")] {
        if n > 0 {
            parts.push(format!("{} {what}", count(n)));
        }
    }
    parts.push(format!("{} ({} rows/s)", duration(elapsed), count(per_second(copied.rows, elapsed))));
    let mut line = format!("{name}: {}", parts.join(", "));
    if had > 0 {
        line.push_str(&format!("; already in the store: {}", counted(had, "entry", "entries")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_follow_each_other_are_one() {
        let mut keys = Keys::default();
        [3, 5, 6, 7, 9].into_iter().for_each(|key| keys.push(key));
        assert_eq!(keys.text(), "3, 5 to 7, 9");
        (0..2_000).for_each(|i| keys.push(100 + 2 * i));
        assert!(keys.text().ends_with("2092, and so on up to 4098"), "{}", keys.text());
        assert_eq!(keys.runs.len(), TOLD_KEYS);
    }

    #[test]
    fn the_summary_says_what_there_is_to_say() {
        let copied = Copied { rows: 1_000, entries: 998, bad_rows: 2, ..Copied::default() };
        let half = Duration::from_millis(500);
        assert_eq!(
            summary("db", &copied, 0, half),
            "db: 1,000 rows, 998 entries, 2 bad, 0.50 s (2,000 rows/s)"
        );
        assert!(summary("db", &copied, 7, half).ends_with("; already in the store: 7 entries"));
        let nothing = Copied::default();
        assert_eq!(summary("db", &nothing, 0, half), "db: empty");
        assert_eq!(summary("db", &nothing, 1, half), "db: already in the store: 1 entry, nothing new");
    }
}
