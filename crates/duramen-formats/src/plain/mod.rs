//! Text lines: the time stamp and the level they begin with.

mod others;

use crate::colors::color_len;
use crate::letters::{
    android_letter, apple_type, brief_letter, glog_letter, klog_behind, only_letter, redis_sign,
    studio_letter, websphere_letter, xorg_mark,
};
use crate::time::{StampParser, is_clock};
use crate::{event, level};
use duramen::Level;
use others::{audit, console, erlang_report, kernel, mark_len, rails_request, uncaught, windows_event};

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
const STAMP_WITHIN_BYTES: usize = 96;

/// Reads the lead of a line. The time stamp may stand behind `<PRI>`, brackets, quotes, `- `, and behind
/// words that are a level, a number, in brackets, before a `|`, or, at the very start, a label (`APPREAD`, `web-1`).
pub fn lead(line: &str, stamps: &StampParser) -> Lead {
    let s = line.as_bytes();
    let start = after_prefix(s, mark_len(line, stamps));
    // Its bracket tells that `[info]` is a level.
    let bracketed = usize::from(start > 0 && matches!(s[start - 1], b'[' | b'('));
    let mut at = start;
    for _ in 0..4 {
        let Some(rest) = line.get(at..) else { break };
        if let Some((time, consumed)) = stamps.parse(rest) {
            let level = glog_letter(rest.as_bytes())
                .or_else(|| android_letter(&rest.as_bytes()[consumed..]))
                .or_else(|| klog_behind(&rest[consumed..]))
                .or_else(|| studio_letter(&rest[consumed..]))
                .or_else(|| postgres_column(&rest[consumed..]))
                .or_else(|| websphere_letter(&rest[consumed..]))
                .or_else(|| apple_type(&rest[consumed..]))
                .or_else(|| redis_sign(&s[..at], rest.as_bytes().split_at(consumed)))
                .or_else(|| level::first_word(&rest[consumed..]))
                .or_else(|| level::find(&rest[consumed..]).map(|(level, _)| level))
                .or_else(|| level::find(line.get(start - bracketed..at)?).map(|(level, _)| level))
                .or_else(|| only_letter(&s[..at]));
            return Lead { time_ns: Some(time), level, begins_event: true };
        }
        match skip_word(s, at) {
            Some(next) if next < STAMP_WITHIN_BYTES => at = after_prefix(s, next),
            _ => break,
        }
    }
    let known = windows_event(line, stamps)
        .or_else(|| audit(line, stamps))
        .or_else(|| erlang_report(line, stamps))
        .or_else(|| kernel(line, stamps))
        .or_else(|| console(line, start))
        .or_else(|| rails_request(line, stamps))
        .or_else(|| uncaught(line))
        .or_else(|| {
            brief_letter(line).map(|level| Lead { time_ns: None, level: Some(level), begins_event: true })
        });
    if let Some(lead) = known {
        return lead;
    }
    let found = line.get(start - bracketed..).and_then(level::find);
    let clock = is_clock(s, start);
    Lead {
        time_ns: None,
        level: found.map(|(level, _)| level).or_else(|| xorg_mark(line)),
        begins_event: clock
            || line.starts_with(event::SLOW_QUERY)
            || (start < 3 && found.is_some_and(|(_, at)| at == bracketed)),
    }
}

/// The word of a line, counted from 0, that is a time stamp, if one is: not the first, and at most the 15th after it.
pub(crate) fn stamp_word(line: &str, stamps: &StampParser) -> Option<u8> {
    (1..=MAX_STAMP_WORD).find(|&word| stamp_at_word(line, word, stamps).is_some())
}

/// How many words may stand before a time stamp where all lines of an input have it at the same word.
const MAX_STAMP_WORD: u8 = 15;

/// The lead of a line whose input has its time stamps at this word.
pub(crate) fn lead_at_word(line: &str, word: u8, stamps: &StampParser) -> Option<Lead> {
    let (at, time, consumed) = stamp_at_word(line, word, stamps)?;
    let after = &line[at + consumed..];
    let level = level::first_word(after)
        .or_else(|| level::find(after).map(|(level, _)| level))
        .or_else(|| level::find(&line[..at]).map(|(level, _)| level));
    Some(Lead { time_ns: Some(time), level, begins_event: true })
}

