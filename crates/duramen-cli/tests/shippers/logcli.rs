//! `logcli`, Grafana Loki's command: all that it asks, against a server that asks for a token.
//!
//! Its test is left out, and says so, where it is neither on the PATH nor named by `DURAMEN_LOGCLI`: building it takes
//! minutes. `make test-logcli` does both.

use crate::debian::Running;
use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How many lines of each app there are, ten of them at each time.
const LINES: usize = 2_000;
/// When the first was logged.
const START_NS: u64 = 1_700_000_000_000_000_000;
/// A span with all of them.
const SPAN: [&str; 2] = ["--from=2023-11-14T22:00:00Z", "--to=2023-11-14T23:00:00Z"];

fn logcli() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("DURAMEN_LOGCLI") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("logcli")).find(|file| file.exists());
    if found.is_none() {
        eprintln!("left out: there is no logcli, and DURAMEN_LOGCLI does not name one");
    }
    found
}

/// It, with a server to ask.
struct Asking {
    logcli: PathBuf,
    server: Server,
}

impl Asking {
    fn begin() -> Option<Self> {
        let asking = Self { logcli: logcli()?, server: Server::start_with_token(&[]) };
        let line = |app: &str, i: usize| match app {
            "web" => format!("level=warn msg=\"line {i} of web\" status={} took={}ms", 200 + i % 2, i % 100),
            _ => json!({ "msg": format!("line {i} of api"), "status": 200 + i % 2, "took": i % 100 })
                .to_string(),
        };
        let streams = ["web", "api"].map(|app| {
            let entry = |i: usize| json!([(START_NS + i as u64 / 10 * 1_000_000_000).to_string(), line(app, i), {"order": i.to_string()}]);
            json!({ "stream": { "app": app, "env": "prod" }, "values": (0..LINES).map(entry).collect::<Vec<_>>() })
        });
        let answer = asking.server.post(
            "/loki/api/v1/push",
            "application/json",
            json!({ "streams": streams }).to_string(),
        );
        assert_eq!(answer.status, 204, "{}", answer.body);
        Some(asking)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.logcli);
        command.args(args).arg(format!("--addr=http://{}", self.server.http)).arg("--timezone=UTC");
        command.env("LOKI_BEARER_TOKEN", self.server.token.as_ref().unwrap());
        command
    }

    /// What it prints.
    #[track_caller]
    fn ask(&self, args: &[&str]) -> String {
        let ran = self.command(args).args(SPAN).output().unwrap();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }

    #[track_caller]
    fn ask_json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ask(args)).unwrap()
    }

    /// Why it fails.
    #[track_caller]
    fn fail(&self, args: &[&str]) -> String {
        let ran = self.command(args).output().unwrap();
        assert_eq!(ran.status.code(), Some(1), "{args:?}");
        String::from_utf8(ran.stderr).unwrap()
    }
}

/// The numbers of these lines, in their order.
fn numbers(lines: &str) -> Vec<usize> {
    let number = |line: &str| line.split_once("line ")?.1.split_once(" of")?.0.parse().ok();
    lines.lines().filter_map(number).collect()
}

#[test]
fn logcli_pages_through_every_line_once() {
    let Some(asking) = Asking::begin() else { return };
    let dir = tempfile::tempdir().unwrap();
    let parts = format!("--part-path-prefix={}/part", dir.path().display());
    let one_by_one = ["--limit=0", "--batch=37"];
    let bounded = ["--limit=2000", "--batch=500"];
    let parallel = [
        "--limit=0",
        "--batch=100",
        "--parallel-duration=1m",
        "--parallel-max-workers=3",
        "--merge-parts",
        &parts,
    ];
    for paging in [&one_by_one[..], &bounded, &parallel] {
        for direction in [&[][..], &["--forward"]] {
            let args = [&["query", "--quiet", "{app=\"web\"}"][..], direction, paging].concat();
            let seen = numbers(&asking.ask(&args));
            assert_eq!(seen.len(), LINES, "{args:?}");
            assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), LINES, "{args:?}");
            let times: Vec<_> = seen.iter().map(|i| i / 10).collect();
            assert!(
                if direction.is_empty() { times.is_sorted_by(|a, b| a >= b) } else { times.is_sorted() },
                "{args:?}"
            );
        }
    }
}

#[test]
fn logcli_shows_lines_as_asked() {
    let Some(asking) = Asking::begin() else { return };
    let query = "{app=\"api\"} | json | status=201 |= `line 77 of`";
    assert_eq!(
        asking.ask(&["query", "--output=raw", "--quiet", query]),
        "{\"msg\":\"line 77 of api\",\"status\":201,\"took\":77}\n"
    );
    let shown = asking.ask_json(&["query", "--output=jsonl", "--quiet", "--include-common-labels", query]);
    assert_eq!(shown["timestamp"], "2023-11-14T22:13:27Z");
    for (label, value) in [("app", "api"), ("order", "77"), ("msg", "line 77 of api"), ("took", "77")] {
        assert_eq!(shown["labels"][label], value, "{shown}");
    }
    let query = "{app=\"web\"} | logfmt | took > 98ms | line_format `{{.msg}}, {{.status}}`";
    let shown = asking.ask(&["query", "--quiet", "--no-labels", "--limit=2", query]);
    assert_eq!(
        shown,
        "2023-11-14T22:16:39Z line 1999 of web, 201\n2023-11-14T22:16:29Z line 1899 of web, 201\n"
    );
    let stats = asking.command(&["query", "--stats", "--since=1h", "{app=\"web\"}"]).output().unwrap();
    assert!(String::from_utf8_lossy(&stats.stderr).contains("Summary.TotalLinesProcessed"), "{stats:?}");
}

