//! `duramen stats`, `duramen snapshot`, `duramen verify` and `duramen repair`: about the store itself.

use crate::render::color::ColorChoice;
use clap::Args;
use std::path::PathBuf;

const STATS_EXAMPLES: &str = "\
Examples:
  duramen stats
  duramen stats --json | jq '.days[] | {day, lines}'
  duramen --store /var/lib/logs stats";

const VERIFY_EXAMPLES: &str = "\
Examples:
  duramen verify
  duramen verify && echo all is well

Exit codes: 0 every byte is as it was written; 1 something is damaged, or could not be read.";

/// What to say.
#[derive(Args, Debug)]
#[command(after_help = STATS_EXAMPLES)]
pub(crate) struct StatsArgs {
    /// One JSON object, for programs
    #[arg(long)]
    pub(crate) json: bool,

    /// When to use colour
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

const SNAPSHOT_EXAMPLES: &str = "\
Examples:
  duramen snapshot /backup/logs-2026-11-21
  duramen --store /backup/logs-2026-11-21 query error     the copy is a store like any other
  duramen snapshot daily && rsync -a daily backup-host:   elsewhere, once it is made

To restore, open the copy, or move it to where the store was. On the same file system it takes
hardly any room: tables are the same files under a second name. Programs may go on logging.

Exit codes: 0 the copy is whole; 1 there is none, or something could not be read.";

/// Where to.
#[derive(Args, Debug)]
#[command(after_help = SNAPSHOT_EXAMPLES)]
pub(crate) struct SnapshotArgs {
    /// The directory to make; it must not exist
    #[arg(value_name = "TO", value_hint = clap::ValueHint::DirPath)]
    pub(crate) to: PathBuf,
}

/// How to check.
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

const REPAIR_EXAMPLES: &str = "\
Examples:
  duramen repair --dry-run                  what would come back, and why the rest stays
  duramen repair

Of the files in the store's quarantine/, tables that are whole come back, each line once. None
does of which lines may have been deleted, or have expired, since it was set aside, that another
table was made of, or whose lines were taken in again. Programs may go on logging; an `ingest`
that takes the lines of such a table once more should have ended.

Exit codes: 0 nothing is left in quarantine/; 1 something stays there, or failed.";

/// How to put back.
#[derive(Args, Debug)]
#[command(after_help = REPAIR_EXAMPLES)]
pub(crate) struct RepairArgs {
    /// Put nothing back, and say what would be
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}
