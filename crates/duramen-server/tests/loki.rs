//! Loki's read API over real HTTP, in the shapes in which Grafana and `logcli` ask.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::{Value, json};
use support::Server;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_700_000_000 * SECOND;

/// Ten lines, one a second; the last two at the same time.
fn server() -> Server {
    let server = Server::start();
    let at = |i: i64| (START + i * SECOND).to_string();
    server.ingest(&[
        json!({"_time": at(0), "app": "web", "host": "w1", "_msg": "GET /cart 200 took=12ms", "level": "info", "user": "ann"}),
        json!({"_time": at(1), "app": "web", "host": "w2", "_msg": "GET /cart 500 took=900ms", "level": "error"}),
        json!({"_time": at(2), "app": "web", "host": "w1", "_msg": "GET /pay 200 took=13ms", "level": "info", "user": "bob"}),
        json!({"_time": at(3), "service.name": "shop", "_msg": "{\"method\":\"PUT\",\"status\":503,\"took\":0.5}", "trace.id": "t1"}),
        json!({"_time": at(4), "service.name": "shop", "_msg": "{\"method\":\"GET\",\"status\":200,\"took\":0.25}", "trace.id": "t2"}),
        json!({"_time": at(5), "app": "pay", "_msg": "level=warn msg=\"card declined\" took=30ms"}),
        json!({"_time": at(6), "app": "pay", "_msg": "level=info msg=paid took=90ms"}),
        json!({"_time": at(7), "_msg": "no stream at all"}),
        json!({"_time": at(8), "app": "web", "host": "w1", "_msg": "same time, first"}),
        json!({"_time": at(8), "app": "web", "host": "w1", "_msg": "same time, second"}),
    ]);
    server
}

fn span<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = vec![("start", "1700000000000000000"), ("end", "1700000009000000000")];
    all.extend_from_slice(more);
    all
}

fn data(server: &Server, path: &str, parameters: &[(&str, &str)]) -> Value {
    let answer = server.get(path, parameters);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
    let json = answer.json();
    assert_eq!(json["status"], "success", "{json}");
    let posted = server.post(path, parameters);
    assert_eq!((posted.status, &posted.json()["status"]), (200, &json!("success")), "{posted:?}");
    json["data"].clone()
}

fn lines(data: &Value) -> Vec<String> {
    let mut all: Vec<(i64, String)> = Vec::new();
    for stream in data["result"].as_array().unwrap() {
        for value in stream["values"].as_array().unwrap() {
            all.push((value[0].as_str().unwrap().parse().unwrap(), value[1].as_str().unwrap().into()));
        }
    }
    all.into_iter().map(|(_, line)| line).collect()
}

#[test]
fn lines_come_by_stream() {
    let server = server();
    let asked = span(&[("query", "{app=\"web\"} |= \"cart\""), ("limit", "10")]);
    let data = data(&server, "/loki/api/v1/query_range", &asked);
    assert_eq!(data["resultType"], "streams");
    let labels = json!({"app": "web", "host": "w2", "level": "error", "detected_level": "error", "service_name": "web"});
    assert_eq!(data["result"][0]["stream"], labels);
    assert_eq!(data["result"][0]["values"], json!([["1700000001000000000", "GET /cart 500 took=900ms"]]));
    assert_eq!(data["result"][1]["stream"]["user"], "ann");
    assert_eq!(data["stats"]["summary"]["totalEntriesReturned"], 2);
    assert!(data["stats"]["summary"]["totalLinesProcessed"].as_u64().unwrap() >= 2, "{data}");
    assert!(data["stats"]["ingester"].is_object() && data["stats"]["querier"]["store"].is_object());
}

