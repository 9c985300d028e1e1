//! Snapshots and deletion over HTTP, while lines come in.

use crate::server::{Answer, Server, duramen, store, token};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Asks as whom this token is; with none, as anybody.
struct Admin<'a> {
    server: &'a Server,
    bearer: String,
}

impl<'a> Admin<'a> {
    fn new(server: &'a Server, token: &str) -> Self {
        Self { server, bearer: format!("Bearer {token}") }
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = [JSON, ("authorization", &*self.bearer)];
        self.server.post_with(path, &headers, body.to_string())
    }

    fn ingest(&self, messages: &[&str]) {
        let lines: String = messages.iter().map(|m| format!("{{\"_msg\":\"{m}\"}}\n")).collect();
        let headers = [("authorization", &*self.bearer)];
        assert_eq!(self.server.post_with("/insert/jsonline", &headers, lines).status, 200);
    }

    fn list(&self) -> Vec<Value> {
        let answer = self.server.get_with("/api/v1/snapshots", &self.bearer["Bearer ".len()..]);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["snapshots"].as_array().unwrap().clone()
    }

    fn remove(&self, name: &str) -> u16 {
        let request = Server::agent().delete(self.server.url(&format!("/api/v1/snapshots/{name}")));
        request.header("authorization", &self.bearer).call().unwrap().status().as_u16()
    }

    fn count(&self) -> usize {
        self.server.get_with("/select/logsql/query?query=*", &self.bearer["Bearer ".len()..]).lines().len()
    }
}

