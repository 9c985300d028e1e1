//! Memory for what is read often.
//!
//! | module | one idea |
//! |---|---|
//! | `shared` | [`SharedBytes`]: bytes that many may hold, from the heap or from a pool |
//! | `pool` | [`Pool`]: memory in huge pages |
//! | `room` | which parts of a region are free |
//! | `words` | [`SharedWords`]: a table of words, a large one in huge pages |
//! | `prefetch` | asking the processor for memory ahead of time |

mod pool;
mod prefetch;
mod room;
mod shared;
mod words;

pub(crate) use pool::Pool;
pub(crate) use prefetch::prefetch;
pub(crate) use shared::SharedBytes;
pub(crate) use words::SharedWords;
