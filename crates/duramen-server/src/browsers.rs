//! What a page of another site must not make a browser on this machine do.
//!
//! While no token is asked for, whoever is on this machine may do everything, and its browser is on this machine, too. Two
//! things keep pages out that are not this server's own:
//!
//! - A page can have its site's name point at 127.0.0.1, and then the browser takes the server for that site. So a `Host`
//!   that is a name must be `localhost`, below it or below `internal`, or one of `allowed_host`. Who listens elsewhere has asked for tokens.
//! - A page can send, without being asked, what it then may not read; and WebSockets not even that keeps from reading. So
//!   what changes something, and a handshake of a WebSocket, must not come from another `Origin` than this server, unless
//!   that is `cors_origin` or of `allowed_host`. With a token this holds, too, as browsers send a remembered password
//!   along; but not if the token came in a way that only a script knows, for which the browser has asked for leave.
//!
//! Programs that are no browsers send no `Origin`.

use crate::app::App;
use crate::error::{ApiError, ApiResult};
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, header};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a request may have come from where it came.
///
/// # Errors
/// 403, with the setting that would let it in.
pub(crate) fn check(app: &App, on_loopback: bool, request: &Request) -> ApiResult<()> {
    let headers = request.headers();
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = request.uri().authority().map(Authority::as_str).or_else(|| text(header::HOST));
    let open = app.tokens.are_none();
    let named = &app.settings.allowed_host;
    if open
        && on_loopback
        && let Some(host) = host.filter(|host| !host.is_empty())
        && !is_of_this_machine(name_of(host))
        && !is_one_of(name_of(host), named)
    {
        let told = format!("the server is not known as `{}`: name it in --allowed-host", shown(host));
        // Who sends logs may be the one that nobody looks at.
        static IS_TOLD: AtomicBool = AtomicBool::new(false);
        if !IS_TOLD.swap(true, Ordering::Relaxed) {
            tracing::warn!("a request was refused, as others may be: {told}");
        }
        return Err(ApiError::new(StatusCode::FORBIDDEN, told));
    }
    let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
    let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    if (reads && !headers.contains_key(header::UPGRADE) && request.method() != Method::CONNECT)
        || (!open && is_by_script(headers))
    {
        return Ok(());
    }
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    let is_own = host.is_some_and(|host| {
        !authority.is_empty() && without_usual_port(host).eq_ignore_ascii_case(without_usual_port(authority))
    });
    let cors = app.settings.cors_origin.as_deref();
    if is_own
        || cors.is_some_and(|cors| cors == "*" || cors == origin)
        || is_one_of(name_of(authority), named)
    {
        return Ok(());
    }
    let told = format!(
        "a page of `{}` may not do this here: name it in --cors-origin, or its host in --allowed-host",
        shown(origin)
    );
    Err(ApiError::new(StatusCode::FORBIDDEN, told))
}

/// Whether a token comes with it that a browser does not send by itself.
fn is_by_script(headers: &HeaderMap) -> bool {
    let scheme =
        headers.get(header::AUTHORIZATION).map(|value| value.as_bytes().get(..5).unwrap_or_default());
    scheme.map_or_else(|| headers.contains_key("dd-api-key"), |scheme| !scheme.eq_ignore_ascii_case(b"basic"))
}

/// An authority without the port that nobody has to write; a proxy in front may leave it out, or put it in.
fn without_usual_port(authority: &str) -> &str {
    authority.strip_suffix(":80").or_else(|| authority.strip_suffix(":443")).unwrap_or(authority)
}

/// An authority without its port.
fn name_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => authority,
    }
}

/// What `/etc/hosts` calls this machine, on one system or another.
const NAMES_OF_HOSTS_FILES: [&str; 6] =
    ["localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"];

/// Whether no other can have the name: an address, or one that always means this machine.
fn is_of_this_machine(name: &str) -> bool {
    let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    NAMES_OF_HOSTS_FILES.contains(&&*name)
        || name.ends_with(".localhost")
        // Reserved for networks of one's own, as ICANN has resolved in 2024: what containers call their host.
        || name.ends_with(".internal")
        || name.parse::<IpAddr>().is_ok()
        || v6.is_some_and(|name| name.parse::<Ipv6Addr>().is_ok())
}

fn is_one_of(name: &str, names: &[String]) -> bool {
    !name.is_empty() && names.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// As much of what somebody sent as is worth repeating.
fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_can_only_be_this_machine() {
        for host in [
            "localhost",
            "localhost.localdomain",
            "LocalHost:9428",
            "a.localhost.:1",
            "host.docker.internal:9428",
            "127.0.0.1:9428",
            "10.0.0.1",
            "[::1]:80",
            "[::1]",
        ] {
            assert!(is_of_this_machine(name_of(host)), "{host}");
        }
        for host in [
            ":80",
            "evil.example:80",
            "localhost.evil.example",
            "host.internal.evil.example",
            "notlocalhost",
            "127.0.0.1.evil.example",
            "[x]",
        ] {
            assert!(!is_of_this_machine(name_of(host)), "{host}");
        }
        assert!(is_one_of(name_of("Logs:9428"), &["logs".into()]) && !is_one_of("", &[String::new()]));
    }

    #[test]
    fn the_usual_port_need_not_be_there() {
        for same in
            [("logs.example:443", "logs.example"), ("logs.example", "logs.example:80"), ("a:1", "a:1")]
        {
            assert_eq!(without_usual_port(same.0), without_usual_port(same.1));
        }
        assert_ne!(without_usual_port("a:8080"), without_usual_port("a"));
    }

    #[test]
    fn what_a_browser_sends_by_itself() {
        let by_script = |name: &'static str, value: &'static str| {
            is_by_script(&HeaderMap::from_iter([(
                header::HeaderName::from_static(name),
                header::HeaderValue::from_static(value),
            )]))
        };
        assert!(by_script("authorization", "Bearer x") && by_script("dd-api-key", "x"));
        assert!(!by_script("authorization", "basic eA==") && !by_script("cookie", "x"));
    }
}
