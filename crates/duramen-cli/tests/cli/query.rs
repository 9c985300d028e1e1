use crate::sandbox::Sandbox;

const LOG: &str = r#"{"time":"2026-11-20T10:00:00Z","level":"info","msg":"start","app":"web","ms":5}
{"time":"2026-11-21T10:00:00Z","level":"error","msg":"refused \u001b[2J twice","app":"web","ms":70}
{"time":"2026-11-21T11:00:00Z","level":"warn","msg":"slow\nvery","app":"shop","ms":900}
"#;

fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ingest(&sandbox.write("app.ndjson", LOG));
    sandbox
}

#[test]
fn text_is_for_people() {
    let sandbox = filled();
    let ran = sandbox.run(["query", "*", "--output", "text", "--timezone", "+01:00"]).expect(0);
    assert_eq!(
        ran.stdout,
        "2026-11-21 12:00:00.000 WARN  slow  app=shop ms=900\n    very\n\
         2026-11-21 11:00:00.000 ERROR refused \\x1b[2J twice  app=web ms=70\n\
         2026-11-20 11:00:00.000 INFO  start  app=web ms=5\n"
    );
    let coloured = sandbox.run(["query", "refused", "-o", "text", "--color", "always"]).expect(0).stdout;
    assert!(coloured.contains("\x1b[31mERROR\x1b[0m"), "{coloured:?}");
    assert!(!coloured.contains("\x1b[2J"), "{coloured:?}");
    let plain = sandbox.run(["query", "refused", "-o", "text", "--no-color"]).expect(0).stdout;
    assert!(!plain.contains('\x1b'), "{plain:?}");
}

#[test]
fn the_time_of_a_text_line_is_not_said_twice() {
    let sandbox = Sandbox::new();
    let text = "[2026-11-21 10:00:00,250] ERROR boom\n2026-11-21T10:00:01Z INFO pid=7 fine\n";
    sandbox.run_with_input(["ingest", "-", "--timezone", "UTC"], text.as_bytes()).expect(0);
    let shown = |zone| sandbox.run(["query", "*", "-o", "text", "--timezone", zone]).expect(0).stdout;
    assert_eq!(
        shown("UTC"),
        "2026-11-21 10:00:01.000 INFO  INFO pid=7 fine\n2026-11-21 10:00:00.250 ERROR ERROR boom\n"
    );
    // In another zone a stamp that names none says something else, and stays.
    assert!(shown("+01:00").contains("11:00:00.250 ERROR [2026-11-21 10:00:00,250] ERROR boom\n"));
}

#[test]
fn counts_are_a_table_for_people() {
    let sandbox = filled();
    let query = "* | stats by (app) count() n, max(ms) slowest | sort by (app)";
    let ran = sandbox.run(["query", query, "--output", "text"]).expect(0);
    assert_eq!(ran.stdout, "app   n  slowest\nshop  1      900\nweb   2       70\n");
    let raw = sandbox.run(["query", query, "--output", "raw"]).expect(0);
    assert_eq!(raw.stdout, "shop\t1\t900\nweb\t2\t70\n");
}

#[test]
fn piped_it_is_ndjson_newest_first() {
    let sandbox = filled();
    let out = sandbox.run(["query", "*", "--limit", "2"]).expect(0).stdout;
    let rows: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0]["_msg"], "slow\nvery");
    assert_eq!(rows[1]["ms"], 70);
    assert_eq!(sandbox.run(["query", "start", "-o", "raw"]).expect(0).stdout, "start\n");
    let oldest = sandbox.run(["query", "*", "-n", "1", "--order", "oldest", "-o", "raw"]).expect(0).stdout;
    assert_eq!(oldest, "start\n");
}

#[test]
fn time_ranges_hold_around_the_whole_filter() {
    let sandbox = filled();
    let count = |args: &[&str]| {
        let ran = sandbox.run(["query", "start or refused or slow", "--timezone", "UTC"].iter().chain(args));
        ran.expect(0).stdout.lines().count()
    };
    assert_eq!(count(&[]), 3);
    assert_eq!(count(&["--from", "2026-11-21"]), 2);
    assert_eq!(count(&["--to", "2026-11-21"]), 1);
    assert_eq!(count(&["--from", "2026-11-21 10:00", "--to", "2026-11-21 11:00"]), 1);
    assert_eq!(count(&["--from", "2026-11-21T10:00:00.000000001Z"]), 1);
    assert_eq!(count(&["--since", "1s", "--to", "now"]), 0);
    // A year and a month, not a time of day; and a zone that was written counts.
    assert_eq!(count(&["--to", "2026"]), 0);
    assert_eq!(count(&["--from", "2026-11", "--to", "2027"]), 3);
    assert_eq!(count(&["--from", "2026-11-21T19:00[Asia/Tokyo]", "--to", "2026-11-21 10:01"]), 1);
    for unclear in ["1030", "12", "10:30+09:00", "2026-11-21+09:00", "2026-11-21T10:00[Nowhere]"] {
        sandbox.run(["query", "start", "--from", unclear]).expect(2);
    }
}

