//! What `query` and `tail` share: reading the query, and where its rows go.

use crate::args::{ShowArgs, SpanArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::moment::{now_in, parse_moment};
use crate::render::color::{ColorChoice, Styles};
use crate::render::rows::{Form, RowWriter};
use duramen_engine::io::Env;
use duramen_query::filter::time::TimeRange;
use duramen_query::{Cancel, ParseOptions, Query, ResultRow};
use jiff::Zoned;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How soon a signal is passed on.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Reads a query; relative times in it count from `now`.
pub(super) fn parse(text: &str, now: &Zoned) -> Result<Query, Failure> {
    read(text, now, None)
}

/// The same with a span of time around it.
pub(super) fn parse_within(text: &str, now: &Zoned, span: &SpanArgs) -> Result<Query, Failure> {
    let moment = |flag: &str, text: &Option<String>| {
        let parse =
            |text: &String| parse_moment(text, now).map_err(|why| Failure::Usage(format!("{flag}: {why}")));
        text.as_ref().map(parse).transpose()
    };
    let from_ns = moment("--since", &span.since)?.or(moment("--from", &span.from)?);
    let to_ns = moment("--to", &span.to)?;
    let within = (from_ns.is_some() || to_ns.is_some()).then(|| TimeRange {
        min: from_ns.unwrap_or(i64::MIN),
        max: to_ns.map_or(i64::MAX, |to| to.saturating_sub(1)),
    });
    read(text, now, within)
}

fn read(text: &str, now: &Zoned, within: Option<TimeRange>) -> Result<Query, Failure> {
    let now_ns = i64::try_from(now.timestamp().as_nanosecond()).unwrap_or(i64::MAX);
    let options =
        ParseOptions { now_ns, timezone: now.time_zone().clone(), within, ..ParseOptions::default() };
    Query::parse(text, &options).map_err(|e| Failure::Usage(format!("in the query: {e}")))
}

/// The present, in the zone that was asked for.
pub(super) fn now(show: &ShowArgs, env: &Env) -> Zoned {
    now_in(show.timezone.clone(), &*env.clock)
}

/// A writer to stdout, in the form and colours that were asked for.
pub(super) fn writer(show: &ShowArgs) -> RowWriter<Box<dyn Write>> {
    let stdout = io::stdout();
    let terminal = stdout.is_terminal();
    let choice = if show.no_color { ColorChoice::Never } else { show.color };
    let form = Form::resolve(show.output, terminal);
    let out: Box<dyn Write> = Box::new(BufWriter::with_capacity(64 << 10, stdout.lock()));
    RowWriter::new(form, Styles::new(choice.resolve(terminal)), show.timezone.clone(), terminal, out)
}

/// Feeds rows to a writer and remembers why it stopped.
pub(super) struct Delivery<'a, W: Write> {
    /// Where rows go.
    pub(super) writer: &'a mut RowWriter<W>,
    /// Why no more can be delivered.
    pub(super) failed: Option<io::Error>,
}

impl<W: Write> Delivery<'_, W> {
    /// Takes a row.
    pub(super) fn row(&mut self, row: &ResultRow) -> ControlFlow<()> {
        let written = self.writer.row(row);
        self.goes_on(written)
    }

    /// Takes rows that [`write_json`] wrote.
    pub(super) fn text(&mut self, text: &mut Vec<u8>, rows: usize) -> ControlFlow<()> {
        let written = self.writer.json(text, rows);
        text.clear();
        self.goes_on(written)
    }

    fn goes_on(&mut self, written: io::Result<()>) -> ControlFlow<()> {
        match written {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.failed = Some(e);
                ControlFlow::Break(())
            }
        }
    }
}

/// Appends a row as a JSON object on a line.
pub(super) fn write_json(row: &ResultRow, out: &mut Vec<u8>) {
    row.write_json(out);
    out.push(b'\n');
}

/// Runs `work` with a flag that a signal cancels.
pub(super) fn cancellable<T>(interrupt: &Interrupt, cancel: &Cancel, work: impl FnOnce(&Cancel) -> T) -> T {
    /// Also when the work panics: the scope waits for who watches.
    struct Done<'d>(&'d AtomicBool, Option<thread::Thread>);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
            self.1.iter().for_each(thread::Thread::unpark);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = || {
            while !done.load(Ordering::Acquire) {
                if interrupt.requested() {
                    cancel.cancel();
                    return;
                }
                thread::park_timeout(LOOK_EVERY);
            }
        };
        // Where there are no more threads, only a second signal ends it.
        let watching = thread::Builder::new().spawn_scoped(scope, watch).ok();
        let _done = Done(&done, watching.map(|watching| watching.thread().clone()));
        work(cancel)
    })
}

/// Runs what cannot be broken off on a thread of its own, and leaves it behind when time is up or a signal comes: the
/// process ends then.
///
/// # Errors
/// The work's; that it took too long, or was interrupted.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) fn abandonable<T: Send + 'static>(
    interrupt: &Interrupt,
    cancel: &Cancel,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    let (send, done) = channel();
    let run = move || {
        // Nobody may wait any more.
        let _left_behind = send.send(work());
    };
    thread::Builder::new()
        .name("ask".into())
        .spawn(run)
        .map_err(|e| Failure::Failed(format!("cannot start a thread: {e}")))?;
    loop {
        match done.recv_timeout(LOOK_EVERY) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => {
                interrupt.check()?;
                cancel.check().map_err(|e| Failure::Failed(e.to_string()))?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Failed("the asking thread stopped unexpectedly".into()));
            }
        }
    }
}
