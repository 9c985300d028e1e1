//! What the user gives us to read.
//!
//! | module | what it does |
//! |---|---|
//! | [`open`] | a path or stdin to a stream of plain bytes, whatever it was compressed with |
//! | [`gzip`] | all members of a gzip file |
//! | [`utf16`] | UTF-16 to UTF-8 |
//! | [`sniff`] | what the first bytes tell: compression, binary, UTF-16 |
//! | [`peek`] | looks at the first bytes of a stream without taking them |
//! | [`claim`] | who is taking which source |
//! | [`resume`] | whether, and how far, the store has a file already |
//! | [`tracker`] | the running hash of what has been consumed, which makes that question answerable |
//! | [`pump`] | reads ahead in a thread of its own, so that a quiet pipe can be waited for |

pub(crate) mod claim;
pub(crate) mod gzip;
pub(crate) mod open;
pub(crate) mod peek;
pub(crate) mod pump;
pub(crate) mod resume;
pub(crate) mod sniff;
pub(crate) mod tracker;
pub(crate) mod utf16;