#[test]
fn labels_are_told_apart_if_asked() {
    let server = server();
    let query = span(&[("query", "{service_name=\"shop\"} | json | status=503")]);
    let path = format!("/loki/api/v1/query_range?{}", support::encoded(&query));
    let flags = [("X-Loki-Response-Encoding-Flags", "categorize-labels")];
    let data = server.ask("GET", &path, &flags, "").json()["data"].clone();
    assert_eq!(data["encodingFlags"], json!(["categorize-labels"]));
    assert_eq!(data["result"][0]["stream"], json!({"service_name": "shop"}));
    let third = json!({
        "structuredMetadata": {"trace_id": "t1", "detected_level": "unknown"},
        "parsed": {"method": "PUT", "status": "503", "took": "0.5"},
    });
    assert_eq!(data["result"][0]["values"][0][2], third);
}

#[test]
fn paging_gives_every_line_once() {
    let server = server();
    let ask = |parameters: &[(&str, &str)]| lines(&data(&server, "/loki/api/v1/query_range", parameters));
    let all = ask(&span(&[("query", "{app=\"web\"}"), ("direction", "forward")]));
    let expected =
        ["GET /cart 200 took=12ms", "GET /pay 200 took=13ms", "same time, first", "same time, second"];
    assert!(expected.iter().all(|line| all.contains(&line.to_string())) && all.len() == 5, "{all:?}");
    // As logcli pages: the end is not in the answer, and lines of one time keep their order.
    let newest = span(&[("query", "{app=\"web\"}"), ("limit", "1")]);
    assert_eq!(ask(&newest), ["same time, second"]);
    let again = [
        ("query", "{app=\"web\"}"),
        ("start", "1700000000000000000"),
        ("end", "1700000008000000001"),
        ("limit", "2"),
    ];
    assert_eq!(ask(&again), ["same time, second", "same time, first"]);
    let before = [
        ("query", "{app=\"web\"}"),
        ("start", "1700000000000000000"),
        ("end", "1700000008000000000"),
        ("limit", "1"),
    ];
    assert_eq!(ask(&before), ["GET /pay 200 took=13ms"]);
    let at_most = span(&[("query", "{app=\"web\"}"), ("interval", "2s"), ("direction", "FORWARD")]);
    assert_eq!(ask(&at_most).len(), 3, "0, 2 and 8 seconds");
    // Seconds with a fraction, and RFC 3339.
    let seconds = [("query", "{app=\"pay\"}"), ("start", "1700000005.5"), ("end", "2023-11-14T22:13:27Z")];
    assert_eq!(ask(&seconds), ["level=info msg=paid took=90ms"]);
}

#[test]
fn grafana_saves_and_tests() {
    let server = server();
    let asked = [("query", "vector(1)+vector(1)"), ("time", "1700000010000000000")];
    let data = data(&server, "/loki/api/v1/query", &asked);
    assert_eq!(data["resultType"], "vector");
    assert_eq!(data["result"], json!([{"metric": {}, "value": [1_700_000_010, "2"]}]));
}

#[test]
fn grafana_draws_volumes() {
    let server = server();
    let query = "sum by (level, detected_level) (count_over_time({app=\"web\"} | drop __error__ [5s]))";
    let asked =
        [("query", query), ("start", "1700000000000000000"), ("end", "1700000010000000000"), ("step", "5s")];
    let data = data(&server, "/loki/api/v1/query_range", &asked);
    assert_eq!(data["resultType"], "matrix");
    let series = |metric: Value, values: Value| json!({"metric": metric, "values": values});
    assert_eq!(
        data["result"],
        json!([
            series(json!({"detected_level": "error", "level": "error"}), json!([[1_700_000_005, "1"]])),
            series(
                json!({"detected_level": "info", "level": "info"}),
                json!([[1_700_000_000, "1"], [1_700_000_005, "1"]])
            ),
            series(json!({"detected_level": "unknown"}), json!([[1_700_000_010, "2"]])),
        ])
    );
    // Whenever it is asked, the times are the same, and the last bar has what came after the last whole step.
    for (start, end) in
        [("1700000000", "1700000010"), ("1700000001.2", "1700000008.5"), ("1700000004.9", "1700000005.1")]
    {
        let query = "sum(count_over_time({app=\"web\"}[5s]))";
        let asked = [("query", query), ("start", start), ("end", end), ("step", "5")];
        let data = self::data(&server, "/loki/api/v1/query_range", &asked);
        let values = json!([[1_700_000_000, "1"], [1_700_000_005, "2"], [1_700_000_010, "2"]]);
        assert_eq!(data["result"], json!([series(json!({}), values)]), "{start} {end}");
    }
    let asked = [("query", "topk(1, sum by (app) (rate({app=~\".+\"}[10s])))"), ("time", "1700000009.5")];
    let data = self::data(&server, "/loki/api/v1/query", &asked);
    assert_eq!(data["result"], json!([{"metric": {"app": "web"}, "value": [1_700_000_009.5, "0.5"]}]));
    assert_eq!(self::data(&server, "/loki/api/v1/query", &[("query", "1 + 1")])["resultType"], "scalar");
}

