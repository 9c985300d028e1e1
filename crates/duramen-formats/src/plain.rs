//! Text lines: the time stamp and the level they begin with.

use crate::level;
use crate::time::{StampParser, is_clock};
use duramen::Level;

/// What stands at the start of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lead {
    /// The time, ns since the epoch.
    pub time_ns: Option<i64>,
    /// The level.
    pub level: Option<Level>,
    /// Whether the line shows that an event begins with it: it leads with a time stamp, a time of day, or
    /// a level.
    pub begins_event: bool,
}

/// How far into a line a time stamp is looked for, in bytes.
const STAMP_WITHIN_BYTES: usize = 64;

/// Reads the lead of a line. The time stamp may stand behind `<PRI>`, brackets, quotes, `- `, and behind
/// words that are a level, a number, in brackets, before a `|`, or, at the very start, a label (`APPREAD`, `web-1`).
pub fn lead(line: &str, stamps: &StampParser) -> Lead {
    let s = line.as_bytes();
    let start = after_prefix(s, 0);
    let mut at = start;
    for _ in 0..4 {
        let Some(rest) = line.get(at..) else { break };
        if let Some((time, consumed)) = stamps.parse(rest) {
            let level = glog_letter(rest.as_bytes())
                .or_else(|| android_letter(&rest.as_bytes()[consumed..]))
                .or_else(|| level::find(&rest[consumed..]).map(|(level, _)| level))
                .or_else(|| {
                    if at > start { level::find(&line[start..at]).map(|(level, _)| level) } else { None }
                });
            return Lead { time_ns: Some(time), level, begins_event: true };
        }
        match skip_word(s, at) {
            Some(next) if next < STAMP_WITHIN_BYTES => at = after_prefix(s, next),
            _ => break,
        }
    }
    let found = level::find(&line[start.min(line.len())..]);
    let clock = is_clock(s, start);
    Lead {
        time_ns: None,
        level: found.map(|(level, _)| level),
        begins_event: clock || (start < 3 && found.is_some_and(|(_, at)| at == 0)),
    }
}

/// Past white space, opening brackets and quotes, a lone dash, and the colours a program left in its log.
fn after_prefix(s: &[u8], mut at: usize) -> usize {
    while let Some(b) = s.get(at) {
        match b {
            b' ' | b'\t' | b'[' | b'(' | b'"' | b'\'' => at += 1,
            0x1b => match color_len(&s[at..]) {
                Some(len) => at += len,
                None => return at,
            },
            b'-' | b'*' | b'|' if s.get(at + 1) == Some(&b' ') => at += 2,
            b'<' => match s.iter().skip(at + 1).take(4).position(|b| *b == b'>') {
                Some(len) if s[at + 1..at + 1 + len].iter().all(u8::is_ascii_digit) => at += len + 2,
                _ => return at,
            },
            _ => return at,
        }
    }
    at
}

/// The length of the colour sequence (`ESC [ 1 ; 31 m`) that `s` begins with.
fn color_len(s: &[u8]) -> Option<usize> {
    let numbers = s.strip_prefix(b"\x1b[")?;
    let len = numbers.iter().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    (numbers.get(len) == Some(&b'm')).then_some(len + 3)
}

/// Where the word after the one at `at` begins, if the stamp may stand behind this one.
fn skip_word(s: &[u8], at: usize) -> Option<usize> {
    let rest = s.get(at..)?;
    let rest = &rest[..rest.len().min(STAMP_WITHIN_BYTES)];
    let bracketed = at > 0 && s[at - 1] == b'[';
    let len = rest
        .iter()
        .position(|b| if bracketed { *b == b']' } else { matches!(b, b' ' | b'\t' | b']' | 0x1b) })?;
    let word = &rest[..len];
    let text = std::str::from_utf8(word).ok()?;
    let bare = text.trim_end_matches([':', ',', ']']);
    let is_level = || Level::parse(bare).is_some();
    let is_number = || word.first().is_some_and(u8::is_ascii_digit) && word.len() <= 12;
    let before_bar = || rest[len..].iter().find(|b| **b != b' ') == Some(&b'|');
    // The first word may be a label: `APPREAD`, `web-1`, `V2`, but no word of a sentence.
    let is_label = || {
        let letters = bare.bytes().any(|b| b.is_ascii_lowercase());
        let marked =
            bare.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.' | b'@' | b'/'));
        at == 0 && !bare.is_empty() && word.len() <= 32 && (!letters || marked)
    };
    let end = usize::from(rest[len] != 0x1b);
    (bracketed || is_level() || is_number() || is_label() || before_bar()).then_some(at + len + end)
}

