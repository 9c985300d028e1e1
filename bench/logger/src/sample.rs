//! The log lines: those of a web request, as study 001 logs them, and entries with a message of a given length, as
//! study 003 stores them.

use duramen::Level;
use serde::Serialize;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// What each line of study 001 has; a logger may be told once.
pub(crate) const APP: &str = "shop";

/// As many different lines, used again and again.
const DISTINCT: u64 = 4096;

/// A line as the program has it when it logs. What differs from call to call is `seq`, and the time.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) message: String,
    pub(crate) request_id: String,
    pub(crate) path: String,
    pub(crate) status: i64,
    pub(crate) duration: f64,
}

/// A line as JSON: what those write that have no fields of their own.
#[derive(Serialize)]
pub(crate) struct JsonLine<'a> {
    time: i64,
    level: &'static str,
    message: &'a str,
    #[serde(flatten)]
    fields: JsonFields<'a>,
}

#[derive(Serialize)]
pub(crate) struct JsonFields<'a> {
    app: &'static str,
    request_id: &'a str,
    path: &'a str,
    status: i64,
    duration: f64,
    seq: i64,
}

impl Line {
    pub(crate) fn json_fields(&self, seq: i64) -> JsonFields<'_> {
        JsonFields {
            app: APP,
            request_id: &self.request_id,
            path: &self.path,
            status: self.status,
            duration: self.duration,
            seq,
        }
    }

    pub(crate) fn json(&self, seq: i64) -> JsonLine<'_> {
        JsonLine {
            time: now_ns(),
            level: self.level.name(),
            message: &self.message,
            fields: self.json_fields(seq),
        }
    }
}

/// The lines, all of one level.
pub(crate) fn lines(level: Level) -> Vec<Line> {
    let mut random = Random(1);
    (0..DISTINCT).map(|_| line(level, &mut random)).collect()
}

/// The line that is logged as the `seq`-th.
pub(crate) fn pick(lines: &[Line], seq: i64) -> &Line {
    &lines[seq as usize % lines.len()]
}

fn line(level: Level, random: &mut Random) -> Line {
    let order = random.below(100_000);
    Line {
        level,
        message: format!("Order {order} paid"),
        request_id: format!("{:012x}", random.next() >> 16),
        path: format!("/orders/{order}"),
        status: [200, 200, 201, 404][random.below(4) as usize],
        duration: random.below(10_000) as f64 / 10.0,
    }
}

pub(crate) fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64)
}

/// Steele and Vigna's SplitMix64: the same numbers each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Entries of study 003: a message of words, and metadata. Messages are pieces of one long text, so that having the next
/// one costs nothing, and no two near each other are alike.
pub(crate) struct Entries {
    text: String,
    message_bytes: usize,
}

/// An entry as its writer has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) time_ns: i64,
    pub(crate) message: &'a str,
    pub(crate) service: &'static str,
    pub(crate) request: i64,
    pub(crate) ok: bool,
}

/// The text's length: what 003's flush of 1,000 entries holds, many times over.
const TEXT_BYTES: usize = 16 << 20;

/// The time of the first entry, and between two.
pub(crate) const FIRST_NS: i64 = 1_765_000_000_000_000_000;
pub(crate) const STEP_NS: i64 = 1_000_000;

impl Entries {
    pub(crate) fn new(message_bytes: usize) -> Self {
        let mut random = Random(3);
        let mut text = String::with_capacity(TEXT_BYTES + 64);
        while text.len() < TEXT_BYTES {
            // A third of the words are numbers or ids, as in logs; the others come from a vocabulary.
            let _infallible = match random.below(6) {
                0 => write!(text, "{} ", random.below(100_000)),
                1 => write!(text, "{:08x} ", random.next() as u32),
                _ => write!(text, "{} ", WORDS[random.below(WORDS.len() as u64) as usize]),
            };
        }
        text.truncate(TEXT_BYTES);
        Self { text, message_bytes }
    }

    pub(crate) fn get(&self, i: u64) -> Entry<'_> {
        let from = (i as usize * (self.message_bytes + 7)) % (TEXT_BYTES - self.message_bytes);
        Entry {
            time_ns: FIRST_NS + i as i64 * STEP_NS,
            message: &self.text[from..from + self.message_bytes],
            service: ["checkout", "search", "accounts", "mail"][i as usize / 64 % 4],
            request: (i as i64).wrapping_mul(7919) % 1_000_000,
            ok: !i.is_multiple_of(13),
        }
    }
}

const WORDS: [&str; 32] = [
    "accepted",
    "account",
    "after",
    "cache",
    "client",
    "closed",
    "connection",
    "customer",
    "database",
    "delivered",
    "error",
    "failed",
    "from",
    "index",
    "item",
    "message",
    "missing",
    "order",
    "payment",
    "queue",
    "received",
    "refused",
    "request",
    "response",
    "retry",
    "server",
    "session",
    "started",
    "timeout",
    "update",
    "user",
    "waiting",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_about_the_length_of_the_study() {
        let lines = lines(Level::Info);
        let bytes: usize =
            (0..1000).map(|seq| serde_json::to_string(&pick(&lines, seq).json(seq)).unwrap().len()).sum();
        assert!((160..185).contains(&(bytes / 1000)), "{}", bytes / 1000);
    }

    #[test]
    fn entries_differ_and_have_their_length() {
        let entries = Entries::new(1024);
        assert_eq!(entries.get(99_999).message.len(), 1024);
        assert_ne!(entries.get(5).message, entries.get(6).message);
    }
}
