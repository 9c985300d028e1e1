//! A connection.

use super::address::Address;
use crate::error::{Error, Result};
use postgres::Client;

/// Connects.
pub(super) fn connect(address: &Address) -> Result<Client, postgres::Error> {
    address.config.connect(address.tls.clone())
}

/// Runs something on a thread of its own, which has no asynchronous runtime.
pub(super) fn on_own_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let thread = std::thread::Builder::new().name("duramen-connect".into()).spawn(work);
    let thread = thread.map_err(|e| Error::Database(format!("cannot start a thread: {e}")))?;
    thread.join().map_err(|_| Error::Database("connecting panicked; please report this".into()))
}
