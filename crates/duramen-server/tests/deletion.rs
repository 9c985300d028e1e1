//! Deletion as VictoriaLogs has it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod support;

use serde_json::{Value, json};
use std::fmt::{Debug, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use support::Server;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What the server has logged, an event a line.
static LOG: Mutex<String> = Mutex::new(String::new());

/// Keeps events in [`LOG`].
struct Log;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        LOG.lock().unwrap().push_str(&(line.0 + "\n"));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn count(server: &Server) -> usize {
    server.get("/select/logsql/query", &[("query", "*")]).body.lines().count()
}

#[test]
fn a_task_is_begun_listed_and_stopped() {
    let server = Server::start();
    let lines: Vec<Value> =
        (0..30).map(|n| json!({ "_time": n + 1, "_msg": format!("n {n}"), "n": n })).collect();
    server.ingest(&lines);
    assert_eq!(count(&server), 30);
    let ids: Vec<_> = ["n:<10", "n:=12", "nothing"]
        .map(|filter| server.post("/delete/run_task", &[("filter", filter)]))
        .iter()
        .map(|begun| begun.json()["task_id"].as_str().unwrap().parse::<i64>().unwrap())
        .collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    let until = Instant::now() + Duration::from_secs(60);
    while server.get("/delete/active_tasks", &[]).json() != json!([]) {
        assert!(Instant::now() < until, "they never ended");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert_eq!(count(&server), 19);
    // Who stops it sees it end, one way or the other.
    let id = server.post("/delete/run_task", &[("filter", "n:>=20")]).json()["task_id"].clone();
    let stopped = server.get("/delete/stop_task", &[("task_id", id.as_str().unwrap())]);
    assert_eq!((stopped.status, stopped.json()), (200, json!({ "status": "ok" })));
    assert_eq!(server.post("/delete/active_tasks", &[]).json(), json!([]));
    let left = count(&server);
    assert!([9, 19].contains(&left), "all or nothing: {left}");
    assert_eq!(server.post("/delete/stop_task", &[("task_id", "1")]).status, 200, "it is not there any more");
}

#[test]
fn what_makes_no_sense_or_comes_from_a_browser_is_refused() {
    let server = Server::start();
    server.ingest(&[json!({ "_time": 1, "_msg": "stays" })]);
    for wrong in ["", "* | limit 1", "(", "n:in(* | fields n)"] {
        assert_eq!(server.post("/delete/run_task", &[("filter", wrong)]).status, 400, "{wrong}");
    }
    assert_eq!(server.post("/delete/stop_task", &[]).status, 400);
    assert_eq!(server.get("/delete/run_task", &[("filter", "*")]).status, 405);
    let form = ("content-type", "application/x-www-form-urlencoded");
    for page in [("origin", "null"), ("referer", "http://elsewhere/"), ("sec-fetch-site", "cross-site")] {
        for path in ["/delete/run_task", "/delete/active_tasks", "/delete/stop_task"] {
            assert_eq!(server.ask("POST", path, &[form, page], "filter=*&task_id=1").status, 403, "{path}");
        }
    }
    assert_eq!(count(&server), 1);
}

#[test]
fn the_log_tells_the_filter_that_lines_went_by() {
    let _set_once = tracing::subscriber::set_global_default(Log);
    let server = Server::start();
    server.ingest(&[
        json!({ "_time": 1, "_msg": "secret of ada" }),
        json!({ "_time": 1, "_msg": "secret of bob" }),
    ]);
    let wanted = json!({ "query": "secret", "extra_filters": "ada", "end": "2200-01-01" }).to_string();
    let deleted = server.ask("POST", "/api/v1/delete", &[("content-type", "application/json")], &wanted);
    assert_eq!((deleted.status, &deleted.json()["lines"]), (200, &json!(1)), "{deleted:?}");
    assert_eq!(count(&server), 1);
    let log = LOG.lock().unwrap();
    let told = log.lines().find(|line| line.contains("query=\"secret\"")).unwrap();
    let (_, filter) = told.split_once(" filter=").unwrap();
    assert!(["_time:", "2200-01-01", "ada", "secret"].iter().all(|part| filter.contains(part)), "{told}");
}
