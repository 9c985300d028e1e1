//! `duramen doctor`.

use clap::Args;
use std::path::PathBuf;

const DOCTOR_EXAMPLES: &str = "\
Examples:
  duramen doctor                                  look ./duramen-data over
  duramen doctor /var/lib/duramen --config /etc/duramen.toml
  duramen doctor --verify                         and read every byte
  duramen doctor --json | jq '.checks[] | select(.status != \"ok\")'

It looks at the directory, its file system and room, limits, the clock, writers and keeper,
tables, damage, tokens, settings and certificate, says what is wrong, and what to do. It changes
nothing, and may run while programs log.

Exit codes: 0 all is well; 1 there are warnings; 2 there are errors, or what was given cannot be
understood.";

/// What to look at.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// The store's directory [default: that of --store]
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// The settings of `duramen serve`, to look at, too
    #[cfg(feature = "server")]
    #[arg(long, value_name = "FILE", env = "DURAMEN_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Read every byte and check every checksum, as `duramen verify` does
    #[arg(long)]
    pub(crate) verify: bool,

    /// One JSON object, for programs
    #[arg(long)]
    pub(crate) json: bool,
}
