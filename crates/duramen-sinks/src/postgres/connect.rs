//! A connection, with limits to how long it is waited for.

use crate::error::{Error, Result};
use postgres::{Client, Config, NoTls};
use std::str::FromStr;
use std::time::Duration;

/// How long to wait for a connection, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long sent bytes may stay unacknowledged before the connection counts as broken, unless the URL says
/// otherwise.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(20);

/// Reads a URL or libpq's words. As with libpq, a password may come from `PGPASSWORD`, where `ps` does not show it.
pub(super) fn parse(url: &str) -> Result<Config> {
    let mut config =
        Config::from_str(url).map_err(|e| Error::Invalid(format!("the address of PostgreSQL: {e}")))?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(TCP_USER_TIMEOUT);
    }
    if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
        config.password(password);
    }
    if config.get_application_name().is_none() {
        config.application_name("duramen");
    }
    Ok(config)
}

/// Connects.
pub(super) fn connect(config: &Config) -> Result<Client, postgres::Error> {
    config.connect(NoTls)
}

/// Runs something on a thread of its own, which has no asynchronous runtime.
pub(super) fn on_own_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let thread = std::thread::Builder::new().name("duramen-connect".into()).spawn(work);
    let thread = thread.map_err(|e| Error::Database(format!("cannot start a thread: {e}")))?;
    thread.join().map_err(|_| Error::Database("connecting panicked; please report this".into()))
}
