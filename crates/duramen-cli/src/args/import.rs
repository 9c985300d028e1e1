//! `duramen import`.

use super::ingest::DurabilityArg;
use crate::moment::parse_zone;
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use std::path::PathBuf;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  duramen import sqlite app.db                   what a Duramen sink has written there
  duramen import postgres postgres://app@db/logs
  duramen import sqlite app.db --table events --time-column at --message-column text

Run it again at any time: only rows that are new since are taken.";

#[cfg(feature = "sqlite")]
const SQLITE_EXAMPLES: &str = "\
Examples:
  duramen import sqlite app.db
  duramen import sqlite app.db ./logs            into another store
  duramen import sqlite app.db --table events --time-column at --message-column text";

#[cfg(feature = "postgres")]
const POSTGRES_EXAMPLES: &str = "\
Examples:
  duramen import postgres postgres://app@db/logs
  duramen import postgres 'host=/run/postgresql dbname=app' --table audit.events
  duramen import postgres postgres://app@db/logs --table events --key-column number";

/// What to take, and from where.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImportArgs {
    /// Which database
    #[command(subcommand)]
    pub(crate) from: ImportFrom,
}

/// Which database.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportFrom {
    /// From an SQLite file
    #[cfg(feature = "sqlite")]
    #[command(after_help = SQLITE_EXAMPLES)]
    Sqlite {
        /// The database
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,

        #[command(flatten)]
        table: ImportTableArgs,
    },
    /// From a PostgreSQL server
    #[cfg(feature = "postgres")]
    #[command(after_help = POSTGRES_EXAMPLES)]
    Postgres {
        /// The database, as a URL or in libpq's words; PGPASSWORD is read if it has no password
        #[arg(value_name = "URL")]
        url: String,

        #[command(flatten)]
        table: ImportTableArgs,
    },
}

/// Which table, and what its columns are.
#[derive(Args, Debug)]
pub(crate) struct ImportTableArgs {
    /// The store to import into, instead of --store
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// A table of your own, all of whose columns become fields [default: the one that Duramen's sinks write]
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// The column that numbers the rows: integers that only grow [default: SQLite's rowid, PostgreSQL's primary key]
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(crate) key_column: Option<String>,

    /// Look for the time in this column first
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(crate) time_column: Option<String>,

    /// Look for the message in this column first
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(crate) message_column: Option<String>,

    /// Look for the level in this column first
    #[arg(long, value_name = "NAME", requires = "table")]
    pub(crate) level_column: Option<String>,

    /// The fields that tell one stream of entries from another, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) stream_fields: Vec<String>,

    /// The zone of times that name none: local, UTC, +02:00, Europe/Berlin [default: UTC for SQLite, whose own functions give
    /// that; local for PostgreSQL]
    #[arg(long, value_name = "ZONE", value_parser = parse_zone)]
    pub(crate) timezone: Option<TimeZone>,

    /// Take the table from its beginning, although the store may have it
    #[arg(long)]
    pub(crate) again: bool,

    /// Go on behind the last row that was taken, although it has changed: a column was added, say
    #[arg(long, conflicts_with = "again")]
    pub(crate) go_on: bool,

    /// What a row survives once taken: none, process (kill -9), interval:MS or sync (loss of power)
    #[arg(long, value_name = "MODE", default_value = "process", value_parser = DurabilityArg::from_str)]
    pub(crate) durability: DurabilityArg,

    /// No progress bar and no summary; errors are still told
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
