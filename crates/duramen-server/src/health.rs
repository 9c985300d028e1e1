//! Whether it goes, for those who watch: open to all, and telling nothing of what is in the store.
//!
//! | path | 503 | for those who |
//! |---|---|---|
//! | `/-/healthy` | never | would start it again |
//! | `/ready` | while it stops | send requests of all kinds |
//! | `/health` | while it stops, or takes nobody's lines | send lines, and for people |
//!
//! A store that alone takes nothing (a tenant's quota is spent, its table cannot be written), be it the server's own, is told of and
//! keeps nobody from sending: the others' lines are taken. Whether there are others is told by which stores took lines lately: one
//! to which nobody sends has no trouble, whatever its disk.

use crate::app::{App, Shared};
use crate::error::DISK_FULL;
use crate::json::as_json;
use crate::tenants::WRITE_BUFFER_BYTES;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use std::collections::BTreeMap;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/health", get(health))
        .route("/-/healthy", get(async || "healthy\n"))
        .route("/ready", get(ready))
        .route("/-/ready", get(ready))
}

/// How it goes with taking lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    /// All that come.
    Taken,
    /// But for some tenants'.
    TakenOfSome,
    /// None.
    Refused,
}

impl Lines {
    /// As it is now. It may ask the file system, and so wait.
    pub fn now(app: &App, troubles: &[(String, &'static str)]) -> Self {
        let has_room = || {
            let left = app.env.fs.available_bytes(&app.tenants.own().dir);
            left.is_ok_and(|bytes| bytes >= WRITE_BUFFER_BYTES as u64)
        };
        Self::with(troubles, app.tenants.any_takes(), has_room)
    }

    /// With these troubles, by whose they are; `some_takes` says whether any store took lines lately, and is in none, `has_room`
    /// whether there is any on the file system of the server's own store.
    fn with(troubles: &[(String, &'static str)], some_takes: bool, has_room: impl FnOnce() -> bool) -> Self {
        if troubles.is_empty() {
            return Self::Taken;
        }
        let is_full = |(_, reason): &(_, &str)| *reason == DISK_FULL;
        if troubles.iter().any(is_full) && !has_room() {
            return Self::Refused;
        }
        // What is full for a tenant though there is room is a quota of its own.
        let are_quotas = troubles.iter().all(|trouble| is_full(trouble) && !trouble.0.is_empty());
        if some_takes || are_quotas { Self::TakenOfSome } else { Self::Refused }
    }
}

/// The troubles for everybody's eyes: neither whose, nor of how many.
fn told(troubles: &[(String, &'static str)]) -> Vec<String> {
    let mut told: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for (name, reason) in troubles {
        *told.entry((!name.is_empty(), reason)).or_default() += 1;
    }
    let one = |((of_tenant, reason), count): ((bool, &str), usize)| match (of_tenant, count) {
        (false, _) => reason.to_owned(),
        (true, 1) => format!("a tenant: {reason}"),
        (true, _) => format!("tenants: {reason}"),
    };
    told.into_iter().map(one).collect()
}

/// 200 while lines are taken, be it not of all; 503 with the reason while they are not.
async fn health(State(app): State<Shared>) -> Response {
    let troubles = app.tenants.troubles();
    let reasons = told(&troubles);
    let lines = match troubles.is_empty() {
        true => Lines::Taken,
        false => {
            let app = app.clone();
            let asked = tokio::task::spawn_blocking(move || Lines::now(&app, &troubles));
            asked.await.unwrap_or(Lines::Refused)
        }
    };
    let status = match (*app.stopping.borrow(), lines) {
        (true, _) => "stopping",
        (false, Lines::Taken) => "ok",
        (false, Lines::TakenOfSome) => "degraded",
        (false, Lines::Refused) => "failing",
    };
    let is_well = matches!(status, "ok" | "degraded");
    let code = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "status": status, "version": env!("CARGO_PKG_VERSION"), "reasons": reasons });
    as_json(code, &body)
}

/// 200 once requests are answered, 503 when the server stops.
async fn ready(State(app): State<Shared>) -> Response {
    if *app.stopping.borrow() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n").into_response();
    }
    (StatusCode::OK, "ready\n").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn troubles(of: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        of.iter().map(|(name, reason)| ((*name).to_owned(), *reason)).collect()
    }

    #[test]
    fn a_tenants_trouble_is_not_everybodys() {
        let lines = |of: &[_], takes, has_room| Lines::with(&troubles(of), takes, || has_room);
        assert_eq!(lines(&[], false, false), Lines::Taken);
        for of in [&[("", "behind")][..], &[("shop", "behind"), ("pay", "behind")], &[("", DISK_FULL)]] {
            assert_eq!(lines(of, true, true), Lines::TakenOfSome, "another store takes what it is sent");
            assert_eq!(lines(of, false, true), Lines::Refused, "all that anybody sends to are in trouble");
        }
        assert_eq!(lines(&[("shop", DISK_FULL)], false, true), Lines::TakenOfSome, "its quota");
        assert_eq!(lines(&[("shop", DISK_FULL), ("pay", "behind")], false, true), Lines::Refused);
        assert_eq!(lines(&[("shop", DISK_FULL)], true, false), Lines::Refused);
    }

    #[test]
    fn neither_names_nor_numbers_are_told() {
        let of = troubles(&[("shop", "behind"), ("", "behind"), ("pay", "behind"), ("a", DISK_FULL)]);
        assert_eq!(told(&of), ["behind", "tenants: behind", "a tenant: the disk is full"]);
    }
}
