//! The bytes of the manifest file. All numbers are little-endian; every checksum is CRC-32C.
//!
//! ```text
//! file    header | snapshot frame | edit frame * any number | mark frame
//!
//! header (24 bytes)    its form never changes, so that any version can tell which one wrote a file
//!  0      8         12     20        24
//!  +------+---------+------+--------+
//!  | magic| version | gen. | crc32c |    magic "DURA\rMAN"; version u32; crc of bytes 0..20
//!  +------+---------+------+--------+    generation u64: one more each time the file is replaced
//!
//! frame
//!  0      4         8      9         17
//!  +------+---------+------+---------+----------------
//!  | len  | crc32c  | kind | version | payload: len bytes     crc of len and of all that follows it
//!  +------+---------+------+---------+----------------
//!
//!  kind 1  snapshot   payload: the state, CBOR     version: that state's
//!  kind 2  edit       payload: the edit, CBOR      version: that of the state it leads to
//!  kind 3  mark       no payload                   version: the state of this version is durable
//! ```
//!
//! **What a bad frame means.** An edit is acknowledged once it is synced; then a mark is written after it,
//! itself not synced, and the next edit is written over the mark. A bad tail with nothing valid after it
//! is an edit that was cut off before it was acknowledged: it is left out, and the owner writes the file
//! anew. A bad frame with a valid one after it was whole once: that is damage, and an error. So the mark
//! protects the last acknowledged edit, which else would look just like one that was cut off. A new file has its mark
//! from the start, behind the snapshot. So one without a mark was left by who died between the edit and the
//! mark, or while writing the edit; by a loss of power before the mark was on the device; or it has lost its end. And since
//! there is never more than one frame after what is synced, no loss of power can leave the later of two
//! and take the earlier.

use super::cbor::{decode_edit, decode_state};
use super::state::State;
use crate::{Error, Result};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

pub(super) const VERSION: u32 = 1;
pub(super) const HEADER_BYTES: usize = 24;
pub(super) const FRAME_BYTES: usize = 17;
/// The first bytes of a manifest.
pub(crate) const MAGIC: &[u8; 8] = b"DURA\rMAN";

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Snapshot = 1,
    Edit = 2,
    Mark = 3,
}

/// The header of a manifest in the present format.
pub(super) fn encode_header(generation: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&generation.to_le_bytes());
    let crc = crc32c::crc32c(&header[0..20]);
    header[20..24].copy_from_slice(&crc.to_le_bytes());
    header
}

/// Checks a header and returns the generation.
pub(super) fn decode_header(path: &Path, bytes: &[u8]) -> Result<u64> {
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        let detail = format!("it is {} bytes long, too short for a manifest", bytes.len());
        return Err(Error::corruption(path, 0, detail));
    };
    if &header[0..8] != MAGIC {
        return Err(Error::corruption(
            path,
            0,
            "it does not begin with a manifest's magic: not a manifest, or overwritten",
        ));
    }
    if crc32c::crc32c(&header[0..20]) != u32_at(header, 20) {
        return Err(Error::corruption(path, 0, "the checksum of the header does not match"));
    }
    match u32_at(header, 8) {
        VERSION => Ok(u64_at(header, 12)),
        0 => Err(Error::corruption(path, 8, "the header has format version 0, which never was")),
        found => Err(Error::TooNew { path: path.to_path_buf(), found, supported: VERSION }),
    }
}

/// A frame's bytes.
pub(super) fn encode_frame(kind: Kind, version: u64, payload: &[u8]) -> Result<Vec<u8>> {
    let len = u32::try_from(payload.len()).map_err(|_| {
        Error::InvalidArgument(format!("manifest: {} bytes are too many for a frame", payload.len()))
    })?;
    let mut frame = Vec::with_capacity(FRAME_BYTES + payload.len());
    frame.extend_from_slice(&len.to_le_bytes());
    frame.extend_from_slice(&[0; 4]);
    frame.push(kind as u8);
    frame.extend_from_slice(&version.to_le_bytes());
    frame.extend_from_slice(payload);
    let crc = frame_crc(&frame);
    frame[4..8].copy_from_slice(&crc.to_le_bytes());
    Ok(frame)
}

fn frame_crc(frame: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame[0..4]), &frame[8..])
}

/// A frame whose checksum holds.
pub(super) struct Frame<'a> {
    pub(super) kind: u8,
    pub(super) version: u64,
    pub(super) payload: &'a [u8],
    /// The whole frame's length.
    pub(super) bytes: usize,
}

