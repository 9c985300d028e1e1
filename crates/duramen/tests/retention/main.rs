//! Retention: what expires goes, what does not stays, whatever happens meanwhile.
//!
//! | module | what it shows |
//! |---|---|
//! | `model` | random histories against a plain list of lines |
//! | `crash` | a crash at every operation of expiring and splitting |
//! | `basics` | by size and free space; late lines; open snapshots; other processes |
#![allow(clippy::unwrap_used, clippy::panic)] // all of this is test

mod basics;
mod crash;
mod lines;
mod model;
