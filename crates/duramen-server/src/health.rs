//! Whether it goes, for those who watch: open to all, and telling nothing of what is in the store.
//!
//! | path | 503 | for those who |
//! |---|---|---|
//! | `/-/healthy` | never | would start it again |
//! | `/ready` | while it stops | send requests of all kinds |
//! | `/health` | while it stops, or takes nobody's lines | send lines, and for people |
//!
//! A tenant whose store alone takes nothing (its quota is spent, its table cannot be written) is told of and keeps nobody from
//! sending: the others' lines are taken.

use crate::app::{App, Shared};
use crate::error::DISK_FULL;
use crate::json::as_json;
use crate::tenant::WRITE_BUFFER_BYTES;
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
        Self::with(troubles, has_room)
    }

    /// With these troubles, by whose they are; `has_room` says whether there is any on the file system of the server's own store.
    fn with(troubles: &[(String, &'static str)], has_room: impl FnOnce() -> bool) -> Self {
        let of_own = troubles.iter().any(|(name, _)| name.is_empty());
        let is_full = troubles.iter().any(|(_, reason)| *reason == DISK_FULL);
        // What is full for a tenant may be a quota of its own. The own store may have had nothing to take for long.
        if of_own || is_full && !has_room() {
            Self::Refused
        } else if troubles.is_empty() {
            Self::Taken
        } else {
            Self::TakenOfSome
        }
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
        let lines = |of: &[_], has_room| Lines::with(&troubles(of), || has_room);
        assert_eq!(lines(&[], false), Lines::Taken);
        assert_eq!(lines(&[("", "behind")], true), Lines::Refused);
        assert_eq!(lines(&[("shop", "behind"), ("pay", "behind")], false), Lines::TakenOfSome);
        assert_eq!(lines(&[("shop", DISK_FULL)], true), Lines::TakenOfSome, "its quota");
        assert_eq!(lines(&[("shop", DISK_FULL)], false), Lines::Refused);
    }

    #[test]
    fn neither_names_nor_numbers_are_told() {
        let of = troubles(&[("shop", "behind"), ("", "behind"), ("pay", "behind"), ("a", DISK_FULL)]);
        assert_eq!(told(&of), ["behind", "tenants: behind", "a tenant: the disk is full"]);
    }
}
