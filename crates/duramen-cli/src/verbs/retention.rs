//! `duramen retention`: how long lines are kept, shown and set.

use crate::args::{RetentionArgs, Setting};
use crate::failure::{Failure, Outcome};
use crate::render::units::{age, bytes, counted};
use duramen::store::{Removed, RetentionCounts};
use duramen::{Error, Level, Retention, RetentionLines, RetentionRule, Store, StoreOptions};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Shows or sets it.
pub(crate) fn run(args: &RetentionArgs, dir: &Path) -> Outcome {
    // A store that is not there is not made by asking about it, and a dry run changes nothing.
    let store = Store::open_read_only(dir)?;
    let present = store.retention()?;
    let policy = changed(args, &present);
    let mut text = Vec::new();
    if args.changes() && args.dry_run {
        let removed = store.retention_would_remove(&policy).map_err(usage)?;
        let would = describe_removed(&removed);
        if args.json {
            text = json!({"retention": to_json(&policy), "would_remove": removed_json(&removed)})
                .to_string()
                .into();
            text.push(b'\n');
        } else {
            text = describe(&policy).into_bytes();
            text.extend(format!("to be removed at once: {would}\n").bytes());
        }
    } else {
        if args.changes() {
            let store = StoreOptions::new().open(dir)?;
            store.set_retention(&policy).map_err(usage)?;
            store.enforce_retention()?;
            store.close()?;
        }
        let counts = store.stats()?.removed;
        if args.json {
            text = json!({"retention": to_json(&policy), "removed": counts_json(&counts)}).to_string().into();
            text.push(b'\n');
        } else {
            text.extend(describe(&policy).bytes());
            text.extend(describe_counts(&counts).bytes());
        }
    }
    let mut out = std::io::stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

/// What cannot be meant is the user's mistake; everything else is not.
fn usage(error: Error) -> Failure {
    match error {
        Error::Invalid(text) => Failure::Usage(text),
        other => other.into(),
    }
}

/// The policy with the changes that were asked for.
fn changed(args: &RetentionArgs, present: &Retention) -> Retention {
    let mut policy = if args.clear { Retention::default() } else { present.clone() };
    let set = |field: &mut Option<u64>, setting: Option<Setting<u64>>| match setting {
        Some(Setting::Set(value)) => *field = Some(value),
        Some(Setting::Remove) => *field = None,
        None => {}
    };
    set(&mut policy.max_bytes, args.max_bytes);
    set(&mut policy.min_free_bytes, args.min_free_bytes);
    match args.max_age {
        Some(Setting::Set(age)) => policy.max_age = Some(age),
        Some(Setting::Remove) => policy.max_age = None,
        None => {}
    }
    for (level, setting) in &args.level {
        set_rule(&mut policy, RetentionLines::Level(*level), setting);
    }
    for (selector, setting) in &args.stream {
        set_rule(&mut policy, RetentionLines::Stream(selector.clone()), setting);
    }
    // Streams before levels: who names a stream means all of it.
    policy.rules.sort_by_key(|rule| matches!(rule.lines, RetentionLines::Level(_)));
    policy
}

fn set_rule(policy: &mut Retention, lines: RetentionLines, setting: &Setting<Option<Duration>>) {
    let found = policy.rules.iter().position(|rule| rule.lines == lines);
    match (setting, found) {
        (Setting::Set(max_age), Some(i)) => policy.rules[i].max_age = *max_age,
        (Setting::Set(max_age), None) => policy.rules.push(RetentionRule { lines, max_age: *max_age }),
        (Setting::Remove, Some(i)) => drop(policy.rules.remove(i)),
        (Setting::Remove, None) => {}
    }
}

/// The policy in words.
pub(crate) fn describe(policy: &Retention) -> String {
    let forever = |limit: Option<Duration>| {
        limit.map_or_else(|| "for ever".into(), |limit| format!("for {}", age(limit)))
    };
    let mut out = format!("lines are kept {}\n", forever(policy.max_age));
    for rule in &policy.rules {
        out.push_str(&format!("  {}: {}\n", lines_name(&rule.lines), forever(rule.max_age)));
    }
    if let Some(most) = policy.max_bytes {
        out.push_str(&format!("tables take at most {}\n", bytes(most)));
    }
    if let Some(least) = policy.min_free_bytes {
        out.push_str(&format!("{} of the file system stay free\n", bytes(least)));
    }
    out
}

/// A rule's lines, as they are given on the command line.
pub(crate) fn lines_name(lines: &RetentionLines) -> String {
    match lines {
        RetentionLines::Level(Level::Unknown) => "level unknown".into(),
        RetentionLines::Level(level) => format!("level {level}"),
        RetentionLines::Stream(selector) => format!("streams {selector}"),
    }
}

fn describe_removed(removed: &Removed) -> String {
    format!("{} in {}", counted(removed.lines, "line", "lines"), bytes(removed.stored_bytes))
}

/// What has been removed, in words; nothing, if nothing was.
pub(crate) fn describe_counts(counts: &RetentionCounts) -> String {
    let mut out = String::new();
    for (what, removed) in [
        ("removed as expired", counts.expired),
        ("removed to save disk space", counts.over_size),
        ("removed because the disk got full", counts.low_space),
        ("deleted", counts.deleted),
    ] {
        if removed != Removed::default() {
            out.push_str(&format!("{what}: {}\n", describe_removed(&removed)));
        }
    }
    if counts.late.lines > 0 {
        let lines = counted(counts.late.lines, "line", "lines");
        out.push_str(&format!("not taken, expired when they came: {lines}\n"));
    }
    out
}

/// The policy for programs.
pub(crate) fn to_json(policy: &Retention) -> Value {
    let seconds = |age: Option<Duration>| age.map(|age| age.as_secs_f64());
    let rules: Vec<Value> = policy
        .rules
        .iter()
        .map(|rule| match &rule.lines {
            RetentionLines::Level(Level::Unknown) => {
                json!({"level": "unknown", "max_age_seconds": seconds(rule.max_age)})
            }
            RetentionLines::Level(level) => {
                json!({"level": level.name(), "max_age_seconds": seconds(rule.max_age)})
            }
            RetentionLines::Stream(selector) => {
                json!({"stream": selector.to_string(), "max_age_seconds": seconds(rule.max_age)})
            }
        })
        .collect();
    json!({
        "max_age_seconds": seconds(policy.max_age),
        "max_bytes": policy.max_bytes,
        "min_free_bytes": policy.min_free_bytes,
        "rules": rules,
    })
}

fn removed_json(removed: &Removed) -> Value {
    json!({"lines": removed.lines, "stored_bytes": removed.stored_bytes})
}

/// What has been removed, for programs.
pub(crate) fn counts_json(counts: &RetentionCounts) -> Value {
    json!({
        "expired": removed_json(&counts.expired),
        "late": removed_json(&counts.late),
        "over_size": removed_json(&counts.over_size),
        "low_space": removed_json(&counts.low_space),
        "deleted": removed_json(&counts.deleted),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    const DAY: Duration = Duration::from_secs(86_400);

    fn after(present: &Retention, flags: &[&str]) -> Retention {
        let line = ["duramen", "retention"].iter().chain(flags);
        match Cli::try_parse_from(line).unwrap().verb {
            crate::args::Verb::Retention(args) => changed(&args, present),
            _ => unreachable!(),
        }
    }

    #[test]
    fn each_flag_changes_what_it_names() {
        let one =
            after(&Retention::default(), &["--max-age", "30d", "--level", "debug=3d", "--max-bytes", "5GB"]);
        let two = after(&one, &["--stream", r#"{app="audit"}=forever"#, "--max-bytes", "none"]);
        assert_eq!(
            describe(&two),
            "lines are kept for 30d\n  streams {app=\"audit\"}: for ever\n  level debug: for 3d\n",
            "streams come first"
        );
        assert_eq!(one.max_bytes, Some(5_000_000_000));
        let three = after(&two, &["--level", "debug=none", "--level", "info=none"]);
        assert_eq!((three.rules.len(), three.max_age), (1, Some(30 * DAY)));
        assert_eq!(after(&two, &["--clear"]), Retention::default());
        assert_eq!(to_json(&two)["rules"][1], json!({"level": "debug", "max_age_seconds": 259_200.0}));
    }

    #[test]
    fn what_went_is_told() {
        let mut counts = RetentionCounts::default();
        assert_eq!(describe_counts(&counts), "");
        counts.expired = Removed { lines: 1, stored_bytes: 2000 };
        counts.late.lines = 3000;
        assert_eq!(
            describe_counts(&counts),
            "removed as expired: 1 line in 2.00 kB\nnot taken, expired when they came: 3,000 lines\n"
        );
    }
}
