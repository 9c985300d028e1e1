//! ripgrep over the file as it is: a process for each query.

use crate::Result;
use crate::peer::{Load, Peer};
use crate::question::{Answer, Question, Row, What, row_of, rows_of};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// ripgrep, and the file.
#[derive(Debug)]
pub(crate) struct Ripgrep {
    program: PathBuf,
    lines: PathBuf,
}

impl Ripgrep {
    pub(crate) fn new(program: &Path, lines: &Path) -> Self {
        Self { program: program.to_path_buf(), lines: lines.to_path_buf() }
    }

    /// The command, but for the file.
    fn command(&self, what: &What) -> Option<Command> {
        let rg = |args: &[&str]| {
            let mut command = Command::new(&self.program);
            command.arg("--no-config").args(args);
            Some(command)
        };
        match what {
            What::CountAll => rg(&["-c", ""]),
            What::Phrase(words) => rg(&["-F", "-w", words]),
            What::CountWord(word) => rg(&["-c", "-F", "-w", word]),
            // The fields stand in this order.
            What::ErrorsOfCheckout(span) => {
                let [time, fields] = [&span.prefix, r#"[^"]*","level":"error","app":"checkout""#];
                rg(&[&format!(r#"^\{{"_time":"{time}{fields}"#)])
            }
            What::Regexp { span, regexp, .. } => {
                let time = &span.prefix;
                rg(&["-c", &format!(r#"^\{{"_time":"{time}.*"_msg":"[^"]*{regexp}"#)])
            }
            What::Substring(text) => rg(&["-c", "-i", "-F", text]),
            What::Field { name, value } => rg(&["-F", &format!(r#""{name}":"{value}""#)]),
            What::Newest => {
                let mut command = Command::new("tail");
                command.args(["-n", "100"]);
                Some(command)
            }
            What::Histogram | What::TopPaths | What::Quantiles | What::Sql(_) | What::OnlyLogsQl => None,
        }
    }
}

impl Peer for Ripgrep {
    fn name(&self) -> &'static str {
        "ripgrep"
    }

    fn about(&self) -> String {
        let output = Command::new(&self.program).arg("--version").output();
        let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let version = version.unwrap_or_default();
        format!(
            "{}, over the plain file, its lines in order of time; from the start of the process to its end; times in a \
             query are part of its regular expression; the newest 100 are `tail`'s.",
            version.lines().next().unwrap_or_default()
        )
    }

    fn load(&mut self, _lines: &Path) -> Result<Option<Load>> {
        Ok(None)
    }

    fn ask(&mut self, question: &Question) -> Result<Option<Answer>> {
        let Some(mut command) = self.command(&question.what) else { return Ok(None) };
        let started = Instant::now();
        let output = command.arg(&self.lines).output()?;
        let took = started.elapsed();
        // 1 is that there is nothing.
        if output.status.code().is_none_or(|code| code > 1) {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let text = String::from_utf8(output.stdout)?;
        let counts = command.get_args().any(|arg| arg == "-c");
        let rows = if counts { count_of(&text)? } else { lines_of(&text, question.limit)? };
        Ok(Some(Answer::new(took, rows)))
    }

    fn start_cold(&mut self) -> Result<()> {
        Ok(shared::disk::drop_from_cache(&self.lines)?)
    }
}

fn count_of(text: &str) -> Result<Vec<Row>> {
    let count = if text.is_empty() { "0" } else { text.trim() };
    Ok(vec![row_of([("n".to_owned(), count.to_owned())].into_iter())?])
}

/// The last lines of these, with their time and text alone.
fn lines_of(text: &str, limit: Option<u64>) -> Result<Vec<Row>> {
    let mut rows = rows_of(text)?;
    let limit = limit.map_or(Ok(usize::MAX), usize::try_from)?;
    rows.drain(..rows.len().saturating_sub(limit));
    for row in &mut rows {
        row.retain(|name, _| name == "_time" || name == "_msg");
    }
    Ok(rows)
}
