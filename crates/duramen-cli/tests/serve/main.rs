//! The real server, asked over HTTP.
//!
//! | module | what it shows |
//! |---|---|
//! | `server` | (starts one, and talks to it) |
//! | `ingest` | lines go in, in every form and compression; bad ones are named |
//! | `habits` | what shippers ask and send beside their protocols' letter |
//! | `select` | queries, counts, histograms; mistakes are shown |
//! | `answers` | those that are made whole: what they take is counted |
//! | `entries` | lists that go on, one by its identity, facets, timelines |
//! | `tail` | lines come as they are appended, all of them, by whomever |
//! | `tokens` | who may do what; revoked, expired, limited; tenants |
//! | `limits` | bodies, bombs, slow clients, heads |
//! | `long_bodies` | files are taken in pieces |
//! | `full_disk` | a full disk is told, reading goes on, and so does writing once there is room |
//! | `soak` | mixed load, killed at intervals: every acknowledged line is there once |
//! | `life` | starts, says what is wrong, stops when told |

#![cfg(feature = "server")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // what is tested runs in other processes, with real files and time

mod admin;
mod answers;
mod entries;
mod full_disk;
mod habits;
mod ingest;
mod life;
mod limits;
mod long_bodies;
mod retention;
mod select;
mod server;
mod soak;
mod tail;
mod tokens;
