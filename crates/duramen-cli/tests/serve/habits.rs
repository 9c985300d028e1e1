//! What shippers ask and send beside their protocols' letter, as those find it elsewhere.

use crate::server::{Server, answer, store};

#[test]
fn two_slashes_are_one() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    assert_eq!(server.post("//insert/jsonline", "{\"_msg\":\"one\"}\n").status, 200);
    assert_eq!(server.post("/insert//jsonline?_stream_fields=a", "{\"_msg\":\"two\"}\n").status, 200);
    assert_eq!(
        server.post("//insert/elasticsearch//_bulk", "{\"create\":{}}\n{\"message\":\"three\"}\n").status,
        200
    );
    let found = server.get("//select//logsql/query?query=*");
    assert_eq!((found.status, found.lines().len()), (200, 3));
    assert_eq!(server.get("//nothing//here").status, 404);
}

#[test]
fn a_body_may_say_that_it_is_not_compressed() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    for (n, name) in ["none", "identity", "None"].iter().enumerate() {
        let headers = [("content-encoding", *name)];
        assert_eq!(
            server.post_with("/insert/jsonline", &headers, "{\"_msg\":\"x\"}\n").status,
            200,
            "{name}"
        );
        let journal = format!("__REALTIME_TIMESTAMP=171845280000000{n}\nMESSAGE=x\n\n");
        assert_eq!(server.post_with("/insert/journald/upload", &headers, journal).status, 202, "{name}");
    }
    assert_eq!(server.count("x"), 6);
}

#[test]
fn datadogs_agent_may_ask_by_post() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    for path in ["/api/v1/validate", "/insert/datadog/api/v1/validate"] {
        for answer in [server.get(path), server.post(path, "{}")] {
            assert!(answer.status == 200 && answer.json()["valid"] == true, "{answer:?}");
        }
    }
}

#[test]
fn logstashs_index_is_there_and_may_be_made() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    for root in ["", "/insert/elasticsearch"] {
        for name in ["logstash", "%3Clogstash-%7Bnow%2Fd%7D-000001%3E"] {
            let url = server.url(&format!("{root}/{name}"));
            let head = answer(Server::agent().head(&url).call());
            assert_eq!(head.status, 200, "{url}");
            assert_eq!(head.headers["x-elastic-product"], "Elasticsearch");
            let made = answer(Server::agent().put(&url).send("{\"aliases\":{}}"));
            assert!(made.status == 200 && made.json()["acknowledged"] == true, "{made:?}");
            let lines = answer(Server::agent().put(&url).send("{\"_msg\":\"a\"}\n{\"_msg\":\"b\"}\n"));
            assert!(lines.status == 400 && lines.body.contains("/_bulk"), "{lines:?}");
            assert_eq!(answer(Server::agent().put(&url).send("{\"_msg\":\"a\"}")).status, 400);
        }
    }
    assert_eq!(server.get("/insert/elasticsearch/logstash").status, 200);
    assert_eq!(server.get("/favicon.ico").status, 404, "who only reads is told that nothing is there");
    assert_eq!(server.get("/_nothing").status, 404);
}

#[test]
fn elasticsearchs_documents_may_come_one_by_one() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    for root in ["", "/insert/elasticsearch"] {
        let of = |path: &str| server.url(&format!("{root}{path}"));
        let made = answer(Server::agent().post(of("/logs/_doc")).send("{\n  \"message\": \"one\"\n}\n"));
        assert_eq!((made.status, made.json()["result"].as_str()), (201, Some("created")), "{made:?}");
        assert_eq!(made.headers["x-elastic-product"], "Elasticsearch");
        assert!(made.json()["_id"].as_str().is_some_and(|id| !id.is_empty()));
        for (path, id) in [("/logs/_doc/7", "7"), ("/logs/_create/a%2Fb", "a/b")] {
            let told = answer(Server::agent().put(of(path)).send("{\"message\":\"two\"}"));
            assert_eq!((told.status, told.json()["_id"].as_str()), (201, Some(id)), "{told:?}");
            assert_eq!(told.json()["_index"], "logs");
        }
        for (body, path) in [("[1]", "/logs/_doc"), ("", "/logs/_doc/8"), ("{}{}", "/logs/_create/9")] {
            let told = answer(Server::agent().post(of(path)).send(body));
            assert!(told.status == 400 && told.json()["error"]["type"].is_string(), "{told:?}");
        }
        let long = answer(Server::agent().post(of(&format!("/{}/_doc", "x".repeat(256)))).send("{\"a\":1}"));
        assert!(long.status == 400 && long.body.contains("255"), "{long:?}");
        for path in ["/_refresh", "/logs/_refresh"] {
            let told = answer(Server::agent().post(of(path)).send_empty());
            assert_eq!((told.status, told.json()["_shards"]["failed"].as_i64()), (200, Some(0)), "{told:?}");
        }
    }
    assert_eq!(server.count("one"), 2);
    assert_eq!(server.count("es_index:logs two"), 4);
    assert_eq!(server.count("es_id:=\"a/b\""), 2);
}

#[test]
fn a_part_that_is_refused_does_not_have_the_rest_sent_again() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let message = |n: u32| format!("{{\"version\":\"1.1\",\"host\":\"a\",\"short_message\":\"line {n}\"}}\n");
    let told = server.post("/gelf", format!("{}{{\"host\":\"a\"}}\n{}", message(1), message(2)));
    assert!(told.status == 202 && told.body.contains("1 of 3 lines rejected"), "{told:?}");
    let told = server.post("/gelf", "{\"host\":\"a\"}\n");
    assert!(told.status == 400 && told.body.contains("1 of 1 lines rejected"), "{told:?}");
    let all = server.post("/gelf", message(3));
    assert_eq!((all.status, &*all.body), (202, ""));
    assert_eq!(server.count("line"), 3);
}