/// Where the stamp at this word begins, its time, and its length.
fn stamp_at_word(line: &str, word: u8, stamps: &StampParser) -> Option<(usize, i64, usize)> {
    let s = line.as_bytes();
    let mut at = 0;
    for _ in 0..word {
        at += memchr::memchr2(b' ', b'\t', s.get(at..)?)?;
        at += s[at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    }
    let at = after_prefix(s, at);
    let (time, consumed) = stamps.parse(line.get(at..)?)?;
    Some((at, time, consumed))
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
            // Cisco's mark of a clock that is not synchronised stands right before the stamp.
            b'*' => at += 1,
            b'-' | b'|' if s.get(at + 1) == Some(&b' ') => at += 2,
            b'<' => match s.iter().skip(at + 1).take(4).position(|b| *b == b'>') {
                Some(len) if len == 1 || s[at + 1..at + 1 + len].iter().all(u8::is_ascii_digit) => {
                    at += len + 2
                }
                _ => return at,
            },
            _ => return at,
        }
    }
    at
}

/// Where the word after the one at `at` begins, if the stamp may stand behind this one.
fn skip_word(s: &[u8], at: usize) -> Option<usize> {
    let rest = s.get(at..)?;
    let rest = &rest[..rest.len().min(STAMP_WITHIN_BYTES)];
    // `[I 2024-…]`: the letter is a word of its own.
    let letter = matches!(rest, [b'D' | b'E' | b'F' | b'I' | b'V' | b'W', b' ', ..]);
    let close = match at.checked_sub(1).map(|before| s[before]) {
        Some(b'[') if !letter => Some(b']'),
        Some(b'(') => Some(b')'),
        _ => None,
    };
    let bracketed = close.is_some() || letter;
    // `INFO:2024-06-01`, `INFO|2024-…`, `INFO,2024-…`: nothing else stands between them.
    if !bracketed
        && let Some(end) = rest.iter().position(|b| !b.is_ascii_alphabetic())
        && matches!(rest[end..], [b':' | b'|' | b';' | b',', b'0'..=b'9', ..])
    {
        let word = std::str::from_utf8(&rest[..end]).unwrap_or_default();
        // `web:1 2024-…` is a label.
        if level::spelled(word).is_some() {
            return Some(at + end + 1);
        }
    }
    let len = rest
        .iter()
        .position(|b| close.map_or(matches!(b, b' ' | b'\t' | b']' | 0x1b), |close| *b == close))?;
    let word = &rest[..len];
    let text = std::str::from_utf8(word).ok()?;
    let bare = text.trim_end_matches([':', ',', ']']);
    let is_level = || level::spelled(bare).is_some();
    let is_number = || word.first().is_some_and(u8::is_ascii_digit) && word.len() <= 12;
    let before_bar = || rest[len..].iter().find(|b| **b != b' ') == Some(&b'|');
    // The first word may be a label: `APPREAD`, `web-1`, `V2`, but no word of a sentence.
    let is_label = || {
        let letters = bare.bytes().any(|b| b.is_ascii_lowercase());
        let marked =
            bare.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.' | b'@' | b'/'));
        at == 0 && !bare.is_empty() && word.len() <= 63 && (!letters || marked)
    };
    let end = usize::from(rest[len] != 0x1b);
    (bracketed || is_level() || is_number() || is_label() || before_bar()).then_some(at + len + end)
}

