//! Killed with SIGKILL at random moments while it ingests a file, and run again.

use crate::sandbox::Sandbox;
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const KILLS: u32 = 200;
const LINES_PER_FILE: u32 = 60_000;
const DOCUMENT_KILLS: u32 = 60;
const RECORDS_PER_FILE: u32 = 40_000;
/// The longest a run lives.
const LIVES_MS: u64 = 60;

/// The numbers of a linear congruential generator: random enough for moments, and the same in every run.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Ingests files, each until it is through, and kills most who do; how many files there were.
fn ingest_and_kill(sandbox: &Sandbox, all_kills: u32, text_of: impl Fn(u32) -> String) -> u32 {
    let mut moments = Moments(4711);
    let (mut kills, mut files) = (0, 0u32);
    while kills < all_kills {
        let name = format!("{files}.log");
        sandbox.write(&name, text_of(files));
        files += 1;
        loop {
            let mut child = sandbox.spawn(["ingest", &name]);
            let mut stderr = child.stderr.take().unwrap();
            let (ended, wait) = channel::<()>();
            let reading = std::thread::spawn(move || {
                let mut said = String::new();
                let _cut_by_the_kill = stderr.read_to_string(&mut said);
                drop(ended);
                said
            });
            // Its stderr closes when it ends by itself.
            let alive = wait.recv_timeout(Duration::from_millis(moments.next(LIVES_MS)));
            // What a reader has seen must be there after the kill.
            let seen = if kills % 20 == 0 && kills > 0 { sandbox.count() } else { 0 };
            if alive == Err(RecvTimeoutError::Timeout) && kills < all_kills {
                child.kill().unwrap();
            }
            let status = child.wait().unwrap();
            let said = reading.join().unwrap();
            assert!(seen == 0 || sandbox.count() >= seen);
            match status.code() {
                None => kills += 1,
                Some(0) => break,
                Some(code) => panic!("exit code {code}: {said}"),
            }
        }
    }
    files
}

#[test]
fn every_line_is_there_once_whenever_it_was_killed() {
    let sandbox = Sandbox::new();
    // Lines of different lengths, so that batches end anywhere.
    let files = ingest_and_kill(&sandbox, KILLS, |file| {
        let line = |n| format!("2026-11-21T10:00:00Z INFO file={file} line={n} {:1$}\n", "", n as usize % 97);
        (0..LINES_PER_FILE).map(line).collect()
    });
    let expected = u64::from(files) * u64::from(LINES_PER_FILE);
    assert_eq!(sandbox.count(), expected);
    let found = sandbox.run(["query", "* | fields _msg", "--output", "raw"]).expect(0).stdout;
    let distinct: BTreeSet<&str> = found.lines().map(str::trim_end).collect();
    assert_eq!(distinct.len() as u64, expected, "no line twice");
    sandbox.run(["verify"]).expect(0);
}

/// Where one is left is no line's end, and what leads to a record is read once only.
#[test]
fn every_record_of_a_document_is_there_once_whenever_it_was_killed() {
    let sandbox = Sandbox::new();
    let files = ingest_and_kill(&sandbox, DOCUMENT_KILLS, |file| {
        // In one line, several behind each other, and over many lines.
        let (open, between, close) =
            [("", ",", ""), ("\n  ", ",\n  ", "\n"), ("", ",", "")][file as usize % 3];
        let in_one = if file % 3 == 2 { 17 } else { RECORDS_PER_FILE };
        let record = |n: u32| {
            let key = "k]}\\\"{".repeat(n as usize % 11);
            format!(
                r#"{{"eventTime":"2026-11-21T10:{:02}:00Z","eventID":"{file}-{n}","requestParameters":{{"key":"{key}"}}}}"#,
                n % 60
            )
        };
        let numbers: Vec<u32> = (0..RECORDS_PER_FILE).collect();
        let document = |numbers: &[u32]| {
            let records: Vec<String> = numbers.iter().map(|&n| record(n)).collect();
            format!("{{\"Records\":[{open}{}{close}]}}", records.join(between))
        };
        numbers.chunks(in_one as usize).map(document).collect()
    });
    let expected = u64::from(files) * u64::from(RECORDS_PER_FILE);
    let counts = "* | stats count() n, count_uniq(eventID) ids | format '<n> <ids>' | fields _msg";
    let found = sandbox.run(["query", counts, "--output", "raw"]).expect(0).stdout;
    assert_eq!(found.trim(), format!("{expected} {expected}"));
    sandbox.run(["verify"]).expect(0);
}
