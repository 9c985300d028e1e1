//! Lines of a few shapes with what is hard to find in them: words next to numbers, times, other fields' values, letters
//! beyond ASCII.

use duramen::{EntryBuf, Level};
use std::collections::BTreeMap;

const SECOND: i64 = 1_000_000_000;
/// The time of the first, ns.
pub const START: i64 = 1_767_607_200 * SECOND;

/// Of a line, each field's text.
pub type Line = BTreeMap<&'static str, String>;

/// A linear congruential generator: the same lines every time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
    pub fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}

const WORDS: [&str; 26] = [
    "GET",
    "error",
    "Error",
    "Mobile",
    "Safari",
    "from",
    "K",
    "\u{212a}ey",
    "key",
    "ma\u{17f}s",
    "mass",
    "größe",
    "İstanbul",
    "cafe\u{301}",
    "a_b",
    "_",
    "x",
    "…",
    "日本",
    "Jan",
    "T",
    "Z",
    "dead",
    "beef",
    "ab",
    "v",
];
const BETWEEN: [&str; 16] =
    [" ", " ", " ", "", "", "=", "[", "] ", ".", "-", ":", "/", "\"", ", ", "…", "\u{301}"];

/// A piece of a line that is not the same in each.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Literal(&'static str),
    Number(usize),
    Padded,
    Hex,
    Address,
    Decimal,
    Affix(&'static str, &'static str),
    Few,
    Negative,
    Time(usize),
    Field(&'static str),
    Nothing,
    /// One of many words.
    Word,
    /// Words of which few lines have the same.
    Saying,
}

fn piece(random: &mut Random, fields: &[&'static str]) -> Piece {
    match random.below(25) {
        0..=6 => Piece::Literal(random.one(&WORDS)),
        7..=8 => Piece::Number([3, 60, 400, 1_000_000][random.below(4)]),
        9 => Piece::Padded,
        10 => Piece::Hex,
        11 => Piece::Address,
        12 => Piece::Decimal,
        13 => Piece::Affix(
            random.one(&["user_", "E", "blk-", "é", "x.", "id:", "K"]),
            random.one(&["", "ms", "_z", "-é", ".k"]),
        ),
        14 => Piece::Few,
        15 => Piece::Negative,
        16 => Piece::Time(random.below(14)),
        17 => Piece::Nothing,
        18..=19 => Piece::Word,
        20 => Piece::Saying,
        _ if fields.is_empty() => Piece::Literal(random.one(&WORDS)),
        _ => Piece::Field(fields[random.below(fields.len())]),
    }
}

fn time_text(shape: usize, time: i64) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(time)).unwrap();
    let format = [
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%M:%S.%3fZ",
        "%Y-%m-%d %H:%M:%S,%3f",
        "%Y-%m-%d-%H.%M.%S.%6f",
        "%Y/%m/%d %H:%M:%S",
        "%d/%b/%Y:%H:%M:%S",
        "%y/%m/%d %H:%M:%S",
        "%m-%d %H:%M:%S.%3f",
        "%H:%M:%S",
        "%y%m%d %H%M%S",
        "%b %e %H:%M:%S",
        "%b %-d %H:%M:%S",
        "%s",
        "%s.%3f",
    ][shape];
    at.strftime(format).to_string()
}