#[test]
fn a_zone_that_the_machine_does_not_know_is_refused() {
    let sandbox = filled();
    let in_zone = |zone: &str| {
        let mut command = sandbox.command(["query", "start", "--from", "2026-11-21"]);
        command.env("TZ", zone).output().unwrap()
    };
    let refused = in_zone("Mars/Base");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("TZ names `Mars/Base`, which is no time zone"), "{said}");
    assert!(in_zone("").status.success());
}

#[test]
fn exit_codes_are_for_scripts() {
    let sandbox = filled();
    assert_eq!(sandbox.run(["query", "nothing_like_it"]).expect(0).stdout, "");
    sandbox.run(["query", "nothing_like_it", "-e"]).expect(4);
    sandbox.run(["query", "start", "--fail-empty"]).expect(0);
    let wrong = sandbox.run(["query", "app:web (start"]).expect(2);
    assert!(wrong.stderr.starts_with("duramen: in the query: "), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("\n  app:web (start\n"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains('^'), "{}", wrong.stderr);
    // The error is about what was typed, also with a time range around it.
    let wrong = sandbox.run(["query", "a |", "--since", "1h"]).expect(2);
    assert!(wrong.stderr.contains("\n  a |\n"), "{}", wrong.stderr);
    let wrong = sandbox.run(["query", "a", "--since", "soon"]).expect(2);
    assert!(wrong.stderr.contains("--since: `soon` is no time: use a duration"), "{}", wrong.stderr);
    sandbox.run(["query", "a", "--timezone", "Mars"]).expect(2);
    sandbox.run(["query"]).expect(2);
}

#[test]
fn stats_say_what_was_read() {
    let sandbox = filled();
    let ran = sandbox.run(["query", "refused", "--stats", "--threads", "2"]).expect(0);
    assert!(ran.stderr.starts_with("1 row shown; 1 matched of "), "{}", ran.stderr);
    assert!(ran.stderr.contains(" read, in "), "{}", ran.stderr);
}

#[test]
fn limits_say_how_to_raise_them() {
    let sandbox = filled();
    let ran = sandbox.run(["query", "* | sort by (_msg)", "--max-memory", "100"]).expect(1);
    assert!(
        ran.stderr.contains("limit of 100 bytes") && ran.stderr.contains("--max-memory"),
        "{}",
        ran.stderr
    );
    let ran = sandbox.run(["query", "refused", "--max-rows", "1"]).expect(1);
    assert!(ran.stderr.contains("limit of 1 rows") && ran.stderr.contains("--max-rows"), "{}", ran.stderr);
    let ran = sandbox.run(["query", "*", "--timeout", "1ns"]).expect(1);
    assert!(ran.stderr.contains("limit of 1ns") && ran.stderr.contains("--timeout"), "{}", ran.stderr);
    for wrong in [["--timeout", "soon"], ["--max-memory", "-1"]] {
        sandbox.run(["query", "*", wrong[0], wrong[1]]).expect(2);
    }
}

#[test]
fn a_process_that_gets_no_more_threads_answers_all_the_same() {
    let sandbox = Sandbox::new();
    let lines = sandbox.run(["generate", "--lines", "50000"]).expect(0).stdout;
    sandbox.ingest(&sandbox.write("lines.ndjson", lines));
    for query in ["* | stats by (app) count()", "* | sort by (_time) | limit 3", "refused | count()"] {
        let asked = sandbox.run(["query", query]).expect(0).stdout;
        // So much memory for its stack no thread has.
        let mut alone = sandbox.command(["query", query]);
        let alone = alone.env("RUST_MIN_STACK", (1_u64 << 60).to_string()).output().unwrap();
        assert!(alone.status.success(), "{query}: {}", String::from_utf8_lossy(&alone.stderr));
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&String::from_utf8_lossy(&alone.stdout)), sorted(&asked), "{query}");
    }
}
