//! `duramen delete`: removing lines for good.

use super::SpanArgs;
use crate::moment::parse_zone;
use clap::Args;
use jiff::tz::TimeZone;

const DELETE_EXAMPLES: &str = "\
Examples:
  duramen delete 'user:=ada' --dry-run                  how many lines would go
  duramen delete 'user:=ada'                            asks, and deletes them
  duramen delete 'app:checkout password' --since 2h --yes
  duramen delete '_time:2026-11-21 path:/health' --yes

The query is a filter, without pipes. What it finds of the lines that are there now is gone from
every query when the command ends, and from the disk once no query reads any more that began
before. It works while programs log.

Exit codes: 0 deleted, also when there was nothing to delete; 1 failure, or something could not be
looked into; 2 the query cannot be understood, or nobody said yes; 130 after Ctrl-C, and nothing
was deleted.";

/// What to delete.
#[derive(Args, Debug)]
#[command(after_help = DELETE_EXAMPLES)]
pub(crate) struct DeleteArgs {
    /// The query, in LogsQL: a filter; `*` is everything
    #[arg(value_name = "LOGSQL")]
    pub(crate) query: String,

    #[command(flatten)]
    pub(crate) span: SpanArgs,

    /// The zone of times that name none: local, UTC, +02:00, Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "local", value_parser = parse_zone)]
    pub(crate) timezone: TimeZone,

    /// Delete nothing, and say how many lines it would be
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}
