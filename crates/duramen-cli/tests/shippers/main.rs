//! What ships logs, against a real server: protocols byte by byte, and real clients.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

#[path = "../cli/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;

mod collector;
mod debian;
mod http;
mod listeners;
mod logcli;
mod real;
mod server;
mod syslog_ng;
