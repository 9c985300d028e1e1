use crate::sandbox::{Sandbox, until};
use std::io::Write;

#[test]
fn a_copy_is_a_store_made_while_another_writes() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.spawn(["ingest", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"time\":\"2026-11-21T10:00:00Z\",\"msg\":\"first\"}\n").unwrap();
    until("the first line", || sandbox.run(["query", "*"]).stdout.lines().count() == 1);
    let made = sandbox.run(["snapshot", "copy"]).expect(0);
    assert!(made.stdout.starts_with("copy: 1 line in 1 table of "), "{}", made.stdout);
    stdin.write_all(b"{\"time\":\"2026-11-21T10:00:01Z\",\"msg\":\"second\"}\n").unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.count(), 2);
    let copy = sandbox.run(["--store", "copy", "query", "*", "--output", "raw"]).expect(0);
    assert_eq!(copy.stdout, "first\n");
    sandbox.run(["--store", "copy", "verify"]).expect(0);
    // Restored: moved to where the store was.
    std::fs::remove_dir_all(sandbox.store()).unwrap();
    std::fs::rename(sandbox.path("copy"), sandbox.store()).unwrap();
    sandbox
        .run_with_input(["ingest", "-"], b"{\"time\":\"2026-11-21T10:00:02Z\",\"msg\":\"third\"}\n")
        .expect(0);
    assert_eq!(sandbox.messages("*"), ["first", "third"]);
}

#[test]
fn what_is_there_is_not_overwritten() {
    let sandbox = Sandbox::new();
    assert!(sandbox.run(["snapshot", "copy"]).expect(1).stderr.contains("no store at"));
    sandbox.ingest(&sandbox.write("app.log", "2026-11-21 10:00:00 INFO first\n"));
    let refused = sandbox.run(["snapshot", "app.log"]).expect(1);
    assert!(refused.stderr.contains("app.log exists"), "{}", refused.stderr);
    assert!(!sandbox.path("copy").exists());
}