#[test]
fn labels_values_and_series() {
    let server = server();
    let asked =
        |path: &str, more: &[(&str, &str)]| data(&server, &format!("/loki/api/v1/{path}"), &span(more));
    assert_eq!(asked("labels", &[]), json!(["app", "host", "service_name"]));
    assert_eq!(asked("label/app/values", &[]), json!(["pay", "web"]));
    assert_eq!(asked("label/host/values", &[("query", "{app=\"pay\"}")]), json!([]));
    assert_eq!(asked("label/service_name/values", &[]), json!(["pay", "shop", "unknown_service", "web"]));
    assert_eq!(asked("label/detected_level/values", &[]), json!(["error", "info", "unknown", "warn"]));
    assert_eq!(asked("label/trace_id/values", &[]), json!(["t1", "t2"]), "any field has values");
    let web = json!([
        {"app": "web", "host": "w1", "service_name": "web"},
        {"app": "web", "host": "w2", "service_name": "web"},
    ]);
    assert_eq!(asked("series", &[("match[]", "{app=\"web\"}")]), web);
    assert_eq!(
        asked("series", &[("match", "{app=\"web\",host=\"w2\"}"), ("match", "{app=\"pay\"}")])
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(asked("series", &[]).as_array().unwrap().len(), 5);
}

#[test]
fn how_much_there_is() {
    let server = server();
    let stats = server.get("/loki/api/v1/index/stats", &span(&[("query", "{app=\"pay\"}")])).json();
    assert_eq!(
        (&stats["streams"], &stats["entries"], &stats["bytes"]),
        (&json!(1), &json!(2), &json!(69)),
        "{stats}"
    );
    assert!(stats["chunks"].as_u64().unwrap() >= 1);
    let volume = |path: &str, more: &[(&str, &str)]| data(&server, path, &span(more))["result"].clone();
    let services = volume(
        "/loki/api/v1/index/volume",
        &[("query", "{service_name=~\".+\"}"), ("targetLabels", "service_name")],
    );
    let first = json!({"metric": {"service_name": "web"}, "value": [1_700_000_009, "102"]});
    assert_eq!((services.as_array().unwrap().len(), &services[0]), (4, &first), "{services}");
    let one = volume("/loki/api/v1/index/volume", &[("query", "{app=~\".+\"}"), ("limit", "1")]);
    assert_eq!(one[0]["metric"], json!({"app": "web"}));
    let by_label = volume(
        "/loki/api/v1/index/volume",
        &[("query", "{app=\"web\", host=~\".+\"}"), ("aggregateBy", "labels")],
    );
    assert_eq!((&by_label[0]["metric"], &by_label[1]["metric"]), (&json!({"app": ""}), &json!({"host": ""})));
    let over_time = volume("/loki/api/v1/index/volume_range", &[("query", "{app=\"pay\"}"), ("step", "9s")]);
    assert_eq!(over_time, json!([{"metric": {"app": "pay"}, "values": [[1_700_000_009, "69"]]}]));
    let many = ["app"; 17].join(",");
    let refused = server.get("/loki/api/v1/index/volume", &span(&[("query", "{}"), ("targetLabels", &many)]));
    assert_eq!(refused.status, 400, "{refused:?}");
    // Whatever the steps, all is in one of them, and the last ends with the span.
    let sums = |volumes: &Value, last: bool| -> Vec<(Value, u64)> {
        let of = |series: &Value| {
            let values =
                series["values"].as_array().cloned().unwrap_or_else(|| vec![series["value"].clone()]);
            assert!(!last || values.last().unwrap()[0] == 1_700_000_009, "{series}");
            values.iter().map(|value| value[1].as_str().unwrap().parse::<u64>().unwrap()).sum()
        };
        volumes.as_array().unwrap().iter().map(|series| (series["metric"].clone(), of(series))).collect()
    };
    for more in [
        &[("query", "{app=~\".+\"}")][..],
        &[("query", "{}")],
        &[("query", "{app=~\".+\"}"), ("limit", "1")],
        &[("query", "{app=\"web\", host=~\".+\"}"), ("aggregateBy", "labels")],
        &[("query", "{}"), ("targetLabels", "host")],
    ] {
        let whole = sums(&volume("/loki/api/v1/index/volume", more), false);
        for step in ["1", "2", "4s", "7", "9", "1h"] {
            let more: Vec<_> = more.iter().copied().chain([("step", step)]).collect();
            let over_time = volume("/loki/api/v1/index/volume_range", &more);
            assert_eq!(sums(&over_time, step == "1h"), whole, "{more:?}");
        }
    }
}

#[test]
fn what_is_in_the_lines() {
    let server = server();
    let asked =
        |path: &str, more: &[(&str, &str)]| server.get(&format!("/loki/api/v1/{path}"), &span(more)).json();
    let found = asked("detected_fields", &[("query", "{service_name=\"shop\"}")]);
    let field = |name: &str| {
        let all = found["fields"].as_array().unwrap().iter();
        all.clone().find(|field| field["label"] == name).cloned().unwrap_or_else(|| panic!("{name}: {found}"))
    };
    assert_eq!(
        field("status"),
        json!({"label": "status", "type": "int", "cardinality": 2, "parsers": ["json"], "jsonPath": ["status"]})
    );
    assert_eq!(field("took")["type"], "float");
    assert_eq!((&field("trace_id")["parsers"], &field("trace_id")["jsonPath"]), (&Value::Null, &Value::Null));
    let values = asked("detected_field/msg/values", &[("query", "{app=\"pay\"}")]);
    assert_eq!(values["values"], json!(["card declined", "paid"]));
    let labels = asked("detected_labels", &[]);
    assert_eq!(labels["detectedLabels"][0], json!({"label": "app", "cardinality": 2}));
    let patterns =
        data(&server, "/loki/api/v1/patterns", &span(&[("query", "{app=\"web\"}"), ("step", "1m")]));
    assert_eq!(patterns[0]["pattern"], "GET <_> <_> took=<_>");
    assert_eq!(patterns[0]["samples"], json!([[1_699_999_980, 3]]));
    let query = format!("{{app=\"web\"}} |> `{}`", patterns[0]["pattern"].as_str().unwrap());
    let found = data(&server, "/loki/api/v1/query_range", &span(&[("query", &query)]));
    assert_eq!(lines(&found).len(), 3);
}

#[test]
fn patterns_find_their_lines() {
    let server = Server::start();
    let lines_in = ["built v1.2.3.", "at 12:30:01: done", "a [12] b", "from 10.0.0.1:80, took=3ms"];
    let row =
        |(line, i): (&str, i64)| json!({"_time": (START + i * SECOND).to_string(), "app": "p", "_msg": line});
    let rows: Vec<Value> = lines_in.into_iter().zip(0..).map(row).collect();
    server.ingest(&rows);
    let patterns = data(&server, "/loki/api/v1/patterns", &span(&[("query", "{app=\"p\"}"), ("step", "1m")]));
    for line in lines_in {
        let matches = |pattern: &Value| {
            let query = format!("{{app=\"p\"}} |> `{}`", pattern["pattern"].as_str().unwrap());
            lines(&data(&server, "/loki/api/v1/query_range", &span(&[("query", &query)])))
                .contains(&line.to_string())
        };
        assert!(patterns.as_array().unwrap().iter().any(matches), "{line} {patterns}");
    }
}

#[test]
fn what_clients_ask_first() {
    let server = server();
    assert_eq!(server.get("/ready", &[]).body, "ready\n");
    let build = server.get("/loki/api/v1/status/buildinfo", &[]).json();
    assert!(build["version"].as_str().unwrap().starts_with("3."), "{build}");
    let limits = server.get("/loki/api/v1/drilldown-limits", &[]).json();
    assert_eq!(
        (&limits["limits"]["volume_enabled"], &limits["pattern_ingester_enabled"]),
        (&json!(true), &json!(true))
    );
    let formatted = data(&server, "/loki/api/v1/format_query", &[("query", "{ a = `b` }|=`c`")]);
    assert_eq!(formatted, "{a=\"b\"} |= \"c\"");
}

#[test]
fn mistakes_are_texts() {
    let server = server();
    for (path, parameters, part) in [
        ("query_range", &[("query", "{app=\"x\"")][..], "parse error at line 1, col 9: expected `,` or `}`"),
        ("query_range", &[("query", "")], "the query is empty"),
        ("query_range", &[("query", "{}"), ("start", "soon")], "no time"),
        ("query_range", &[("query", "{}"), ("start", "2"), ("end", "1")], "end timestamp must not be before"),
        ("query_range", &[("query", "{}"), ("limit", "-1")], "no whole number"),
        ("query_range", &[("query", "{}"), ("direction", "sideways")], "invalid direction"),
        ("query_range", &[("query", "rate({}[1m])"), ("direction", "sideways")], "invalid direction"),
        ("query", &[("query", "sort by (app) (rate({}[1m]))")], "sort has no groups"),
        ("query_range", &[("query", "rate({}[1m])"), ("step", "1ms"), ("since", "1h")], "11000 points"),
        ("query", &[("query", "{app=\"x\"}")], "not supported as an instant query"),
        (
            "query",
            &[
                ("query", "sum by (method) (count_over_time({app=\"web\"} | json [1m]))"),
                ("time", "1700000009"),
            ],
            "pipeline error: 'JSONParserErr'",
        ),
        ("series", &[("match[]", "{app=\"x\"} |= `y`")], "expected the end of the selector"),
        ("labels", &[("query", "rate({}[1m])")], "asks for numbers"),
        ("index/volume", &[("query", "{}"), ("aggregateBy", "x")], "invalid aggregation"),
        ("format_query", &[("query", "{")], "parse error"),
    ] {
        let answer = server.get(&format!("/loki/api/v1/{path}"), parameters);
        assert_eq!(answer.status, 400, "{path} {parameters:?}: {answer:?}");
        assert!(
            answer.body.contains(part) && !answer.body.starts_with('{'),
            "{path} {parameters:?}: {answer:?}"
        );
        assert!(answer.head.contains("content-type: text/plain"), "{answer:?}");
    }
}

/// Follows; each call waits for the next streams.
fn follow(server: &Server, query: &[(&str, &str)]) -> impl FnMut() -> Value + use<> {
    let url = format!("ws://{}/loki/api/v1/tail?{}", server.address, support::encoded(query));
    let socket = std::net::TcpStream::connect(server.address).unwrap();
    let (mut socket, _) = tungstenite::client(url, socket).unwrap();
    move || loop {
        match socket.read().unwrap() {
            tungstenite::Message::Text(text) => {
                let message: Value = serde_json::from_str(&text).unwrap();
                return message["streams"].clone();
            }
            tungstenite::Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn tail_begins_with_the_newest_of_one_time() {
    let server = server();
    let query = [("query", "{app=\"web\"}"), ("start", "1700000000000000000"), ("limit", "1")];
    assert_eq!(follow(&server, &query)()[0]["values"], json!([["1700000008000000000", "same time, second"]]));
}

/// A value has three parts then, and the message says so, as Loki's does.
#[test]
fn tail_tells_labels_apart_if_asked() {
    use tungstenite::client::IntoClientRequest;
    let server = server();
    let query =
        [("query", "{app=\"web\", user=\"bob\"} | pattern `<verb> <_>`"), ("start", "1700000000000000000")];
    let url = format!("ws://{}/loki/api/v1/tail?{}", server.address, support::encoded(&query));
    let mut request = url.into_client_request().unwrap();
    let flag = "categorize-labels".parse().unwrap();
    request.headers_mut().insert("X-Loki-Response-Encoding-Flags", flag);
    let socket = std::net::TcpStream::connect(server.address).unwrap();
    let (mut socket, _) = tungstenite::client(request, socket).unwrap();
    let message = loop {
        if let tungstenite::Message::Text(text) = socket.read().unwrap() {
            break serde_json::from_str::<Value>(&text).unwrap();
        }
    };
    assert_eq!(message["encodingFlags"], json!(["categorize-labels"]), "{message}");
    let parts = &message["streams"][0]["values"][0][2];
    assert_eq!(parts["parsed"], json!({"verb": "GET"}), "{message}");
    assert_eq!(parts["structuredMetadata"]["user"], "bob", "{message}");
}

/// As `logcli query --tail` does when it is interrupted; without an answer it would follow anew.
#[test]
fn tail_answers_the_close_of_its_client() {
    use tungstenite::protocol::frame::{CloseFrame, coding::CloseCode};
    let server = server();
    let query = [("query", "{app=\"web\"}"), ("start", "1700000000000000000"), ("limit", "1")];
    let url = format!("ws://{}/loki/api/v1/tail?{}", server.address, support::encoded(&query));
    let socket = std::net::TcpStream::connect(server.address).unwrap();
    let (mut socket, _) = tungstenite::client(url, socket).unwrap();
    socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() })).unwrap();
    let answer = loop {
        match socket.read() {
            Ok(tungstenite::Message::Close(frame)) => break frame,
            Ok(_) => {}
            Err(e) => panic!("{e}"),
        }
    };
    assert_eq!(answer.unwrap().code, CloseCode::Normal);
}

#[test]
fn tail_shows_what_was_and_what_comes() {
    let server = server();
    let query = [
        ("query", "{app=\"web\"} | line_format \"{{.host}} {{__line__}}\""),
        ("start", "1700000000000000000"),
        ("limit", "2"),
    ];
    let mut next = follow(&server, &query);
    let past = next();
    let values = json!([
        ["1700000008000000000", "w1 same time, first"],
        ["1700000008000000000", "w1 same time, second"],
    ]);
    assert_eq!(past[0]["values"], values);
    for i in 0..5 {
        let time = (START + (20 + i) * SECOND).to_string();
        server.ingest(&[
            json!({"_time": time, "app": "other", "_msg": "not this"}),
            json!({"_time": time, "app": "web", "host": "w9", "_msg": format!("new {i}")}),
        ]);
    }
    let mut seen = Vec::new();
    while seen.len() < 5 {
        for stream in next().as_array().unwrap() {
            assert_eq!(stream["stream"]["service_name"], "web");
            seen.extend(
                stream["values"].as_array().unwrap().iter().map(|v| v[1].as_str().unwrap().to_owned()),
            );
        }
    }
    assert_eq!(seen, (0..5).map(|i| format!("w9 new {i}")).collect::<Vec<_>>());
    let refused = server.get("/loki/api/v1/tail", &[("query", "{}")]);
    assert!(refused.status >= 400, "without a WebSocket: {refused:?}");
}

/// A socket keeps the memory of its longest message, even where nothing comes any more.
#[test]
fn a_tail_tells_much_in_many_messages() {
    let server = Server::start();
    let row = |n: i64| json!({"_time": START + n, "app": "web", "host": if n % 3 == 0 { "w1" } else { "w2" }, "_msg": format!("{n:03} {}", "x".repeat(20_000))});
    server.ingest(&(0..200).map(row).collect::<Vec<_>>());
    let query = [("query", "{app=\"web\"}"), ("start", "1700000000000000000"), ("limit", "200")];
    let mut next = follow(&server, &query);
    let (mut seen, mut messages) = (Vec::new(), 0);
    while seen.len() < 200 {
        let streams = next();
        assert!(streams.to_string().len() < 300_000, "{}", streams.to_string().len());
        for stream in streams.as_array().unwrap() {
            let host = stream["stream"]["host"].as_str().unwrap().to_owned();
            let values = stream["values"].as_array().unwrap();
            assert!(!values.is_empty());
            seen.extend(
                values.iter().map(|value| (host.clone(), value[1].as_str().unwrap()[..3].to_owned())),
            );
        }
        messages += 1;
    }
    assert_eq!(messages, 15, "of 14 lines each, of 20 KB");
    let (mut w1, mut w2): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(host, _)| host == "w1");
    assert!(w1.is_sorted() && w2.is_sorted(), "the oldest first");
    w1.append(&mut w2);
    w1.sort_by(|a, b| a.1.cmp(&b.1));
    assert!((0..200).map(|n| format!("{n:03}")).eq(w1.into_iter().map(|(_, number)| number)), "each once");
}

