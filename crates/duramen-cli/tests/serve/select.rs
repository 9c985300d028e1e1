//! Queries, counts, histograms; mistakes are shown.

use crate::server::{Server, eventually, store};
use serde_json::json;

fn filled() -> (tempfile::TempDir, Server) {
    let (dir, store) = store();
    let server = Server::start(&store);
    let mut body = String::new();
    for i in 0..100 {
        let (minute, level) = (i % 60, if i % 10 == 0 { "error" } else { "info" });
        body.push_str(&format!(
            "{{\"_time\":\"2024-01-01T{:02}:{minute:02}:00Z\",\"_msg\":\"line {i}\",\"level\":\"{level}\",\"app\":\"a{}\",\"n\":{i}}}\n",
            i / 60,
            i % 4
        ));
    }
    assert_eq!(server.post("/insert/jsonline?_stream_fields=app", body).status, 200);
    (dir, server)
}

#[test]
fn rows_come_newest_first_and_no_more_than_asked_for() {
    let (_dir, server) = filled();
    let rows = server.get("/select/logsql/query?query=*&limit=3").lines();
    let messages: Vec<_> = rows.iter().map(|row| row["_msg"].as_str().unwrap()).collect();
    assert_eq!(messages, ["line 99", "line 98", "line 97"]);
    assert_eq!(rows[0]["n"], "99", "values are text, as VictoriaLogs' clients expect");
    let rows = server.get("/select/logsql/query?query=*&limit=2&offset=2&format=typed").lines();
    assert_eq!((rows.len(), &rows[0]["n"]), (2, &json!(97)));
    assert_eq!(server.get("/select/logsql/query?query=*&start=2024-01-01T01:30:00Z").lines().len(), 10);
    assert_eq!(server.get("/select/logsql/query?query=*&end=2024-01-01T00:04:59Z").lines().len(), 5);
    assert_eq!(server.get("/select/logsql/query?query=*&extra_filters=level:error").lines().len(), 10);
    let csv = server.get("/select/logsql/query?query=error&limit=1&format=csv&fields=_time,n");
    assert_eq!(csv.body, "_time,n\r\n", "{csv:?}");
    let csv = server.get("/select/logsql/query?query=level:error&limit=1&format=csv&fields=_time,n");
    assert_eq!(csv.body, "_time,n\r\n2024-01-01T01:30:00Z,90\r\n");
    // Without names, all columns: those of any row, or those that pipes make, in their order.
    let csv = server.get("/select/logsql/query?query=level:error&limit=1&format=csv").body;
    let columns: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    assert!(columns.len() > 3 && columns[0] == "_time" && columns.contains(&"n"), "{csv}");
    let csv = server.get("/select/logsql/query?query=*%7Cstats+by+(level)+count()+lines&format=csv");
    assert!(csv.body.starts_with("level,lines\r\n"), "{csv:?}");
    assert_eq!(server.get("/select/logsql/query?query=nothere&format=csv").body, "");
    // What has no value is no row.
    let extracted = server.get("/select/logsql/query?query=*%7Cextract+%22line+9%3Cx%3E%22%7Cfields+x");
    assert_eq!(extracted.lines().len(), 10, "{extracted:?}");
}

#[test]
fn a_question_that_is_asked_again_has_the_same_answer() {
    let (dir, server) = filled();
    let more: String = (0..3_000).map(|n| format!("{{\"_msg\":\"one of many, number {n}\"}}\n")).collect();
    assert_eq!(server.post("/insert/jsonline", more).status, 200);
    server.stop();
    // Nothing is in memory at first; then what is asked for is, and short questions are answered where they are asked.
    let server = Server::start(&dir.path().join("logs"));
    for (question, lines) in [
        ("query=line&format=csv&fields=_time,n", 101),
        ("query=level:error%20%7C%20sort%20by%20(n)", 10),
        ("query=level:error&limit=7&offset=2", 7),
        ("query=*%20%7C%20stats%20by%20(app)%20count()", 5),
        ("query=nowhere", 0),
        ("query=nowhere&format=csv&fields=n", 1),
        ("query=many", 3_000),
        ("query=number&limit=3000", 3_000),
    ] {
        let answers: Vec<_> =
            (0..5).map(|_| server.get(&format!("/select/logsql/query?{question}"))).collect();
        let first = &answers[0];
        assert_eq!(first.status, 200, "{first:?}");
        assert_eq!(first.body.lines().count(), lines, "{question}");
        answers.iter().for_each(|answer| assert_eq!(answer.body, first.body, "{question}"));
    }
    eventually("short questions are answered where they are asked", || {
        server.get("/select/logsql/query?query=nowhere");
        let metrics = server.get("/metrics").body;
        let brief = metrics.lines().find_map(|line| line.strip_prefix("duramen_brief_queries_total "));
        brief.unwrap().parse::<u32>().unwrap() > 0
    });
    // Blocks are open: a limit that is too short is still told.
    let limited = server.get("/select/logsql/query?query=*%20%7C%20sort%20by%20(_msg)&timeout=1ns");
    assert!(limited.status == 503 && limited.body.contains("limit"), "{limited:?}");
}