#[test]
fn snapshots_are_made_listed_restored_and_removed() {
    let (_dir, store) = store();
    let own = token(&store, &["own", "--scope", "admin"]);
    let server = Server::start(&store);
    let admin = Admin::new(&server, &own);
    admin.ingest(&["one", "two"]);
    let made = admin.post("/api/v1/snapshots", &json!({ "name": "first" }));
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    assert_eq!((&made["name"], &made["lines"]), (&json!("first"), &json!(2)));
    admin.ingest(&["three"]);
    // A name that is mistyped is not no name.
    let mistyped = admin.post("/api/v1/snapshots", &json!({ "nmae": "daily" }));
    assert_eq!(mistyped.status, 400, "{mistyped:?}");
    let unnamed = admin.post("/api/v1/snapshots", &json!({})).json();
    assert_eq!(unnamed["lines"], 3);
    let listed = admin.list();
    assert_eq!(listed.len(), 2);
    assert!(listed.contains(&made) && listed.contains(&unnamed), "{listed:?}");
    // It is a store of its own.
    let path = made["path"].as_str().unwrap();
    let output = duramen(std::path::Path::new(path)).args(["query", "*", "-o", "raw"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);

    let restored = admin.post("/api/v1/snapshots/first/restore", &json!({ "tenant": "before" }));
    assert_eq!((restored.status, &restored.json()["lines"]), (201, &json!(2)), "{restored:?}");
    let before = token(&store, &["before", "--scope", "admin", "--tenant", "before"]);
    crate::server::eventually("the new token is known", || {
        server.get_with("/select/logsql/query?query=*", &before).status == 200
    });
    let tenant = Admin::new(&server, &before);
    assert_eq!((tenant.count(), admin.count()), (2, 3));
    tenant.ingest(&["four"]);
    assert_eq!((tenant.count(), admin.count()), (3, 3));
    // Tenants have snapshots of their own, and name nobody else.
    assert!(tenant.list().is_empty());
    assert_eq!(tenant.post("/api/v1/snapshots", &json!({ "name": "mine" })).status, 201);
    assert_eq!(tenant.post("/api/v1/snapshots/mine/restore", &json!({ "tenant": "x" })).status, 403);
    assert_eq!(admin.list().len(), 2);

    let again = |path: &str, body: Value| admin.post(path, &body).status;
    assert_eq!(again("/api/v1/snapshots", json!({ "name": "first" })), 409);
    assert_eq!(again("/api/v1/snapshots", json!({ "name": "../x" })), 400);
    assert_eq!(again("/api/v1/snapshots/first/restore", json!({ "tenant": "before" })), 409);
    assert_eq!(again("/api/v1/snapshots/first/restore", json!({ "tenant": "a/b" })), 400);
    assert_eq!(again("/api/v1/snapshots/none/restore", json!({ "tenant": "y" })), 404);
    assert_eq!((admin.remove("first"), admin.remove("first"), admin.remove("..%2Fwal")), (200, 404, 400));
    assert_eq!(admin.list(), [unnamed]);
    assert_eq!(server.stop().0, Some(0));
    let server = Server::start(&store);
    assert_eq!(Admin::new(&server, &before).count(), 3);
}

#[test]
fn lines_that_a_filter_finds_are_deleted() {
    let (_dir, store) = store();
    let own = token(&store, &["own", "--scope", "admin"]);
    let shop = token(&store, &["shop", "--scope", "admin", "--tenant", "shop"]);
    let server = Server::start(&store);
    let (admin, tenant) = (Admin::new(&server, &own), Admin::new(&server, &shop));
    for who in [&admin, &tenant] {
        who.ingest(&["secret of ada", "secret of bob", "hello"]);
    }
    let delete = |query: &str, dry_run: bool| {
        admin.post("/api/v1/delete", &json!({ "query": query, "dry_run": dry_run })).json()
    };
    assert_eq!(delete("secret", true), json!({ "status": "ok", "dry_run": true, "lines": 2 }));
    assert_eq!(admin.count(), 3);
    let report = delete("secret", false);
    assert_eq!((&report["status"], &report["lines"]), (&json!("ok"), &json!(2)), "{report}");
    assert_eq!((admin.count(), tenant.count()), (1, 3));
    assert_eq!(delete("secret", false)["lines"], 0);
    admin.ingest(&["secret of cid"]);
    assert_eq!(admin.count(), 2, "what comes later stays");
    for wrong in
        [json!({}), json!({ "query": "" }), json!({ "query": "a | limit 1" }), json!({ "query": "(" })]
    {
        assert_eq!(admin.post("/api/v1/delete", &wrong).status, 400, "{wrong}");
    }
    // What would make it less, if it were understood.
    for narrower in [
        json!({ "query": "*", "dry_run": "y" }),
        json!({ "query": "*", "dry_run[]": true }),
        json!({ "query": "*", "dry_run": null }),
        json!({ "query": "*", "dry_run": "" }),
        json!({ "query": "*", "start[]": "2026-01-01", "end[]": "2026-01-02" }),
        json!({ "query": "*", "start": null }),
        json!({ "query": "*", "stat": "2026-01-01" }),
    ] {
        assert_eq!(admin.post("/api/v1/delete", &narrower).status, 400, "{narrower}");
    }
    let twice = "/api/v1/delete?query=*&dry_run=false";
    assert_eq!(admin.post(twice, &json!({ "dry_run": true })).status, 400);
    assert_eq!(admin.count(), 2);
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(Admin::new(&Server::start(&store), &own).count(), 2);
}

#[test]
fn a_deletion_can_be_begun_as_in_victorialogs() {
    let (_dir, store) = store();
    let own = token(&store, &["own", "--scope", "admin"]);
    let shop = token(&store, &["shop", "--scope", "admin", "--tenant", "shop"]);
    let read = token(&store, &["r", "--scope", "read"]);
    let server = Server::start(&store);
    let (admin, tenant) = (Admin::new(&server, &own), Admin::new(&server, &shop));
    for who in [&admin, &tenant] {
        who.ingest(&["secret of ada", "secret of bob", "hello"]);
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    let post = |bearer: &str, path: &str, body: &str| {
        server.post_with(path, &[form, ("authorization", bearer)], body)
    };
    let (filters, bearer) = (["secret ada", "secret bob", "nothing"], &*admin.bearer);
    let begun = filters.map(|filter| post(bearer, "/delete/run_task", &format!("filter={filter}")).json());
    assert!(begun.iter().all(|told| told["task_id"].is_string()), "{begun:?}");
    assert!(begun[0] != begun[1] && begun[1] != begun[2], "{begun:?}");
    crate::server::eventually("all are done", || {
        server.get_with("/delete/active_tasks", &own).json() == json!([])
    });
    assert_eq!((admin.count(), tenant.count()), (1, 3));
    // By the URL, and for the tenant; whoever stops it sees it end.
    let id = post(&tenant.bearer, "/delete/run_task?filter=secret", "").json()["task_id"].clone();
    let stop = format!("/delete/stop_task?task_id={}", id.as_str().unwrap());
    assert_eq!(server.get_with(&stop, &shop).json(), json!({ "status": "ok" }));
    assert_eq!(server.get_with("/delete/active_tasks", &shop).json(), json!([]));
    assert!([1, 3].contains(&tenant.count()), "all, or nothing");
    assert_eq!(server.get_with(&stop, &own).status, 200, "it is nobody else's, and has ended");
    for wrong in ["", "filter=", "filter=a | limit 1", "filter=(", "filter=n:in(* | fields n)"] {
        assert_eq!(post(bearer, "/delete/run_task", wrong).status, 400, "{wrong}");
    }
    // More would go than was meant.
    for more in ["start=1h", "end=2026-01-01", "extra_filters=x", "query=x", "limit=1"] {
        let refused = post(bearer, "/delete/run_task", &format!("filter=hello&{more}"));
        let name = more.split_once('=').unwrap().0;
        assert!(refused.status == 400 && refused.body.contains(&format!("`{name}`")), "{refused:?}");
        let refused = admin.post(&format!("/api/v1/delete?x{more}"), &json!({ "query": "hello" }));
        assert!(refused.status == 400 && refused.body.contains(&format!("`x{name}`")), "{refused:?}");
    }
    let long = format!("filter=hello or {}", "x".repeat(16 << 10));
    assert_eq!(post(bearer, "/delete/run_task", &long).status, 413);
    assert_eq!(post(bearer, "/delete/stop_task", "").status, 400);
    assert_eq!(server.get_with("/delete/run_task?filter=*", &own).status, 405);
    let reader = format!("Bearer {read}");
    for path in ["/delete/run_task?filter=*", "/delete/active_tasks", "/delete/stop_task?task_id=1"] {
        assert_eq!(post(&reader, path, "").status, 403, "{path}");
        for page in [("origin", "https://elsewhere"), ("sec-fetch-site", "cross-site")] {
            assert_eq!(
                server.post_with(path, &[form, page, ("authorization", bearer)], "").status,
                403,
                "{path}"
            );
        }
    }
    assert_eq!(admin.count(), 1);
}

/// As docs/operations.md tells it.
#[test]
fn lines_of_a_snapshot_are_brought_back_while_the_store_is_served() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let lines = concat!(
        r#"{"_time":"2026-11-20T01:02:03.123456789Z","_msg":"a \"q\"\n b","level":"error","app":"shop","host":"h1","n":5,"f":1.5}"#,
        "\n",
        r#"{"_time":"2026-11-20T23:59:59Z","app":"shop","big":12345678901234567890,"b":true,"s":"5","z":null,"e":""}"#,
        "\n",
        r#"{"_time":"2026-11-20T12:00:00Z","_msg":"x","app":"shop","user":{"id":7},"list":[1,"x"],"time":"1","msg":"y"}"#,
        "\n",
        r#"{"_time":"2026-11-21T00:00:00Z","_msg":"another day","app":"shop"}"#,
    );
    let taken =
        server.post("/insert/jsonline?_stream_fields=app,host&_time_field=_time&_msg_field=_msg", lines);
    assert_eq!((taken.status, &*taken.body), (200, ""));
    let rows = || {
        let answer = server.get("/select/logsql/query?query=*&format=typed").body;
        let mut rows: Vec<_> = answer.lines().map(str::to_owned).collect();
        rows.sort();
        rows
    };
    let before = rows();
    assert_eq!(before.len(), 4);
    assert_eq!(server.post_with("/api/v1/snapshots", &[JSON], r#"{"name":"daily"}"#).status, 201);
    let deleted = server.post_with("/api/v1/delete", &[JSON], r#"{"query":"_time:2026-11-20"}"#).json();
    assert_eq!((&deleted["lines"], rows().len()), (&json!(3), 1));

    let mut query = duramen(&store.join("snapshots/daily"));
    query.args(["query", "app:=shop _time:2026-11-20 | delete _stream", "--order", "oldest", "-o", "ndjson"]);
    let mut query = query.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut ingest = duramen(&store);
    ingest.args(["ingest", "-", "--format", "ndjson", "--stream-fields", "app,host"]);
    ingest.args(["--time-field", "_time", "--message-field", "_msg"]);
    let ingested = ingest.stdin(query.stdout.take().unwrap()).output().unwrap();
    assert!(ingested.status.success() && query.wait().unwrap().success(), "{ingested:?}");
    assert_eq!(rows(), before);
}

#[test]
fn only_admins_may_and_no_form_of_another_site() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    // Without a token, everybody on this machine may; but a browser is not to be tricked into it.
    server.post("/api/v1/ingest", r#"{"_msg":"x"}"#);
    for path in ["/api/v1/delete?query=*", "/api/v1/snapshots?name=a", "/api/v1/snapshots/a/restore?tenant=b"]
    {
        for kind in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"] {
            assert_eq!(server.post_with(path, &[("content-type", kind)], "").status, 415, "{path} {kind}");
        }
    }
    assert_eq!(server.count("*"), 1);
    assert_eq!(server.post_with("/api/v1/snapshots", &[JSON], r#"{"name":"a"}"#).status, 201);
    drop(server);
    let read = token(&store, &["r", "--scope", "read", "--scope", "ingest"]);
    let server = Server::start(&store);
    let reader = Admin::new(&server, &read);
    assert_eq!(reader.post("/api/v1/delete", &json!({ "query": "*" })).status, 403);
    assert_eq!(reader.post("/api/v1/snapshots", &json!({})).status, 403);
    assert_eq!(server.get_with("/api/v1/snapshots", &read).status, 403);
    assert_eq!((reader.remove("a"), server.get("/api/v1/snapshots").status), (403, 401));
}
