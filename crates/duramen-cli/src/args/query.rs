//! `duramen query` and `duramen tail`: they show entries alike.

use super::SpanArgs;
use crate::moment::parse_zone;
use crate::render::color::ColorChoice;
use clap::{Args, ValueEnum};
use duramen_query::number::{Number, parse_duration_ns};
use jiff::tz::TimeZone;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::time::Duration;

const QUERY_EXAMPLES: &str = "\
Examples:
  duramen query error                                    lines with the word `error`, newest first
  duramen query '\"connection refused\" app:checkout' --since 1h
  duramen query 'status:>=500 -path:/health' --from '2026-11-21 14:00' --to '2026-11-21 14:30'
  duramen query 'level:error | stats by (app) count() n | sort by (n desc)'
  duramen query '_time:1d | top 10 by (user)'
  duramen query 'trace_id:4bf92f35*' --order oldest --output raw
  duramen query '* | uniq by (trace_id)' --max-memory 1GB --timeout 30s --stats
  duramen query '*' --limit 1000 | jq ._msg              NDJSON when piped
  duramen query --sqlite app.db level:error              a database that a Duramen sink writes

Exit codes: 0 done, also when nothing matched; 1 failure; 2 the query cannot be understood;
4 nothing matched and `-e` was given (not 1 as with grep: that is a failure here).";

const TAIL_EXAMPLES: &str = "\
Examples:
  duramen tail                        the last 10 entries
  duramen tail -n 100 level:error     the last 100 with level error
  duramen tail -f app:checkout        and those that are coming, until Ctrl-C
  duramen tail -f -n 0 | jq .         NDJSON when piped

The query may have a filter, limit, and the pipes that look at each entry by itself,
such as fields, rename, extract and format.";

/// How entries are shown.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// How to write the answer
    #[arg(short, long, value_enum, default_value_t = OutputArg::Auto)]
    pub(crate) output: OutputArg,

    /// The zone in which times are shown, and read where they name none: local, UTC, +02:00, Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "local", value_parser = parse_zone)]
    pub(crate) timezone: TimeZone,

    /// When to use colour
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,

    /// The same as --color never
    #[arg(long, conflicts_with = "color")]
    pub(crate) no_color: bool,
}

/// What to find.
#[derive(Args, Debug)]
#[command(after_help = QUERY_EXAMPLES)]
pub(crate) struct QueryArgs {
    /// The query, in LogsQL; `*` is everything
    #[arg(value_name = "LOGSQL")]
    pub(crate) query: String,

    /// At most so many entries
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u64>,

    #[command(flatten)]
    pub(crate) span: SpanArgs,

    /// Ask an SQLite database that a Duramen sink writes, instead of the store
    #[cfg(feature = "sqlite")]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) sqlite: Option<PathBuf>,

    /// Ask a PostgreSQL database that Duramen sinks write, instead of the store
    #[cfg(feature = "postgres")]
    #[cfg_attr(feature = "sqlite", arg(long, value_name = "URL", conflicts_with = "sqlite"))]
    #[cfg_attr(not(feature = "sqlite"), arg(long, value_name = "URL"))]
    pub(crate) postgres: Option<String>,

    /// Which entries come first
    #[arg(long, value_enum, default_value_t = OrderArg::Newest)]
    pub(crate) order: OrderArg,

    /// How many threads search [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// Give up after this long: 500ms, 30s, 5m [default: never]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) timeout: Option<Duration>,

    /// How much memory sorting, grouping and joining may take: 64MiB, 1GB [default: a quarter of the machine's, 128 MiB to 2 GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_memory: Option<usize>,

    /// Give up when more rows than this would be looked at [default: never]
    #[arg(long, value_name = "N")]
    pub(crate) max_rows: Option<u64>,

    /// Say on stderr what was read and how long it took
    #[arg(long)]
    pub(crate) stats: bool,

    /// Write Parquet to stdout; the query is run twice, the first time to find the columns
    #[cfg(feature = "parquet")]
    #[arg(long, conflicts_with = "output")]
    pub(crate) parquet: bool,

    /// Exit with 4 if nothing matched
    #[arg(short = 'e', long)]
    pub(crate) fail_empty: bool,

    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// What to watch.
#[derive(Args, Debug)]
#[command(after_help = TAIL_EXAMPLES)]
pub(crate) struct TailArgs {
    /// The query, in LogsQL: a filter
    #[arg(value_name = "LOGSQL", default_value = "*")]
    pub(crate) query: String,

    /// Go on with entries as they come, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// How many of those that are there to show first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) lines: u64,

    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Reads `30s`.
pub(super) fn parse_timeout(text: &str) -> Result<Duration, String> {
    let ns = parse_duration_ns(text).and_then(|ns| u64::try_from(ns).ok()).filter(|ns| *ns > 0);
    ns.map(Duration::from_nanos).ok_or_else(|| "a duration such as 500ms, 30s or 5m is expected".into())
}

/// Reads `64MiB`.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    let bytes = Number::parse(text).and_then(Number::as_int).and_then(|n| usize::try_from(n).ok());
    bytes.filter(|n| *n > 0).ok_or_else(|| "a size such as 64MiB or 1GB is expected".into())
}

/// `--output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputArg {
    /// text on a terminal, ndjson elsewhere
    #[default]
    Auto,
    /// One JSON object a line, with _time, _msg and the fields
    Ndjson,
    /// For people: time, level, message, the other fields; a table for counts
    Text,
    /// The message alone
    Raw,
}

/// `--order`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// The newest
    #[default]
    Newest,
    /// The oldest
    Oldest,
}
