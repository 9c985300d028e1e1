//! Tables in Markdown and plots in SVG of what was measured: one page per study, and one of the goals.

mod durable;
mod goals;
mod load;
mod mixed;
mod plot;
mod queue;
mod read;
mod structures;
mod table;

use crate::Result;
use crate::plan::Group;
use crate::results::Results;
use std::fmt::Write as _;
use std::path::Path;

/// Writes everything that the results in a directory allow.
pub(crate) fn write(dir: &Path) -> Result<()> {
    let mut all = Vec::new();
    for group in Group::ALL {
        let Some(results) = Results::load(dir, group)? else { continue };
        let mut page = Page { dir, text: String::new() };
        let (title, body): (_, fn(&mut Page<'_>, &Results) -> Result<()>) = match group {
            Group::Load => ("Loading many entries", load::write),
            Group::Structures => ("The structures of memtables, alone", structures::write),
            Group::Read => ("Reading", read::write),
            Group::Mixed => ("Reads and writes mixed, and disk space", mixed::write),
            Group::Queue => ("A queue", queue::write),
            Group::Durable => ("Durable writes", durable::write),
        };
        writeln!(page.text, "# {title}\n")?;
        machine(&mut page.text, &results)?;
        body(&mut page, &results)?;
        std::fs::write(dir.join(format!("{}.md", group.name())), page.text)?;
        all.push((group, results));
    }
    if all.is_empty() {
        return Err(format!("no results in {}", dir.display()).into());
    }
    std::fs::write(dir.join("goals.md"), goals::page(&all)?)?;
    Ok(())
}

/// A page that is being written, and where its plots go.
struct Page<'a> {
    dir: &'a Path,
    text: String,
}

impl Page<'_> {
    /// A plot that `draw` writes to a file of this name.
    fn plot(&mut self, name: &str, alt: &str, draw: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let file = format!("{name}.svg");
        draw(&self.dir.join(&file))?;
        Ok(writeln!(self.text, "![{alt}]({file})\n")?)
    }
}

fn machine(out: &mut String, results: &Results) -> Result<()> {
    let m = &results.header().machine;
    writeln!(out, "- Machine: {m}")?;
    writeln!(out, "- Versions: commit {}; {}; {}", m.commit, m.compiler, m.peers)?;
    writeln!(out, "- Compiled for: {} (Rust and C++ alike)", m.target_features)?;
    writeln!(
        out,
        "- Each case a process of its own; at most {} rounds, interleaved; medians. × is the median of the ratios \
         within the rounds.",
        results.header().rounds
    )?;
    writeln!(out, "- How it is measured: see [../../README.md](../../README.md#the-key-value-engine)\n")?;
    let failures = results.failures();
    if !failures.is_empty() {
        writeln!(out, "**Failed:**\n")?;
        for failure in failures {
            writeln!(out, "- {}", failure.replace('\n', " "))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `100`, `600 k`, `3 M`.
fn count(n: u64) -> String {
    match n {
        n if n >= 1_000_000 && n % 1_000_000 == 0 => format!("{} M", n / 1_000_000),
        n if n >= 1_000 && n % 1_000 == 0 => format!("{} k", n / 1_000),
        n => n.to_string(),
    }
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn mib(bytes: f64) -> String {
    short(bytes / 1_048_576.0)
}
