//! Runs a command to its end, and asks the kernel what it took.
#![allow(unsafe_code)] // wait4 has no safe wrapper that gives the resource usage

use crate::Result;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a process took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) wall: Duration,
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
    /// The most memory it had resident.
    pub(crate) peak_rss_bytes: u64,
}

/// Runs the command, whose output must not be piped to this process.
pub(crate) fn run(command: &mut Command) -> Result<Usage> {
    let begin = Instant::now();
    let child = command.spawn().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    let pid = libc::pid_t::try_from(child.id())?;
    let mut status = 0;
    // SAFETY: `rusage` is plain integers, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live, writable values; `pid` is our child, and `child` is not waited
        // for elsewhere, so the id still names it.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
    let wall = begin.elapsed();
    if !(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0) {
        return Err(format!("{command:?} failed (wait status {status:#x})").into());
    }
    // Linux counts it in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    Ok(Usage {
        wall,
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        peak_rss_bytes: u64::try_from(usage.ru_maxrss)? * unit,
    })
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let micros = u64::try_from(time.tv_usec).unwrap_or_default();
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_childs_work_is_counted() {
        let usage = run(Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]));
        let usage = usage.unwrap();
        assert!(usage.cpu > Duration::ZERO && usage.wall >= usage.cpu / 2);
        assert!(usage.peak_rss_bytes > 100_000);
    }

    #[test]
    fn a_failing_child_is_an_error() {
        assert!(run(Command::new("sh").args(["-c", "exit 3"])).is_err());
        assert!(run(&mut Command::new("/no/such/program")).is_err());
    }
}