#[test]
fn what_is_pushed_is_found() {
    let server = Server::start();
    let line = "{\"status\":500}";
    let values =
        json!([["1700000000000000001", line, {"trace_id": "t1"}], ["1700000000000000002", "level=error x"]]);
    let push = json!({"streams": [{"stream": {"app": "web", "env": "prod"}, "values": values}]}).to_string();
    let pushed = server.ask("POST", "/loki/api/v1/push", &[("content-type", "application/json")], &push);
    assert_eq!(pushed.status, 204, "{pushed:?}");
    let query = span(&[("query", "{app=\"web\", env=\"prod\"} | json | trace_id=\"t1\" | status >= 500")]);
    let found = data(&server, "/loki/api/v1/query_range", &query);
    assert_eq!(lines(&found), [line]);
    let values = span(&[("query", "{app=\"web\"}")]);
    assert_eq!(data(&server, "/loki/api/v1/label/env/values", &values), json!(["prod"]));
    let query = span(&[
        ("query", "sum by (detected_level) (count_over_time({app=\"web\"}[10s]))"),
        ("time", "1700000001"),
    ]);
    let counted = data(&server, "/loki/api/v1/query", &query)["result"].clone();
    assert_eq!(counted[0]["metric"], json!({"detected_level": "error"}), "{counted}");
}

#[test]
fn as_many_steps_as_are_allowed_are_allowed_wherever_they_begin() {
    let server = Server::start();
    let range = |start: &str, end: &str| {
        let query = ("query", "vector(1)");
        server.get("/loki/api/v1/query_range", &[query, ("start", start), ("end", end), ("step", "1")])
    };
    // 11,000 steps, of moments of which two are beside the span; then one more step.
    for (start, end, more) in
        [("1700000000", "1700011000", "1700011001"), ("1700000000.5", "1700011000.5", "1700011001.5")]
    {
        let answer = range(start, end);
        assert_eq!(answer.status, 200, "{start}: {answer:?}");
        let refused = range(start, more);
        assert!(refused.status == 400 && refused.body.contains("11000"), "{start}: {refused:?}");
    }
    let answer = range("1700000000.5", "1700011000.5").json();
    assert_eq!(answer["data"]["result"][0]["values"].as_array().unwrap().len(), 11_002);
}