/// The frame at the start of `bytes`, or what is wrong.
pub(super) fn read_frame(bytes: &[u8]) -> Result<Frame<'_>, &'static str> {
    let header = bytes.get(..FRAME_BYTES).ok_or("a frame is cut short")?;
    let end = (u32_at(header, 0) as usize).checked_add(FRAME_BYTES).ok_or("a frame is longer than memory")?;
    let frame = bytes.get(..end).ok_or("a frame is longer than the file")?;
    if frame_crc(frame) != u32_at(frame, 4) {
        return Err("a frame's checksum does not match");
    }
    Ok(Frame { kind: frame[8], version: u64_at(frame, 9), payload: &frame[FRAME_BYTES..], bytes: end })
}

/// What the frames of a file lead to.
#[derive(Clone, Debug)]
pub(super) struct Replayed {
    /// The state.
    pub(super) state: Arc<State>,
    /// How many bytes of the input hold it: what follows is a mark, or was cut off while it was written.
    pub(super) valid: usize,
    /// How many of these the snapshot takes; 0 if there was none to read.
    pub(super) snapshot: usize,
    /// Whether a mark follows that says that the state is durable.
    pub(super) marked: bool,
}

impl Replayed {
    /// Whether nothing follows but the mark, of so many bytes of input.
    pub(super) fn ends_in_mark(&self, bytes: usize) -> bool {
        self.marked && bytes == self.valid + FRAME_BYTES
    }
}

/// Replays the frames in `bytes`, which begin `offset` bytes into the file: from a snapshot if `state` is
/// `None`, else edits upon `state`.
pub(super) fn replay(path: &Path, offset: u64, bytes: &[u8], state: Option<Arc<State>>) -> Result<Replayed> {
    let damaged = |at: usize, detail: &dyn Display| Error::corruption(path, offset + at as u64, detail);
    let (mut state, snapshot) = match state {
        Some(state) => (state, 0),
        None => read_snapshot(bytes).map_err(|detail| damaged(0, &detail))?,
    };
    let mut at = snapshot;
    let mut bad = None;
    let mut marked = false;
    while at < bytes.len() {
        match read_frame(&bytes[at..]) {
            Ok(frame)
                if frame.kind == Kind::Edit as u8 && Some(frame.version) == state.version.checked_add(1) =>
            {
                let edit =
                    decode_edit(frame.payload).map_err(|e| damaged(at, &format_args!("the edit: {e}")))?;
                Arc::make_mut(&mut state).advance(&edit).map_err(|e| damaged(at, &e))?;
                at += frame.bytes;
            }
            Ok(frame) if frame.kind == Kind::Mark as u8 && frame.version == state.version => {
                marked = true;
                break;
            }
            Ok(frame) => {
                let (kind, found, version) = (frame.kind, frame.version, state.version);
                let detail =
                    format!("a frame of kind {kind} and version {found} cannot follow version {version}");
                return Err(damaged(at, &detail));
            }
            Err(detail) => {
                bad = Some(detail);
                break;
            }
        }
    }
    if let Some(later) = later_frame(&bytes[at..], state.version) {
        let detail = bad.unwrap_or("an edit is missing");
        return Err(damaged(
            at,
            &format_args!("{detail}, but a valid frame follows at byte {}", offset + (at + later) as u64),
        ));
    }
    Ok(Replayed { state, valid: at, snapshot, marked })
}

/// The snapshot at the start of `bytes`, and its frame's length. A manifest gets its name only once its
/// snapshot is synced, so this frame is never half written.
fn read_snapshot(bytes: &[u8]) -> Result<(Arc<State>, usize), String> {
    let frame = read_frame(bytes)?;
    if frame.kind != Kind::Snapshot as u8 {
        return Err("the first frame is not a snapshot".into());
    }
    let state = decode_state(frame.payload).map_err(|e| format!("the snapshot: {e}"))?;
    if state.version != frame.version {
        return Err("the snapshot is not of the version its frame says".into());
    }
    Ok((Arc::new(state), frame.bytes))
}

/// Where in `bytes`, after the first, a frame begins that belongs to a version above `version`. The kind
/// and version that it must have leave few places whose checksum has to be computed.
fn later_frame(bytes: &[u8], version: u64) -> Option<usize> {
    (1..bytes.len()).find(|&at| {
        let Some(header) = bytes[at..].get(..FRAME_BYTES) else { return false };
        let (kind, found) = (header[8], u64_at(header, 9));
        let may_follow = (kind == Kind::Edit as u8 || kind == Kind::Mark as u8)
            && found > version
            && found - version <= bytes.len() as u64;
        may_follow && read_frame(&bytes[at..]).is_ok()
    })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}
