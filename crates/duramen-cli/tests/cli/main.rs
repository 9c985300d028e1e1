//! The real command, run as a user runs it.
//!
//! | module | what it shows |
//! |---|---|
//! | `formats` | logs of each format go in and are found again |
//! | `compressed` | gzip and zstd, whole, in parts and cut short |
//! | `resume` | nothing is taken twice: grown, renamed, copied, compressed files |
//! | `streams` | a pipe is visible while it is open; tail follows |
//! | `kill` | killed at random moments, every line is there once |
//! | `bad_input` | what cannot be read is told, and the rest goes on |
//! | `bad_store` | no store, no store's directory, a newer one, a full disk, a damaged one |
//! | `delete` | what a filter finds goes for good |
//! | `doctor` | a good store and several bad ones are looked over |
//! | `engine` | key-value stores: dumped, verified, repaired |
//! | `query` | forms of output, exit codes, time ranges |
//! | `retention` | what is set is shown and enforced |
//! | `snapshot` | a copy, made while another writes, and restored |
//! | `sql` | logs in a database: queried, and imported |
//! | `usage` | help, completions, generate, stats |

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // what is tested runs in other processes, with real files and time

mod bad_input;
mod bad_store;
mod compressed;
mod delete;
mod doctor;
mod engine;
mod formats;
mod kill;
mod query;
mod resume;
mod retention;
mod sandbox;
mod snapshot;
#[cfg(all(feature = "sqlite", feature = "postgres"))]
mod sql;
mod streams;
mod usage;