/// The column of the severity in PostgreSQL's log as CSV, the eleventh after the time:
/// `,"app","db",7,"192.0.2.1:5000",665ad1c3.7,1,"SELECT",2024-06-01 09:00:00 UTC,3/4,0,LOG,00000,"message",…`
fn postgres_column(after: &str) -> Option<Level> {
    let mut rest = after.strip_prefix(',')?;
    for _ in 0..10 {
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        (_, rest) = quoted.map_or(rest, |(_, rest)| rest).split_once(',')?;
    }
    let (severity, rest) = rest.split_once(',')?;
    let is_state = rest.as_bytes().get(5) == Some(&b',');
    let is_severity = severity.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    if is_state && is_severity { Level::parse(severity) } else { None }
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
            ("=WARNING REPORT==== 1-Jun-2024::00:00:00 ===", Some(1717200000), Some(Warn), true),
            ("=CRASH REPORT==== 1-Jun-2024::00:00:00 ===", Some(1717200000), Some(Error), true),
            ("=PROGRESS REPORT==== 1-Jun-2024::00:00:00 ===", Some(1717200000), None, true),
            ("17/06/09 20:10:40 INFO executor.C: x", Some(1497039040), Some(Info), true),
            ("081109 203615 148 INFO dfs.D: x", Some(1226262975), Some(Info), true),
            ("[Sun Dec 04 04:47:44 2005] [error] mod_jk", Some(1133671664), Some(Error), true),
            ("ERROR [2024-06-01 00:00:00] x", Some(1717200000), Some(Error), true),
            ("[INFO] 2024-06-01 00:00:00 x", Some(1717200000), Some(Info), true),
            ("[main] 2024-06-01 00:00:00 DEBUG x", Some(1717200000), Some(Debug), true),
            ("1234:M 01 Jun 2024 00:00:00.000 * Ready", Some(1717200000), Some(Info), true),
            ("1:C 01 Jun 2024 00:00:00.000 # WARNING overcommit_memory", Some(1717200000), Some(Warn), true),
            ("1:X 01 Jun 2024 00:00:00.000 - Accepted", Some(1717200000), Some(Debug), true),
            ("12 01 Jun 2024 00:00:00.000 * x", Some(1717200000), None, true),
            ("[12] 01 Jun 00:00:00.000 # x", Some(1717200000), Some(Warn), true),
            ("1:M 01 Jun 00:00:00.000 * x", Some(1717200000), Some(Info), true),
            ("[12] 2024-06-01 00:00:00 - app - INFO - x", Some(1717200000), Some(Info), true),
            (
                "2024-06-01 00:00:00.123+0000 0x1f2e     Error       0x0  123  0  a: (b) x",
                Some(1717200000),
                Some(Error),
                true,
            ),
            ("2024-06-01 00:00:00.123+0000 0x1f2e x Error", Some(1717200000), None, true),
            ("E/AndroidRuntime( 1234): FATAL EXCEPTION: main", None, Some(Error), true),
            ("E/S module (3) timeout", None, None, false),
            ("[    12.350] (EE) no module", None, Some(Error), false),
            ("[    12.350] (--) (EE) probed", None, None, false),
            ("(WW) x", None, Some(Warn), false),
            ("[    12.350] x", None, None, false),
            ("[x] (II) x", None, None, false),
            ("2024-06-01 00:00:00 I/O error (5): x", Some(1717200000), None, true),
            ("03-17 16:13:38.811 E/My Tag(   12): x", Some(1710692018), Some(Error), true),
            ("2024-06-01 00:00:00 I/O error on sda", Some(1717200000), None, true),
            ("2024-06-01 00:00:00 I/O: failed", Some(1717200000), None, true),
            ("2024-06-01 00:00:00 A/B test (3): x", Some(1717200000), None, true),
            ("03-17 16:13:38.811 W/Tag     (  12): x", Some(1710692018), Some(Warn), true),
            ("03-17 16:13:38.811 W/Tag: x", Some(1710692018), Some(Warn), true),
            ("####<Jun 1, 2024 12:00:00,123 AM UTC> <Error> <S> x", Some(1717200000), Some(Error), true),
            ("<Jun 1, 2024 12:00:00 AM UTC> <Warning> <S> x", Some(1717200000), Some(Warn), true),
            ("<Junk>", None, None, false),
            (
                "[6/1/24 0:00:00:123 UTC] 00000001 WsServerImpl  A   WSVR0001I: x",
                Some(1717200000),
                Some(Info),
                true,
            ),
            (
                "[6/1/24 0:00:00:123 UTC] 0000003a c.i.w.x  E CWWKF0012I: x",
                Some(1717200000),
                Some(Error),
                true,
            ),
            ("kern  :err   : [    0.000000] x", None, Some(Error), true),
            ("daemon:warn  : [Sat Jun  1 00:00:00 2024] x", Some(1717200000), Some(Warn), true),
            ("kern: info x: y", None, None, false),
            ("10:00AM INF up", None, Some(Info), true),
            ("\x1b[90m10:00PM\x1b[0m \x1b[31mERR\x1b[0m up", None, Some(Error), true),
            ("10:00AM is the time", None, None, true),
            ("2024-06-01 00:00:00.123456 W | etcdserver: x", Some(1717200000), Some(Warn), true),
            ("2024-06-01 00:00:00.123456 N | raft: x", Some(1717200000), Some(Info), true),
            (
                r#"2024-06-01 00:00:00.123 UTC,"a_long_user","a_long_database",12345,"192.0.2.123:50000",665ad1c3.3039,12,"idle in transaction",2024-06-01 00:00:00 UTC,3/4567,89012,LOG,00000,"x",,"#,
                Some(1717200000),
                Some(Info),
                true,
            ),
            (
                r#"2024-06-01 00:00:00.123 UTC,,,7,,665a.7,1,,2024-06-01 00:00:00 UTC,,0,WARNING,01000,"ERROR, x",,"#,
                Some(1717200000),
                Some(Warn),
                true,
            ),
            (
                "2024-06-01T00:00:00Z E0601 00:00:00.123456       1 main.go:12] x",
                Some(1717200000),
                Some(Error),
                true,
            ),
            (
                "2024-06-01T00:00:00Z stderr F W0601 00:00:00.123456       1 main.go:12] x",
                Some(1717200000),
                Some(Warn),
                true,
            ),
            ("2024-06-01T00:00:00Z fail: X[0]", Some(1717200000), Some(Error), true),
            ("web_1  | 2024-06-01 00:00:00 x", Some(1717200000), None, true),
            ("INFO:2024-06-01 00:00:00,123:root:x", Some(1717200000), Some(Info), true),
            ("WARNING|2024-06-01T00:00:00Z|x", Some(1717200000), Some(Warn), true),
            ("ERROR,2024-06-01 00:00:00,x", Some(1717200000), Some(Error), true),
            ("ERROR:2 files", None, Some(Error), true),
            ("web:1 2024-06-01 00:00:00 x", Some(1717200000), None, true),
            ("[2024-06-01][00:00:00][app::db][WARN] x", Some(1717200000), Some(Warn), true),
            ("[01Jun2024 00:00:00.123] [main/WARN] [net.x/]: x", Some(1717200000), Some(Warn), true),
            ("@40000000665a648a00000000 x: Info: y", Some(1717200000), Some(Info), true),
            ("2024-06-01 00:00:00.123 7-8/com.app E/Tag: x", Some(1717200000), Some(Error), true),
            ("06-01 00:00:00.123 7-8/? W/Tag: x", Some(1717200000), Some(Warn), true),
            (
                "2024-06-01 00:00:00.123  1234-5678  My Tag       com.example.app     D  x",
                Some(1717200000),
                Some(Debug),
                true,
            ),
            ("[ 06-01 00:00:00.123  1234: 1235 E/Tag ]", Some(1717200000), Some(Error), true),
            ("2024-06-01 00:00:00 7-8 are D or E", Some(1717200000), None, true),
            ("Started GET \"/\" for ::1 at 2024-06-01 02:00:00 +0200", Some(1717200000), None, true),
            (
                "[7] [a] Started POST \"/a\" for ::1 at 2024-06-01 00:00:00 +0000",
                Some(1717200000),
                None,
                true,
            ),
            ("Started a job for x at 2024-06-01 00:00:00 and ended", None, None, false),
            ("Exception in thread \"main\" java.lang.X: y", None, Some(Error), true),
            ("thread 'main' (7) panicked at src/main.rs:4:5:", None, Some(Error), true),
            ("Unhandled exception. System.X: y", None, Some(Error), true),
            ("/srv/app/index.js:3", None, None, true),
            ("/srv/app/index.js:3 is wrong", None, None, false),
            ("[INFO] Scanning for projects...", None, Some(Info), true),
            ("WARN: x", None, Some(Warn), true),
            ("\x1b[2m2024-06-01T00:00:00Z\x1b[0m \x1b[32m INFO\x1b[0m x", Some(1717200000), Some(Info), true),
            ("\x1b[1;31mERROR\x1b[0m 2024-06-01 00:00:00 x", Some(1717200000), Some(Error), true),
            (
                "\x1b[2m2024-06-01T00:00:00Z\x1b[0m \x1b[31mERROR\x1b[0m \x1b[2ma::b\x1b[0m\x1b[2m:\x1b[0m no INFO",
                Some(1717200000),
                Some(Error),
                true,
            ),
            ("[2024-06-01T00:00:00Z \x1b[31mERROR\x1b[0m app] x", Some(1717200000), Some(Error), true),
            ("2024-06-01T00:00:00Z \x1b[32minfo\x1b[39m up", Some(1717200000), Some(Info), true),
            ("2024-06-01T00:00:00Z\t\x1b[33mwarn\x1b[0m\tslow", Some(1717200000), Some(Warn), true),
            (
                "\x1b[2m2024-06-01 00:00:00\x1b[0m [\x1b[31m\x1b[1merror    \x1b[0m] \x1b[1mx\x1b[0m",
                Some(1717200000),
                Some(Error),
                true,
            ),
            ("[\x1b[31mERROR\x1b[m] x", None, Some(Error), false),
            ("2024-06-01T00:00:00Z WARN\x1b[0mdisk full", Some(1717200000), Some(Warn), true),
            ("\x1b[2J2024-06-01T00:00:00Z x", None, None, false),
            ("2024-06-01 00:00:00, Info                  CBS    x", Some(1717200000), Some(Info), true),
            ("2024-06-01T00:00:00.000+0000 I NETWORK  [main] x", Some(1717200000), Some(Info), true),
            ("2024-06-01T00:00:00.000+0000 W -        [main] x", Some(1717200000), Some(Warn), true),
            ("2024-06-01 00:00:00 I was here", Some(1717200000), None, true),
            ("*Jun  1 00:00:00.123: %LINK-3-UPDOWN: x", Some(1717200000), Some(Error), true),
            ("W20240601 00:00:00.123456  7 a.cc:1] x", Some(1717200000), Some(Warn), true),
            ("[notice] 2024-06-01T00:00:00Z node@host <0.1.2> x", Some(1717200000), Some(Info), true),
            ("[info] o.t.s.Filter [1|2] x", None, Some(Info), true),
            ("[I 2024-06-01 00:00:00.123 ServerApp] x", Some(1717200000), Some(Info), true),
            ("W, [2024-06-01T00:00:00.123456 #7]  x", Some(1717200000), Some(Warn), true),
            ("(W) 2024-06-01T00:00:00 - x", Some(1717200000), Some(Warn), true),
            ("<E>2024-06-01 00:00:00.123 x", Some(1717200000), Some(Error), true),
            ("\x1b[2Kweb-1  | 2024-06-01T00:00:00Z x", Some(1717200000), None, true),
            (
                "nova-compute.log.1.2024-06-01_00:00:01 2024-06-01 00:00:00.008 7 INFO nova.x [-] y",
                Some(1717200000),
                Some(Info),
                true,
            ),
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

    #[test]
    fn a_stamp_may_stand_at_a_later_word() {
        let stamps = StampParser::new(TimeZone::UTC, 1_718_452_800_000_000_000, None);
        let line = "7 node-1 unix.hw state_change 1717200000 1 warning: x";
        assert_eq!(stamp_word(line, &stamps), Some(4));
        let lead = lead_at_word(line, 4, &stamps).unwrap();
        assert_eq!((lead.time_ns, lead.level), (Some(1_717_200_000_000_000_000), Some(Level::Warn)));
        assert_eq!(lead_at_word(line, 3, &stamps), None);
        assert_eq!(lead_at_word("a b", 3, &stamps), None);
        assert_eq!(stamp_word("Started\t[2024-06-01 00:00:00] x", &stamps), Some(1));
        assert_eq!(stamp_word("a b c", &stamps), None);
        let audit = "type=LOGIN msg=audit(1717200000.000:7): pid=7 msg='op=login acct=a'";
        assert_eq!(super::lead(audit, &stamps).time_ns, lead.time_ns);
        let xml = "<Event xmlns='http://x'><System><Level>2</Level><TimeCreated SystemTime='2024-06-01T00:00:00Z'/>";
        let read = super::lead(xml, &stamps);
        assert_eq!((read.time_ns, read.level), (lead.time_ns, Some(Level::Error)));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(line in "[<\\[( \x1bm;-]{0,6}[0-9éa:|\\]> IE-]{0,30}") {
            lead(&line, &StampParser::new(TimeZone::UTC, 0, None));
        }
    }
}
