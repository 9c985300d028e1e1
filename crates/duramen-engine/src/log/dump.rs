//! The file, line by line: every frame that can be found, and what lies between them.

use super::format::{FRAME_BYTES, HEADER_BYTES, Header, Kind};
use super::frames::{Frame, Frames};
use super::survey::survey;
use crate::Error;
use crate::dump::{Line, Out, Stop, ops};
use crate::io::File;
use std::path::Path;

/// Tells what is in a log's file.
///
/// # Errors
/// [`Stop`]; [`Error::TooNew`]; [`Error::Io`].
pub(crate) fn dump(file: &dyn File, path: &Path, out: &mut Out<'_>) -> Result<(), Stop> {
    let found = survey(file, path, &mut |_| {})?;
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, 0).map_err(Error::io("read", path))?;
    if let Ok(header) = Header::decode(path, &bytes) {
        let line = Line::new("header", 1).text("store", format!("{:016x}", header.identity.store_id));
        let line = line.number("generation", header.identity.generation).number("base_end", header.base_end);
        out.line(line.number("base_seq", header.base_seq).number("boot", header.boot))?;
    }
    let mut damage = found.damage.iter().peekable();
    for stretch in &found.whole {
        while let Some(before) = damage.next_if(|damage| damage.offset.unwrap_or(0) < stretch.start) {
            told(before, out)?;
        }
        let mut frames = Frames::new(file, path, found.identity, stretch.start, stretch.end);
        while let Some(next) = frames.next()? {
            let hidden = found.hidden.iter().any(|hidden| hidden.contains(&next.at));
            frame(&next, hidden, out)?;
        }
    }
    damage.try_for_each(|damage| told(damage, out))?;
    if found.torn_bytes > 0 {
        let at = found.file_len - found.torn_bytes;
        let line = Line::new("torn", 1).number("offset", at).number("bytes", found.torn_bytes);
        out.line(line.text("detail", "no frame follows: a write that was cut off, or is going on"))?;
    }
    Ok(())
}

fn told(damage: &crate::kv::Damage, out: &mut Out<'_>) -> Result<(), Stop> {
    let place = damage.offset.map(|offset| offset..offset.saturating_add(damage.bytes.unwrap_or(0)));
    out.damage(place, &damage.detail)
}

fn frame(frame: &Frame<'_>, hidden: bool, out: &mut Out<'_>) -> Result<(), Stop> {
    let what = match frame.header.kind {
        Kind::Batch => "batch",
        Kind::Part => "part",
        Kind::Base => "base",
        Kind::Mark => "mark",
    };
    let line = Line::new(what, 1).number("offset", frame.at).number("seq", frame.header.seq);
    let line = line.number("bytes", FRAME_BYTES + frame.payload.len());
    let line = line.number("synced_through", frame.header.synced_through(frame.at));
    let line = if hidden { line.text("detail", "does not count: its batch is missing") } else { line };
    // All of a base frame's writes have the sequence number up to which it says what there is.
    ops(line, frame.payload, frame.header.seq, frame.header.kind == Kind::Base, out)
}
