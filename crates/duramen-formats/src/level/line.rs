//! The level that stands in a line: a word that is one, and stands as levels do.

use super::words::Words;
use super::{LEVEL_WITHIN_BYTES, of_cisco, spelled};
use crate::colors::uncolored;
use duramen::Level;
use std::ops::Range;

/// Finds the level that stands near the start of a text (what follows the time stamp of a line), and at
/// which byte. It must be a whole word: in capitals (`ERROR`, `LOG:`, `app.ERROR:`), or in any case in
/// brackets (`[info]`, `<warn>`, `[core:error]`), between bars, dashes or tabs (`|Warn|`), after `level=` or
/// `"level":`, or before a colon where it is the text's first word or follows a colon (`error: `, `auth: Info: `). Colours are left out.
pub fn find(text: &str) -> Option<(Level, usize)> {
    let plain = uncolored(text, LEVEL_WITHIN_BYTES + 1);
    let found = plain.and_then(|(plain, places)| {
        let (level, at) = find_plain(&plain)?;
        Some((level, *places.get(at)?))
    });
    // Where a colour is all that stands between two words, they are none without it.
    found.or_else(|| find_plain(text))
}

fn find_plain(text: &str) -> Option<(Level, usize)> {
    if let Some(found) = of_php(text) {
        return Some(found);
    }
    let s = text.as_bytes();
    let s = &s[..s.len().min(LEVEL_WITHIN_BYTES)];
    let words = Words::of(s);
    let (mut at, mut first_word) = (0, true);
    loop {
        let word = words.next(at);
        let between = &s[at..word.as_ref().map_or(s.len(), |word| word.start)];
        if let Some(found) = memchr::memchr_iter(b'%', between).find_map(|i| {
            let i = at + i;
            Some((of_cisco(&s[i + 1..])?, i))
        }) {
            return Some(found);
        }
        let Range { start, end } = word?;
        // A word cut off by the window's end is no whole word.
        let whole = end < LEVEL_WITHIN_BYTES || text.len() == end;
        if whole
            && (3..=13).contains(&(end - start))
            && let Some(level) = level_of_word(s, start, &s[start..end], first_word)
        {
            return Some((level, start));
        }
        (at, first_word) = (end, false);
    }
}

fn level_of_word(s: &[u8], start: usize, word: &[u8], first_word: bool) -> Option<Level> {
    // The letters levels begin with, so that most words cost nothing more.
    if !matches!(
        word[0] | 0x20,
        b't' | b'd' | b'i' | b'n' | b'w' | b'e' | b'f' | b'c' | b'a' | b'p' | b's' | b'l' | b'v'
    ) {
        return None;
    }
    let before = start.checked_sub(1).map(|i| s[i]);
    let after = s.get(start + word.len()).copied();
    let capitals = word.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    // By what follows first: most words are no level, and are to cost little.
    let bracketed = match after {
        Some(b']') => match before {
            Some(b':') => after_module(&s[..start]),
            before => before == Some(b'['),
        },
        Some(b'>') => before == Some(b'<'),
        Some(b')') => before == Some(b'('),
        Some(b' ') if before == Some(b'[') => {
            // structlog and others fill the brackets up: `[error    ]`.
            s[start + word.len()..].iter().find(|b| **b != b' ') == Some(&b']')
        }
        Some(b' ' | b'\t' | b'|') => is_column(&s[..start], &s[start + word.len()..]),
        _ => false,
    };
    let assigned = match before {
        Some(b'=' | b'"') => match assignment(&s[..start]) {
            Assignment::Level => true,
            Assignment::Setting => return None,
            Assignment::Other => false,
        },
        _ => false,
    };
    let leading = after == Some(b':')
        && !capitals
        && (first_word || s[..start].ends_with(b": ") || s[..start].ends_with(b"] "));
    if !(capitals || bracketed || assigned || leading) {
        return None;
    }
    let level = spelled(std::str::from_utf8(word).ok()?)?;
    if matches!(word, b"TRACE" | b"DEBUG") && is_request(&s[start + word.len()..]) {
        return None;
    }
    // Words that are as often something else count only where they stand as a level does.
    let ambiguous = matches!(
        word,
        b"LOG"
            | b"FINE"
            | b"FINER"
            | b"SILLY"
            | b"CONFIG"
            | b"ALERT"
            | b"VERBOSE"
            | b"INF"
            | b"FAILURE"
            | b"FAIL"
            | b"NOTE"
            | b"VRB"
            | b"PNC"
    );
    let ends_like_one =
        after == Some(b':') || first_word || before == Some(b' ') && s[..start].ends_with(b"] ");
    // `/ERROR`, `INFO.txt`, `DEBUG=1` are names and not levels; `app.ERROR:` is how Monolog writes one, and
    // `[Server thread/INFO]` how Minecraft does.
    let named = matches!((before, after), (Some(b'.'), Some(b':')) | (Some(b'/'), Some(b']')));
    let part_of_name = (matches!(before, Some(b'-' | b'.' | b'/' | b'$' | b'@' | b'\\')) && !named)
        || matches!(after, Some(b'.' | b'$' | b'@' | b'\\' | b'=' | b'('));
    (bracketed || assigned || leading || (!part_of_name && (!ambiguous || ends_like_one))).then_some(level)
}

