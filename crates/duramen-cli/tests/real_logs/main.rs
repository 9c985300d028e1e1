//! Log files of real systems go into a store of their own, and every question has the answer that a plain scan
//! of the file gives.
//!
//! What is expected is worked out from the raw bytes alone, with code of this folder and none of the product's:
//! lines are split, JSON is taken apart, time stamps are read and words are found anew, by their definitions.
//!
//! | module | what it holds |
//! |---|---|
//! | `files` | the files, and what is known about each: where its time and its message are |
//! | `stamp` | time stamps to nanoseconds |
//! | `json` | one line of NDJSON to its leaves, numbers to the letter |
//! | `words` | words, phrases, prefixes |
//! | `record` | what a file holds, as records in the order of time |
//! | `ask` | asks the command and compares |
//! | `whole` | every line, every field and every time comes back as it was |
//! | `search` | words, phrases, prefixes, regular expressions, `and or not`, limits, time ranges |
//! | `columns` | exact values, comparisons, `stats`, `top`, `sort` |
//!
//! `DURAMEN_TEST_DATA` names the directory of the files (default: `../shared/data` beside the repository); where it
//! is absent the test says so and checks nothing. Of large files only the first 20 MB are taken, unless
//! `DURAMEN_TEST_WHOLE` is set. The questions are the same in every run; another number in `DURAMEN_TEST_SEED` gives
//! others.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // what is tested runs in other processes, with real files and time

mod ask;
mod columns;
mod files;
mod json;
mod record;
#[allow(dead_code)] // shared with the tests of the command
#[path = "../cli/sandbox.rs"]
mod sandbox;
mod search;
mod stamp;
mod whole;
mod words;

use ask::Asker;
use files::DataFile;
use record::Records;
use sandbox::Sandbox;
use std::sync::Mutex;

/// Files looked at at one time.
const WORKERS: usize = 2;
/// Fewer questions about a file would not tell much.
const QUESTIONS: usize = 10;

#[test]
fn every_file_answers_as_its_lines_do() {
    let Some(mut files) = files::all() else { return };
    files.sort_by_key(DataFile::packed_bytes);
    let queue = Mutex::new(files);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop();
                    let Some(file) = next else { return };
                    // One file's failure hides no other's.
                    if std::panic::catch_unwind(|| check(&file)).is_err() {
                        failed.lock().unwrap().push(file.name());
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "wrong answers about {failed:?}");
}

fn check(file: &DataFile) {
    let name = file.name();
    let bytes = file.load();
    let sandbox = Sandbox::new();
    let path = sandbox.write(name, &bytes);
    file.set_modified(&path);

    let said = sandbox.ingest(&path);
    let took = whole::Took::of(name, &said);
    took.check_lines(name, &bytes, file.joins_lines());
    assert_eq!(sandbox.count(), took.entries, "{name}");

    let records = if file.is_ndjson() {
        let records = Records::of_json(file, &bytes);
        whole::json_comes_back(&sandbox, name, &records);
        records
    } else {
        whole::text_comes_back(&sandbox, file, &bytes)
    };
    assert_eq!(records.rows.len() as u64, took.entries, "{name}");

    let mut asker = Asker::new(&sandbox, name, &records);
    search::ask(&mut asker, file);
    columns::ask(&mut asker);
    let asked = asker.asked();
    assert!(asked >= QUESTIONS, "{name}: only {asked} questions");

    sandbox.run(["verify", "--quiet"]).expect(0);
    let said = sandbox.ingest(&path);
    assert!(said.contains("nothing new"), "{name}: {said}");
    assert_eq!(sandbox.count(), took.entries, "{name}, ingested again");
    eprintln!("{name}: {} lines, {} entries, {asked} questions", took.lines, took.entries);
}
