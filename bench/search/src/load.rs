//! Sends the lines: bodies of a megabyte, cut where lines end, over connections that stay open.

use crate::Result;
use crate::peer::Peer;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

const BODY_BYTES: usize = 1 << 20;

/// What loading took.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) wall_s: f64,
    pub(crate) raw_bytes: u64,
    /// Merges included.
    pub(crate) cpu_s: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) resident_bytes: u64,
    pub(crate) anonymous_bytes: u64,
    pub(crate) disk_bytes: u64,
    cpu_before_s: f64,
}

impl Load {
    /// Looks again, when all is merged.
    pub(crate) fn settled(&mut self, peer: &Peer) -> Result<()> {
        self.cpu_s = peer.cpu_s()? - self.cpu_before_s;
        (self.peak_bytes, self.resident_bytes, self.anonymous_bytes) = peer.memory()?;
        self.disk_bytes = peer.disk_bytes();
        Ok(())
    }
}

pub(crate) fn load(peer: &Peer, lines: &Path, connections: usize) -> Result<Load> {
    let file = Mutex::new(BufReader::with_capacity(BODY_BYTES, File::open(lines)?));
    let next_body = || -> std::io::Result<Vec<u8>> {
        let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut body = Vec::with_capacity(BODY_BYTES + 4096);
        while body.len() < BODY_BYTES && file.read_until(b'\n', &mut body)? > 0 {}
        Ok(body)
    };
    let url = format!("{}/insert/jsonline?_stream_fields=app,host", peer.url);
    let cpu_before_s = peer.cpu_s()?;
    let started = Instant::now();
    std::thread::scope(|scope| {
        let send = || -> Result<(), String> {
            let agent = ureq::Agent::new_with_defaults();
            loop {
                let body = next_body().map_err(|e| e.to_string())?;
                if body.is_empty() {
                    return Ok(());
                }
                agent.post(&url).send(&body[..]).map_err(|e| format!("{url}: {e}"))?;
            }
        };
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(send)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a sender panicked".to_owned())?)
    })?;
    Ok(Load {
        wall_s: started.elapsed().as_secs_f64(),
        raw_bytes: std::fs::metadata(lines)?.len(),
        cpu_s: 0.0,
        peak_bytes: 0,
        resident_bytes: 0,
        anonymous_bytes: 0,
        disk_bytes: 0,
        cpu_before_s,
    })
}