fn write(
    pieces: &[Piece],
    i: usize,
    time: i64,
    random: &mut Random,
    fields: &BTreeMap<&str, String>,
) -> String {
    let mut text = String::new();
    for piece in pieces {
        match *piece {
            Piece::Literal(word) => text.push_str(word),
            Piece::Number(most) => text.push_str(&random.below(most).to_string()),
            Piece::Padded => text.push_str(&format!("{:05}", random.below(3000))),
            Piece::Hex => text.push_str(&format!("{:08x}", random.below(1 << 31) as u32)),
            Piece::Address => text.push_str(&format!("10.0.{}.{}", random.below(3), random.below(9))),
            Piece::Decimal => text.push_str(&format!("{}.{:02}", random.below(9), random.below(100))),
            Piece::Affix(before, behind) => text.push_str(&format!("{before}{}{behind}", random.below(50))),
            Piece::Few => text.push_str(random.one(&["a1", "b2", "K1", "\u{212a}1", "é2", "dead1"])),
            Piece::Negative => text.push_str(&(random.below(9) as i64 - 4).to_string()),
            Piece::Time(shape) => {
                // Most belong to the row; some are of another day.
                let off = if random.below(9) == 0 { random.below(300) as i64 * 86_399 } else { 0 };
                text.push_str(&time_text(shape, time + (i as i64 % 3 - off) * SECOND));
            }
            Piece::Field(name) => text.push_str(fields.get(name).map_or("", |text| text)),
            Piece::Nothing => {}
            Piece::Word => {
                for _ in 0..2 {
                    text.push_str(random.one(&["ve", "ra", "no", "mi", "lé", "ta", "so", "ku", "pi"]));
                }
            }
            Piece::Saying => {
                for _ in 0..1 + random.below(6) {
                    text.push_str(random.one(&WORDS));
                    text.push_str(random.one(&BETWEEN));
                }
            }
        }
    }
    text
}

fn shape(random: &mut Random, most: usize, fields: &[&'static str]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for _ in 0..1 + random.below(most) {
        pieces.push(piece(random, fields));
        pieces.push(Piece::Literal(random.one(&BETWEEN)));
    }
    pieces
}

/// Lines of some shapes, and their entries.
pub fn lines(random: &mut Random) -> (Vec<Line>, Vec<Vec<u8>>) {
    let shapes = |random: &mut Random, most: usize, fields: &[&'static str]| {
        let count = 1 + random.below(3);
        (0..count).map(|_| shape(random, most, fields)).collect::<Vec<_>>()
    };
    let agents = shapes(random, 6, &[]);
    let paths = shapes(random, 4, &[]);
    let notes = shapes(random, 5, &["path", "n"]);
    let messages = shapes(random, 9, &["agent", "path", "n", "note"]);
    let is_rare = |random: &mut Random| random.below(4) == 0;
    let (no_path, no_note) = (is_rare(random), is_rare(random));
    let count = 260 + random.below(500);
    let streams = 1 + random.below(3);
    let mut buf = EntryBuf::new(["host"]);
    let (mut lines, mut entries) = (Vec::new(), Vec::new());
    for i in 0..count {
        let time = START + i as i64 * 37_000_003;
        let mut line = Line::new();
        let one = |of: &[Vec<Piece>], random: &mut Random, line: &Line| {
            let at = random.below(of.len() * of.len());
            let pieces = &of[at % of.len().max(1)];
            write(pieces, i, time, random, line)
        };
        let agent = one(&agents, random, &line);
        line.insert("agent", agent);
        if !no_path || i % 5 != 0 {
            let path = one(&paths, random, &line);
            line.insert("path", path);
        }
        line.insert("n", (random.below(600) as i64 - 20).to_string());
        if !no_note || i % 3 == 0 {
            let note = one(&notes, random, &line);
            line.insert("note", note);
        }
        let message = one(&messages, random, &line);
        line.insert("_msg", message);
        line.insert("id", i.to_string());
        line.insert("host", format!("web-{}.Example", random.below(streams)));
        buf.start(time).level(Level::Unknown).message(&line["_msg"]);
        for (name, text) in &line {
            match *name {
                "_msg" => {}
                "n" => {
                    buf.field("n", text.parse::<i64>().unwrap());
                }
                name => {
                    buf.field(name, text.as_str());
                }
            }
        }
        if i % 2 == 0 {
            buf.field_same_as_message("same");
            line.insert("same", line["_msg"].clone());
        }
        entries.push(buf.finish().unwrap().to_vec());
        lines.push(line);
    }
    (lines, entries)
}
