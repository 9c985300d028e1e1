//! `duramen stats`: what the store holds, and what it takes on disk.

use crate::args::StatsArgs;
use crate::failure::{Failure, Outcome, complain};
use crate::render::color::Styles;
use crate::render::table::{Align, Table};
use crate::render::units::{age, bytes, count, counted, ratio};
use crate::verbs::retention::{
    counts_json, describe, describe_counts, lines_name, to_json as retention_json,
};
use duramen::store::{ClassStats, DayStats, StoreStats};
use duramen::{Retention, Store, ValueKind};
use serde_json::{Value, json};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Says it, to people or to programs.
pub(crate) fn run(args: &StatsArgs, dir: &Path) -> Outcome {
    let store = Store::open_read_only(dir)?;
    let stats = store.stats()?;
    let stdout = io::stdout();
    let styles = Styles::new(args.color.resolve(stdout.is_terminal()));
    let mut out = Vec::new();
    if args.json {
        out = to_json(&stats).to_string().into_bytes();
        out.push(b'\n');
    } else {
        // Writing to a Vec cannot fail.
        let _infallible = write_text(&stats, &styles, &mut out);
    }
    let mut stdout = stdout.lock();
    stdout.write_all(&out).and_then(|()| stdout.flush()).map_err(Failure::output)?;
    let incidents = store.incidents();
    for message in &incidents.messages {
        complain(message);
    }
    Ok(ExitCode::from(u8::from(!incidents.messages.is_empty())))
}

/// The sums over all days.
fn total(stats: &StoreStats) -> DayStats {
    stats.days.values().fold(DayStats::default(), |mut sum, day| {
        sum.lines += day.lines;
        sum.raw_bytes += day.raw_bytes;
        sum.stored_bytes += day.stored_bytes;
        sum.tables += day.tables;
        sum
    })
}

fn write_text(stats: &StoreStats, styles: &Styles, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("day (UTC)", Align::Left),
        ("lines", Align::Right),
        ("raw", Align::Right),
        ("stored", Align::Right),
        ("ratio", Align::Right),
        ("tables", Align::Right),
    ];
    let cells = |name: String, day: &DayStats| {
        [
            name,
            count(day.lines),
            bytes(day.raw_bytes),
            bytes(day.stored_bytes),
            ratio(day.raw_bytes, day.stored_bytes),
            count(day.tables),
        ]
    };
    let mut table = Table::new(columns);
    for (name, day) in &stats.days {
        table.row(cells(dashed(name), day), styles, out)?;
    }
    if !stats.days.is_empty() {
        table.row(cells("total".into(), &total(stats)), styles, out)?;
    }
    table.finish(styles, out)?;
    let wal = &stats.wal;
    writeln!(
        out,
        "{}not in tables yet: {}, {} in {} of {}",
        if stats.days.is_empty() { "" } else { "\n" },
        counted(wal.lines, "line", "lines"),
        bytes(wal.bytes),
        counted(wal.segments as u64, "WAL segment", "WAL segments"),
        counted(wal.writers as u64, "writer", "writers"),
    )?;
    writeln!(out, "sources read: {}", count(stats.sources as u64))?;
    if stats.retention != Retention::default() {
        write!(out, "{}", describe(&stats.retention))?;
    }
    write!(out, "{}", describe_counts(&stats.removed))?;
    write_classes(stats, styles, out)?;
    if !stats.quarantined.is_empty() {
        let bad = styles.bad;
        writeln!(out, "{bad}set aside, in quarantine/: {}{bad:#}", stats.quarantined.join(", "))?;
    }
    if stats.fields.fields.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Table::new([("field", Align::Left), ("lines", Align::Right), ("types", Align::Left)]);
    for (name, field) in &stats.fields.fields {
        let kinds: Vec<&str> = field.value_kinds().map(kind_name).collect();
        table.row([name.clone(), count(field.rows), kinds.join(", ")], styles, out)?;
    }
    table.finish(styles, out)
}

/// What each retention rule's lines take.
fn write_classes(stats: &StoreStats, styles: &Styles, out: &mut dyn Write) -> io::Result<()> {
    if stats.classes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let columns = [
        ("retention class", Align::Left),
        ("kept", Align::Left),
        ("lines", Align::Right),
        ("stored", Align::Right),
    ];
    let mut table = Table::new(columns);
    let ages = stats.retention.rules.iter().map(|rule| (lines_name(&rule.lines), rule.max_age));
    for ((name, limit), class) in
        ages.chain([("all others".into(), stats.retention.max_age)]).zip(&stats.classes)
    {
        let kept = limit.map_or_else(|| "for ever".into(), age);
        table.row([name, kept, count(class.lines), bytes(class.stored_bytes)], styles, out)?;
    }
    if stats.unsorted.lines > 0 {
        let unsorted = stats.unsorted;
        table.row(
            ["not sorted yet".into(), "".into(), count(unsorted.lines), bytes(unsorted.stored_bytes)],
            styles,
            out,
        )?;
    }
    table.finish(styles, out)
}

