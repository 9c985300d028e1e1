//! Asks the command and compares the answer with what the records say.

use crate::json;
use crate::record::{Leaf, Record, Records};
use crate::sandbox::Sandbox;
use crate::whole::check_row;
use std::collections::BTreeMap;

/// With at most so many matches, the rows are compared besides their number.
const ROWS: usize = 50;

/// Asks about one file.
pub struct Asker<'a> {
    sandbox: &'a Sandbox,
    name: &'a str,
    pub records: &'a Records,
    pub random: Random,
    asked: usize,
}

impl<'a> Asker<'a> {
    /// The same name gives the same questions, unless `DURAMEN_TEST_SEED` asks for others.
    pub fn new(sandbox: &'a Sandbox, name: &'a str, records: &'a Records) -> Self {
        let other = std::env::var("DURAMEN_TEST_SEED").map_or(0, |seed| seed.parse::<u64>().unwrap());
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ other, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { sandbox, name, records, random: Random(seed), asked: 0 }
    }

    /// How many questions there were.
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// The lines of an answer.
    #[track_caller]
    pub fn answer(&mut self, query: &str, arguments: &[&str]) -> Vec<Vec<(String, Leaf)>> {
        self.asked += 1;
        // A query may begin with a minus.
        let arguments: Vec<&str> = [&["query"], arguments, &["--", query]].concat();
        let ran = self.sandbox.run(arguments);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}: {query}", self.name);
        ran.stdout.lines().map(|line| json::leaves(line, false)).collect()
    }

    /// The one value of an answer.
    #[track_caller]
    pub fn value(&mut self, query: &str) -> String {
        let rows = self.answer(query, &[]);
        assert_eq!((rows.len(), rows.first().map(Vec::len)), (1, Some(1)), "{}: {query}", self.name);
        rows[0][0].1.text.to_string()
    }

    /// As many entries match as records pass the test; and if they are few, they are those, newest first.
    #[track_caller]
    pub fn matches(&mut self, filter: &str, test: impl Fn(&Record) -> bool) {
        let found: Vec<&Record> = self.records.rows.iter().rev().filter(|record| test(record)).collect();
        let count = self.value(&format!("{filter} | stats count() n"));
        assert_eq!(count, found.len().to_string(), "{}: {filter}", self.name);
        if found.len() <= ROWS {
            self.rows(filter, &[], &found);
        }
    }

    /// The answer is these records, in this order.
    #[track_caller]
    pub fn rows(&mut self, query: &str, arguments: &[&str], expected: &[&Record]) {
        let rows = self.answer(query, arguments);
        assert_eq!(rows.len(), expected.len(), "{}: {query}", self.name);
        for (row, record) in rows.iter().zip(expected) {
            check_row(&format!("{}: {query}", self.name), row, record, self.records.fields_are_all);
        }
    }

    /// The answer is these values for these groups.
    #[track_caller]
    pub fn groups(&mut self, query: &str, expected: &BTreeMap<Vec<String>, String>) {
        let rows = self.answer(query, &[]);
        let found = rows.into_iter().map(|row| {
            let mut texts: Vec<String> = row.into_iter().map(|(_, leaf)| leaf.text.into()).collect();
            let value = texts.pop().unwrap();
            (texts, value)
        });
        let found: Vec<_> = found.collect();
        assert_eq!(found.len(), expected.len(), "{}: {query}", self.name);
        assert_eq!(&found.into_iter().collect::<BTreeMap<_, _>>(), expected, "{}: {query}", self.name);
    }

    /// What to say with a failure.
    pub fn context(&self, query: &str) -> String {
        format!("{}: {query}", self.name)
    }
}

/// A text as LogsQL writes it between quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    /// One of them.
    pub fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}
