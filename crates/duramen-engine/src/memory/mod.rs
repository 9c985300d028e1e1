//! Memory for what is read often.
//!
//! | module | one idea |
//! |---|---|
//! | `shared` | [`SharedBytes`]: bytes that many may hold, from the heap or from a pool |
//! | `pool` | [`Pool`]: memory in huge pages |
//! | `room` | which parts of a region are free |
//! | `prefetch` | asking the processor for memory ahead of time |

mod pool;
mod prefetch;
mod room;
mod shared;

pub(crate) use pool::Pool;
pub(crate) use prefetch::prefetch;
pub(crate) use shared::SharedBytes;
