//! Sends the lines: bodies of a megabyte, cut where lines end, over connections that stay open.

use crate::Result;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::path::Path;
use std::sync::Mutex;

const BODY_BYTES: usize = 1 << 20;

/// Gives out the lines, a body at a time, to whoever asks.
#[derive(Debug)]
pub(crate) struct Bodies {
    file: Mutex<BufReader<File>>,
}

impl Bodies {
    pub(crate) fn of(lines: &Path) -> std::io::Result<Self> {
        Ok(Self { file: Mutex::new(BufReader::with_capacity(BODY_BYTES, File::open(lines)?)) })
    }

    /// The next one; empty after the last line.
    pub(crate) fn next(&self) -> std::io::Result<Vec<u8>> {
        Self::read(&mut self.lock())
    }

    /// The next one; after the last line, the first one again.
    pub(crate) fn next_for_ever(&self) -> std::io::Result<Vec<u8>> {
        let mut file = self.lock();
        let body = Self::read(&mut file)?;
        if !body.is_empty() {
            return Ok(body);
        }
        file.rewind()?;
        Self::read(&mut file)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BufReader<File>> {
        self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn read(file: &mut BufReader<File>) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::with_capacity(BODY_BYTES + 4096);
        while body.len() < BODY_BYTES && file.read_until(b'\n', &mut body)? > 0 {}
        Ok(body)
    }
}

/// Sends all lines.
pub(crate) fn send(url: &str, lines: &Path, connections: usize) -> Result<()> {
    let bodies = Bodies::of(lines)?;
    std::thread::scope(|scope| {
        let send = || -> Result<(), String> {
            let agent = ureq::Agent::new_with_defaults();
            loop {
                let body = bodies.next().map_err(|e| e.to_string())?;
                if body.is_empty() {
                    return Ok(());
                }
                agent.post(url).send(&body[..]).map_err(|e| format!("{url}: {e}"))?;
            }
        };
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(send)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a sender panicked".to_owned())?)
    })?;
    Ok(())
}
