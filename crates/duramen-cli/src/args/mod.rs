//! What can be typed: the verbs, their flags and their help. No verb is run from here.

mod delete;
mod doctor;
mod engine;
mod generate;
#[cfg(feature = "server")]
mod health;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod import;
mod ingest;
mod query;
mod retention;
#[cfg(feature = "server")]
mod serve;
mod span;
mod store;

pub(crate) use delete::DeleteArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use engine::{EngineArgs, EngineDumpArgs, EngineRepairArgs, EngineVerb, EngineVerifyArgs};
pub(crate) use generate::GenerateArgs;
#[cfg(feature = "server")]
pub(crate) use health::HealthArgs;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use import::{ImportArgs, ImportFrom, ImportTableArgs};
pub(crate) use ingest::IngestArgs;
pub(crate) use query::{OrderArg, OutputArg, QueryArgs, ShowArgs, TailArgs};
pub(crate) use retention::{RetentionArgs, Setting};
#[cfg(feature = "server")]
pub(crate) use serve::{LogFormatArg, ServeArgs, TokenArgs, TokenVerb};
pub(crate) use span::SpanArgs;
pub(crate) use store::{RepairArgs, SnapshotArgs, StatsArgs, VerifyArgs};

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// The store, unless one is named.
const DEFAULT_STORE: &str = "./duramen-data";

/// A store's directory; `DURAMEN_STORE=`, as files of settings have it, names none.
fn store_of(typed: OsString) -> PathBuf {
    if typed.is_empty() { PathBuf::from(DEFAULT_STORE) } else { typed.into() }
}

const EXAMPLES: &str = "\
Examples:
  duramen ingest /var/log/syslog app.ndjson.gz     take log files into ./duramen-data
  duramen query 'error _time:1d'                   find lines with the word `error` of the last day
  duramen query 'level:error | stats by (app) count()'
  my-app 2>&1 | duramen ingest -                   take what a program writes, as it writes it
  duramen tail -f                                  watch what comes in

Exit codes:
  0  done; also when a query matched nothing
  1  failure: something could not be read, written or trusted
  2  a flag or a query that cannot be understood
  4  `query -e` matched nothing
  130 after Ctrl-C, 143 after SIGTERM
`doctor` has its own: 1 warnings, 2 errors.";

/// The durable log store: takes log files and streams in, and finds lines again.
#[derive(Debug, Parser)]
#[command(name = "duramen", version, after_help = EXAMPLES, propagate_version = true)]
pub(crate) struct Cli {
    /// The store's directory
    #[arg(
        long,
        value_name = "DIR",
        env = "DURAMEN_STORE",
        default_value = DEFAULT_STORE,
        value_parser = OsStringValueParser::new().map(store_of),
        global = true,
        value_hint = clap::ValueHint::DirPath
    )]
    pub(crate) store: PathBuf,

    /// What to do
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Take log files, or stdin, into the store
    Ingest(IngestArgs),
    /// Take logs that lie in a database into the store
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    Import(ImportArgs),
    /// Find and count entries, in the language LogsQL
    Query(QueryArgs),
    /// Show the last entries, and follow
    Tail(TailArgs),
    /// Say what the store holds and what it takes on disk
    Stats(StatsArgs),
    /// Say and set how long lines are kept, and how much disk they may take
    Retention(RetentionArgs),
    /// Delete the lines that a filter finds, for good
    Delete(DeleteArgs),
    /// Make a copy of the store while it is in use
    Snapshot(SnapshotArgs),
    /// Read every byte of the store and check every checksum
    Verify(VerifyArgs),
    /// Put tables that were set aside back into use, if they are whole and nothing has taken their place
    Repair(RepairArgs),
    /// Look a store and its surroundings over: say what is wrong, and what to do
    Doctor(DoctorArgs),
    /// Front the store with HTTP: take logs from shippers, answer dashboards and people
    #[cfg(feature = "server")]
    Serve(Box<ServeArgs>),
    /// Ask whether the server is well, for supervisors
    #[cfg(feature = "server")]
    Health(HealthArgs),
    /// Make, list and revoke the tokens that let clients of `serve` in
    #[cfg(feature = "server")]
    Token(TokenArgs),
    /// Look into, check and repair key-value stores of the storage engine
    Engine(EngineArgs),
    /// Write realistic log lines to stdout, for demos, tests and benchmarks
    Generate(GenerateArgs),
    /// Print a shell's completion script
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  duramen completions bash > ~/.local/share/bash-completion/completions/duramen
  duramen completions zsh  > ~/.zfunc/_duramen
  duramen completions fish > ~/.config/fish/completions/duramen.fish";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_has_examples_and_no_line_too_wide() {
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            let help = command.clone().render_help().to_string();
            assert!(help.contains("Examples:\n  "), "{}", command.get_name());
            // Longer lines would be broken once more, each with a word or two left over.
            let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(below.lines().all(|line| line.chars().count() <= 100), "{below}");
            commands.extend(command.get_subcommands().filter(|verb| verb.get_name() != "help").cloned());
        }
    }

    #[test]
    fn the_store_may_stand_before_or_after_the_verb() {
        for line in [["duramen", "--store", "x", "stats"], ["duramen", "stats", "--store", "x"]] {
            assert_eq!(Cli::try_parse_from(line).unwrap().store, PathBuf::from("x"));
        }
    }
}
