use crate::sandbox::Sandbox;
use serde_json::json;

#[test]
fn ndjson_keeps_its_fields_and_their_types() {
    let sandbox = Sandbox::new();
    let file = sandbox.write(
        "app.ndjson",
        r#"{"time":"2026-11-21T10:00:00.5Z","level":"error","msg":"refused","order":{"id":4711,"total":12.50},"tags":["a"],"ok":false}
{"time":"2026-11-21T10:00:01Z","level":"info","msg":"accepted","user":null}
{"time":"2026-11-21T10:00:02Z","msg":"a"}
{"time":"2026-11-21T10:00:03Z","msg":"b"}
not json at all
"#,
    );
    let said = sandbox.ingest(&file);
    assert!(said.contains("app.ndjson: 5 lines, 5 entries, 1 unparsed"), "{said}");
    let found = sandbox.find("refused");
    assert_eq!(found.len(), 1);
    let row = &found[0];
    assert_eq!(row["_time"], "2026-11-21T10:00:00.5Z");
    assert_eq!(row["_msg"], "refused");
    assert_eq!(row["level"], "error");
    assert_eq!(row["order.id"], 4711);
    assert_eq!(row["ok"], false);
    assert_eq!(row["tags"], json!(["a"]));
    assert_eq!(sandbox.messages("order.total:>12"), ["refused"]);
    assert_eq!(sandbox.messages("\"not json\""), ["not json at all"]);
}

#[test]
fn each_text_format_is_recognised() {
    let sandbox = Sandbox::new();
    for (name, text, query) in [
        ("logfmt", "time=2026-11-21T10:00:00Z level=warn msg=\"disk slow\" ms=17\n", "ms:17 level:warn"),
        ("rfc5424", "<34>1 2026-11-21T10:00:01Z web-1 su 77 ID47 - su root failed\n", "host:web-1 failed"),
        ("rfc3164", "<34>Nov 21 10:00:02 web-2 sshd[5150]: Accepted key for ada\n", "web-2 ada"),
        (
            "access",
            "192.0.2.7 - - [21/Nov/2026:10:00:03 +0000] \"GET /a/b HTTP/1.1\" 503 512 \"-\" \"curl/8\"\n",
            "status:503",
        ),
        ("plain", "2026-11-21 10:00:04,250 ERROR [main] it broke\n", "level:error broke"),
    ] {
        sandbox.ingest(&sandbox.write(name, text));
        assert_eq!(sandbox.messages(query).len(), 1, "{name}: {query}");
    }
    // Each had its own time.
    let times: Vec<_> = sandbox.find("_time:2026-11-21").iter().map(|row| row["_time"].to_string()).collect();
    assert!(times.len() >= 4, "{times:?}");
}

#[test]
fn a_stack_trace_is_one_entry_unless_told_otherwise() {
    let text = "2026-11-21 10:00:00 ERROR it broke\njava.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n\
                2026-11-21 10:00:01 INFO on it goes\n";
    let sandbox = Sandbox::new();
    let file = sandbox.write("app.log", text);
    let said = sandbox.ingest(&file);
    assert!(said.contains("4 lines, 2 entries, 2 joined"), "{said}");
    assert!(sandbox.messages("IllegalStateException")[0].contains("it broke"));
    let apart = Sandbox::new();
    let file = apart.write("app.log", text);
    apart.run(["ingest", "--no-join", file.to_str().unwrap()]).expect(0);
    assert_eq!(apart.count(), 4);
}

#[test]
fn flags_say_what_the_lines_do_not() {
    let sandbox = Sandbox::new();
    let file = sandbox
        .write("odd", "{\"when\":\"2019-03-01 12:00:00\",\"text\":\"hi\",\"sev\":\"crit\",\"app\":\"x\"}\n");
    let args =
        ["--time-field", "when", "--message-field", "text", "--level-field", "sev", "--timezone", "+02:00"];
    sandbox
        .run(["ingest", file.to_str().unwrap(), "--stream-fields", "app,host"].iter().chain(&args))
        .expect(0);
    let row = &sandbox.find("level:fatal or level:crit")[0];
    assert_eq!(row["_time"], "2019-03-01T10:00:00Z");
    assert_eq!(row["_msg"], "hi");
    assert_eq!(row["_stream"], "{app=\"x\"}");
    let old = sandbox.write("old", "Mar  1 12:00:00 host app[1]: from long ago\n");
    sandbox.run(["ingest", "--year", "2003", "--timezone", "UTC", old.to_str().unwrap()]).expect(0);
    assert_eq!(sandbox.find("ago")[0]["_time"], "2003-03-01T12:00:00Z");
}

