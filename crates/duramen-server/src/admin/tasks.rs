//! VictoriaLogs' deletion: `/delete/run_task`, `/delete/active_tasks`, `/delete/stop_task`. A task is done when nobody asks
//! any more, too; one after the other. They are in memory only: what a stop of the server cut off was not deleted.

use super::Order;
use super::delete::run;
use crate::app::{Shared, stopped};
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::ok;
use axum::Router;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use duramen_query::parse::time::format_time;
use duramen_query::{Query, only_filter};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Most tasks of a tenant at once, those that wait included.
const MAX_TASKS: usize = 32;

/// Most bytes of a task's filter: those of all tenants wait in memory.
const MAX_FILTER_BYTES: usize = 16 << 10;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/delete/run_task", post(run_task))
        .route("/delete/active_tasks", get(active_tasks).post(active_tasks))
        .route("/delete/stop_task", get(stop_task).post(stop_task))
}

/// Deletions that run, or wait for another.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Vec<Task>>);

#[derive(Clone, Debug)]
struct Task {
    /// When it was asked for, in ns since 1970; no two have the same.
    id: i64,
    /// Of the tenant.
    tenant: String,
    filter: String,
    /// True once somebody has asked it to stop.
    stop: Arc<watch::Sender<bool>>,
    /// Closed at its end.
    ended: watch::Receiver<()>,
}

impl Tasks {
    fn all(&self) -> MutexGuard<'_, Vec<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of a tenant.
    fn of(&self, tenant: &str) -> Vec<Task> {
        self.all().iter().filter(|task| task.tenant == tenant).cloned().collect()
    }

    /// A new one, and what is to be dropped at its end.
    fn add(&self, now_ns: i64, tenant: &str, filter: &str) -> ApiResult<(Task, watch::Sender<()>)> {
        let mut all = self.all();
        if all.iter().filter(|task| task.tenant == tenant).count() >= MAX_TASKS {
            return Err(ApiError::busy(format!("{MAX_TASKS} deletions run or wait: send again later")));
        }
        let (running, ended) = watch::channel(());
        let task = Task {
            id: all.last().map_or(now_ns, |last| now_ns.max(last.id + 1)),
            tenant: tenant.to_owned(),
            filter: filter.to_owned(),
            stop: Arc::new(watch::Sender::new(false)),
            ended,
        };
        all.push(task.clone());
        Ok((task, running))
    }
}

impl Task {
    /// As VictoriaLogs tells of one.
    fn told(&self) -> Value {
        json!({
            "task_id": self.id.to_string(),
            "tenant_ids": tenant_ids(&self.tenant),
            "filter": self.filter,
            "start_time": format_time(self.id),
        })
    }
}

/// A tenant as VictoriaLogs numbers it: `12-3` is account 12, project 3. Other names have no number.
fn tenant_ids(name: &str) -> Value {
    let (account, project) = name.split_once('-').unwrap_or((name, "0"));
    let of = |text: &str| if name.is_empty() { Some(0) } else { text.parse::<u32>().ok() };
    match (of(account), of(project)) {
        (Some(account), Some(project)) => json!([{ "account_id": account, "project_id": project }]),
        _ => json!([]),
    }
}

/// A program's.
#[derive(Debug)]
struct ByProgram(Order);

impl FromRequest<Shared> for ByProgram {
    type Rejection = ApiError;

    /// Forms are taken, for VictoriaLogs' clients send them; but not from browsers, which say that they are one: a page of
    /// another site could make them send it.
    async fn from_request(request: Request, app: &Shared) -> ApiResult<Self> {
        if by_browser(request.headers()) {
            let told = "a browser asks, perhaps for another site's page: use POST /api/v1/delete";
            return Err(ApiError::new(StatusCode::FORBIDDEN, told));
        }
        Order::of(request, app).await.map(Self)
    }
}

fn by_browser(headers: &HeaderMap) -> bool {
    [header::ORIGIN.as_str(), header::REFERER.as_str(), "sec-fetch-site"]
        .into_iter()
        .any(|name| headers.contains_key(name))
}

