//! Memory for what is read often, and for much at once.
//!
//! | module | one idea |
//! |---|---|
//! | `shared` | `SharedBytes`: bytes that many may hold, from the heap or from a pool |
//! | `pool` | `Pool`: memory in huge pages |
//! | `room` | which parts of a region are free |
//! | `buffer` | [`room`], [`zeros`]: large buffers in huge pages |
//! | `words` | `SharedWords`: a table of words, a large one in huge pages |
//! | `prefetch` | asking the processor for memory ahead of time |

mod buffer;
mod pool;
mod prefetch;
mod room;
mod shared;
mod words;

pub use buffer::{room, zeros};
pub(crate) use pool::Pool;
pub(crate) use prefetch::prefetch;
pub(crate) use shared::SharedBytes;
pub(crate) use words::SharedWords;
