//! `duramen stats`, `duramen snapshot` and `duramen verify`: about the store itself.

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
