//! Levels as logs write them: a word in a line, a letter, a number in a field.

use duramen::Level;

/// How far into a text a level is looked for, in bytes.
pub const LEVEL_WITHIN_BYTES: usize = 100;

/// Finds the level that stands near the start of a text (what follows the time stamp of a line), and at
/// which byte. It must be a whole word: in capitals (`ERROR`, `LOG:`), in brackets in any case (`[info]`,
/// `<warn>`), after `level=`, or, as the text's first word, before a colon (`error: `).
pub fn find(text: &str) -> Option<(Level, usize)> {
    let s = text.as_bytes();
    let s = &s[..s.len().min(LEVEL_WITHIN_BYTES)];
    let mut i = 0;
    let mut first_word = true;
    while i < s.len() {
        if !s[i].is_ascii_alphabetic() {
            i += 1;
            continue;
        }
        let start = i;
        while i < s.len() && (s[i].is_ascii_alphanumeric() || s[i] == b'_') {
            i += 1;
        }
        let word = &s[start..i];
        // A word cut off by the window's end is no whole word.
        let whole = i < LEVEL_WITHIN_BYTES || text.len() == i;
        if whole
            && (3..=13).contains(&word.len())
            && let Some(level) = level_of_word(s, start, word, first_word)
        {
            return Some((level, start));
        }
        first_word = false;
    }
    None
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
    let bracketed = matches!(
        (before, after),
        (Some(b'['), Some(b']')) | (Some(b'<'), Some(b'>')) | (Some(b'('), Some(b')'))
    );
    let assigned = before == Some(b'=') && s[..start].ends_with(b"level=");
    let leading = first_word && after == Some(b':') && !capitals;
    if !(capitals || bracketed || assigned || leading) {
        return None;
    }
    let level = Level::parse(std::str::from_utf8(word).ok()?)?;
    // Words that are as often something else count only where they stand as a level does.
    let ambiguous = matches!(
        word,
        b"LOG" | b"FINE" | b"FINER" | b"SILLY" | b"CONFIG" | b"ALERT" | b"VERBOSE" | b"INF" | b"FAILURE"
    );
    let ends_like_one =
        after == Some(b':') || first_word || before == Some(b' ') && s[..start].ends_with(b"] ");
    // `/ERROR`, `INFO.txt`, `DEBUG=1` are names and not levels.
    let part_of_name = matches!(before, Some(b'-' | b'.' | b'/' | b'$' | b'@' | b'\\'))
        || matches!(after, Some(b'.' | b'$' | b'@' | b'\\' | b'=' | b'('));
    (bracketed || assigned || leading || (!part_of_name && (!ambiguous || ends_like_one))).then_some(level)
}

/// The level of a single letter as Android's log and klog write it.
pub fn of_letter(letter: u8) -> Option<Level> {
    Some(match letter {
        b'V' => Level::Trace,
        b'D' => Level::Debug,
        b'I' => Level::Info,
        b'W' => Level::Warn,
        b'E' => Level::Error,
        b'F' | b'A' => Level::Fatal,
        _ => return None,
    })
}

/// The level of a syslog severity, 0 (emergency) to 7 (debug).
pub fn of_syslog_severity(severity: u8) -> Option<Level> {
    Some(match severity {
        0..=2 => Level::Fatal,
        3 => Level::Error,
        4 => Level::Warn,
        5 | 6 => Level::Info,
        7 => Level::Debug,
        _ => return None,
    })
}

/// The level that a field of this name means by this value. `windows` says that the entry is an event of
/// Windows' event log, whose `Level` is 1 (critical) to 5 (verbose).
pub(crate) fn of_field(name: &str, value: &str, windows: bool) -> Option<Level> {
    if let Ok(n) = value.parse::<u8>() {
        return match name {
            "PRIORITY" | "syslog_severity" | "syslog.severity" | "log.syslog.severity.code" => {
                of_syslog_severity(n)
            }
            "severity_number" | "severityNumber" | "SeverityNumber" => of_otel_severity(n),
            "Level" if windows => of_windows_level(n),
            _ => of_pino_level(n),
        };
    }
    Level::parse(value)
}

/// The level that a field means which stands beside a line, if it has a name that levels have
/// ([`LEVEL_FIELDS`](crate::LEVEL_FIELDS), and Loki's `detected_level`).
pub fn of_named(name: &str, value: &str) -> Option<Level> {
    let known = name == "detected_level" || crate::LEVEL_FIELDS.contains(&name);
    if known { of_field(name, value, false) } else { None }
}

fn of_pino_level(n: u8) -> Option<Level> {
    Some(match n {
        10 => Level::Trace,
        20 => Level::Debug,
        30 => Level::Info,
        40 => Level::Warn,
        50 => Level::Error,
        60 => Level::Fatal,
        _ => return None,
    })
}

/// The level of OpenTelemetry's severity number: bands of four from 1 (trace) to 24 (fatal).
pub fn of_otel_severity(n: u8) -> Option<Level> {
    let step = usize::from(n).checked_sub(1)? / 4;
    Level::NAMED.get(step).copied()
}

fn of_windows_level(n: u8) -> Option<Level> {
    Some(match n {
        0 | 4 => Level::Info,
        1 => Level::Fatal,
        2 => Level::Error,
        3 => Level::Warn,
        5 => Level::Trace,
        _ => return None,
    })
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
    fn numbers_mean_what_the_name_says() {
        assert_eq!(of_field("level", "50", false), Some(Level::Error));
        assert_eq!(of_field("level", "4", false), None);
        assert_eq!(of_field("PRIORITY", "4", false), Some(Level::Warn));
        assert_eq!(of_field("severity_number", "24", false), Some(Level::Fatal));
        assert_eq!(of_field("severity_number", "0", false), None);
        assert_eq!(of_field("Level", "2", true), Some(Level::Error));
        assert_eq!(of_field("Level", "2", false), None);
        assert_eq!(of_field("level", "Warning", false), Some(Level::Warn));
    }
}
