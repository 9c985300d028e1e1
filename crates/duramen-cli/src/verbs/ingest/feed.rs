//! One source into the store, from where it is to be read on to its end.

use super::batch::{Batcher, Progressed};
use super::progress::Progress;
use crate::failure::Failure;
use crate::input::open::{Source, SourceKind, ends_too_early, read_failure};
use crate::input::pump::{CHUNK_BYTES, Chunk, Filling, Pump};
use crate::interrupt::Interrupt;
use duramen::{SourcePosition, Store};
use duramen_engine::io::Clock;
use duramen_formats::{EntryReader, Report};
use std::time::Duration;

/// How long lines of a stream wait for others before readers can see them.
const VISIBLE_WITHIN: Duration = Duration::from_millis(100);
/// An event of a stream whose lines come for longer than this without a pause is not waited for.
const WHOLE_WITHIN: Duration = Duration::from_secs(1);
/// How often to look for Ctrl-C while a file gives nothing.
const LOOK_UP: Duration = Duration::from_millis(500);
/// A line of a stream is held back until it is whole, unless it is longer than this.
const HOLD_BYTES: usize = 4 * CHUNK_BYTES;

/// What became of a source.
pub(super) struct Fed {
    /// What became of its lines.
    pub(super) report: Report,
    /// How many bytes were read of it this time.
    pub(super) read_bytes: u64,
    /// How many entries are in the store.
    pub(super) entries: u64,
    /// The earliest and latest time of an entry.
    pub(super) times: Option<(i64, i64)>,
    /// How far it is in the store, if it can be read again.
    pub(super) position: Option<SourcePosition>,
    /// Why it was not read to its end, as a sentence for the user.
    pub(super) cut_short: Option<String>,
    /// How it took, reading, parsing and appending.
    pub(super) elapsed: Duration,
}

/// Reads the source to its end, or until a signal stops it; what was read before is in the store.
///
/// # Errors
/// What the store said: it takes no more.
pub(super) fn feed(
    store: &Store,
    source: Source,
    mut reader: EntryReader,
    progressed: Option<Progressed>,
    context: &mut FeedContext<'_>,
) -> Result<Fed, Failure> {
    let is_file = matches!(source.kind, SourceKind::File { .. });
    let (filling, wait) =
        if is_file { (Filling::Whole, LOOK_UP) } else { (Filling::AsTheyCome, VISIBLE_WITHIN) };
    let started = context.clock.monotonic();
    let pump = Pump::start(source.reader, filling)
        .map_err(|e| Failure::Failed(format!("cannot start a thread: {e}")))?;
    let mut batcher = Batcher::new(store, progressed);
    let mut held = Vec::new();
    let mut read_bytes = 0;
    let mut unfinished = false;
    let mut gathering_since = None;
    let mut came_at = None;
    // How many entries there were before the event that is open, and how long it was waited for its end: time in which the
    // store made it wait does not count.
    let mut event = (0, Duration::ZERO);
    let mut cut_short = None;
    let mut goes_on_later = false;
    loop {
        // A file is there the next time. Of a stream, what has come is taken first.
        let stopping = context.interrupt.requested();
        if stopping && is_file {
            cut_short = Some(format!("{}: interrupted; run it again to go on", source.name));
            goes_on_later = true;
            break;
        }
        let was_unfinished = unfinished;
        let waits_since = context.clock.monotonic();
        let chunk = pump.next(wait);
        let waited = context.clock.monotonic().saturating_sub(waits_since);
        match chunk {
            Chunk::Bytes(bytes) => {
                read_bytes += bytes.len() as u64;
                batcher.read(&bytes);
                unfinished = true;
                if is_file {
                    reader.feed(&bytes, &mut batcher)?;
                } else {
                    reader.arrives_at(context.clock.now_unix_ns());
                    feed_whole_lines(&mut reader, &mut batcher, &mut held, &bytes)?;
                }
                pump.recycle(bytes);
                context.progress.moved(&source.read_bytes, read_bytes, reader.report().lines);
            }
            // A file's last event is over when the file is; a stream's, when nothing follows.
            Chunk::Idle if is_file => {}
            Chunk::Idle if stopping => break,
            Chunk::Idle => {
                if std::mem::take(&mut unfinished) {
                    reader.rest(&mut batcher)?;
                    batcher.append()?;
                }
            }
            Chunk::End => break,
            Chunk::Failed(error) => {
                cut_short = Some(read_failure(&source.name, source.compression, &error));
                goes_on_later = is_file && ends_too_early(&error);
                break;
            }
        }
        // A stream that never rests for long must become visible all the same: its first lines, too, before there are enough
        // of them to tell of the rest.
        let now = context.clock.monotonic();
        if !is_file
            && read_bytes > 0
            && reader.detected().is_none()
            && now.saturating_sub(*came_at.get_or_insert(now)) >= VISIBLE_WITHIN
        {
            reader.look(&mut batcher)?;
        }
        let entries = reader.report().entries;
        event = match event {
            (before, open) if unfinished && was_unfinished && before == entries => (before, open + waited),
            _ => (entries, Duration::ZERO),
        };
        if !is_file && event.1 >= WHOLE_WITHIN {
            reader.rest(&mut batcher)?;
            unfinished = false;
        }
        if batcher.is_empty() {
            gathering_since = None;
        } else if now.saturating_sub(*gathering_since.get_or_insert(now)) >= VISIBLE_WITHIN {
            batcher.append()?;
            gathering_since = None;
        }
    }
    if is_file && cut_short.is_none() {
        reader.look(&mut batcher)?;
        if reader.lacks_end() {
            cut_short =
                Some(format!("{}: its last record is not whole; run it again once it is", source.name));
            goes_on_later = true;
            reader.rest(&mut batcher)?;
        }
    }
    // The half line where a file was interrupted, or is still being copied, waits for the next run, with the event that it
    // may belong to; else it is all there is of it.
    if !goes_on_later {
        reader.feed(&held, &mut batcher)?;
        reader.finish(&mut batcher)?;
    }
    batcher.append()?;
    Ok(Fed {
        report: *reader.report(),
        read_bytes,
        entries: batcher.appended(),
        times: batcher.times(),
        position: batcher.position().cloned(),
        cut_short,
        elapsed: context.clock.monotonic().saturating_sub(started),
    })
}

/// What feeding needs of its surroundings.
pub(super) struct FeedContext<'a> {
    /// Monotonic time.
    pub(super) clock: &'a dyn Clock,
    /// Whether to stop.
    pub(super) interrupt: &'a Interrupt,
    /// Who is told how far it is.
    pub(super) progress: &'a mut Progress,
}

/// Hands over what there is up to the last line end, so that the reader can be told at any time that an
/// event is over without cutting a line that is still being written.
fn feed_whole_lines(
    reader: &mut EntryReader,
    batcher: &mut Batcher<'_>,
    held: &mut Vec<u8>,
    bytes: &[u8],
) -> duramen::Result<()> {
    match memchr::memrchr(b'\n', bytes) {
        Some(end) => {
            if !held.is_empty() {
                reader.feed(held, batcher)?;
                held.clear();
            }
            reader.feed(&bytes[..=end], batcher)?;
            held.extend_from_slice(&bytes[end + 1..]);
        }
        None => held.extend_from_slice(bytes),
    }
    if held.len() > HOLD_BYTES {
        reader.feed(held, batcher)?;
        held.clear();
    }
    Ok(())
}
