//! Tables in Markdown.

use crate::Result;
use std::fmt::Write as _;

/// A table; its first column is text, all others are figures. Rows without a figure say so.
pub(crate) fn write(out: &mut String, head: &[&str], rows: &[(String, Vec<Option<String>>)]) -> Result<()> {
    writeln!(out, "| {} |", head.join(" | "))?;
    writeln!(out, "|---|{}", "--:|".repeat(head.len().saturating_sub(1)))?;
    for (name, cells) in rows {
        write!(out, "| {name} ")?;
        if cells.iter().all(Option::is_none) {
            write!(out, "| not measured ")?;
            writeln!(out, "{}|", "| – ".repeat(cells.len().saturating_sub(1)))?;
            continue;
        }
        for cell in cells {
            write!(out, "| {} ", cell.as_deref().unwrap_or("–"))?;
        }
        writeln!(out, "|")?;
    }
    Ok(writeln!(out)?)
}

/// Three digits that count.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Nanoseconds as microseconds.
pub(crate) fn us(ns: f64) -> String {
    short(ns / 1000.0)
}

pub(crate) fn ms(ns: f64) -> String {
    short(ns / 1e6)
}

pub(crate) fn mib(bytes: f64) -> String {
    short(bytes / 1_048_576.0)
}

/// `1,000`, `10 k`, `2 M`.
pub(crate) fn count(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{} M", n / 1_000_000),
        n if n >= 1_000 && n % 1_000 == 0 => format!("{} k", n / 1_000),
        n => n.to_string(),
    }
}
