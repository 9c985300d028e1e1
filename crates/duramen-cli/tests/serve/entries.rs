//! Entries for applications' pages: lists that go on, one by its identity, facets, timelines.

use crate::server::{Server, store};
use serde_json::{Value, json};

fn filled() -> (tempfile::TempDir, Server) {
    let (dir, store) = store();
    let server = Server::start(&store);
    for half in 0..2 {
        let body: String = (0..50)
            .map(|i| {
                let n = half * 50 + i;
                let level = if n % 10 == 0 { "error" } else { "info" };
                format!(
                    "{{\"_time\":\"2024-01-01T00:00:00.{n:03}Z\",\"_msg\":\"line {n}\",\"level\":\"{level}\",\"app\":\"a{}\",\"request_id\":\"r{}\",\"n\":{n}}}\n",
                    n % 4,
                    n / 20
                )
            })
            .collect();
        assert_eq!(server.post("/insert/jsonline?_stream_fields=app", body).status, 200);
    }
    (dir, server)
}

fn numbers(answer: &Value) -> Vec<u64> {
    answer["entries"].as_array().unwrap().iter().map(|entry| entry["n"].as_u64().unwrap()).collect()
}

#[test]
fn a_list_goes_on_where_it_ended() {
    let (_dir, server) = filled();
    let (mut seen, mut before) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/api/v1/entries?limit=7{before}")).json();
        seen.extend(numbers(&page));
        match page["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    assert_eq!(seen, (0..100).rev().collect::<Vec<_>>());
    let entry = &server.get("/api/v1/entries?limit=1").json()["entries"][0];
    let found = server.get(&format!("/api/v1/entries/{}", entry["id"].as_str().unwrap()));
    assert_eq!((found.status, &found.json()), (200, entry));
    assert_eq!(
        (&entry["message"], &entry["timestamp"]),
        (&json!("line 99"), &json!("2024-01-01T00:00:00.099Z"))
    );
    assert_eq!(server.get("/api/v1/entries/1700000000000000000-3f-12").status, 404);
    assert_eq!(server.get("/api/v1/entries/nonsense").status, 400);
}

#[test]
fn filters_and_search() {
    let (_dir, server) = filled();
    let page =
        server.get("/api/v1/entries?filters%5Blevel%5D=error&filters%5Bapp%5D=a0&filters%5Bapp%5D=a2").json();
    assert_eq!(numbers(&page), (0..10).rev().map(|n| n * 10).collect::<Vec<_>>());
    let page = server.get("/api/v1/entries?q=level:error&start=2024-01-01T00:00:00.050Z").json();
    assert_eq!(numbers(&page), [90, 80, 70, 60, 50]);
    let headers = [("content-type", "application/json")];
    let found = server.post_with("/api/v1/search", &headers, r#"{"q":"level:error","limit":2}"#).json();
    assert_eq!(numbers(&found), [90, 80]);
    let next = found["next"].as_str().unwrap();
    let body = json!({ "q": "level:error", "limit": 2, "before": next, "filters[app]": "a0" }).to_string();
    assert_eq!(numbers(&server.post_with("/api/v1/search", &headers, body).json()), [60, 40]);
    let capitals = [("content-type", "Application/JSON")];
    let found = server.post_with("/api/v1/search", &capitals, r#"{"q":"level:error","limit":2}"#).json();
    assert_eq!(numbers(&found), [90, 80]);
    // As `curl -d` sends it.
    let curl = [("content-type", "application/x-www-form-urlencoded")];
    let found = server.post_with("/api/v1/search", &curl, r#" {"q":"level:error","limit":2}"#).json();
    assert_eq!(numbers(&found), [90, 80]);
    assert_eq!(server.post_with("/api/v1/search", &curl, "{\"q\":").status, 400);
    for wrong in ["q=a)%20or%20(b", "q=*%7Climit%201", "before=x", "limit=x", "q=n:in(*%7Cfields%20n)"] {
        assert_eq!(server.get(&format!("/api/v1/entries?{wrong}")).status, 400, "{wrong}");
    }
    assert_eq!(server.post_with("/api/v1/search", &headers, "[]").status, 400);
    assert_eq!(server.post_with("/api/v1/search", &headers, "{}").status, 400);
}

#[test]
fn facets_and_timelines() {
    let (_dir, server) = filled();
    let facet = server.get("/api/v1/facets?field=level").json();
    assert_eq!(
        facet,
        json!({ "field": "level", "values": [{ "value": "info", "count": 90 }, { "value": "error", "count": 10 }] })
    );
    // Most entries have no such field.
    server
        .post("/insert/jsonline", r#"{"_msg":"of its own","id":"7","delta_ms":"1","rare":"x","job_id":"j"}"#);
    let facet = server.get("/api/v1/facets?field=rare&limit=1").json();
    assert_eq!(facet["values"], json!([{ "value": "x", "count": 1 }]));
    let entry = &server.get("/api/v1/timeline/job/j").json()["entries"][0];
    assert_eq!(
        (&entry["id#1"], &entry["delta_ms#1"], &entry["delta_ms"]),
        (&json!("7"), &json!("1"), &json!(0.0))
    );
    let facets = server.get("/api/v1/facets/all?q=level:error").json();
    assert_eq!(facets["facets"]["app"].as_array().unwrap().len(), 2);
    let timeline = server.get("/api/v1/timeline/request/r2").json();
    assert_eq!(numbers(&timeline), (40..60).collect::<Vec<_>>());
    assert_eq!(
        timeline["stats"],
        json!({ "count": 20, "duration_ms": 19.0, "levels": { "error": 2, "info": 18 } })
    );
    assert_eq!(
        (&timeline["entries"][0]["delta_ms"], &timeline["entries"][1]["delta_ms"]),
        (&json!(0.0), &json!(1.0))
    );
    let nothing = server.get("/api/v1/timeline/job/none").json();
    assert_eq!(nothing["stats"]["count"], 0);
}
