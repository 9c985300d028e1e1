//! Deleting lines: all that match and were there go, at once and for good, and nothing else does.
//!
//! | module | what it shows |
//! |---|---|
//! | `model` | random histories against a plain list of lines |
//! | `crash` | a crash or an error at every operation of a deletion |
//! | `damage` | a damaged block of a table that has lines to delete |
//! | `basics` | the bytes are gone; open snapshots; tails; damage; other processes |
#![allow(clippy::unwrap_used, clippy::panic)] // all of this is test

mod basics;
mod crash;
mod damage;
mod lines;
mod model;