#[test]
fn logcli_counts() {
    let Some(asking) = Asking::begin() else { return };
    let counts = "sum by (app) (count_over_time({env=\"prod\"}[1m]))";
    let matrix = asking.ask_json(&["query", "--quiet", "--step=60s", counts]);
    let total = |series: &Value| {
        let values = series["values"].as_array().unwrap();
        values.iter().map(|v| v[1].as_str().unwrap().parse::<usize>().unwrap()).sum::<usize>()
    };
    assert_eq!(matrix.as_array().unwrap().iter().map(total).collect::<Vec<_>>(), [LINES, LINES]);
    // An instant query has a time, and no span.
    let instant = |query: &str| {
        let ran = asking
            .command(&["instant-query", "--quiet", "--now=2023-11-14T23:00:00Z", query])
            .output()
            .unwrap();
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    let vector = instant("topk(1, sum by (app) (count_over_time({app=\"web\"}[1h])))");
    assert_eq!(vector, json!([{ "metric": { "app": "web" }, "value": [1_700_002_800, LINES.to_string()] }]));
    assert_eq!(instant("vector(1)+vector(1)")[0]["value"][1], "2");
    assert_eq!(instant("1+1"), json!([1_700_002_800, "2"]));
    let volume = asking.ask_json(&["volume", "--quiet", "--limit=1", "{app=~\".+\"}"]);
    assert_eq!(volume.as_array().unwrap().len(), 1);
    let range =
        asking.ask_json(&["volume_range", "--quiet", "--step=5m", "--targetLabels=env", "{app=~\".+\"}"]);
    assert_eq!(range[0]["metric"], json!({ "env": "prod" }));
    let by_name = asking.ask_json(&["volume", "--quiet", "--aggregateByLabels", "{app=~\".+\"}"]);
    assert_eq!(by_name[0]["metric"], json!({ "app": "" }));
    assert!(asking.ask(&["stats", "--quiet", "{app=\"web\"}"]).contains(&format!("entries: {LINES}")));
}

#[test]
fn logcli_lists_what_there_is() {
    let Some(asking) = Asking::begin() else { return };
    assert_eq!(asking.ask(&["labels", "--quiet"]), "app\nenv\nservice_name\n");
    assert_eq!(asking.ask(&["labels", "--quiet", "app"]), "api\nweb\n");
    assert_eq!(asking.ask(&["labels", "--quiet", "nothere"]), "");
    assert_eq!(
        asking.ask(&["series", "--quiet", "{app=\"web\"}"]),
        "{app=\"web\", env=\"prod\", service_name=\"web\"}\n"
    );
    let analyzed = asking.ask(&["series", "--quiet", "--analyze-labels", "{}"]);
    assert!(analyzed.contains("Total Streams:  2\nUnique Labels:  3\n"), "{analyzed}");
    let fields = asking.ask(&["detected-fields", "--quiet", "{app=\"web\"}"]);
    for (name, kind) in [("took", "duration"), ("status", "int"), ("msg", "string")] {
        let line = fields.lines().find(|line| line.starts_with(&format!("label: {name}\t")));
        assert!(line.is_some_and(|line| line.contains(&format!("type: {kind}"))), "{fields}");
    }
    let values = asking.ask(&["detected-fields", "--quiet", "{app=\"api\"}", "status"]);
    assert_eq!(values.lines().collect::<BTreeSet<_>>(), BTreeSet::from(["200", "201"]));
}

#[test]
fn logcli_tells_why_it_fails() {
    let Some(asking) = Asking::begin() else { return };
    let why = asking.fail(&["query", "--quiet", "{app=\"web\""]);
    assert!(why.contains("parse error at line 1, col 11: expected `,` or `}`"), "{why}");
    let why = asking.fail(&["instant-query", "--quiet", "{app=\"web\"}"]);
    assert!(why.contains("log queries are not supported as an instant query type"), "{why}");
    let why = asking.fail(&["query", "--quiet", "--tail", "count_over_time({app=\"web\"}[1m])"]);
    assert!(why.contains("only log selector is supported here"), "{why}");
    let why = asking.fail(&["query", "--quiet", "--org-id=acme", "{app=\"web\"}"]);
    assert!(why.contains("X-Scope-OrgID names the tenant `acme`"), "{why}");
    let mut command = asking.command(&["labels", "--quiet"]);
    let refused = command.env_remove("LOKI_BEARER_TOKEN").output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("token"), "{refused:?}");
    let token = asking.server.token.as_ref().unwrap();
    let mut command =
        asking.command(&["labels", "--quiet", "--username=grafana", &format!("--password={token}")]);
    let taken = command.env_remove("LOKI_BEARER_TOKEN").output().unwrap();
    assert!(taken.status.success(), "{taken:?}");
}

#[test]
fn logcli_tails_until_interrupted() {
    let Some(asking) = Asking::begin() else { return };
    let mut command = asking.command(&[
        "query",
        "--quiet",
        "--tail",
        "--output=jsonl",
        "--limit=2",
        "{app=\"web\"}",
        SPAN[0],
    ]);
    let mut running = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!([next()["labels"]["order"].clone(), next()["labels"]["order"].clone()], ["1998", "1999"]);
    for i in 0..3 {
        let push = json!({ "streams": [{ "stream": { "app": "web" }, "values": [["1700009000000000000", format!("new {i}")]] }] });
        assert_eq!(asking.server.post("/loki/api/v1/push", "application/json", push.to_string()).status, 204);
        assert_eq!(next()["line"], format!("new {i}"));
    }
    let interrupted = Command::new("kill").args(["-INT", &running.0.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert!(running.0.wait().unwrap().success());
}
