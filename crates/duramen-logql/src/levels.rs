//! Levels as Loki calls them.

use duramen::Level;

/// What it calls a level that is none.
pub(crate) const UNKNOWN: &str = "unknown";

/// What it calls each level, and how senders do, in small letters: all that [`Level::of_value`] knows.
pub(crate) const SPELLINGS: &[(&str, &[&str])] = &[
    ("trace", &["trace", "trc", "finest", "finer", "verbose", "silly", "10"]),
    ("debug", &["debug", "dbg", "debug1", "debug2", "debug3", "debug4", "debug5", "fine", "20"]),
    ("info", &["info", "inf", "information", "informational", "notice", "log", "config", "30"]),
    ("warn", &["warn", "wrn", "warning", "40"]),
    ("error", &["error", "err", "eror", "severe", "failure", "50"]),
    ("critical", &["crit", "critical"]),
    ("fatal", &["fatal", "ftl", "alert", "emerg", "emergency", "panic", "60"]),
];

/// The same of Go's slog, for what is between its levels, as regular expressions.
const BETWEEN: &[(&str, &str)] = &[
    ("trace", "DEBUG-[1-9][0-9]?"),
    ("debug", r"DEBUG\+[1-9][0-9]?"),
    ("info", r"INFO\+[1-9][0-9]?"),
    ("warn", r"WARN\+[1-9][0-9]?"),
    ("error", r"ERROR\+[1-3]"),
    ("fatal", r"ERROR\+(?:[4-9]|[1-9][0-9])"),
];

/// What Loki calls a level.
pub(crate) fn level_name(text: &str) -> &'static str {
    match Level::of_value(text) {
        Some(Level::Unknown) | None => UNKNOWN,
        // Loki knows two, and keeps apart what the sender called it.
        Some(Level::Fatal) if text.trim_start().starts_with(['c', 'C']) => "critical",
        Some(level) => level.name(),
    }
}

/// A regular expression for levels that have one of these names, of which there must be one.
pub(crate) fn expression(names: &[&str]) -> String {
    let spellings = SPELLINGS.iter().filter(|(name, _)| names.contains(name)).flat_map(|(_, all)| *all);
    // Letters of ASCII alone, of either case; `(?i)` takes `ſ` for an `s`, too.
    let cased = |c: char| match c.is_ascii_lowercase() {
        true => format!("[{}{c}]", c.to_ascii_uppercase()),
        false => c.to_string(),
    };
    let between = BETWEEN.iter().filter(|(name, _)| names.contains(name)).map(|(_, all)| (*all).to_owned());
    let spellings: Vec<String> =
        spellings.map(|name| name.chars().map(cased).collect()).chain(between).collect();
    // All white space, as names are trimmed.
    let blanks = r"[\t-\r\x{85}\pZ]*";
    format!("^{blanks}(?:{}){blanks}$", spellings.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_has_its_name() {
        for (name, spellings) in SPELLINGS {
            let expression = duramen_query::filter::regex::compile(&expression(&[name]), false).unwrap();
            for text in *spellings {
                for text in [text.to_string(), format!(" {} ", text.to_uppercase())] {
                    assert_eq!(level_name(&text), *name, "{text}");
                    assert!(expression.is_match(&text), "{text}");
                }
                assert!(!expression.is_match(&format!("{text}x")), "{text}");
            }
        }
        for text in ["", "x", "errors"] {
            assert_eq!(level_name(text), UNKNOWN, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_a_level_is_spelled_so(text in "[ a-zA-Z0-9]{2,8}|[eE]r{1,2}(or)?|[1-7][05]|crit|deb?ug[0-9]?|(DEBUG|INFO|Info|WARN|ERROR|FATAL)[+-][0-9]{1,3}") {
            let name = level_name(&text);
            for (known, _) in SPELLINGS {
                let expression = duramen_query::filter::regex::compile(&expression(&[known]), false).unwrap();
                proptest::prop_assert_eq!(expression.is_match(&text), name == *known);
            }
        }
    }
}
