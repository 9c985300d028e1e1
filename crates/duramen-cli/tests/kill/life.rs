//! One process, from its start to its end.

use crate::sandbox::PATIENCE;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A running process, and what it says on stderr.
///
/// Each line is given to a function as it comes, which tells whether it is one that it should say. From the first
/// that is not, all is kept, and shown when the life ends.
pub struct Life {
    child: Child,
    said: Receiver<()>,
    listening: JoinHandle<String>,
}

impl Life {
    /// Starts it.
    pub fn start(command: &mut Command, mut expected: impl FnMut(&str) -> bool + Send + 'static) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = channel();
        let listening = std::thread::spawn(move || {
            let (mut line, mut unexpected) = (String::new(), String::new());
            // A line without an end was cut by the kill.
            while stderr.read_line(&mut line).is_ok_and(|_| line.ends_with('\n')) {
                if unexpected.is_empty() && expected(&line) {
                    let _nobody_counts_them = send.send(());
                } else {
                    unexpected.push_str(&line);
                }
                line.clear();
            }
            unexpected
        });
        Self { child, said: lines, listening }
    }

    /// Its stdin; it is closed with what is given.
    pub fn stdin(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Waits for so many lines, but only so long, and not after its end.
    pub fn wait_for(&self, lines: u64, at_most: Duration) {
        let started = Instant::now();
        let left = || at_most.saturating_sub(started.elapsed());
        let _count = (0..lines).take_while(|_| self.said.recv_timeout(left()).is_ok()).count();
    }

    /// Kills it, and waits until all it said has been heard. How it ended: it may have been quicker.
    pub fn kill(mut self) -> ExitStatus {
        self.child.kill().unwrap();
        self.end()
    }

    fn end(mut self) -> ExitStatus {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill().unwrap();
                    panic!("a process did not end within {PATIENCE:?}");
                }
            }
        }
        let unexpected = self.listening.join().unwrap();
        assert!(unexpected.is_empty(), "a process said: {unexpected}");
        self.child.wait().unwrap()
    }
}