/// `PHP Warning:  Undefined variable`, which PHP's error log has after the time, and its output at the start.
fn of_php(text: &str) -> Option<(Level, usize)> {
    let after_stamp = text.trim_start_matches([']', ' ']);
    let (kind, _) = after_stamp.strip_prefix("PHP ")?.split_once(':')?;
    let level = match kind {
        "Fatal error" | "Recoverable fatal error" => Level::Fatal,
        "Parse error" => Level::Error,
        "Warning" => Level::Warn,
        "Notice" | "Deprecated" | "Strict Standards" => Level::Info,
        _ => return None,
    };
    Some((level, text.len() - after_stamp.len()))
}

/// Whether what stands before a level in brackets is a module's name, or none: `[core:error]`, `[:error]`.
fn after_module(before: &[u8]) -> bool {
    let name = &before[..before.len() - 1];
    let open = name.iter().rposition(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')));
    open.is_some_and(|open| name[open] == b'[')
}

/// Whether a word stands alone between two tabs, bars or dashes.
fn is_column(before: &[u8], after: &[u8]) -> bool {
    match before {
        [.., b'\t'] => after.first() == Some(&b'\t'),
        [.., b'|'] | [.., b' ' | b'|' | b'-', b' '] => {
            let edges = (before.trim_ascii_end().last(), after.trim_ascii_start().first());
            let apart = before.last() == Some(&b' ') && after.first() == Some(&b' ');
            edges == (Some(&b'|'), Some(&b'|')) || (apart && edges == (Some(&b'-'), Some(&b'-')))
        }
        _ => false,
    }
}

/// Whether a method is before this: ` /a HTTP/1.1`.
fn is_request(after: &[u8]) -> bool {
    let mut words = after.split(|b| *b == b' ');
    words.next() == Some(b"")
        && words.next().is_some_and(|path| path.starts_with(b"/"))
        && words.next().is_some_and(|word| word.starts_with(b"HTTP/"))
}

/// What stands before a value.
enum Assignment {
    /// `level=`, `level="`, `"severity": "`: the value is the line's level.
    Level,
    /// `--log-level=`, `LOG_LEVEL=`, `?level=`: the value says from which level on something logs.
    Setting,
    Other,
}

fn assignment(before: &[u8]) -> Assignment {
    let name = match before {
        [name @ .., b'"', b':', b'"'] | [name @ .., b'"', b':', b' ', b'"'] => name,
        [name @ .., b'='] | [name @ .., b'=', b'"'] => name,
        _ => return Assignment::Other,
    };
    let before_all = name;
    let letters = name.iter().rev().take_while(|b| b.is_ascii_alphabetic()).count();
    let (before, name) = name.split_at(name.len() - letters);
    // `-Dlogging.level.root=DEBUG`: an argument.
    let word = &before_all
        [before_all.iter().rposition(|b| matches!(b, b' ' | b'\t' | b'"' | b'\'')).map_or(0, |at| at + 1)..];
    if word.starts_with(b"--") || word.starts_with(b"-D") {
        return Assignment::Setting;
    }
    let is_known = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
    if !["level", "severity", "lvl", "loglevel"].iter().any(is_known) {
        return Assignment::Other;
    }
    match before.last() {
        Some(b'-' | b'?' | b'&') => Assignment::Setting,
        Some(b'_') if name.iter().all(u8::is_ascii_uppercase) => Assignment::Setting,
        _ if name == b"LOGLEVEL" => Assignment::Setting,
        _ => Assignment::Level,
    }
}

/// The level that is the first word of what follows a time stamp, in any case: `info vpxd[1]: `, `, Info  CBS`.
/// Words that often begin a sentence are none, and some only where no other word in small letters follows:
/// `critical path found`, `trace id 7`.
pub(crate) fn first_word(text: &str) -> Option<Level> {
    let uncolored = uncolored(text, LEVEL_WITHIN_BYTES);
    let text = uncolored.as_ref().map_or(text, |(plain, _)| plain);
    let text = text.trim_start_matches([' ', '\t', ',', ':', ']', ')', '|', '-']);
    let len = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let word = text.get(..len).filter(|_| (3..=8).contains(&len))?;
    let bounded =
        text.as_bytes().get(len).is_none_or(|b| matches!(b, b' ' | b'\t' | b':' | b',' | b'|' | b']'));
    const WORDS: [&str; 11] = [
        "trace", "debug", "info", "notice", "warn", "warning", "error", "err", "fatal", "critical", "severe",
    ];
    const OF_SENTENCES: [&str; 3] = ["trace", "critical", "severe"];
    let is_one_of = |words: &[&str]| words.iter().any(|w| word.eq_ignore_ascii_case(w));
    let goes_on = || {
        let capitals = word.bytes().all(|b| b.is_ascii_uppercase());
        let next = text.get(len..).and_then(|rest| rest.strip_prefix(' ')).unwrap_or_default();
        let next = next.split(' ').next().unwrap_or_default().trim_end_matches(['.', ',']);
        !capitals && !next.is_empty() && next.bytes().all(|b| b.is_ascii_lowercase())
    };
    let known = bounded && is_one_of(&WORDS) && !(is_one_of(&OF_SENTENCES) && goes_on());
    if known { Level::parse(word) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_found_where_logs_put_them() {
        for (text, expected) in [
            (" INFO spark.SecurityManager: Changing", Level::Info),
            (" - WARN  [SendWorker:188978561024", Level::Warn),
            (" [58151]: [1-1] user=,db=,host=,app= LOG:  automatic analyze", Level::Info),
            (" [10384] LOG C-0x7f3bd6c47f40: retail", Level::Info),
            ("] [error] [client 1.2.3.4] mod_jk", Level::Error),
            (" [main-SendThread(node2:2181)] ERROR org.apache", Level::Error),
            (" R02 RAS KERNEL FATAL data TLB error", Level::Fatal),
            (" <warn>  NetworkManager", Level::Warn),
            (" level=debug msg=x", Level::Debug),
            ("error: maximum authentication attempts", Level::Error),
            ("panic: runtime error", Level::Fatal),
            ("NOTICE:  x", Level::Info),
            ("[Sat Jun 01 00:00:00.123456 2024] [core:error] [pid 7:tid 9] AH1: x", Level::Error),
            ("] [:error] [pid 7] x", Level::Error),
            ("] [proxy_fcgi:warn] [pid 7] x", Level::Warn),
            ("] local.ERROR: no such class {\"a\":1}", Level::Error),
            ("] request.CRITICAL: x", Level::Fatal),
            (" security: error: client ::1#5: denied", Level::Error),
            ("pop3-login: Info: Login: user=<a>", Level::Info),
            ("|Warn|Auth|failed", Level::Warn),
            (" | info     | main:run:7 - up", Level::Info),
            (" - app.db - debug - x", Level::Debug),
            ("\tinfo\tMetrics\t{}", Level::Info),
            (" stdout F {\"level\":\"warn\",\"msg\":\"x\"}", Level::Warn),
            (" [a@1 comp=\"b\" level=\"ERROR\"] x", Level::Error),
            (" severity=critical x", Level::Fatal),
            ("] [Server thread/WARN]: x", Level::Warn),
            (" [app] warn: x", Level::Warn),
            (": %ASA-3-106023: Deny tcp", Level::Error),
            (" UTC: %SYS-5-CONFIG_I: x", Level::Info),
            (" log_level=warn x", Level::Warn),
            ("] DEBUG /health called", Level::Debug),
            (" log.level=warn x", Level::Warn),
            (" status=ERROR x", Level::Error),
            ("fail: Microsoft.AspNetCore.Server.Kestrel[13]", Level::Error),
            ("dbug: X[0]", Level::Debug),
            ("trce: X[0]", Level::Trace),
            ("crit: X[0]", Level::Fatal),
            (" [VRB] x", Level::Trace),
            (" PNC x", Level::Fatal),
            ("\tDPANIC\tfoo/bar.go:12\tfailed", Level::Fatal),
            (" ERRO pool x", Level::Error),
            (" DEBG fd 7", Level::Debug),
            ("ERRO[0000] x", Level::Error),
            ("DEBU[0001] x", Level::Debug),
            (" 0 [Note] [MY-1] [Server] x", Level::Info),
            ("] [http2:trace3] [pid 1] x", Level::Trace),
            (" [error    ] structlog            a=1", Level::Error),
            ("] PHP Fatal error:  Uncaught Exception: x", Level::Fatal),
            ("] PHP Parse error:  x", Level::Error),
            ("] PHP Warning:  Undefined variable", Level::Warn),
            ("PHP Notice:  x", Level::Info),
            ("] PHP Deprecated:  x", Level::Info),
        ] {
            assert_eq!(find(text).map(|(l, _)| l), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_words_are_no_levels() {
        for text in [
            "POSSIBLE BREAK-IN ATTEMPT!",
            "the error was small",
            "see ERROR_LOG and INFORM",
            "path /var/ERROR.txt",
            "file.INFO",
            "CHANGELOG",
            "the LOG of it",
            "an error - and more",
            "[a info] x",
            "set the log level: debug",
            "no-error: x",
            "a.info: x",
            "100% - 3 - X",
            "at 50%-3-X",
            "login FAIL for root",
            "exec: app --log-level=error --log.level=warn -Dlogging.level.root=DEBUG",
            "env LOGLEVEL=DEBUG",
            "env LOG_LEVEL=ERROR LEVEL_X=1",
            "GET /logs?level=error&severity=warn",
            "DEBUG /a HTTP/1.1",
            "the PNC bank",
            "take NOTE of it",
            "[error in line 7]",
            "PHP message: none",
            "trace9 x",
            "",
            "é",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        let far = format!("{}ERROR", " ".repeat(LEVEL_WITHIN_BYTES));
        assert_eq!(find(&far), None);
        let cut = format!("{}ERRORS", " ".repeat(LEVEL_WITHIN_BYTES - 5));
        assert_eq!(find(&cut), None);
    }

    #[test]
    fn the_first_word_is_a_level_in_any_case() {
        for (text, expected) in [
            (" info vpxd[1] x", Some(Level::Info)),
            (", Info                  CBS    x", Some(Level::Info)),
            ("] warning [cpaneld] x", Some(Level::Warn)),
            (" Error: x", Some(Level::Error)),
            (" error connecting", Some(Level::Error)),
            (" trace id 7", None),
            (" critical path, found", None),
            (" warning disk is almost full", Some(Level::Warn)),
            (" notice listening on 80", Some(Level::Info)),
            (" fatal: x", Some(Level::Fatal)),
            (" warning [a] x", Some(Level::Warn)),
            (" Warning  x", Some(Level::Warn)),
            (" WARNING low on memory", Some(Level::Warn)),
            (" notice Redis up", Some(Level::Info)),
            (" information x", None),
            (" debug=1", None),
            (" error_count 5", None),
            (" the error", None),
            (" log rotated", None),
            ("", None),
        ] {
            assert_eq!(first_word(text), expected, "{text}");
        }
    }
}
