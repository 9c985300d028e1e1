//! Snapshots: copies of a store, in `snapshots/NAME` of its directory, each a store of its own.
//!
//! A snapshot is made, and restored, as [`duramen::Store::checkpoint`] makes one: tables are hard links, and a crash leaves
//! all of it or nothing. One that is removed is renamed first, so that half of one is never taken for a snapshot.

use super::{Order, alone, who};
use crate::app::{Shared, with_leave};
use crate::auth::{Access, check_file_name, check_tenant};
use crate::error::{ApiError, ApiResult};
use crate::json::{as_json, ok};
use axum::extract::{Path as InPath, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{delete, get, post};
use axum::{Extension, Router};
use duramen::Store;
use duramen::store::CheckpointReport;
use duramen_engine::Error as EngineError;
use duramen_engine::io::{Env, remove_tree};
use duramen_query::parse::time::format_time;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What follows the name of one that is being removed.
const REMOVED: &str = ".removed";

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/api/v1/snapshots", get(list).post(make))
        .route("/api/v1/snapshots/{name}", delete(remove))
        .route("/api/v1/snapshots/{name}/restore", post(restore))
}

/// `{"name":"daily"}`, or `{}`: then its name is the time.
async fn make(Order { app, access, args }: Order) -> ApiResult<Response> {
    args.only(&["name"], &[])?;
    let name = match args.get("name") {
        Some(name) => {
            check(name)?;
            name.to_owned()
        }
        None => format_time(app.env.clock.now_unix_ns()).replace(|c: char| !c.is_ascii_alphanumeric(), ""),
    };
    let env = app.env.clone();
    let made = alone(&app, access, move |access, _| {
        let all = snapshots_of(access);
        finish_removals(&env, &all);
        let dir = all.join(&name);
        if exists(&env, &dir)? {
            return Err(ApiError::new(StatusCode::CONFLICT, format!("there is a snapshot `{name}` already")));
        }
        env.fs.create_dir_all(&all).map_err(|e| failed("create", &all, e))?;
        env.fs.sync_dir(&access.tenant.dir).map_err(|e| failed("sync", &access.tenant.dir, e))?;
        let report = access.tenant.store()?.checkpoint(&dir)?;
        tracing::info!(token = who(access), snapshot = %dir.display(), lines = report.lines, "snapshot made");
        Ok(described(&name, &dir, &report))
    });
    Ok(as_json(StatusCode::CREATED, &made.await?))
}

