//! The `duramen` command: parses what was typed, runs the verb, and turns how it ended into an exit code.
//!
//! | module | what it is |
//! |---|---|
//! | [`args`] | what can be typed |
//! | [`verbs`] | what is done, one module a verb |
//! | [`doctor`] | what is looked at when a store is looked over |
//! | [`input`] | the user's files and streams: opened, decompressed, recognised |
//! | [`render`] | how answers look |
//! | [`allocator`] | when memory is given back to the system |
//! | [`moment`] | times and zones as people type them |
//! | [`interrupt`] | Ctrl-C |
//! | [`failure`] | exit codes, and what is said on stderr |

mod allocator;
mod args;
mod doctor;
mod failure;
mod input;
mod interrupt;
mod moment;
mod render;
mod verbs;

use args::{Cli, Verb};
use clap::Parser;
use duramen_engine::io::Env;
use failure::Failure;
use interrupt::Interrupt;
use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::give_back_early();
    let cli = Cli::parse();
    run(&cli).unwrap_or_else(Failure::report)
}

fn run(cli: &Cli) -> failure::Outcome {
    let env = Env::os();
    let dir = &cli.store;
    match &cli.verb {
        Verb::Ingest(args) => verbs::ingest::run(args, dir, &env, &Interrupt::listen()),
        #[cfg(any(feature = "sqlite", feature = "postgres"))]
        Verb::Import(args) => verbs::import::run(args, dir, &env, &Interrupt::listen()),
        Verb::Query(args) => verbs::query::run(args, dir, &env, &Interrupt::listen()),
        Verb::Tail(args) => verbs::tail::run(args, dir, &env, &Interrupt::listen()),
        Verb::Stats(args) => verbs::stats::run(args, dir),
        Verb::Retention(args) => verbs::retention::run(args, dir),
        Verb::Delete(args) => verbs::delete::run(args, dir, &env, &Interrupt::listen()),
        Verb::Snapshot(args) => verbs::snapshot::run(args, dir),
        Verb::Verify(args) => verbs::verify::run(args, dir, &Interrupt::listen()),
        Verb::Repair(args) => verbs::repair::run(args, dir),
        Verb::Doctor(args) => verbs::doctor::run(args, dir, &env, &Interrupt::listen()),
        #[cfg(feature = "server")]
        Verb::Serve(args) => verbs::serve::run(args, dir, &env),
        #[cfg(feature = "server")]
        Verb::Health(args) => verbs::health::run(args),
        #[cfg(feature = "server")]
        Verb::Token(args) => verbs::token::run(args, dir, &env),
        Verb::Engine(args) => verbs::engine::run(args, &env, &Interrupt::listen()),
        Verb::Generate(args) => verbs::generate::run(args, &env),
        Verb::Completions { shell } => verbs::completions::run(*shell),
    }
}