/// `I0109 12:34:56.789012`: the letter is the level.
fn glog_letter(s: &[u8]) -> Option<Level> {
    (s.len() > 5 && s[1..5].iter().all(u8::is_ascii_digit)).then(|| level::of_letter(s[0])).flatten()
}

/// `  1702  2395 D Tag: message` and ` D/Tag( 1702): message` after the stamp.
fn android_letter(s: &[u8]) -> Option<Level> {
    let (letter, at) = s.iter().take(24).enumerate().find_map(|(i, b)| match b {
        b' ' | b'0'..=b'9' => None,
        b => Some((*b, i)),
    })?;
    let bounded = at > 0 && s[at - 1] == b' ';
    let numbers = s[..at].split(|b| *b == b' ').filter(|word| !word.is_empty()).count();
    match s.get(at + 1) {
        Some(b' ') if bounded && numbers == 2 => level::of_letter(letter),
        Some(b'/') if bounded && numbers == 0 => level::of_letter(letter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    #[test]
    fn leads_are_read() {
        let stamps = StampParser::new(TimeZone::UTC, 1_718_452_800_000_000_000, None);
        use Level::*;
        for (line, time, level, begins) in [
            (
                "2015-07-29 19:04:29,071 - WARN  [SendWorker:1:Q$S@688] - x",
                Some(1438196669),
                Some(Warn),
                true,
            ),
            ("[2016-12-19 18:01:53,612] TRACE [Controller 0]: x", Some(1482170513), Some(Trace), true),
            ("03-17 16:13:38.811  1702  2395 D WindowManager: x", Some(1710692018), Some(Debug), true),
            ("03-17 16:13:38.811 E/Tag( 12): x", Some(1710692018), Some(Error), true),
            ("I0109 12:34:56.789012    1 main.go:1] x", Some(1704803696), Some(Info), true),
            ("- 1117838570 2005.06.03 R02 RAS KERNEL FATAL x", Some(1117838570), Some(Fatal), true),
            ("APPREAD 1117838570 2005.06.03 R02 RAS APP FATAL x", Some(1117838570), Some(Fatal), true),
            ("Started 2024-06-01 00:00:00 x", None, None, false),
            ("17/06/09 20:10:40 INFO executor.C: x", Some(1497039040), Some(Info), true),
            ("081109 203615 148 INFO dfs.D: x", Some(1226262975), Some(Info), true),
            ("[Sun Dec 04 04:47:44 2005] [error] mod_jk", Some(1133671664), Some(Error), true),
            ("ERROR [2024-06-01 00:00:00] x", Some(1717200000), Some(Error), true),
            ("[INFO] 2024-06-01 00:00:00 x", Some(1717200000), Some(Info), true),
            ("[main] 2024-06-01 00:00:00 DEBUG x", Some(1717200000), Some(Debug), true),
            ("1234:M 01 Jun 2024 00:00:00.000 * Ready", Some(1717200000), None, true),
            ("web_1  | 2024-06-01 00:00:00 x", Some(1717200000), None, true),
            ("[INFO] Scanning for projects...", None, Some(Info), true),
            ("WARN: x", None, Some(Warn), true),
            ("\x1b[2m2024-06-01T00:00:00Z\x1b[0m \x1b[32m INFO\x1b[0m x", Some(1717200000), Some(Info), true),
            ("\x1b[1;31mERROR\x1b[0m 2024-06-01 00:00:00 x", Some(1717200000), Some(Error), true),
            ("\x1b[2J2024-06-01T00:00:00Z x", None, None, false),
            ("01:44:14.911 [main] ERROR o.a - x", None, Some(Error), true),
            ("java.net.UnknownHostException: node1", None, None, false),
            ("finished the run of 2024-06-01 00:00:00", None, None, false),
            ("there was an ERROR", None, Some(Error), false),
            ("", None, None, false),
            ("[", None, None, false),
            ("é", None, None, false),
        ] {
            let lead = lead(line, &stamps);
            assert_eq!(lead.time_ns.map(|ns| ns / 1_000_000_000), time, "{line}");
            assert_eq!((lead.level, lead.begins_event), (level, begins), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "[<\\[( \x1bm;-]{0,6}[0-9éa:|\\]> IE-]{0,30}") {
            lead(&line, &StampParser::new(TimeZone::UTC, 0, None));
        }
    }
}
