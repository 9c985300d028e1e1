//! Reading every byte of a table and listing every damage.
//!
//! The walk goes from frame to frame. Where a frame's checksum fails, its length may be what is wrong, and
//! then the next frame cannot be found by it. So the walk knows *landmarks*, places where frames are known
//! to start (from index and footer, if these are whole), and resumes at the next one unless the lengths
//! prove themselves right by leading exactly there.

use super::BlockMeta;
use super::format::{FOOTER_BYTES, FRAME_BYTES, Footer, HEADER_BYTES, u32_at};
use super::index::Index;
use super::table::{Table, open_file, read_footer, read_index};
use crate::io::{Env, File};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a damaged place of a table was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The first bytes of the file: what it is and in which format.
    Header,
    /// A chunk of data: of the block named beside it, or of none.
    Chunk,
    /// A block's directory: without it the block cannot be opened.
    Directory,
    /// A block's filter: without it the block can only be searched in full.
    Filter,
    /// The table's index: without it the table cannot be opened.
    Index,
    /// The table's properties.
    Properties,
    /// The last bytes of the file.
    Footer,
}

/// A damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the start of the file; for a chunk, that of its frame.
    pub offset: u64,
    /// How many bytes cannot be trusted.
    pub bytes: u64,
    /// Which block it belongs to, if it is known and there is one.
    pub block: Option<usize>,
    /// What it was for, as far as index and footer tell.
    pub part: Part,
    /// What was expected and what was found.
    pub detail: String,
}

/// What [`Table::verify`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// The file.
    pub path: PathBuf,
    /// Its length in bytes.
    pub file_bytes: u64,
    /// How many chunks are whole, the table's own two included.
    pub chunks: u64,
    /// How many blocks the index lists; 0 if it is damaged.
    pub blocks: u64,
    /// How many entries they hold.
    pub entries: u64,
    /// Every damage, in the order of the file.
    pub damage: Vec<Damage>,
}

impl TableReport {
    /// Whether every byte is as it was written.
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty()
    }
}

impl Table {
    /// Reads every byte of a table, checks every checksum, and lists every damage rather than stop at the
    /// first. Takes little memory whatever the table's size, and needs no codec.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be opened, [`Error::TooNew`] for a later format. Damage, and places
    /// that cannot be read, are no error but in the report.
    pub fn verify(env: &Env, path: impl AsRef<Path>) -> Result<TableReport> {
        let path = path.as_ref();
        let (file, file_bytes, header) = open_file(env, path)?;
        let mut damage = Vec::new();
        if let Err(error) = header {
            let bytes = file_bytes.min(HEADER_BYTES as u64);
            damage.push(whole_part(0, bytes, Part::Header, refuse_newer(error)?));
        }
        let footer = match read_footer(&*file, path, file_bytes) {
            Ok(footer) => Some(footer),
            Err(error) => {
                let offset = file_bytes.saturating_sub(FOOTER_BYTES as u64);
                damage.push(whole_part(offset, file_bytes - offset, Part::Footer, error));
                None
            }
        };
        let index = footer.as_ref().and_then(|footer| match read_index(&*file, path, footer) {
            Ok((index, _)) => Some(index),
            Err(error) => {
                let in_properties =
                    matches!(&error, Error::Corruption { offset, .. } if *offset == footer.properties.offset);
                let (part, at) = if in_properties {
                    (Part::Properties, footer.properties)
                } else {
                    (Part::Index, footer.index)
                };
                let frame = FRAME_BYTES as u64;
                damage.push(whole_part(at.offset - frame, u64::from(at.len) + frame, part, error));
                None
            }
        });
        let mut walk = Walk { file: &*file, footer, index: index.as_ref(), chunks: 0, damage };
        let end = file_bytes.saturating_sub(FOOTER_BYTES as u64);
        walk.run(end);
        let Walk { chunks, mut damage, .. } = walk;
        // Index and properties were looked at twice: as frames, and for what they say.
        damage.sort_by_key(|d| (d.offset, d.bytes));
        damage.dedup_by_key(|d| d.offset);
        let blocks = index.as_ref().map_or(0, |index| index.blocks.len() as u64);
        let entries = footer.map_or(0, |footer| footer.entries);
        Ok(TableReport { path: path.to_path_buf(), file_bytes, chunks, blocks, entries, damage })
    }
}

/// A file of a later format is not damaged.
fn refuse_newer(error: Error) -> Result<Error> {
    if matches!(error, Error::TooNew { .. }) { Err(error) } else { Ok(error) }
}

fn whole_part(offset: u64, bytes: u64, part: Part, error: Error) -> Damage {
    let detail = match error {
        Error::Corruption { detail, .. } => detail,
        other => other.to_string(),
    };
    Damage { offset, bytes, block: None, part, detail }
}

struct Walk<'a> {
    file: &'a dyn File,
    footer: Option<Footer>,
    index: Option<&'a Index>,
    chunks: u64,
    damage: Vec<Damage>,
}

