//! What a process left that was killed: after its last append, or in the middle of a flush. Nothing that was
//! acknowledged may be missing.

use super::configs::Config;
use super::entries::wanted;
use super::ours;
use crate::Result;
use crate::case::Case;
use crate::sample::Entries;
use crate::usage::files_and_bytes;
use duramen::{EntryBuf, Store};
use rustix::process::{Signal, getpid, kill_process};
use shared::case::Figures;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a flush runs before its process is killed.
const FLUSH_FOR: Duration = Duration::from_millis(50);

/// The messages' length: [`super::LARGE_BYTES`].
const MESSAGE_BYTES: usize = super::LARGE_BYTES;

/// Appends entries and kills itself; gives why it is still alive.
pub(crate) fn victim(dir: &Path, system: &str, lines: u64) -> Result<&'static str> {
    let entries = Entries::new(MESSAGE_BYTES);
    if system == "process-in-flush" {
        let store = Store::open(dir.join("store"))?;
        let mut buf = EntryBuf::new(["service"]);
        for i in 0..lines {
            store.append(ours::encode(&mut buf, &entries.get(i))?)?;
        }
        return std::thread::scope(|scope| {
            scope.spawn(|| store.flush());
            std::thread::sleep(FLUSH_FOR);
            kill_process(getpid(), Signal::KILL)?;
            Ok("it survived SIGKILL")
        });
    }
    let mut place = (Config::of(system)?.open)(dir)?;
    for i in 0..lines {
        place.put(&entries.get(i))?;
    }
    kill_process(getpid(), Signal::KILL)?;
    Ok("it survived SIGKILL")
}

pub(crate) fn recover(case: &Case, dir: &Path) -> Result<Figures> {
    let status = Command::new(std::env::current_exe()?)
        .arg("victim")
        .arg(dir)
        .args([&case.system, &case.lines.to_string()])
        .status()?;
    if status.signal() != Some(Signal::KILL.as_raw()) {
        return Err(format!("the victim ended with {status}").into());
    }
    let wanted = wanted(&Entries::new(MESSAGE_BYTES), case.lines);
    let mut figures = Figures::new();
    let (files, bytes) = files_and_bytes(dir)?;
    figures.insert("left_files".into(), files);
    figures.insert("left_bytes".into(), bytes);

    let config = case.system.trim_end_matches("-in-flush");
    let read = Config::of(config)?.read.ok_or("it cannot be read")?;
    let begin = Instant::now();
    let found = read(dir, i64::MIN, i64::MAX)?;
    figures.insert("first_read_ns".into(), begin.elapsed().as_nanos() as f64);
    if found != wanted {
        return Err(format!("{found:?} instead of {wanted:?}").into());
    }
    let begin = Instant::now();
    (Config::of(config)?.open)(dir)?.close()?;
    figures.insert("fold_ns".into(), begin.elapsed().as_nanos() as f64);
    let found = read(dir, i64::MIN, i64::MAX)?;
    if found != wanted {
        return Err(format!("after recovery, {found:?} instead of {wanted:?}").into());
    }
    let (files, bytes) = files_and_bytes(dir)?;
    figures.insert("folded_files".into(), files);
    figures.insert("folded_bytes".into(), bytes);
    Ok(figures)
}
