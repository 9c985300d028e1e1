//! `duramen engine`: the files of the storage engine, as files.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  duramen engine verify /var/lib/app/state           read every byte of a key-value store
  duramen engine repair --dry-run /var/lib/app/state say what a repair would do, and what is lost
  duramen engine dump /var/lib/app/state/MANIFEST    what is in a file, line by line

DIR is a key-value store of the crate duramen-engine, of either engine. The log store, too, is
made of such files: `dump` reads them; `duramen verify` checks it.";

const DUMP_EXAMPLES: &str = "\
Examples:
  duramen engine dump state                          the whole store: manifest, tables, WAL
  duramen engine dump state/sst/00000012.sst --keys  every entry of a table
  duramen engine dump state --json --keys | jq -r 'select(.what == \"delete\") | .key'
  duramen engine dump state --limit 5                the beginning of every file

A line is a thing and its fields; what lies inside something is indented. Offsets and sizes are in
bytes. Keys and values are bytes: what is not printable ASCII is shown as \\xff, also in JSON.

Exit codes: 0 all could be told; 1 something is damaged (a line `damage` says where), or
unreadable.";

const VERIFY_EXAMPLES: &str = "\
Examples:
  duramen engine verify state
  duramen engine verify --quiet state || duramen engine repair state

The store may be in use meanwhile. Nothing is changed.

Exit codes: 0 every byte is as it was written; 1 something is damaged, or could not be read.";

const REPAIR_EXAMPLES: &str = "\
Examples:
  duramen engine repair --dry-run state              changes nothing
  duramen engine repair state

Blocks, records and tables that are whole are kept; a manifest that is lost or damaged is made
anew from them. Damaged files are not deleted: they are in DIR/quarantine afterwards. The store
must not be open. A repair that was stopped can be run again.

Exit codes: 0 nothing is lost; 1 something is (a line `lost` says what), or it cannot be repaired.";

/// What to do to them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EngineArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) verb: EngineVerb,
}

/// What to do to them.
#[derive(Debug, Subcommand)]
pub(crate) enum EngineVerb {
    /// Tell what is in any of the engine's files, or in all of a store's
    Dump(EngineDumpArgs),
    /// Read every byte of a key-value store and check every checksum
    Verify(EngineVerifyArgs),
    /// Make a damaged key-value store one that opens, and say what is lost by it
    Repair(EngineRepairArgs),
}

/// What to tell.
#[derive(Args, Debug)]
#[command(after_help = DUMP_EXAMPLES)]
pub(crate) struct EngineDumpArgs {
    /// A store's directory, or one file of it
    #[arg(value_name = "DIR|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,

    /// Every entry and every write, with its key
    #[arg(long)]
    pub(crate) keys: bool,

    /// Values, too
    #[arg(long)]
    pub(crate) values: bool,

    /// Of each file at most N lines about its content
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,

    /// One JSON object a line, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to check.
#[derive(Args, Debug)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct EngineVerifyArgs {
    /// The store's directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How to repair.
#[derive(Args, Debug)]
#[command(after_help = REPAIR_EXAMPLES)]
pub(crate) struct EngineRepairArgs {
    /// The store's directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// Change nothing, only say what would be done
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
