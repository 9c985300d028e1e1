//! Real processes are killed (`kill -9`) at random moments, and nothing that was acknowledged is lost, doubled or torn.
//!
//! | module | who is killed, and what acknowledges |
//! |---|---|
//! | `writers` | three programs that append to one store through the library; `append` returned |
//! | `file` | `duramen ingest FILE`, run again until it is through; the file is in the store once |
//! | `pipe` | `duramen ingest -`; another process saw the line |
//!
//! | module | what it helps with |
//! |---|---|
//! | `life` | one process, from its start to its end |
//! | `numbered` | numbered lines, and which of them a store has |
//! | `plan` | how many kills, at which moments |
//!
//! Each test kills 25 times; `DURAMEN_KILLS` says otherwise. The seed of the moments is printed;
//! `DURAMEN_KILL_SEED` gives the same ones again, as far as the operating system's scheduling allows.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // what is tested runs in other processes, with real files and time

mod file;
mod life;
mod numbered;
mod pipe;
mod plan;
#[allow(dead_code)] // shared with the tests of the command
#[path = "../cli/sandbox.rs"]
mod sandbox;
mod writers;
