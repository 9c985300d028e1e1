//! What ships logs, against a real server: protocols byte by byte, and real clients.

#[path = "../cli/sandbox.rs"]
#[allow(dead_code)]
mod sandbox;

mod debian;
mod http;
mod listeners;
mod real;
mod server;
