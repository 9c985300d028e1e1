//! A seeded generator of realistic logs: for demonstrations, tests and benchmarks.
//!
//! It simulates a small invented company: twenty services on twenty hosts. Requests enter at the edge, pass from
//! service to service with one trace id, ask the database, and sometimes fail; a deploy goes wrong or a service
//! stops answering, and its dependents suffer for minutes; strangers try passwords; jobs run. Rates follow the
//! hour of the day and have bursts; users, addresses and paths follow Zipf's law, latencies a heavy tail. All
//! names are made up, and all addresses are from ranges that are set aside for documentation and benchmarks.
//!
//! The same options give the same bytes, on every machine. Nothing here reads a clock.
//!
//! ```
//! use duramen_generate::{Generator, Options};
//! let mut generator = Generator::new(Options { lines: 3, ..Options::default() })?;
//! let mut text = Vec::new();
//! while generator.write_line(&mut text) {}
//! assert_eq!(text.split(|&b| b == b'\n').count(), 3 + 1);
//! # Ok::<(), duramen_generate::InvalidOption>(())
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | `catalog` | the invented company: services, routes, and what they say |
//! | `workload` | what happens: requests, incidents, rates; makes [`Event`]s |
//! | `render` | writes an event in a [`Format`] |
//! | `generator` | the events of it all, one by one |
//! | `needles` | what is planted to be found again |
//! | `rng`, `math`, `text` | random numbers, arithmetic and writing that are the same everywhere |

mod catalog;
mod event;
mod generator;
mod math;
mod needles;
mod options;
mod render;
mod rng;
mod text;
mod workload;

pub use event::{Event, Level};
pub use generator::Generator;
pub use options::{Format, InvalidOption, Kind, Options, Pace};
