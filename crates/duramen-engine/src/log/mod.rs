//! The engine that is one append-only file.