#[test]
fn extra_filters_hold_whatever_the_query_says() {
    let (_dir, server) = filled();
    let count = |query: &str, extra: &str| {
        let query = query.replace(' ', "%20").replace('|', "%7C").replace('"', "%22").replace('#', "%23");
        let extra = extra.replace(' ', "%20").replace('"', "%22").replace('{', "%7B").replace('}', "%7D");
        server.get(&format!("/select/logsql/query?query={query}&extra_filters={extra}")).lines().len()
    };
    assert_eq!(count("nothere or *", "app:a1"), 25);
    assert_eq!(count("options(concurrency=1) nothere or *", "app:a1"), 25);
    assert_eq!(count("app:a1 | union (nothere or *)", "app:a1"), 50);
    assert_eq!(count("n:in(app:a2 | fields n)", "app:a1"), 0);
    // Ten of two streams, and what stands between these.
    assert_eq!(count("* | stream_context before 100 after 100", "level:error"), 11);
    assert_eq!(count("n:40 | stream_context before 100 after 100", "level:error"), 5);
    assert_eq!(count("nothere or level:error", "app:a1 or app:a2"), 5);
    // As proxies write them.
    assert_eq!(count("nothere or *", r#"{"app":"a1"}"#), 25);
    assert_eq!(count("nothere or *", r#"{"app":["a1","a2"],"level":"error"}"#), 5);
    assert_eq!(count("nothere or *", r#"{app="a1"}"#), 25);
    assert_eq!(count("*", r#"{"app":[]}"#), 0, "one of none");
    // Only their own conditions bind what queries see beyond `start` and `end`.
    let counted = |more: &str| {
        let hour = "start=2024-01-01T01:00:00Z&end=2024-01-01T02:00:00Z";
        server.get(&format!("/select/logsql/query?{hour}&{more}")).lines().len()
    };
    assert_eq!(counted("query=*&extra_filters=app:a1"), 10);
    assert_eq!(counted("query=options(ignore_global_time_filter=true)%20*&extra_filters=app:a1"), 25);
    let around = "query=n:61%20%7C%20stream_context%20before%205";
    assert_eq!((counted(around), counted(&format!("{around}&extra_filters=*"))), (6, 6));
    // A field is no label.
    let streams = |filter: &str| counted(&format!("query=*&extra_stream_filters={filter}"));
    assert_eq!((streams("%7B%22app%22:%22a1%22%7D"), streams("%7B%22level%22:%22info%22%7D")), (10, 0));
    assert_eq!(streams("%7B%22app%22:[%22a1%22,%22a2%22]%7D"), 20);
    // What is put behind a query is not part of its comment.
    let values = server.get("/select/logsql/field_values?query=*%20%23%20all&field=app").json();
    assert_eq!(values["values"].as_array().unwrap().len(), 4, "{values}");
    let found = server.get("/api/v1/entries?q=level:error%20%23%20all").json();
    assert_eq!(found["count"], 10, "{found}");
}

#[test]
fn a_mistake_is_shown() {
    let (_dir, server) = filled();
    for (path, told) in [
        ("query", "`query` is missing"),
        ("query?query=level:(", "expected a word"),
        ("query?query=*&limit=x", "`limit` is no whole number"),
        ("query?query=*&start=yesterday-ish", "`start` is no time"),
        ("query?query=*&timeout=x", "`timeout` is no duration"),
        ("query?query=*&extra_filters=x|limit%201", "no pipes"),
        ("query?query=*&extra_filters=a)%20or%20(b", "expected"),
        ("query?query=*&format=xml", "none of: json, typed, csv"),
        ("hits?query=*&step=x", "`step` is no duration"),
        ("stats_query_range?query=*%7Cstats%20count()&offset=x", "`offset` is no duration"),
        ("field_values?query=*", "`field` is missing"),
        ("stats_query?query=*", "must end with the pipe `stats`"),
        ("stats_query?query=*%7Cstats+by+(app)+count()+n%7Cfields+n", "takes away the field `app`"),
        ("stats_query?query=*%7Cstats+by+(app)+count()+n%7Cdelete+n", "leave nothing of what it has counted"),
        ("stats_query?query=*%7Cstats+by+(app)+count()+n%7Cmath+n%2B1+as+app", "overwrites the field `app`"),
        ("stats_query?query=*%7Cstats+by+(app)+count()+n%7Ctop+1+by+(n)", "leaves nothing"),
        ("stats_query_range?query=*%7Cstats+count()+n%7Climit+1", "behind `stats` would leave out steps"),
        ("query?query=*&extra_filters=%7B%22app%22:1%7D", "`app` is neither text nor an array of texts"),
        ("query?query=*&extra_filters=n:in(app:a2%7Cfields+n)", "extra_filters holds no queries inside"),
        (
            "stats_query?query=*%7Cstats+by+(app)+count()+n%7Cformat+%22x%22+as+app",
            "overwrites the field `app`",
        ),
        (
            "stats_query?query=*%7Cstats+by+(app)+count()+n%7Crename+nothere+as+app",
            "overwrites the field `app`",
        ),
        (
            "stats_query?query=*%7Cstats+by+(app)+count()+n%7Crename+nothere+as+n",
            "leave nothing of what it has counted",
        ),
        (
            "stats_query?query=*%7Cstats+by+(app)+count()+n%7Cformat+%22%3Cn%3E+lines%22+as+n",
            "leave nothing of what it has counted",
        ),
        ("stats_query?query=*%7Cstats+by+(app)+count()+n%7Cunion+(*)", "cannot stand behind `stats`"),
        ("stats_query?query=*%7Cstats+by+(app)+count()+n%7Cfield_names", "cannot stand behind `stats`"),
        ("stats_query_range?query=*%7Cstats+count()+n%7Crename+_time+as+t", "takes away `_time`"),
        ("stats_query_range?query=*%7Cstats+count()+n&step=1e-12", "is no duration such as"),
        ("stats_query_range?query=*%7Climit%201%7Cstats%20count()", "must end with the pipe `stats`"),
        ("tail?query=*%7Cstats%20count()", "needs all entries"),
    ] {
        let answer = server.get(&format!("/select/logsql/{path}"));
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        assert!(answer.json()["error"].as_str().unwrap().contains(told), "{path}: {answer:?}");
    }
    assert_eq!(server.get("/nothing").status, 404);
    assert_eq!(server.get("/api/v1/ingest").status, 405);
}

#[test]
fn counts_of_names_values_and_streams() {
    let (_dir, server) = filled();
    let values = |path: &str| {
        let answer = server.get(&format!("/select/logsql/{path}")).json();
        let pairs = answer["values"].as_array().unwrap().iter();
        pairs
            .map(|v| (v["value"].as_str().unwrap().to_owned(), v["hits"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let level = [("info".to_owned(), 90), ("error".to_owned(), 10)];
    assert_eq!(values("field_values?query=*&field=level"), level);
    assert_eq!(values("field_values?query=*&field=level&limit=1"), level[..1]);
    let apps: Vec<_> = (0..4).map(|i| (format!("a{i}"), 25)).collect();
    assert_eq!(values("stream_field_values?query=*&field=app"), apps);
    assert_eq!(values("stream_field_names?query=*"), [("app".to_owned(), 100)]);
    let streams: Vec<_> = (0..4).map(|i| (format!("{{app=\"a{i}\"}}"), 25)).collect();
    assert_eq!(values("streams?query=*"), streams);
    assert_eq!(values("stream_ids?query=*").iter().map(|(_, n)| n).sum::<u64>(), 100);
    let names = values("field_names?query=*");
    assert!(names.contains(&("n".into(), 100)) && names.contains(&("_msg".into(), 100)), "{names:?}");
    let facets = server.get("/select/logsql/facets?query=*&limit=1").json();
    let level = facets["facets"].as_array().unwrap().iter().find(|f| f["field_name"] == "level").unwrap();
    assert_eq!(level["values"], json!([{ "field_value": "info", "hits": 90 }]));
}

#[test]
fn labels_whose_names_need_quotes_are_selected_and_shown_without_them() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let body = r#"{"_msg":"m","my host":"a\"b","app":"x"}"#;
    assert_eq!(server.post("/insert/jsonline?_stream_fields=app,my%20host", body).status, 200);
    assert_eq!(server.query("*")[0]["_stream"], r#"{app="x","my host"="a\"b"}"#);
    assert_eq!(server.count(r#"{"my host"="a\"b"}"#), 1);
    assert_eq!(server.count(r#"{"my host"="other"}"#), 0);
    let values = |path: &str| server.get(&format!("/select/logsql/{path}")).json()["values"].clone();
    assert_eq!(values("stream_field_names?query=*")[1]["value"], "my host");
    assert_eq!(
        values("stream_field_values?query=*&field=my%20host"),
        json!([{ "value": "a\"b", "hits": 1 }])
    );
    let labels = server.get("/loki/api/v1/labels").json()["data"].clone();
    assert_eq!(labels, json!(["app", "my_host", "service_name"]));
}

#[test]
fn a_histogram_and_frequent_values_beside_any_answer() {
    let (_dir, server) = filled();
    let ask = |path: &str| server.get(&format!("/select/logsql/{path}")).json();
    // Who shows groups, or the last rows, asks the same query for what is above and beside them.
    let plain = ask("hits?query=level:error&step=1d");
    assert_eq!(plain["hits"][0]["total"], 10, "{plain}");
    for pipes in
        ["stats+by+(app)+count()", "sort+by+(n)", "limit+1", "fields+n", "delete+_time", "fields+n%7Climit+1"]
    {
        assert_eq!(ask(&format!("hits?query=level:error%7C{pipes}&step=1d")), plain, "{pipes}");
    }
    let some = ask("hits?query=*%7Cextract+%22%3Cfirst%3E+%22%7Cfilter+level:error%7Cstats+count()&step=1d");
    assert_eq!(some, plain, "pipes that look at each entry by itself count");
    let values = ask("facets?query=level:error&keep_const_fields=1");
    assert_eq!(ask("facets?query=level:error%7Cstats+by+(app)+count()&keep_const_fields=1"), values);
}

#[test]
fn the_first_of_each_step_are_a_sort_and_a_limit_behind_it() {
    let (_dir, server) = filled();
    let ask = |pipes: &str| {
        let path =
            format!("/select/logsql/stats_query_range?query=*%7Cstats+by+(app)+count()+n%7C{pipes}&step=1h");
        let answer = server.get(&path);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["data"]["result"].clone()
    };
    let first = ask("sort+by+(app+desc)+limit+2");
    assert_eq!(first.as_array().unwrap().len(), 2, "{first}");
    for same in [
        "sort+by+(app+desc)%7Climit+2",
        "sort+by+(app+desc)+limit+3%7Climit+2",
        "sort+by+(app+desc)+limit+2%7Climit+3",
    ] {
        assert_eq!(ask(same), first, "{same}");
    }
}

#[test]
fn names_and_values_for_completion() {
    let (_dir, server) = filled();
    let values = |path: &str| {
        let answer = server.get(&format!("/select/logsql/{path}")).json();
        let found = answer["values"].as_array().unwrap().clone();
        found.iter().map(|v| v["value"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // What is typed narrows what is offered before the limit does.
    assert_eq!(values("field_names?query=*&filter=ev&limit=1"), ["level"]);
    assert_eq!(values("field_values?query=*&field=level&filter=err&limit=1"), ["error"]);
    assert_eq!(values("stream_field_values?query=*&field=app&filter=3"), ["a3"]);
    // Of a query with pipes, the filter counts alone if so asked.
    let query = "query=n:%3C2%7Cstats%20count()%20n";
    assert_eq!(values(&format!("stream_field_values?{query}&field=app&ignore_pipes=1")), ["a0", "a1"]);
    assert_eq!(values(&format!("field_names?{query}&ignore_pipes=0")), ["n"]);
}

#[test]
fn a_field_may_be_named_as_counts_are() {
    let (_dir, store) = store();
    let server = Server::start(&store);
    let row = |hits: &str| json!({ "_time": "2024-01-01T00:00:00Z", "_msg": "x", "hits": hits }).to_string();
    let body = [row("few"), row("many"), row("many")].join("\n");
    assert_eq!(server.post("/insert/jsonline", body).status, 200);
    let values = server.get("/select/logsql/field_values?query=*&field=hits").json();
    assert_eq!(
        values["values"],
        json!([{ "value": "many", "hits": 2 }, { "value": "few", "hits": 1 }]),
        "{values}"
    );
    let facet = server.get("/api/v1/facets?field=hits").json();
    assert_eq!(
        facet["values"],
        json!([{ "value": "many", "count": 2 }, { "value": "few", "count": 1 }]),
        "{facet}"
    );
    let hits = server.get("/select/logsql/hits?query=*&step=1h&field=hits").json();
    assert_eq!(hits["hits"][0]["fields"], json!({ "hits": "many" }), "{hits}");
    assert_eq!(hits["hits"][0]["total"], 2);
}

#[test]
fn a_histogram() {
    let (_dir, server) = filled();
    let hits = server.get("/select/logsql/hits?query=*&step=1h&field=level").json();
    assert_eq!(
        hits["hits"],
        json!([
            { "fields": { "level": "info" }, "timestamps": ["2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z"], "values": [54, 36], "total": 90 },
            { "fields": { "level": "error" }, "timestamps": ["2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z"], "values": [6, 4], "total": 10 },
        ])
    );
    let in_seconds = server.get("/select/logsql/hits?query=*&step=3600&field=level").json();
    assert_eq!(in_seconds, hits);
    let hits = server.get("/select/logsql/hits?query=*&step=1h&field=n&fields_limit=2").json();
    let groups = hits["hits"].as_array().unwrap();
    assert_eq!((groups.len(), &groups[2]["fields"], &groups[2]["total"]), (3, &json!({}), &json!(98)));
    let hits = server.get("/select/logsql/hits?query=absent&step=1h").json();
    assert_eq!(hits["hits"], json!([]));
}

#[test]
fn figures_as_prometheus_has_them() {
    let (_dir, server) = filled();
    let query = "query=*%7Cstats%20by%20(level)%20count()%20n,max(n)%20most";
    let vector = server.get(&format!("/select/logsql/stats_query?{query}&time=2024-01-02T00:00:00Z")).json();
    assert_eq!(vector["data"]["resultType"], "vector");
    let result = vector["data"]["result"].as_array().unwrap();
    let errors = json!({ "metric": { "__name__": "n", "level": "error" }, "value": [1704153600, "10"] });
    assert!(result.len() == 4 && result.contains(&errors), "{result:?}");
    let matrix = server.get(&format!("/select/logsql/stats_query_range?{query}&step=1h")).json();
    let errors = json!({ "metric": { "__name__": "most", "level": "error" }, "values": [[1704067200, "50"], [1704070800, "90"]] });
    assert!(matrix["data"]["result"].as_array().unwrap().contains(&errors), "{matrix}");
    // In the hours of a place half an hour east of UTC, as a browser there asks for them.
    let matrix = server.get(&format!("/select/logsql/stats_query_range?{query}&step=1h&offset=30m")).json();
    let values = json!([[1704065400, "20"], [1704069000, "80"], [1704072600, "90"]]);
    let errors = json!({ "metric": { "__name__": "most", "level": "error" }, "values": values });
    assert!(matrix["data"]["result"].as_array().unwrap().contains(&errors), "{matrix}");
    // Steps that the query names itself give way to those asked for.
    let query = "query=*%7Cstats%20by%20(_time:5m)%20count()%20n";
    let matrix = server.get(&format!("/select/logsql/stats_query_range?{query}&step=1h")).json();
    let all = json!([{ "metric": { "__name__": "n" }, "values": [[1704067200, "60"], [1704070800, "40"]] }]);
    assert_eq!(matrix["data"]["result"], all);
    // Nothing is told where there is nothing to count: what is empty is no number.
    let query = "query=*%7Cstats%20by%20(level)%20count()%20n,max(other)%20most";
    for path in ["stats_query", "stats_query_range"] {
        let answer = server.get(&format!("/select/logsql/{path}?{query}&step=1d")).json();
        let result = answer["data"]["result"].as_array().unwrap();
        let named: Vec<_> = result.iter().map(|series| series["metric"]["__name__"].clone()).collect();
        assert_eq!(named, ["n", "n"], "{answer}");
    }
    let same = |offset: &str| server.get(&format!("/select/logsql/hits?query=*&step=1h{offset}")).json();
    assert_eq!(same("&offset=0s"), same(""));
}

/// The series of an answer: the labels, and the value or values.
fn series(server: &Server, path: &str, query: &str) -> Vec<serde_json::Value> {
    let query = query.replace('|', "%7C").replace('>', "%3E").replace('"', "%22").replace(' ', "+");
    let answer = server.get(&format!("/select/logsql/{path}query={query}")).json();
    let result = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    let flat = |s: serde_json::Value| json!([s["metric"], s.get("values").unwrap_or(&s["value"])]);
    let mut series: Vec<_> = result.into_iter().map(flat).collect();
    series.sort_by_key(ToString::to_string);
    series
}

#[test]
fn pipes_behind_stats_make_figures_and_labels() {
    let (_dir, server) = filled();
    let of = |behind: &str| {
        let query = format!("app:a1 | stats by (level) count() n {behind}");
        series(&server, "stats_query?time=2024-01-02T00:00:00Z&", &query)
    };
    let n = |labels: serde_json::Value| vec![json!([labels, [1704153600, "25"]])];
    assert_eq!(of(""), n(json!({ "__name__": "n", "level": "info" })));
    assert_eq!(of("| rename level as severity"), n(json!({ "__name__": "n", "severity": "info" })));
    assert_eq!(of("| rename n as lines"), n(json!({ "__name__": "lines", "level": "info" })));
    assert_eq!(
        of("| format if (n:>5) \"many\" as how"),
        n(json!({ "__name__": "n", "level": "info", "how": "many" }))
    );
    let both = [
        json!([{ "__name__": "n", "level": "info" }, [1704153600, "25"]]),
        json!([{ "__name__": "share", "level": "info" }, [1704153600, "0.25"]]),
    ];
    assert_eq!(of("| math n / 100 as share"), both);
    assert_eq!(of("| math n / 100 as share | delete n"), both[1..]);
    // Times of the query count back from `time`.
    let last =
        |time: &str| series(&server, &format!("stats_query?time={time}&"), "_time:10m | stats count() n");
    assert_eq!(last("2024-01-01T01:00:00Z"), [json!([{ "__name__": "n" }, [1704070800, "10"]])]);
    assert_eq!(last("2024-01-01T05:00:00Z"), [json!([{ "__name__": "n" }, [1704085200, "0"]])]);
    // Groups of time are told apart, and without `time` the figures are those of the end.
    let query = "app:a1 | stats by (_time:1h) count() n";
    let hours = [
        json!([{ "__name__": "n", "_time": "2024-01-01T00:00:00Z" }, [1704153600, "15"]]),
        json!([{ "__name__": "n", "_time": "2024-01-01T01:00:00Z" }, [1704153600, "10"]]),
    ];
    assert_eq!(series(&server, "stats_query?end=2024-01-02T00:00:00Z&", query), hours);
}

#[test]
fn pipes_behind_stats_work_in_each_step() {
    let (_dir, server) = filled();
    let of = |behind: &str| {
        series(&server, "stats_query_range?step=1h&", &format!("* | stats by (level) count() n {behind}"))
    };
    let most = vec![json!([{ "__name__": "n", "level": "info" }, [[1704067200, "54"], [1704070800, "36"]]])];
    assert_eq!(of("| last 1 by (n)"), most);
    assert_eq!(of("| sort by (n desc) limit 1"), most);
    assert_eq!(of("| filter level:=info"), most);
    let all = vec![json!([{ "__name__": "all" }, [[1704067200, "60"], [1704070800, "40"]]])];
    assert_eq!(of("| stats sum(n) all"), all);
    let share =
        json!([{ "__name__": "share", "level": "error" }, [[1704067200, "0.06"], [1704070800, "0.04"]]]);
    assert!(of("| math n / 100 as share").contains(&share));
}
