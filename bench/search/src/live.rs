//! Queries of a server that takes lines meanwhile, so many a second.

use crate::Result;
use crate::peer::Peer;
use crate::server::Server;
use crate::subject::Subject;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often lines are sent.
const SEND_EVERY: Duration = Duration::from_millis(50);
/// How long they have come before the first query.
const BEFORE: Duration = Duration::from_secs(5);
/// Pause before each query: nobody looks at a dashboard without.
const PAUSE: Duration = Duration::from_millis(20);
/// How long after it was sent a line may be invisible.
const VISIBLE_WITHIN: Duration = Duration::from_secs(10);

/// What was measured of one server.
#[derive(Debug)]
pub(crate) struct Live {
    /// Lines a second that were to be sent.
    pub(crate) wanted_rate: u64,
    /// Lines that were sent and counted afterwards.
    pub(crate) lines: u64,
    /// How many a second they were.
    pub(crate) rate: f64,
    /// Milliseconds of each question, with the same pauses while nothing came, ascending.
    pub(crate) quiet_ms: Vec<Vec<f64>>,
    /// The same, while lines came.
    pub(crate) times_ms: Vec<Vec<f64>>,
}

/// Ends the sender, also if a question panics.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Asks each question once, which does not count, and then so many times, in turns; then again while lines are sent, from the
/// first one on. A pause alone makes an answer slower, for whatever was at hand in the processor is not any more.
pub(crate) fn ask(server: &mut Server, subject: &Subject, rate: u64, repeat: usize) -> Result<Live> {
    let before = server.count_all()?;
    let quiet_ms = warmed_up(server, subject, repeat)?;
    let url = server.insert_url();
    let stop = AtomicBool::new(false);
    let ((lines, reached), times_ms) = std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&url, subject, rate, &stop));
        let asked = {
            let _at_the_end = Stop(&stop);
            std::thread::sleep(BEFORE);
            warmed_up(server, subject, repeat)
        };
        let sent = sender.join().map_err(|_| "a sender panicked")??;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((sent, asked?))
    })?;
    let sent = Instant::now();
    loop {
        let found = server.count_all()?;
        if found == before + lines {
            break;
        }
        if sent.elapsed() > VISIBLE_WITHIN {
            return Err(format!("{}: {found} lines instead of {}", server.name(), before + lines).into());
        }
        std::thread::sleep(SEND_EVERY);
    }
    Ok(Live { wanted_rate: rate, lines, rate: reached, quiet_ms, times_ms })
}

fn warmed_up(server: &mut Server, subject: &Subject, repeat: usize) -> Result<Vec<Vec<f64>>> {
    questions(server, subject, 1)?;
    questions(server, subject, repeat)
}

fn questions(server: &mut Server, subject: &Subject, repeat: usize) -> Result<Vec<Vec<f64>>> {
    let mut all = vec![Vec::new(); subject.questions.len()];
    for _ in 0..repeat {
        for (question, times_ms) in subject.questions.iter().zip(&mut all) {
            std::thread::sleep(PAUSE);
            times_ms.extend(server.ask(question)?.map(|answer| answer.took_ms));
        }
    }
    all.iter_mut().for_each(|times_ms| times_ms.sort_by(f64::total_cmp));
    Ok(all)
}

/// Sends until it is stopped; how many lines it were, and how many a second.
fn send(url: &str, subject: &Subject, rate: u64, stop: &AtomicBool) -> Result<(u64, f64), String> {
    let mut file = BufReader::new(File::open(&subject.file).map_err(|e| e.to_string())?);
    let agent = ureq::Agent::new_with_defaults();
    let began = Instant::now();
    let mut lines = 0;
    while !stop.load(Ordering::SeqCst) {
        let due = (began.elapsed().as_secs_f64() * rate as f64) as u64;
        let mut body = Vec::new();
        while lines < due && file.read_until(b'\n', &mut body).map_err(|e| e.to_string())? > 0 {
            lines += 1;
        }
        if lines < due {
            return Err("too few lines in the file for this rate".to_owned());
        }
        if !body.is_empty() {
            agent.post(url).send(&body[..]).map_err(|e| format!("{url}: {e}"))?;
        }
        std::thread::sleep(SEND_EVERY);
    }
    Ok((lines, lines as f64 / began.elapsed().as_secs_f64()))
}