/// All of them, by name.
async fn list(State(app): State<Shared>, Extension(access): Extension<Access>) -> ApiResult<Response> {
    let tenant = access.tenant.clone();
    let listed = with_leave([&tenant.changes.lists, &app.lists], &app, move |app| {
        let all = snapshots_of(&access);
        let mut names = match app.env.fs.read_dir(&all) {
            Ok(entries) => entries.into_iter().filter(|entry| entry.is_dir).map(|entry| entry.name).collect(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(failed("list", &all, e)),
        };
        names.retain(|name| check(name).is_ok());
        names.sort();
        let listed: Vec<Value> = names.iter().map(|name| summary(name, &all.join(name))).collect();
        Ok(json!({ "snapshots": listed }))
    });
    Ok(ok(&listed.await??))
}

/// What is in one, or why that cannot be told.
fn summary(name: &str, dir: &Path) -> Value {
    let stats = Store::open_read_only(dir).and_then(|store| store.stats());
    match stats {
        Ok(stats) => {
            let sum = |of: fn(&duramen::store::DayStats) -> u64| stats.days.values().map(of).sum();
            let report = CheckpointReport {
                lines: sum(|day| day.lines),
                tables: sum(|day| day.tables),
                stored_bytes: sum(|day| day.stored_bytes),
                ..CheckpointReport::default()
            };
            described(name, dir, &report)
        }
        Err(e) => json!({ "name": name, "path": dir, "error": e.to_string() }),
    }
}

fn described(name: &str, dir: &Path, report: &CheckpointReport) -> Value {
    let mut told = json!({
        "name": name,
        "path": dir,
        "lines": report.lines,
        "tables": report.tables,
        "stored_bytes": report.stored_bytes,
    });
    if report.missing_tables > 0 {
        told["missing_tables"] = report.missing_tables.into();
    }
    told
}

/// 409 while a process has it open as a store.
async fn remove(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    InPath(name): InPath<String>,
) -> ApiResult<Response> {
    let env = app.env.clone();
    let removed = alone(&app, access, move |access, _| {
        let all = snapshots_of(access);
        finish_removals(&env, &all);
        let dir = found(&env, &all, &name)?;
        if matches!(env.fs.try_lock_shared(&dir.join("KEEPER")), Ok(None)) {
            return Err(ApiError::new(
                StatusCode::CONFLICT,
                format!("a process has the snapshot `{name}` open"),
            ));
        }
        let going = all.join(format!("{name}{REMOVED}"));
        env.fs.rename(&dir, &going).map_err(|e| failed("rename", &dir, e))?;
        env.fs.sync_dir(&all).map_err(|e| failed("sync", &all, e))?;
        remove_tree(&*env.fs, &going).map_err(duramen::Error::from)?;
        tracing::info!(token = who(access), snapshot = %dir.display(), "snapshot removed");
        Ok(json!({ "status": "ok", "name": name }))
    });
    Ok(ok(&removed.await?))
}

/// `{"tenant":"NAME"}`: makes it the store of a tenant that has none yet. What is served goes on as it is.
async fn restore(InPath(name): InPath<String>, Order { app, access, args }: Order) -> ApiResult<Response> {
    args.only(&["tenant"], &[])?;
    let tenant = args.need("tenant")?.to_owned();
    check_tenant(&tenant).map_err(|e| ApiError::bad_request(e.to_string()))?;
    if !access.tenant.name.is_empty() {
        let told = "a token of a tenant cannot name another: restore with a token of the store's own";
        return Err(ApiError::new(StatusCode::FORBIDDEN, told));
    }
    let (env, to) = (app.env.clone(), app.tenants.dir_of(&tenant));
    let restored = alone(&app, access, move |access, _| {
        let dir = found(&env, &snapshots_of(access), &name)?;
        if exists(&env, &to)? {
            return Err(ApiError::new(StatusCode::CONFLICT, format!("there is a tenant `{tenant}` already")));
        }
        if let Some(parent) = to.parent() {
            env.fs.create_dir_all(parent).map_err(|e| failed("create", parent, e))?;
            env.fs.sync_dir(&access.tenant.dir).map_err(|e| failed("sync", &access.tenant.dir, e))?;
        }
        let report = Store::open_read_only(&dir)?.checkpoint(&to)?;
        tracing::info!(token = who(access), snapshot = %dir.display(), tenant, lines = report.lines, "restored");
        let mut told = described(&name, &to, &report);
        told["tenant"] = json!(tenant);
        Ok(told)
    });
    Ok(as_json(StatusCode::CREATED, &restored.await?))
}

fn snapshots_of(access: &Access) -> PathBuf {
    access.tenant.dir.join("snapshots")
}

/// The directory of a snapshot that is there.
fn found(env: &Env, all: &Path, name: &str) -> ApiResult<PathBuf> {
    check(name)?;
    let dir = all.join(name);
    match exists(env, &dir)? {
        true => Ok(dir),
        false => Err(ApiError::new(StatusCode::NOT_FOUND, format!("there is no snapshot `{name}`"))),
    }
}

fn check(name: &str) -> ApiResult<()> {
    check_file_name("a snapshot's name", name).map_err(|e| ApiError::bad_request(e.to_string()))
}

/// Removes what a crash has left of some that were being removed.
fn finish_removals(env: &Env, all: &Path) {
    for entry in env.fs.read_dir(all).unwrap_or_default() {
        if entry.is_dir && entry.name.ends_with(REMOVED) {
            let path = all.join(&entry.name);
            if let Err(e) = remove_tree(&*env.fs, &path) {
                tracing::warn!(path = %path.display(), error = %e, "a removed snapshot is still in part there");
            }
        }
    }
}

fn exists(env: &Env, path: &Path) -> ApiResult<bool> {
    env.fs.exists(path).map_err(|e| failed("look for", path, e))
}

fn failed(what: &'static str, path: &Path, e: std::io::Error) -> ApiError {
    duramen::Error::from(EngineError::io(what, path)(e)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::MAX_NAME_BYTES;

    #[test]
    fn names_stay_in_their_directory() {
        for name in ["daily", "2026-11-22", "a_B", &"x".repeat(MAX_NAME_BYTES)] {
            assert!(check(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a.tmp", "a b", "ü", &"x".repeat(MAX_NAME_BYTES + 1)] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
