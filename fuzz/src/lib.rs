//! Coverage-guided fuzzing of every decoder of Duramen: whatever bytes lie on a disk or come from a user, they
//! are read or refused, and never make the program panic, hang or take more memory than it should.
//!
//! One binary (`src/bin/fuzz.rs`) has all targets, because linking many is what takes time; the variable
//! `DURAMEN_FUZZ_TARGET` says which to run. A [`Target`] checks more than that nothing panics: what two readers
//! say of the same bytes must agree, and what is decoded and encoded again must come back.
//!
//! Bytes on disk carry checksums, which no fuzzer gets past by chance. So the targets of file formats take, as the
//! first byte of their input, whether to put all checksums right first ([`seal`]): then what lies behind the
//! checksums is tried, otherwise the checks themselves.
//!
//! Seeds (`corpus/`) are what the real encoders write; `src/bin/seeds.rs` makes them anew.

pub mod input;
pub mod seal;
pub mod targets;

pub use targets::{TARGETS, Target};
