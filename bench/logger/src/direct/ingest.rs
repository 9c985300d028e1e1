//! Lines from one thread or several, until the last call has returned and the last batch was handed over.

use super::WARM_UP_LINES;
use crate::Result;
use crate::case::{Case, Study};
use crate::sample::{Line, lines, pick};
use crate::targets::{Found, Session, System, Target};
use duramen::Level;
use shared::case::Figures;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

/// What the lines are picked from.
struct Samples {
    info: Vec<Line>,
    error: Vec<Line>,
    /// The second half of each thread's lines are errors.
    errors: bool,
}

pub(crate) fn ingest(case: &Case, dir: &Path) -> Result<Figures> {
    let samples =
        Samples { info: lines(Level::Info), error: lines(Level::Error), errors: case.study == Study::Eager };
    let target = System::open(&case.system, dir)?;
    warm_up(&*target, &samples.info)?;
    let threads = u64::from(case.threads);
    let each = case.lines / threads;
    let barrier = Barrier::new(case.threads as usize);
    let log = |thread: u64| -> Result<(Instant, Instant)> {
        let session = target.session();
        barrier.wait();
        let mut session = session?;
        let begin = Instant::now();
        some(&mut *session, &samples, thread * each, each)?;
        Ok((begin, Instant::now()))
    };
    let spans: Vec<(Instant, Instant)> = if threads == 1 {
        vec![log(0)?]
    } else {
        let log = &log;
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || log(thread))).collect();
            all.into_iter()
                .map(|one| one.join().unwrap_or_else(|_| Err("a thread panicked".into())))
                .collect::<Result<_>>()
        })?
    };
    let first = spans.iter().map(|s| s.0).min().ok_or("no threads")?;
    let last = spans.iter().map(|s| s.1).max().ok_or("no threads")?;
    let logged = each * threads;
    let mut figures = target.figures();
    figures.insert("ns_per_line".into(), (last - first).as_nanos() as f64 / logged as f64);
    let begin = Instant::now();
    check(target, logged)?;
    figures.insert("close_and_check_ns".into(), begin.elapsed().as_nanos() as f64);
    Ok(figures)
}

/// A thread's lines.
fn some(session: &mut dyn Session, samples: &Samples, from: u64, each: u64) -> Result<()> {
    let infos = if samples.errors { each / 2 } else { each };
    for seq in from as i64..(from + infos) as i64 {
        session.log(pick(&samples.info, seq), seq)?;
    }
    for seq in (from + infos) as i64..(from + each) as i64 {
        session.log(pick(&samples.error, seq), seq)?;
    }
    session.finish()
}

/// The first lines cost what later ones do not: memory that is touched, statements that are prepared.
pub(super) fn warm_up(target: &dyn Target, sample: &[Line]) -> Result<()> {
    let mut session = target.session()?;
    (0..WARM_UP_LINES).try_for_each(|_| session.log(&sample[0], 0))?;
    session.finish()
}

/// Whether everything is there that was logged, numbered from 0.
pub(super) fn check(target: Box<dyn Target>, logged: u64) -> Result<()> {
    let wanted = Found { lines: logged + WARM_UP_LINES, seq_sum: (logged * (logged - 1) / 2) as i64 };
    let found = target.close()?;
    if found == wanted { Ok(()) } else { Err(format!("it holds {found:?}, and not {wanted:?}").into()) }
}
