use crate::sandbox::Sandbox;
use std::ffi::OsStr;
use std::io::Write;

fn append(path: &std::path::Path, text: &str) {
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_second_run_takes_only_what_is_new() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("app.log", "one\ntwo\n");
    sandbox.ingest(&file);
    let said = sandbox.ingest(&file);
    assert!(said.contains("already in the store: 2 lines skipped, nothing new"), "{said}");
    append(&file, "three\n");
    let said = sandbox.ingest(&file);
    assert!(said.contains("app.log: 1 line, 1 entry"), "{said}");
    assert!(said.contains("already in the store: 2 lines skipped"), "{said}");
    let mut messages = sandbox.messages("*");
    messages.sort();
    assert_eq!(messages, ["one", "three", "two"]);
}

#[test]
fn the_same_file_twice_in_one_run_is_taken_once() {
    let sandbox = Sandbox::new();
    sandbox.write("app.log", "one\ntwo\n");
    sandbox.run(["ingest", "app.log", "./app.log"]).expect(0);
    assert_eq!(sandbox.count(), 2);
}

#[test]
fn a_rotated_file_is_known_by_its_content() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("app.log", "one\ntwo\n");
    sandbox.ingest(&file);
    // As logrotate does it: renamed, grown by a last line, compressed; and a new file under the old name.
    append(&file, "three\n");
    let rotated = sandbox.path("app.log.1");
    std::fs::rename(&file, &rotated).unwrap();
    sandbox.write("app.log", "four\n");
    sandbox.run(["ingest", "app.log", "app.log.1"]).expect(0);
    assert_eq!(sandbox.count(), 4);
    let packed = zstd::encode_all(&b"one\ntwo\nthree\n"[..], 1).unwrap();
    let packed = sandbox.write("app.log.2.zst", packed);
    std::fs::remove_file(&rotated).unwrap();
    let said = sandbox.ingest(&packed);
    assert!(said.contains("3 lines skipped, nothing new"), "{said}");
    assert_eq!(sandbox.count(), 4);
}

#[test]
fn two_copies_are_two_files() {
    let sandbox = Sandbox::new();
    sandbox.write("a.log", "one\ntwo\n");
    sandbox.write("b.log", "one\ntwo\n");
    for _ in 0..2 {
        sandbox.run(["ingest", "a.log", "b.log"]).expect(0);
        assert_eq!(sandbox.count(), 4);
    }
}

#[test]
fn a_file_that_was_replaced_is_another() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("app.log", "one\ntwo\n");
    sandbox.ingest(&file);
    sandbox.write("app.log", "one\n2\n");
    sandbox.ingest(&file);
    assert_eq!(sandbox.count(), 4);
}

#[test]
fn again_takes_it_again() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("app.log", "one\ntwo\n");
    sandbox.ingest(&file);
    sandbox.run([OsStr::new("ingest"), OsStr::new("--again"), file.as_os_str()]).expect(0);
    assert_eq!(sandbox.count(), 4);
    // And is not taken for new afterwards.
    sandbox.ingest(&file);
    assert_eq!(sandbox.count(), 4);
}

#[test]
fn two_at_once_take_a_file_once() {
    let sandbox = Sandbox::new();
    let lines: String = (0..200_000).map(|n| format!("2026-11-21T10:00:00Z INFO line n={n}\n")).collect();
    sandbox.write("app.log", lines);
    let both: Vec<_> = (0..2).map(|_| sandbox.spawn(["ingest", "app.log"])).collect();
    let said: String = both
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stderr).unwrap()
        })
        .collect();
    assert!(said.contains("app.log: already in the store: 200,000 lines skipped, nothing new"), "{said}");
    assert_eq!(sandbox.count(), 200_000);
}

#[test]
fn the_store_itself_is_no_log() {
    let sandbox = Sandbox::new();
    sandbox.write("app.log", "one\n");
    for _ in 0..3 {
        sandbox.run(["ingest", "-r", "."]).expect(0);
    }
    assert_eq!(sandbox.messages("*"), ["one"]);
}

#[test]
fn a_format_found_at_the_start_holds_for_the_rest() {
    let sandbox = Sandbox::new();
    let trace = "2026-11-21 10:00:00 ERROR it broke\ncaused by something\n";
    let file = sandbox.write("app.log", trace);
    sandbox.ingest(&file);
    // By itself the second part would be two lines without a time.
    append(&file, "2026-11-21 10:00:01 INFO on\nand on\n");
    sandbox.ingest(&file);
    assert_eq!(sandbox.messages("*").len(), 2);
}

/// As one is that is copied, or delivered, while it is taken in.
#[test]
fn a_document_of_records_that_is_not_whole_yet_is_waited_for() {
    let record = |n: u32| {
        format!(r#"{{"eventTime":"2024-06-01T10:00:0{n}Z","eventName":"Put{n}","a":{{"b":"}}]"}}}}"#)
    };
    let records: Vec<String> = (0..3).map(record).collect();
    let document = format!("{{\"Records\":[{}]}}", records.join(","));
    for place in [
        "eventName\":\"Put0",
        "Put1",
        "}]\"}},{\"eventTime\":\"2024-06-01T10:00:02Z",
        ",{\"eventTime\":\"2024-06-01T10:00:02Z",
    ] {
        let sandbox = Sandbox::new();
        let half = document.find(place).unwrap();
        let is_between = document[half..].starts_with(',');
        let file = sandbox.write("trail.json", &document[..half]);
        let ran = sandbox.run(["ingest", "trail.json"]);
        let ran = ran.expect(if is_between { 0 } else { 1 });
        let told = ran.stderr.contains("trail.json: its last record is not whole; run it again once it is");
        assert_eq!(told, !is_between, "{}", ran.stderr);
        append(&file, &document[half..]);
        sandbox.ingest(&file);
        let found = sandbox.run([
            "query",
            "* | sort by (_time) | format '<eventName>' | fields _msg",
            "--output",
            "raw",
        ]);
        assert_eq!(found.expect(0).stdout.trim(), "Put0\nPut1\nPut2", "{place}");
        let said = sandbox.ingest(&file);
        assert!(said.contains("trail.json: already in the store, nothing new"), "{said}");
    }
}
