//! An address as libpq takes it: a URL, or words. What it says of TLS is read here, the rest by the client library.

use super::tls::{self, Verify};
use crate::error::{Error, Result};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long to wait for a connection, unless the address says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long sent bytes may stay unacknowledged before the connection counts as broken, unless the address says
/// otherwise.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a connection may be silent before the other side is asked whether it is still there. A server that has moved
/// to another machine is noticed so, while we wait for the answer of the one before.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(30);

/// A server and a database in it, and how it is spoken to.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Address {
    /// Reads a URL or libpq's words. As with libpq, a password may come from `PGPASSWORD`, where `ps` does not show it.
    pub(super) fn parse(address: &str) -> Result<Self> {
        let Parts { rest, sslmode, sslrootcert } = Parts::of(address)?;
        let mut config =
            Config::from_str(&rest).map_err(|e| Error::Invalid(format!("the address of PostgreSQL: {e}")))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TCP_USER_TIMEOUT);
        }
        if !rest.contains("keepalives_idle") {
            config.keepalives_idle(KEEPALIVES_IDLE);
        }
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        if config.get_application_name().is_none() {
            config.application_name("duramen");
        }
        let (mode, verify) = match sslmode.as_deref() {
            Some("disable") => (SslMode::Disable, Verify::Nothing),
            None | Some("allow" | "prefer") => (SslMode::Prefer, Verify::Nothing),
            // As with libpq: who names authorities wants them asked.
            Some("require") if sslrootcert.is_some() => (SslMode::Require, Verify::Chain),
            Some("require") => (SslMode::Require, Verify::Nothing),
            Some("verify-ca") => (SslMode::Require, Verify::Chain),
            Some("verify-full") => (SslMode::Require, Verify::ChainAndName),
            Some(other) => {
                return Err(Error::Invalid(format!(
                    "the address of PostgreSQL: sslmode `{other}`; there are disable, prefer, require, verify-ca and \
                     verify-full"
                )));
            }
        };
        config.ssl_mode(mode);
        let roots = sslrootcert.filter(|path| path != "system").map(PathBuf::from);
        Ok(Self { config, tls: tls::connector(verify, roots.as_deref())? })
    }

    /// Those of its servers, each alone, in the order in which they are tried. Where that is left to chance, the client library sees to
    /// it, and this is all of them.
    pub(super) fn of_each_server(&self) -> Vec<Self> {
        let all = &self.config;
        let servers = all.get_hosts().len().max(all.get_hostaddrs().len());
        if servers < 2 || all.get_load_balance_hosts() != LoadBalanceHosts::Disable {
            return vec![self.clone()];
        }
        (0..servers).map(|at| Self { config: of_server(all, at), tls: self.tls.clone() }).collect()
    }

    /// How long to wait for each of its servers to say a word; and after how long without one, to ask whether it still would.
    pub(super) fn patience(&self) -> Duration {
        self.config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT)
    }
}

/// What is said of one of the servers, and of all.
fn of_server(all: &Config, at: usize) -> Config {
    let mut one = Config::new();
    match all.get_hosts().get(at) {
        Some(Host::Tcp(name)) => _ = one.host(name),
        Some(Host::Unix(directory)) => _ = one.host_path(directory),
        None => {}
    }
    if let Some(address) = all.get_hostaddrs().get(at) {
        one.hostaddr(*address);
    }
    if let Some(port) = all.get_ports().get(at).or(all.get_ports().first()) {
        one.port(*port);
    }
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(database) = all.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(name) = all.get_application_name() {
        one.application_name(name);
    }
    if let Some(time) = all.get_connect_timeout() {
        one.connect_timeout(*time);
    }
    if let Some(time) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*time);
    }
    if let Some(time) = all.get_keepalives_interval() {
        one.keepalives_interval(time);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.keepalives(all.get_keepalives()).keepalives_idle(all.get_keepalives_idle());
    one.ssl_mode(all.get_ssl_mode()).ssl_negotiation(all.get_ssl_negotiation());
    one.channel_binding(all.get_channel_binding()).target_session_attrs(all.get_target_session_attrs());
    one
}

/// An address, and what it said of TLS.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    rest: String,
    sslmode: Option<String>,
    sslrootcert: Option<String>,
}

impl Parts {
    fn of(address: &str) -> Result<Self> {
        if address.contains("://") { Self::of_url(address) } else { Ok(Self::of_words(address)) }
    }

    /// Whether it is a word about TLS; then it is kept.
    fn takes(&mut self, name: &str, value: &str) -> bool {
        let place = match name {
            "sslmode" => &mut self.sslmode,
            "sslrootcert" => &mut self.sslrootcert,
            _ => return false,
        };
        *place = Some(value.to_owned());
        true
    }

