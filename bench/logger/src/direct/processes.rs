//! Several processes that log into one target at the same time.
//!
//! Each writer opens the target, says `ready`, waits to be told to begin, logs, says `done`, and closes when its input
//! ends. What counts is the time from telling the first to hearing from the last.

use crate::Result;
use crate::case::Case;
use crate::sample::{lines, pick};
use crate::targets::{System, logger};
use duramen::Level;
use shared::case::Figures;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// A writer, and the pipes to it.
struct Writer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Writer {
    fn wait_for(&mut self, word: &str) -> Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.trim() == word { Ok(()) } else { Err(format!("a writer said {line:?}, not {word:?}").into()) }
    }
}

pub(crate) fn processes(case: &Case, dir: &Path) -> Result<Figures> {
    let each = case.lines / u64::from(case.processes);
    let mut writers = (0..case.processes)
        .map(|process| {
            let mut child = Command::new(std::env::current_exe()?)
                .arg("writer")
                .arg(dir)
                .args([&case.system, &each.to_string(), &process.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let input = child.stdin.take().ok_or("no pipe")?;
            let mut writer =
                Writer { output: BufReader::new(child.stdout.take().ok_or("no pipe")?), input, child };
            // One after another: SQLite's journal mode can be set by one at a time.
            writer.wait_for("ready")?;
            Ok(writer)
        })
        .collect::<Result<Vec<_>>>()?;
    let begin = Instant::now();
    writers.iter_mut().try_for_each(|w| w.input.write_all(b"go\n"))?;
    writers.iter_mut().try_for_each(|w| w.wait_for("done"))?;
    let logged = begin.elapsed();
    let mut children = Vec::new();
    for writer in writers {
        drop(writer.input);
        children.push(writer.child);
    }
    for mut child in children {
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("a writer ended with {status}").into());
        }
    }
    let closed = begin.elapsed();
    let all = (each * u64::from(case.processes)) as f64;
    let mut figures = Figures::new();
    figures.insert("ns_per_line".into(), logged.as_nanos() as f64 / all);
    figures.insert("closed_ns_per_line".into(), closed.as_nanos() as f64 / all);
    if case.system.starts_with("duramen") {
        let (lost, doubled, torn) = logger::check_processes(dir, case.processes, each, &lines(Level::Info))?;
        if lost + doubled + torn > 0 {
            return Err(format!("{lost} lines lost, {doubled} doubled, {torn} torn").into());
        }
        figures.insert("wrong_lines".into(), 0.0);
    } else {
        let found = System::open(&case.system, dir)?.close()?.lines;
        if found != each * u64::from(case.processes) {
            return Err(format!("{found} lines are there").into());
        }
    }
    Ok(figures)
}

/// What a writer does.
pub(crate) fn writer(dir: &Path, system: &str, each: u64, process: u32) -> Result<()> {
    let sample = lines(Level::Info);
    let target = System::open(system, dir)?;
    let mut session = target.session()?;
    let mut input = std::io::stdin().lock();
    println!("ready");
    input.read_line(&mut String::new())?;
    for n in 0..each as i64 {
        session.log(pick(&sample, n), i64::from(process) << 32 | n)?;
    }
    session.finish()?;
    println!("done");
    input.read_line(&mut String::new())?;
    Ok(())
}
