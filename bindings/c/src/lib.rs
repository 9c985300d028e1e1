//! Duramen from C. What a C program sees, and is promised, is in `include/duramen.h`.
//!
//! | module | one idea |
//! |---|---|
//! | `border` | the functions: pointers in, a status out |
//! | `given` | reading what C gave: texts, fields, options |
//! | `status` | what a call returns, and why; no panic crosses the border |
//!
//! Memory is unsafe at the border only; there, C's promises are those of the header.

mod border;
mod given;
mod status;

pub use border::{
    RowCallback, duramen_close, duramen_flush, duramen_last_error, duramen_log, duramen_open, duramen_query,
    duramen_sync, duramen_version,
};
pub use given::{Field, FieldValue, Options, Text};
