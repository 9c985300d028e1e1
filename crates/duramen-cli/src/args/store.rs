//! `duramen stats` and `duramen verify`: about the store itself.

use crate::render::color::ColorChoice;
use clap::Args;

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

/// How to check.
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