/// A frame as it says it is.
struct Frame {
    next: u64,
    whole: bool,
}

impl Walk<'_> {
    fn run(&mut self, end: u64) {
        let known = self.known_frames();
        let mut landmarks: BTreeSet<u64> = known.iter().flat_map(|(&start, &end)| [start, end]).collect();
        landmarks.extend(self.index.iter().flat_map(|index| &index.ends));
        landmarks.insert(end);
        let mut buffer = vec![0; 1 << 18];
        let mut at = HEADER_BYTES as u64;
        while at < end {
            let limit = landmarks.range(at + 1..).next().copied().unwrap_or(end);
            let (next, detail) = match self.frame(at, limit, &mut buffer) {
                Ok(frame) if frame.whole => {
                    self.chunks += 1;
                    at = frame.next;
                    continue;
                }
                Ok(frame)
                    if !known.contains_key(&at) && self.lengths_hold(frame.next, limit, &mut buffer) =>
                {
                    (frame.next, "its checksum does not match".to_owned())
                }
                Ok(_) => (limit, "its length or its checksum does not match".to_owned()),
                Err(detail) => (limit, detail),
            };
            let (block, part) = self.place(at);
            self.damage.push(Damage { offset: at, bytes: next - at, block, part, detail });
            at = next;
        }
    }

    /// The frames that index and footer know: where each starts and ends.
    fn known_frames(&self) -> BTreeMap<u64, u64> {
        let blocks = self.index.iter().flat_map(|index| &index.blocks);
        let of_blocks = blocks.flat_map(|block| std::iter::once(&block.directory).chain(&block.filters));
        let of_footer = self.footer.iter().flat_map(|footer| [footer.index, footer.properties]);
        of_blocks
            .copied()
            .chain(of_footer)
            .filter_map(|handle| handle.frame_start().zip(handle.end()))
            .collect()
    }

    /// Reads the frame at `at`, which must end by `limit`.
    fn frame(&self, at: u64, limit: u64, buffer: &mut [u8]) -> Result<Frame, String> {
        let mut header = [0; FRAME_BYTES];
        let payload = at + FRAME_BYTES as u64;
        if payload > limit {
            return Err(format!("{} bytes are too few for a chunk", limit - at));
        }
        self.file.read_exact_at(&mut header, at).map_err(|e| format!("it cannot be read: {e}"))?;
        let len = u32_at(&header, 0);
        let next = payload + u64::from(len);
        if next > limit {
            return Err(format!("its frame says {len} bytes where at most {} can be", limit - payload));
        }
        let mut crc = crc32c::crc32c(&header[0..4]);
        let mut from = payload;
        while from < next {
            let piece = (next - from).min(buffer.len() as u64) as usize;
            let piece = &mut buffer[..piece];
            if self.file.read_exact_at(piece, from).is_err() {
                return Ok(Frame { next, whole: false });
            }
            crc = crc32c::crc32c_append(crc, piece);
            from += piece.len() as u64;
        }
        Ok(Frame { next, whole: crc == u32_at(&header, 4) })
    }

    /// Whether the lengths of the frames from `at` on can be believed: they lead exactly to the landmark,
    /// or the very next frame is whole.
    fn lengths_hold(&self, at: u64, limit: u64, buffer: &mut [u8]) -> bool {
        let mut place = at;
        while place + FRAME_BYTES as u64 <= limit {
            let mut header = [0; FRAME_BYTES];
            if self.file.read_exact_at(&mut header, place).is_err() {
                break;
            }
            place += FRAME_BYTES as u64 + u64::from(u32_at(&header, 0));
        }
        place == limit || self.frame(at, limit, buffer).is_ok_and(|frame| frame.whole)
    }

    /// Whose frame it is that starts at `at`.
    fn place(&self, at: u64) -> (Option<usize>, Part) {
        let starts_at = |handle: super::ChunkHandle| handle.frame_start() == Some(at);
        if self.footer.is_some_and(|footer| starts_at(footer.index)) {
            return (None, Part::Index);
        }
        if self.footer.is_some_and(|footer| starts_at(footer.properties)) {
            return (None, Part::Properties);
        }
        let is_filter_of = |meta: &BlockMeta| meta.filters.iter().any(|&filter| starts_at(filter));
        let Some(index) = self.index else { return (None, Part::Chunk) };
        let block = index.ends.partition_point(|&end| end <= at);
        match index.blocks.get(block) {
            Some(meta) if starts_at(meta.directory) => (Some(block), Part::Directory),
            Some(meta) if is_filter_of(meta) => (Some(block), Part::Filter),
            Some(_) => (Some(block), Part::Chunk),
            None => match index.blocks.iter().position(is_filter_of) {
                Some(block) => (Some(block), Part::Filter),
                None => (None, Part::Chunk),
            },
        }
    }
}
