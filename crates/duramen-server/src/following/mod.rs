//! Following a store's new lines, for any number of clients and over whatever protocol: one thread looks for them and gives
//! them to all who listen (`hub`); each of these knows what it was shown and what it missed (`follower`).

mod follower;
mod hub;

pub(crate) use follower::{Follower, News, on_thread};
pub(crate) use hub::TailHub;