#[test]
fn lines_that_are_not_utf8_are_kept() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("latin1", b"2026-11-21 10:00:00 INFO M\xfcnchen calling\nand on\n");
    let said = sandbox.ingest(&file);
    assert!(said.contains("1 not UTF-8"), "{said}");
    assert_eq!(sandbox.messages("calling").len(), 1);
}

#[test]
fn files_of_containers_are_taken_apart() {
    let sandbox = Sandbox::new();
    let line = |log: &str, second: u32| {
        let log = serde_json::Value::from(log);
        format!("{{\"log\":{log},\"stream\":\"stdout\",\"time\":\"2026-11-21T10:00:0{second}.25Z\"}}\n")
    };
    let part = "a".repeat(16 << 10);
    let text = [line("{\"level\":\"error\",\"msg\":\"refused\"}\n", 0), line(&part, 1), line("b\n", 1)];
    let file = sandbox.write("c-json.log", text.concat());
    let said = sandbox.ingest(&file);
    assert!(said.contains("c-json.log: 3 lines, 2 entries, 1 joined, 2026-11-21"), "{said}");
    assert_eq!(sandbox.find("level:error")[0]["_time"], "2026-11-21T10:00:00.25Z");
    assert_eq!(sandbox.messages("_msg:re(a+b)")[0].len(), part.len() + 1);
    // It goes on where it was left, and a part that was the last then has its rest for itself.
    let more = [text.concat(), line(&"c".repeat(part.len()), 2)].concat();
    sandbox.write("c-json.log", more.clone());
    sandbox.ingest(&file);
    sandbox.write("c-json.log", [more, line("d\n", 3)].concat());
    sandbox.ingest(&file);
    assert_eq!(sandbox.count(), 4);
    assert_eq!(sandbox.messages("_msg:re(^c+$)").len() + sandbox.messages("_msg:=d").len(), 2);
    let cri = sandbox.write("0.log", "2026-11-21T10:00:07Z stderr F WARN slow\nother\n");
    let said = sandbox.run(["ingest", "--format", "cri", cri.to_str().unwrap()]).expect(0).stderr;
    assert!(said.contains("1 unparsed"), "{said}");
    assert_eq!(sandbox.messages("stream:stderr level:warn"), ["WARN slow"]);
}

#[test]
fn a_journals_export_is_taken_by_entries() {
    let sandbox = Sandbox::new();
    let entry = |n: u32, message: &[u8]| {
        let head = format!(
            "__CURSOR=s=1;i={n}\n__REALTIME_TIMESTAMP=179524080000000{n}\nPRIORITY=3\n_PID=7\nMESSAGE\n"
        );
        [head.as_bytes(), &(message.len() as u64).to_le_bytes(), message, b"\n\n"].concat()
    };
    let whole = [entry(1, b"one\nand on"), entry(2, b"tw\xe4")].concat();
    let file = sandbox.write("journal.export", entry(1, b"one\nand on"));
    sandbox.ingest(&file);
    sandbox.write("journal.export", whole);
    let said = sandbox.ingest(&file);
    assert!(said.contains("journal.export: 1 line, 1 entry"), "{said}");
    assert_eq!(sandbox.count(), 2);
    assert_eq!(sandbox.messages("level:error one"), ["one\nand on"]);
    assert_eq!(sandbox.find("_PID:7 tw*")[0]["_msg"], "tw\\xE4");
}

#[test]
fn a_directory_is_taken_whole_when_asked() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("logs/deep")).unwrap();
    sandbox.write("logs/a", "one\n");
    sandbox.write("logs/deep/b", "two\n");
    let refused = sandbox.run(["ingest", "logs"]).expect(1);
    assert!(refused.stderr.contains("logs is a directory: `-r` takes the files in it"), "{}", refused.stderr);
    let said = sandbox.run(["ingest", "-r", "logs"]).expect(0).stderr;
    assert!(said.contains("2 inputs: 2 lines, 2 entries"), "{said}");
    assert_eq!(sandbox.count(), 2);
}
