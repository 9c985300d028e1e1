use crate::sandbox::{PATIENCE, Sandbox, until};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The lines a child writes, as they come.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (send, lines) = channel();
    let stdout = child.stdout.take().unwrap();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if line.is_err() || send.send(line.unwrap_or_default()).is_err() {
                return;
            }
        }
    });
    lines
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_pipe_is_visible_while_it_is_open() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.spawn(["ingest", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"2026-11-21 10:00:00 INFO first\n").unwrap();
    let visible = |text: &str| {
        let ran = sandbox.run(["query", text]);
        // Until the writer has made it there may be no store.
        ran.code == Some(0) && ran.stdout.lines().count() == 1
    };
    until("the first line", || visible("first"));
    // A line is one, however slowly it is written; and an open one is not cut.
    stdin.write_all(b"2026-11-21 10:00:01 INFO second\n2026-11-21 10:00:02 INFO th").unwrap();
    until("the second line", || visible("second"));
    stdin.write_all(b"ird\n").unwrap();
    until("the third line", || visible("third"));
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.count(), 3);
}

#[test]
fn a_pipe_that_never_rests_is_visible_too() {
    let first = "2026-11-21 10:00:00 INFO first\n";
    // Lines of their own, and those of one event.
    for next in [first, "goes on\n"] {
        let sandbox = Sandbox::new();
        let mut child = sandbox.spawn(["ingest", "-"]);
        let mut stdin = child.stdin.take().unwrap();
        let (stop, stopped) = channel::<()>();
        // At most 1.6 kB a second: what tells of the rest would take 40 seconds, and as many lines as an event may have 20.
        let writer = std::thread::spawn(move || {
            stdin.write_all(first.as_bytes()).unwrap();
            while stopped.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
                stdin.write_all(next.as_bytes()).unwrap();
            }
        });
        let started = Instant::now();
        until("the first lines", || {
            let ran = sandbox.run(["query", "first"]);
            ran.code == Some(0) && !ran.stdout.is_empty()
        });
        assert!(started.elapsed() < PATIENCE / 2, "{:?}", started.elapsed());
        drop(stop);
        writer.join().unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_last_line_without_line_end_is_taken() {
    let sandbox = Sandbox::new();
    sandbox.run_with_input(["ingest", "-"], b"one\ntwo").expect(0);
    let mut messages = sandbox.messages("*");
    messages.sort();
    assert_eq!(messages, ["one", "two"]);
}

#[test]
fn the_first_ctrl_c_keeps_what_has_come() {
    let sandbox = Sandbox::new();
    let mut child = sandbox.spawn(["ingest", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\nthree without end").unwrap();
    until("the first lines", || {
        let ran = sandbox.run(["query", "two"]);
        ran.code == Some(0) && !ran.stdout.is_empty()
    });
    signal(&child, "-INT");
    // stdin stays open: it is the signal that ends it.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
    assert_eq!(sandbox.count(), 3);
}

#[test]
fn a_signal_ends_waiting_for_the_first_byte() {
    // stdin that says nothing, and a named pipe that nobody writes to.
    for input in ["-", "pipe"] {
        // A store of its own: one that is there already would not tell when signals are listened to.
        let sandbox = Sandbox::new();
        let pipe = sandbox.path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut child = sandbox.spawn(["ingest", input]);
        let stdin = child.stdin.take();
        // Once the store is there, signals are listened to.
        until("the store", || sandbox.run(["query", "*"]).code == Some(0));
        signal(&child, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(143), "{input}");
        drop(stdin);
    }
}

#[test]
fn tail_shows_the_last_and_then_what_comes() {
    let sandbox = Sandbox::new();
    let text: String = (0..50).map(|n| format!("2026-11-21T10:00:{n:02}Z INFO old {n}\n")).collect();
    sandbox.ingest(&sandbox.write("old.log", text));
    let last = sandbox.run(["tail", "-n", "2", "--output", "raw"]).expect(0).stdout;
    assert_eq!(last, "2026-11-21T10:00:48Z INFO old 48\n2026-11-21T10:00:49Z INFO old 49\n");

    let mut tail = sandbox.spawn(["tail", "-f", "-n", "1", "--output", "raw", "INFO"]);
    let lines = lines_of(&mut tail);
    let next = || lines.recv_timeout(PATIENCE).unwrap();
    assert!(next().ends_with("old 49"));
    // From a pipe, while it is open; from a file, which is flushed to a table at once; from another pipe.
    let mut child = sandbox.spawn(["ingest", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"2026-11-21 11:00:00 INFO piped\n2026-11-21 11:00:01 WARN not this\n").unwrap();
    assert!(next().ends_with("piped"));
    sandbox.ingest(&sandbox.write("new.log", "2026-11-21T09:00:00Z INFO late\n"));
    assert!(next().ends_with("late"));
    stdin.write_all(b"2026-11-21 11:00:02 INFO piped again\n").unwrap();
    assert!(next().ends_with("piped again"));
    drop(stdin);
    child.wait().unwrap();
    sandbox.run_with_input(["ingest", "-"], b"2026-11-21 11:00:03 INFO the end\n").expect(0);
    assert!(next().ends_with("the end"));
    signal(&tail, "-INT");
    assert_eq!(tail.wait().unwrap().code(), Some(130));
    assert!(lines.recv_timeout(PATIENCE).is_err(), "each line once");
}

#[test]
fn tail_stops_at_its_limit_and_refuses_what_it_cannot_follow() {
    let sandbox = Sandbox::new();
    sandbox.run_with_input(["ingest", "-"], b"one\ntwo\nthree\n").expect(0);
    let ran = sandbox.run(["tail", "-f", "* | limit 2", "--output", "raw"]).expect(0);
    assert_eq!(ran.stdout.lines().count(), 2);
    let refused = sandbox.run(["tail", "* | stats count()"]).expect(2);
    assert!(refused.stderr.contains("tail cannot follow `| stats count("), "{}", refused.stderr);
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let sandbox = Sandbox::new();
    let text: String =
        (0..20_000).map(|n| format!("line {n} of a text that fills more than a pipe\n")).collect();
    sandbox.ingest(&sandbox.write("app.log", text));
    for args in [
        &["query", "*"][..],
        &["query", "*", "--output", "text"],
        &["query", "* | uniq by (_msg)", "--output", "text"],
        &["tail", "-n", "20000"],
        // Nothing comes that could be written.
        &["tail", "-f", "-n", "3"],
        &["generate", "--lines", "1000000"],
    ] {
        let mut child = sandbox.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8(ended.stderr).unwrap(), "", "{args:?}");
    }
}

#[test]
fn verify_says_by_which_signal_it_ended() {
    let sandbox = Sandbox::new();
    let lines = sandbox.run(["generate", "--lines", "100000"]).expect(0).stdout;
    sandbox.run_with_input(["ingest", "-"], lines.as_bytes()).expect(0);
    // It may not listen yet when the signal comes, or have ended before.
    let ended = (0..100).find_map(|attempt_ms| {
        let mut child = sandbox.spawn(["verify"]);
        std::thread::park_timeout(Duration::from_millis(attempt_ms));
        signal(&child, "-TERM");
        child.wait().unwrap().code().filter(|code| *code != 0)
    });
    assert_eq!(ended, Some(143));
}

#[test]
fn columns_that_are_followed_have_one_heading() {
    let sandbox = Sandbox::new();
    sandbox.ingest(&sandbox.write("old.log", "{\"host\":\"web-1\"}\n"));
    let mut tail = sandbox.spawn(["tail", "-f", "--output", "text", "* | fields host"]);
    let lines = lines_of(&mut tail);
    let next = || lines.recv_timeout(PATIENCE).unwrap();
    assert_eq!([next(), next()], ["host", "web-1"]);
    for host in ["web-2", "web-3"] {
        sandbox.run_with_input(["ingest", "-"], format!("{{\"host\":\"{host}\"}}\n").as_bytes()).expect(0);
        assert_eq!(next(), host);
    }
    signal(&tail, "-INT");
    assert_eq!(tail.wait().unwrap().code(), Some(130));
}
