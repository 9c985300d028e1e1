//! What a server does that starts again: after a stop, and after `kill -9` under load.

use crate::Result;
use crate::load::Bodies;
use crate::question::rows_of;
use crate::server::Server;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds from the start of a process to its first answer, which counts all lines.
#[derive(Debug)]
pub(crate) struct Starts {
    /// Its files in the page cache.
    pub(crate) warm_ms: Vec<f64>,
    pub(crate) cold_ms: Vec<f64>,
}

/// Stops and starts it so many times each.
pub(crate) fn starts(server: &mut Server, repeat: usize) -> Result<Starts> {
    let lines = server.count_all()?;
    let mut starts = Starts { warm_ms: Vec::new(), cold_ms: Vec::new() };
    for _ in 0..repeat {
        for (times, cold) in [(&mut starts.warm_ms, false), (&mut starts.cold_ms, true)] {
            server.stop()?;
            if cold {
                shared::disk::drop_from_cache(&server.dir)?;
            }
            times.push(server.start_until_answer(lines)?.as_secs_f64() * 1e3);
        }
    }
    starts.warm_ms.sort_by(f64::total_cmp);
    starts.cold_ms.sort_by(f64::total_cmp);
    Ok(starts)
}

/// What `kill -9` left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Killed {
    /// How long it had been loaded, in seconds.
    pub(crate) after_s: f64,
    /// Lines that were acknowledged.
    pub(crate) acknowledged: u64,
    /// Those of them that are not there afterwards.
    pub(crate) lost: u64,
}

/// Loads it, kills it, starts it again and looks. Each body's lines have its number, so that what was kept without
/// being acknowledged makes up for nothing.
pub(crate) fn kill(server: &mut Server, lines: &Path, round: usize) -> Result<Killed> {
    // Not always the same time after what a server does every few seconds.
    let after = Duration::from_millis(12_000 + 1_700 * (round as u64 % 3));
    let tag = format!("k{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis());
    let bodies = Bodies::of(lines)?;
    let (next, killed) = (AtomicU64::new(0), AtomicBool::new(false));
    let acknowledged: Mutex<HashMap<String, u64>> = Mutex::default();
    let url = server.insert_url();
    let connections = server.connections;
    std::thread::scope(|scope| {
        let send = || -> Result<(), String> {
            let agent = ureq::Agent::new_with_defaults();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed).to_string();
                let body = bodies.next_for_ever().map_err(|e| e.to_string())?;
                let (body, count) = tagged(&body, &tag, &number);
                match agent.post(&url).send(&body[..]) {
                    Ok(_) => {
                        let mut all = acknowledged.lock().map_err(|e| e.to_string())?;
                        all.insert(number, count);
                    }
                    Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
                    Err(e) => return Err(format!("{url}: {e}")),
                }
            }
        };
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(send)).collect();
        std::thread::sleep(after);
        killed.store(true, Ordering::SeqCst);
        // Without it the senders would not end: what went wrong is told when they have.
        let ended = server.kill();
        for thread in threads {
            thread.join().map_err(|_| "a sender panicked")??;
        }
        ended
    })?;
    server.start()?;
    let acknowledged = acknowledged.into_inner()?;
    let mut lost = lost(&acknowledged, &server.query(&asking(&tag), None)?)?;
    if lost > 0 {
        // Lines that are only not yet found are not lost.
        std::thread::sleep(Duration::from_secs(6));
        lost = self::lost(&acknowledged, &server.query(&asking(&tag), None)?)?;
    }
    Ok(Killed { after_s: after.as_secs_f64(), acknowledged: acknowledged.values().sum(), lost })
}

fn asking(tag: &str) -> String {
    format!("kill_run:={tag} | stats by (kill_body) count() n")
}

/// The body with two more fields in each line, and how many lines it has.
fn tagged(body: &[u8], tag: &str, number: &str) -> (Vec<u8>, u64) {
    let fields = format!(r#"{{"kill_run":"{tag}","kill_body":"{number}","#);
    let mut made = Vec::with_capacity(body.len() * 5 / 4);
    let mut count = 0;
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        made.extend_from_slice(fields.as_bytes());
        made.extend_from_slice(line.get(1..).unwrap_or_default());
        count += 1;
    }
    (made, count)
}

/// How many lines fewer there are than were acknowledged, body by body.
fn lost(acknowledged: &HashMap<String, u64>, answer: &str) -> Result<u64> {
    let mut there: HashMap<String, u64> = HashMap::new();
    for row in rows_of(answer)? {
        if let (Some(body), Some(n)) = (row.get("kill_body"), row.get("n")) {
            there.insert(body.clone(), n.parse()?);
        }
    }
    let missing = |(body, &count): (&String, &u64)| count.saturating_sub(*there.get(body).unwrap_or(&0));
    Ok(acknowledged.iter().map(missing).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_tagged_and_counted() {
        let (body, count) = tagged(b"{\"a\":1}\n{\"b\":2}\n", "k1", "7");
        assert_eq!(count, 2);
        assert_eq!(
            String::from_utf8(body).unwrap(),
            "{\"kill_run\":\"k1\",\"kill_body\":\"7\",\"a\":1}\n{\"kill_run\":\"k1\",\"kill_body\":\"7\",\"b\":2}\n"
        );
    }

    #[test]
    fn what_was_not_acknowledged_makes_up_for_nothing() {
        let acknowledged = HashMap::from([("0".to_owned(), 10), ("1".to_owned(), 10), ("2".to_owned(), 10)]);
        let there = "{\"kill_body\":\"0\",\"n\":\"10\"}\n{\"kill_body\":\"1\",\"n\":\"4\"}\n{\"kill_body\":\"3\",\"n\":\"99\"}\n";
        assert_eq!(lost(&acknowledged, there).unwrap(), 16);
    }
}
