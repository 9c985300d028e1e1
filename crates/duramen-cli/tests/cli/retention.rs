use crate::sandbox::Sandbox;
use serde_json::Value;

/// So many lines, the first of today and each an hour older than the one before, every fourth with level debug.
fn ingest_hours(sandbox: &Sandbox, hours: i64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64;
    let mut text = String::new();
    for hour in 0..hours {
        let level = if hour % 4 == 0 { "debug" } else { "info" };
        let app = if hour % 2 == 0 { "audit" } else { "web" };
        let time = now - hour * 3600;
        text.push_str(&format!(
            "{{\"time\":{time},\"level\":\"{level}\",\"app\":\"{app}\",\"msg\":\"hour {hour}\"}}\n"
        ));
    }
    sandbox.ingest(&sandbox.write("app.ndjson", text));
}

fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_str(&sandbox.run(args).expect(0).stdout).unwrap()
}

#[test]
fn what_is_set_is_shown_and_enforced() {
    let sandbox = Sandbox::new();
    ingest_hours(&sandbox, 240);
    assert_eq!(sandbox.run(["retention"]).expect(0).stdout, "lines are kept for ever\n");

    let dry = sandbox.run(["retention", "--max-age", "5d", "--dry-run"]).expect(0).stdout;
    assert!(dry.starts_with("lines are kept for 5d\nto be removed at once: "), "{dry}");
    assert_eq!(sandbox.count(), 240, "a dry run removes nothing");
    assert_eq!(json(&sandbox, &["retention", "--json"])["retention"]["max_age_seconds"], Value::Null);

    let set = sandbox.run(["retention", "--max-age", "5d", "--level", "debug=2d"]).expect(0).stdout;
    assert!(set.starts_with("lines are kept for 5d\n  level debug: for 2d\nremoved as expired: "), "{set}");
    let left = sandbox.count();
    // Older than five days and the day that the sixth is in, all of it; younger, none.
    let debug = sandbox.find("level:debug").len() as u64;
    let young =
        |step: usize, days: u64| (0..240u64).step_by(step).filter(|hour| hour / 24 < days).count() as u64;
    assert!((young(4, 2)..=young(4, 3) + 1).contains(&debug), "{debug} of level debug");
    let others = young(1, 5) - young(4, 5)..=young(1, 6) - young(4, 6) + 1;
    assert!(others.contains(&(left - debug)), "{left} lines, {debug} of them debug");
    let stats = json(&sandbox, &["stats", "--json"]);
    assert_eq!(stats["removed"]["expired"]["lines"], 240 - left);
    let lines = |class: &Value| class["lines"].as_u64().unwrap();
    let of_classes: u64 = stats["retention_classes"].as_array().unwrap().iter().map(lines).sum();
    assert_eq!(of_classes + lines(&stats["retention_unsorted"]), left);
    assert!(sandbox.run(["stats"]).expect(0).stdout.contains("level debug"), "people see it, too");
    sandbox.run(["verify"]).expect(0);

    let cleared = sandbox.run(["retention", "--clear"]).expect(0).stdout;
    assert!(cleared.starts_with("lines are kept for ever\nremoved as expired: "), "{cleared}");
}

#[test]
fn who_ingests_what_is_too_old_is_told() {
    let sandbox = Sandbox::new();
    ingest_hours(&sandbox, 3);
    sandbox.run(["retention", "--max-age", "5d"]).expect(0);
    let old = sandbox.write("old.log", "2021-11-21 10:00:00 INFO too late\n");
    let ran = sandbox.run(["ingest", old.to_str().unwrap()]).expect(1);
    assert!(ran.stderr.contains("1 line was older than the retention policy allows"), "{}", ran.stderr);
    assert_eq!(sandbox.count(), 3);
    let told = sandbox.run(["retention"]).expect(0).stdout;
    assert!(told.contains("not taken, expired when they came: 1 line\n"), "{told}");
}

#[test]
fn what_cannot_be_meant_changes_nothing() {
    let sandbox = Sandbox::new();
    assert!(sandbox.run(["retention"]).expect(1).stderr.contains("no store at"));
    ingest_hours(&sandbox, 3);
    for wrong in [
        &["--max-age", "soon"][..],
        &["--max-age", "1ms"],
        &["--max-bytes", "0"],
        &["--level", "loud=3d"],
        &["--stream", "app=3d"],
    ] {
        let ran = sandbox.run([&["retention"][..], wrong].concat()).expect(2);
        assert!(!ran.stderr.is_empty());
    }
    assert_eq!(sandbox.run(["retention"]).expect(0).stdout, "lines are kept for ever\n");
    assert_eq!(sandbox.count(), 3);
}
