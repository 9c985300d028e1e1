//! The manifest, line by line: its frames, then the state that they lead to.

use super::cbor::{decode_edit, decode_state};
use super::log::{HEADER_BYTES, Kind, decode_header, read_frame, replay};
use super::state::{Edit, State, TableMeta};
use crate::dump::{Line, Out, Stop};
use crate::lsm::{facts_line, opening_line};
use std::path::Path;

/// Tells what is in the bytes of a manifest.
///
/// # Errors
/// [`Stop`]; [`crate::Error::TooNew`].
pub(crate) fn dump(path: &Path, bytes: &[u8], out: &mut Out<'_>) -> Result<(), Stop> {
    match decode_header(path, bytes) {
        Ok(generation) => out.line(Line::new("header", 1).number("generation", generation))?,
        Err(error) => out.failure(error)?,
    }
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        match read_frame(&bytes[at..]) {
            Ok(found) => {
                let line = |what| {
                    let line = Line::new(what, 1).number("offset", at).number("bytes", found.bytes);
                    line.number("version", found.version)
                };
                frame(at, found.kind, found.payload, line, out)?;
                at += found.bytes;
            }
            Err(detail) => {
                let Some(next) = next_frame(bytes, at) else {
                    let line = Line::new("torn", 1).number("offset", at).number("bytes", bytes.len() - at);
                    out.line(line.text("detail", format!("{detail}; nothing whole follows")))?;
                    break;
                };
                out.damage(Some(at as u64..next as u64), detail)?;
                at = next;
            }
        }
    }
    let frames = bytes.get(HEADER_BYTES..).unwrap_or_default();
    match replay(path, HEADER_BYTES as u64, frames, None) {
        Ok(replayed) => state(&replayed.state, out),
        // What was wrong with the frames is told; that they do not fit each other is not.
        Err(error) => out.line(Line::new("state", 1).text("detail", format!("cannot be told: {error}"))),
    }
}

/// Where the next frame begins behind a bad one at `bad`.
fn next_frame(bytes: &[u8], bad: usize) -> Option<usize> {
    // A checksum is computed only where a frame's kind and a length within the file are.
    let could_be = |at: usize| (1..=3).contains(bytes.get(at + 8).unwrap_or(&0));
    (bad + 1..bytes.len()).find(|at| could_be(*at) && read_frame(&bytes[*at..]).is_ok())
}

fn frame(
    at: usize,
    kind: u8,
    payload: &[u8],
    line: impl Fn(&'static str) -> Line,
    out: &mut Out<'_>,
) -> Result<(), Stop> {
    let place = Some(at as u64..at as u64);
    match kind {
        kind if kind == Kind::Snapshot as u8 => match decode_state(payload) {
            Ok(state) => {
                let line = line("snapshot").number("tables", state.tables.len());
                out.item(line.number("writers", state.writers.len()).number("values", state.values.len()))
            }
            Err(error) => out.damage(place, &format!("the snapshot: {error}")),
        },
        kind if kind == Kind::Edit as u8 => match decode_edit(payload) {
            Ok(found) => {
                out.item(line("edit"))?;
                edit(&found, out)
            }
            Err(error) => out.damage(place, &format!("the edit: {error}")),
        },
        kind if kind == Kind::Mark as u8 => out.item(line("mark")),
        other => out.damage(place, &format!("there is no kind {other} of frames")),
    }
}

fn edit(edit: &Edit, out: &mut Out<'_>) -> Result<(), Stop> {
    for number in &edit.remove_tables {
        out.item(Line::new("remove_table", 2).number("number", *number))?;
    }
    for (number, user) in &edit.set_table_user {
        out.item(facts_line(Line::new("set_table", 2).number("number", *number), user))?;
    }
    for meta in &edit.add_tables {
        out.item(table("add_table", meta))?;
    }
    for (writer, through) in &edit.flushed {
        out.item(writer_line("flushed", *writer).number("through_segment", *through))?;
    }
    for writer in &edit.forget_writers {
        out.item(writer_line("forget_writer", *writer))?;
    }
    for key in &edit.remove_values {
        out.item(Line::new("remove_value", 2).bytes("key", key))?;
    }
    for (key, value) in &edit.set_values {
        out.item(value_line("set_value", key, value, out))?;
    }
    match edit.next_table {
        Some(next) => out.item(Line::new("next_table", 2).number("number", next)),
        None => Ok(()),
    }
}

fn state(state: &State, out: &mut Out<'_>) -> Result<(), Stop> {
    let line = Line::new("state", 1).text("store", format!("{:016x}", state.store_id));
    let line = line.number("version", state.version).number("tables", state.tables.len());
    out.line(line.number("next_table", state.next_table))?;
    for meta in state.tables.values() {
        out.item(table("table", meta))?;
    }
    for (writer, through) in &state.writers {
        out.item(writer_line("writer", *writer).number("through_segment", *through))?;
    }
    for (key, value) in &state.values {
        out.item(value_line("value", key, value, out))?;
    }
    Ok(())
}

fn table(what: &'static str, meta: &TableMeta) -> Line {
    let line = Line::new(what, 2).number("number", meta.number).text("path", &meta.path);
    let line = line.number("bytes", meta.file_bytes).number("entries", meta.entries);
    let line = line.number("blocks", meta.blocks);
    facts_line(line.bytes("min_key", &meta.min_key).bytes("max_key", &meta.max_key), &meta.user)
}

fn writer_line(what: &'static str, writer: u64) -> Line {
    Line::new(what, 2).text("writer", format!("{writer:016x}"))
}

fn value_line(what: &'static str, key: &[u8], value: &[u8], out: &Out<'_>) -> Line {
    let line = Line::new(what, 2).bytes("key", key).number("value_bytes", value.len());
    match (key, <[u8; 8]>::try_from(value)) {
        (crate::lsm::FLUSHED_SEQ, Ok(seq)) => line.number("seq", u64::from_le_bytes(seq)),
        (crate::lsm::OPENING, _) => opening_line(line, value),
        _ if out.options().values => line.bytes("value", value),
        _ => line,
    }
}
