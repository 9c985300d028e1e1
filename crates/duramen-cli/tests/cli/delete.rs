use crate::sandbox::{Sandbox, until};
use std::io::Write;

const LOG: &str = "{\"time\":\"2026-11-20T10:00:00Z\",\"msg\":\"login\",\"user\":\"ada\"}\n\
     {\"time\":\"2026-11-20T11:00:00Z\",\"msg\":\"login\",\"user\":\"bob\"}\n\
     {\"time\":\"2026-11-21T10:00:00Z\",\"msg\":\"logout of ada\",\"user\":\"ada\"}\n";

#[test]
fn what_a_filter_finds_goes_for_good() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("app.ndjson", LOG);
    sandbox.ingest(&file);
    assert_eq!(
        sandbox.run(["delete", "user:=ada", "--dry-run"]).expect(0).stdout,
        "2 lines would be deleted\n"
    );
    assert_eq!(sandbox.count(), 3);
    // A year is no time of day of today.
    let none = sandbox.run(["delete", "*", "--to", "2025", "--dry-run"]).expect(0).stdout;
    assert_eq!(none, "0 lines would be deleted\n");
    let deleted = sandbox.run(["delete", "user:=ada", "--to", "2026-11-21", "--yes"]).expect(0);
    assert!(deleted.stdout.starts_with("1 line deleted from 1 table"), "{}", deleted.stdout);
    assert_eq!(sandbox.messages("user:=ada"), ["logout of ada"]);
    sandbox.run(["delete", "ada", "--yes"]).expect(0);
    assert_eq!(sandbox.messages("*"), ["login"]);
    let none = sandbox.run(["delete", "ada", "--yes"]).expect(0).stdout;
    assert!(none.starts_with("0 lines deleted from 0 tables"), "{none}");
    sandbox.ingest(&file);
    assert_eq!(sandbox.count(), 1, "what was taken once is not taken again");
    assert!(sandbox.run(["stats"]).expect(0).stdout.contains("deleted: 2 lines in "));
    sandbox.run(["verify"]).expect(0);
}

#[test]
fn nothing_goes_without_a_yes_or_a_filter() {
    let sandbox = Sandbox::new();
    assert!(sandbox.run(["delete", "*", "--yes"]).expect(1).stderr.contains("no store at"));
    sandbox.ingest(&sandbox.write("app.ndjson", LOG));
    let unasked = sandbox.run(["delete", "ada"]).expect(2);
    assert!(unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    for wrong in ["ada | limit 1", "user:in(ada | fields user)", "user:in("] {
        assert!(!sandbox.run(["delete", wrong, "--yes"]).expect(2).stderr.is_empty());
    }
    assert_eq!(sandbox.count(), 3);
}

#[test]
fn lines_of_a_running_ingest_go_too() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.spawn(["ingest", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(LOG.as_bytes()).unwrap();
    until("three lines", || sandbox.run(["query", "*"]).stdout.lines().count() == 3);
    let deleted = sandbox.run(["delete", "user:=ada", "--yes"]).expect(0);
    assert!(deleted.stdout.starts_with("2 lines deleted"), "{} {}", deleted.stdout, deleted.stderr);
    assert_eq!(sandbox.messages("*"), ["login"]);
    stdin.write_all(LOG.as_bytes()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.count(), 4, "what came later is there");
}
