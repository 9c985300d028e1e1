//! A table in Markdown: a row per system, a column per figure.

use crate::Result;
use crate::systems::{Description, Side};
use std::fmt::Write as _;

/// A table whose rows are systems; ours are set in bold.
pub(super) fn systems(
    out: &mut String,
    head: &[String],
    rows: &[&Description],
    mut cell: impl FnMut(&Description, usize) -> Option<String>,
) -> Result<()> {
    writeln!(out, "| system | {} |", head.join(" | "))?;
    writeln!(out, "|---|{}", "--:|".repeat(head.len()))?;
    for system in rows {
        let cells: Vec<Option<String>> = (0..head.len()).map(|column| cell(system, column)).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        write!(out, "| {} ", name(system))?;
        for cell in cells {
            write!(out, "| {} ", cell.unwrap_or_else(|| "–".to_owned()))?;
        }
        writeln!(out, "|")?;
    }
    Ok(writeln!(out)?)
}

/// What each system's acknowledged writes survive, and how it is set.
pub(super) fn settings(out: &mut String, rows: &[&Description]) -> Result<()> {
    writeln!(out, "| system | an acknowledged write survives | settings |\n|---|---|---|")?;
    for system in rows {
        writeln!(out, "| {} | {} | {} |", name(system), system.durability, system.settings)?;
    }
    Ok(writeln!(out)?)
}

fn name(system: &Description) -> String {
    match system.side {
        Side::Ours => format!("**{}**", system.name),
        _ => system.name.clone(),
    }
}
