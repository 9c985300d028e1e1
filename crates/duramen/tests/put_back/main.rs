//! Tables in quarantine come back into use if nothing of them may have gone since, each line once.
//!
//! | module | what it shows |
//! |---|---|
//! | `comes_back` | what comes back, and how |
//! | `stays` | what does not: deleted, expired, replaced, taken in again, damaged |
//! | `crash` | a crash or an error at every operation |
//! | `lost_end` | stores whose manifest has lost its end |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

mod comes_back;
mod crash;
mod lost_end;
mod stays;