    fn of_url(address: &str) -> Result<Self> {
        let Some((place, query)) = address.split_once('?') else {
            return Ok(Self { rest: address.to_owned(), ..Self::default() });
        };
        let mut parts = Self::default();
        let mut others = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescaped(value).ok_or_else(|| {
                Error::Invalid(format!("the address of PostgreSQL: `{value}` is not percent-encoded text"))
            })?;
            if !parts.takes(name, &value) {
                others.push(pair);
            }
        }
        parts.rest = place.to_owned();
        if !others.is_empty() {
            parts.rest = format!("{place}?{}", others.join("&"));
        }
        Ok(parts)
    }

    /// `name=value name = 'va\'lue'`. What is malformed is left to the client library, which says so.
    fn of_words(address: &str) -> Self {
        let mut parts = Self::default();
        let Some(words) = words(address) else {
            return Self { rest: address.to_owned(), ..Self::default() };
        };
        for (name, value) in words {
            if !parts.takes(&name, &value) {
                let value = value.replace('\\', "\\\\").replace('\'', "\\'");
                parts.rest.push_str(&format!("{name}='{value}' "));
            }
        }
        parts
    }
}

/// Names and values; `None` if they are not such.
fn words(address: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut rest = address.trim_start();
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=')?;
        let name = name.trim_end();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        let value = value.trim_start();
        let quoted = value.strip_prefix('\'');
        let mut text = String::new();
        let mut end = None;
        let mut letters = quoted.unwrap_or(value).char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => text.push(letters.next()?.1),
                '\'' if quoted.is_some() => {
                    end = Some(at + 1);
                    break;
                }
                letter if quoted.is_none() && letter.is_whitespace() => {
                    end = Some(at);
                    break;
                }
                letter => text.push(letter),
            }
        }
        let value = quoted.unwrap_or(value);
        rest = match end {
            Some(end) => value.get(end..)?.trim_start(),
            None if quoted.is_some() => return None,
            None => "",
        };
        found.push((name.to_owned(), text));
    }
    Some(found)
}

/// Text without its percent signs; `None` if it is malformed.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let digit = |b: Option<u8>| char::from(b?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            u8::try_from(high * 16 + low).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(address: &str) -> (String, Option<String>, Option<String>) {
        let Parts { rest, sslmode, sslrootcert } = Parts::of(address).unwrap();
        (rest, sslmode, sslrootcert)
    }

    #[test]
    fn words_about_tls_are_taken_out() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parts("postgres://a@h/d"), ("postgres://a@h/d".into(), None, None));
        assert_eq!(
            parts("postgres://a@h/d?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fetc%2Fmy%20ca.pem"),
            ("postgres://a@h/d?connect_timeout=3".into(), some("verify-full"), some("/etc/my ca.pem"))
        );
        assert_eq!(parts("postgres://h?sslmode=require"), ("postgres://h".into(), some("require"), None));
        assert_eq!(
            parts(r"host=h sslmode = 'require' password='it\'s\\' sslrootcert=system  dbname=d"),
            (r"host='h' password='it\'s\\' dbname='d' ".into(), some("require"), some("system"))
        );
        assert_eq!(parts("host='h").0, "host='h", "left to the library");
        assert!(Parts::of("postgres://h?sslrootcert=%zz").is_err());
    }

    #[test]
    fn what_is_no_mode_is_told_and_what_is_malformed_too() {
        for (address, says) in [
            ("postgres://h/d?sslmode=on", "verify-full"),
            ("host=h sslmode=''", "verify-full"),
            ("host='h", "the address of PostgreSQL"),
            ("postgres://h/d?sslkey=x", "the address of PostgreSQL"),
            ("host=h sslmode=verify-full sslrootcert=/there/is/none.pem", "/there/is/none.pem"),
        ] {
            let error = Address::parse(address).err().unwrap().to_string();
            assert!(error.contains(says), "{address}: {error}");
        }
    }

    #[test]
    fn modes_are_the_clients() {
        for (address, mode) in [
            ("host=h", SslMode::Prefer),
            ("host=h sslmode=disable", SslMode::Disable),
            ("host=h sslmode=require", SslMode::Require),
            ("postgres://h/d?sslmode=require", SslMode::Require),
        ] {
            assert_eq!(Address::parse(address).unwrap().config.get_ssl_mode(), mode, "{address}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn any_text_is_read_or_refused(address in "(postgres://)?[a-z=' \\\\%?&/]{0,40}\\PC{0,10}") {
            if let Ok(parts) = Parts::of(&address) {
                prop_assert!(parts.rest.len() <= 3 * address.len() + 3);
            }
        }

        #[test]
        fn words_stay_what_they_are(values in prop::collection::vec("[a-z '\\\\=%]{0,8}", 0..4)) {
            let quoted = |v: &String| format!("x='{}'", v.replace('\\', "\\\\").replace('\'', "\\'"));
            let address = values.iter().map(quoted).collect::<Vec<_>>().join(" ");
            let again = Parts::of_words(&address).rest;
            let read: Vec<String> = words(&again).unwrap().into_iter().map(|(_, value)| value).collect();
            prop_assert_eq!(read, values);
        }
    }
}