fn to_json(stats: &StoreStats) -> Value {
    let sizes = |day: &DayStats| {
        json!({
            "lines": day.lines,
            "raw_bytes": day.raw_bytes,
            "stored_bytes": day.stored_bytes,
            "tables": day.tables,
        })
    };
    let days: Vec<Value> = stats
        .days
        .iter()
        .map(|(name, day)| {
            let mut value = sizes(day);
            value["day"] = dashed(name).into();
            value["min_time_ns"] = day.min_time.into();
            value["max_time_ns"] = day.max_time.into();
            value
        })
        .collect();
    let fields: Vec<Value> = stats
        .fields
        .fields
        .iter()
        .map(|(name, field)| {
            let kinds: Vec<&str> = field.value_kinds().map(kind_name).collect();
            json!({"name": name, "lines": field.rows, "types": kinds})
        })
        .collect();
    // In the order of the policy's rules; the last is of all other lines.
    let class = |class: &ClassStats| json!({"lines": class.lines, "stored_bytes": class.stored_bytes});
    let classes: Vec<Value> = stats.classes.iter().map(class).collect();
    json!({
        "days": days,
        "total": sizes(&total(stats)),
        "wal": {
            "lines": stats.wal.lines,
            "bytes": stats.wal.bytes,
            "segments": stats.wal.segments,
            "writers": stats.wal.writers,
        },
        "sources": stats.sources,
        "retention": retention_json(&stats.retention),
        "removed": counts_json(&stats.removed),
        "retention_classes": classes,
        "retention_unsorted": {"lines": stats.unsorted.lines, "stored_bytes": stats.unsorted.stored_bytes},
        "fields": fields,
        "quarantined": stats.quarantined,
    })
}

/// `20261121` as `2026-11-21`.
fn dashed(day: &str) -> String {
    match (day.len().checked_sub(4), day.is_ascii()) {
        (Some(year_end), true) if day.len() >= 8 => {
            format!("{}-{}-{}", &day[..year_end], &day[year_end..year_end + 2], &day[year_end + 2..])
        }
        _ => day.to_owned(),
    }
}

fn kind_name(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::String => "string",
        ValueKind::Number => "number",
        ValueKind::Bool => "bool",
        ValueKind::Null => "null",
        ValueKind::Json => "json",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen::store::WalStats;

    fn sample() -> StoreStats {
        let day = DayStats {
            lines: 1000,
            raw_bytes: 120_000,
            stored_bytes: 10_000,
            tables: 1,
            ..DayStats::default()
        };
        let mut stats = StoreStats { sources: 2, ..StoreStats::default() };
        stats.days.insert("20261120".into(), day);
        stats.days.insert("20261121".into(), day);
        stats.wal = WalStats { writers: 1, segments: 1, lines: 7, bytes: 800 };
        stats
    }

    #[test]
    fn people_see_a_table() {
        let mut out = Vec::new();
        write_text(&sample(), &Styles::new(false), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "day (UTC)   lines     raw   stored  ratio  tables\n\
             2026-11-20  1,000  120 kB  10.0 kB  12.0×       1\n\
             2026-11-21  1,000  120 kB  10.0 kB  12.0×       1\n\
             total       2,000  240 kB  20.0 kB  12.0×       2\n\
             \n\
             not in tables yet: 7 lines, 800 B in 1 WAL segment of 1 writer\n\
             sources read: 2\n"
        );
    }

    #[test]
    fn retention_is_shown_where_there_is_any() {
        let mut stats = sample();
        let day = std::time::Duration::from_secs(86_400);
        stats.retention.max_age = Some(30 * day);
        stats.retention.rules = vec![duramen::RetentionRule::level(duramen::Level::Error, None)];
        stats.classes =
            vec![ClassStats { lines: 5, stored_bytes: 50 }, ClassStats { lines: 1995, stored_bytes: 19_000 }];
        stats.removed.expired = duramen::store::Removed { lines: 1234, stored_bytes: 5000 };
        let mut out = Vec::new();
        write_text(&stats, &Styles::new(false), &mut out).unwrap();
        let shown = String::from_utf8(out).unwrap();
        let expected = "sources read: 2\n\
             lines are kept for 30d\n  level error: for ever\n\
             removed as expired: 1,234 lines in 5.00 kB\n\
             \n\
             retention class  kept      lines   stored\n\
             level error      for ever      5     50 B\n\
             all others       30d       1,995  19.0 kB\n";
        assert!(shown.ends_with(expected), "{shown}");
        assert_eq!(to_json(&stats)["retention_classes"][1]["lines"], 1995);
    }

    #[test]
    fn programs_see_json() {
        let value = to_json(&sample());
        assert_eq!(value["days"][1]["day"], "2026-11-21");
        assert_eq!(value["total"]["stored_bytes"], 20_000);
        assert_eq!(value["wal"]["lines"], 7);
    }
}
