//! `duramen retention`: how long lines are kept.

use clap::Args;
use duramen::{Level, StreamSelector};
use duramen_query::number::parse_duration_ns;
use std::time::Duration;

const RETENTION_EXAMPLES: &str = "\
Examples:
  duramen retention                                    what is set, and what went so far
  duramen retention --max-age 30d --max-bytes 50GB
  duramen retention --level debug=3d --level error=1y --stream '{app=\"audit\"}=forever'
  duramen retention --max-age 7d --dry-run             how much would go at once
  duramen retention --level debug=none                 debug is like every other line again
  duramen retention --clear                            everything is kept

Each flag changes what it names, and the rest stays as it is. A line has the age of the first
stream rule that fits it, else that of its level's rule, else --max-age. Lines go a UTC day's
worth at a time, so they may stay up to a day longer. By bytes or free space, the oldest go first,
and never the newest day's.

Exit codes: 0 done; 1 failure; 2 what was given cannot be understood.";

/// What to change; nothing: it is shown.
#[derive(Args, Debug)]
#[command(after_help = RETENTION_EXAMPLES)]
pub(crate) struct RetentionArgs {
    /// Keep lines for so long, if no rule says otherwise: 12h, 30d, 1y; none: for ever
    #[arg(long, value_name = "AGE", value_parser = parse_age_or_none)]
    pub(crate) max_age: Option<Setting<Duration>>,

    /// Let tables take at most so much: 500MB, 50GB; none: any amount
    #[arg(long, value_name = "SIZE", value_parser = parse_size_or_none)]
    pub(crate) max_bytes: Option<Setting<u64>>,

    /// Keep so much of the file system free: 5GB; none: do not look
    #[arg(long, value_name = "SIZE", value_parser = parse_size_or_none)]
    pub(crate) min_free_bytes: Option<Setting<u64>>,

    /// Keep lines of a level for so long: debug=3d, error=forever; debug=none removes the rule
    #[arg(long, value_name = "LEVEL=AGE", value_parser = parse_level_rule)]
    pub(crate) level: Vec<(Level, Setting<Option<Duration>>)>,

    /// Keep lines of streams with these labels for so long: '{app="web"}=7d'; none removes the rule
    #[arg(long, value_name = "STREAM=AGE", value_parser = parse_stream_rule)]
    pub(crate) stream: Vec<(StreamSelector, Setting<Option<Duration>>)>,

    /// Forget what was set; other flags count from there
    #[arg(long)]
    pub(crate) clear: bool,

    /// Change nothing, and say what would go at once
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// One JSON object, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

impl RetentionArgs {
    /// Whether anything is to be changed.
    pub(crate) fn changes(&self) -> bool {
        self.clear
            || self.max_age.is_some()
            || self.max_bytes.is_some()
            || self.min_free_bytes.is_some()
            || !self.level.is_empty()
            || !self.stream.is_empty()
    }
}

/// A value to set, or `none` to remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting<T> {
    /// Remove it.
    Remove,
    /// Set it.
    Set(T),
}

fn parse_age_or_none(text: &str) -> Result<Setting<Duration>, String> {
    if text == "none" { Ok(Setting::Remove) } else { parse_age(text).map(Setting::Set) }
}

fn parse_age(text: &str) -> Result<Duration, String> {
    let ns = parse_duration_ns(text).and_then(|ns| u64::try_from(ns).ok());
    ns.map(Duration::from_nanos).ok_or_else(|| "an age such as 12h, 30d or 1y is expected".into())
}

fn parse_size_or_none(text: &str) -> Result<Setting<u64>, String> {
    if text == "none" {
        return Ok(Setting::Remove);
    }
    super::query::parse_size(text).map(|bytes| Setting::Set(bytes as u64))
}

/// Reads the age behind a rule's last `=`.
fn parse_rule(text: &str) -> Result<(&str, Setting<Option<Duration>>), String> {
    let (lines, age) = text.rsplit_once('=').ok_or("an age is expected behind `=`, as in debug=3d")?;
    let age = match age {
        "none" => Setting::Remove,
        "forever" => Setting::Set(None),
        age => Setting::Set(Some(parse_age(age)?)),
    };
    Ok((lines, age))
}

fn parse_level_rule(text: &str) -> Result<(Level, Setting<Option<Duration>>), String> {
    let (name, age) = parse_rule(text)?;
    let level = match name {
        "unknown" => Some(Level::Unknown),
        name => Level::parse(name),
    };
    let level = level.ok_or_else(|| {
        format!(
            "`{name}` is no level: trace, debug, info, warn, error, fatal, or unknown for lines without one"
        )
    })?;
    Ok((level, age))
}

fn parse_stream_rule(text: &str) -> Result<(StreamSelector, Setting<Option<Duration>>), String> {
    let (labels, age) = parse_rule(text)?;
    Ok((labels.parse().map_err(|e: duramen::Error| e.to_string())?, age))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn rules_are_read() {
        assert_eq!(parse_level_rule("warning=3d"), Ok((Level::Warn, Setting::Set(Some(3 * DAY)))));
        assert_eq!(parse_level_rule("unknown=forever"), Ok((Level::Unknown, Setting::Set(None))));
        let (selector, age) = parse_stream_rule(r#"{app="a=b"}=none"#).unwrap();
        assert_eq!((selector.to_string().as_str(), age), (r#"{app="a=b"}"#, Setting::Remove));
        assert_eq!(parse_age_or_none("1y"), Ok(Setting::Set(365 * DAY)));
        assert_eq!(parse_size_or_none("50GB"), Ok(Setting::Set(50_000_000_000)));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in ["debug", "debug=", "debug=-3d", "loud=3d", "debug=3"] {
            assert!(parse_level_rule(text).is_err(), "{text}");
        }
        for text in ["app=3d", "{}=3d", r#"{app="x"}"#] {
            assert!(parse_stream_rule(text).is_err(), "{text}");
        }
    }
}
