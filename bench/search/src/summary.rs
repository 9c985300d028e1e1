//! A row for each file that was measured, in one table.

use crate::Result;
use crate::report::Report;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

const HEAD: &str = "| file | lines | MB | MB on disk: Duramen | VictoriaLogs | ratio | CPU s: Duramen | VictoriaLogs | \
                    answers that agree | rows slower than VictoriaLogs: ratio |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";

/// Adds a row to the table, which begins with its head.
pub(crate) fn add(path: &Path, report: &Report<'_>) -> Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() == 0 {
        file.write_all(HEAD.as_bytes())?;
    }
    Ok(file.write_all(row(report)?.as_bytes())?)
}

fn row(report: &Report<'_>) -> Result<String> {
    let [Some(ours), Some(theirs)] = &report.loads[..] else {
        return Err("a summary needs what loading two servers took".into());
    };
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let (our_bytes, their_bytes) =
        (ours.stopped_bytes.unwrap_or(ours.disk_bytes), theirs.stopped_bytes.unwrap_or(theirs.disk_bytes));
    let name = report.subject.file.file_name().unwrap_or_default().to_string_lossy();
    let mut out = format!(
        "| {name} | {} | {:.1} | {:.3} | {:.3} | {:.2} | {:.2} | {:.2} |",
        report.subject.count,
        mb(ours.raw_bytes),
        mb(our_bytes),
        mb(their_bytes),
        our_bytes as f64 / their_bytes as f64,
        ours.cpu_s,
        theirs.cpu_s,
    );
    let mut agree = 0;
    let mut slower = Vec::new();
    for asked in &report.warm {
        let [Some(ours), Some(theirs)] = &asked.answers[..] else { continue };
        agree += usize::from(theirs.differs.is_none());
        if ours.median > theirs.median {
            slower.push(format!("{}: {:.2}", asked.question.name, ours.median / theirs.median));
        }
    }
    writeln!(out, " {agree} of {} | {} |", report.warm.len(), slower.join("; "))?;
    Ok(out)
}