async fn run_task(ByProgram(Order { app, access, args }): ByProgram) -> ApiResult<Response> {
    // What is not a part of it must not be left out in silence: more would go than was meant.
    args.only(&["filter"], &[])?;
    let filter = args.need("filter")?;
    if filter.len() > MAX_FILTER_BYTES {
        let told = format!("`filter` has more than {MAX_FILTER_BYTES} bytes: use POST /api/v1/delete");
        return Err(ApiError::too_large(told));
    }
    let now_ns = app.env.clock.now_unix_ns();
    let query = args.parse_within(filter, now_ns, None)?;
    only_filter(&query)?;
    let (task, running) = app.deletions.add(now_ns, &access.tenant.name, filter)?;
    let told = json!({ "task_id": task.id.to_string() });
    tokio::spawn(async move {
        let id = task.id;
        if !in_turn(&app, access, query, task).await {
            tracing::warn!(task = id, "a deletion was stopped, and nothing was deleted");
        }
        app.deletions.all().retain(|task| task.id != id);
        drop(running);
    });
    Ok(ok(&told))
}

/// Deletes when nothing else is at work. Whether it came to an end, a bad one included, which it logs.
async fn in_turn(app: &Shared, access: Access, query: Query, task: Task) -> bool {
    let mut asked = task.stop.subscribe();
    let turn = tokio::select! {
        turn = app.changes.in_order(&access.tenant.changes) => turn,
        () = app.stopped() => return false,
        () = stopped(&mut asked) => return false,
    };
    let Ok(turn) = turn else { return false };
    let app = app.clone();
    let work = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let withdrawn = access.is_withdrawn(&app);
        let stop = || withdrawn || *asked.borrow() || *app.stopping.borrow();
        match run(&access, &query, &task.filter, &stop) {
            Ok(report) => report.is_some(),
            Err(e) => {
                tracing::error!(task = task.id, error = e.message, "a deletion has failed");
                true
            }
        }
    });
    work.await.unwrap_or(false)
}

async fn active_tasks(ByProgram(Order { app, access, .. }): ByProgram) -> Response {
    ok(&app.deletions.of(&access.tenant.name).iter().map(Task::told).collect::<Vec<_>>())
}

/// Answers when the task has ended. One that is not there has.
async fn stop_task(ByProgram(Order { app, access, args }): ByProgram) -> ApiResult<Response> {
    let id = args.need("task_id")?;
    let task = app.deletions.of(&access.tenant.name).into_iter().find(|task| task.id.to_string() == id);
    if let Some(mut task) = task {
        task.stop.send_replace(true);
        // Nothing is ever sent: the error is that the sender has gone.
        let _ended = task.ended.changed().await;
    }
    Ok(ok(&json!({ "status": "ok" })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_of_its_own_and_they_are_not_endless() {
        let tasks = Tasks::default();
        let (first, _running) = tasks.add(1_763_856_000_000_000_000, "", "a").unwrap();
        for n in 0..=MAX_TASKS {
            tasks.add(1_763_856_000_000_000_000, if n == 0 { "12-3" } else { "shop" }, "b").unwrap();
        }
        let told = json!({
            "task_id": "1763856000000000000",
            "tenant_ids": [{ "account_id": 0, "project_id": 0 }],
            "filter": "a",
            "start_time": "2025-11-23T00:00:00Z",
        });
        assert_eq!(first.told(), told);
        let of = |tenant| tasks.of(tenant).iter().map(Task::told).collect::<Vec<_>>();
        assert_eq!(of(""), [told]);
        assert_eq!(of("12-3")[0]["tenant_ids"], json!([{ "account_id": 12, "project_id": 3 }]));
        assert_eq!(of("12-3")[0]["task_id"], "1763856000000000001");
        assert_eq!((of("shop").len(), &of("shop")[0]["tenant_ids"]), (MAX_TASKS, &json!([])));
        assert_eq!(tasks.add(0, "shop", "c").unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        assert!(tasks.add(0, "", "c").is_ok(), "a tenant does not use up another's");
    }

    #[test]
    fn browsers_are_known_by_what_they_send() {
        let sends = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, header::HeaderValue::from_static("null"));
            by_browser(&headers)
        };
        assert!(sends("origin") && sends("referer") && sends("sec-fetch-site"));
        assert!(!sends("authorization") && !by_browser(&HeaderMap::new()));
    }
}
