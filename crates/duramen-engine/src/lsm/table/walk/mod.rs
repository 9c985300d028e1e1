//! Going through a table's file whatever of it is damaged: what is whole is given, what is not is named.
//!
//! Where the table's index is whole, the walk goes partition by partition; where a partition's directory is, block by
//! block, so that a damaged block costs nothing but itself. Without the one or the other, it follows the chunks by
//! their lengths, and knows blocks by what they hold: every row readable and all in order, which no other chunk has.
//! There it ends at a chunk whose length cannot be trusted; what lies behind could be searched for, but a table
//! that somebody stored as a value would be found as well.
//!
//! | module | one idea |
//! |---|---|
//! | this one | where the index is whole |
//! | `content` | where it is not |
//! | `check` | whether bytes are a block, and every row of it |

mod check;
mod content;

use super::block::Block;
use super::directory::{Directory, data_end};
use super::{CODEC_ID, compress, properties, tombstones};
use crate::io::{Env, File, OpenMode};
use crate::kv::OpKind;
use crate::lsm::cursor::RangeTombstone;
use crate::memory::SharedBytes;
use crate::sstable::filter::FuseFilter;
use crate::sstable::{ChunkHandle, FRAME_BYTES, Table, TableParts, check_frame};
use crate::{Error, Result};
use check::{Checked, LastRow, rows_of};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest chunk that is read where nothing but the chunk itself says how long it is.
const MAX_CHUNK_BYTES: u64 = 128 << 20;

/// A table's file, open, with as much of it known as is whole.
#[derive(Debug)]
pub(crate) struct TableWalk {
    file: Arc<dyn File>,
    path: PathBuf,
    file_bytes: u64,
    parts: Result<TableParts, String>,
}

/// What a walk comes to.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    /// A data block, every row of it checked.
    Block(WholeBlock<'a>),
    /// The table's deleted ranges.
    Ranges(Vec<RangeTombstone>),
    /// Something that is damaged.
    Damaged(DamagedPart),
}

/// A data block, every row of it checked.
#[derive(Debug)]
pub(crate) struct WholeBlock<'a> {
    /// The partition, if the table's index is whole.
    pub(crate) partition: Option<usize>,
    /// Where its chunk's frame lies in the file.
    pub(crate) range: Range<u64>,
    /// How many rows it has: at least 1.
    pub(crate) rows: usize,
    pub(crate) first_key: &'a [u8],
    pub(crate) last_key: &'a [u8],
    block: &'a Block,
}

/// What a damaged place was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Header, index, properties or footer of the file: whether it is a table at all.
    Container,
    /// Rows.
    Block,
    /// Only to find rows faster: nothing is lost.
    Filter,
    /// To find the blocks of a partition: nothing is lost if they can be followed by their lengths.
    Directory,
    /// The deleted ranges.
    Ranges,
}

/// Something that is damaged.
#[derive(Clone, Debug)]
pub(crate) struct DamagedPart {
    pub(crate) role: Role,
    pub(crate) partition: Option<usize>,
    /// Where it lies in the file.
    pub(crate) range: Range<u64>,
    pub(crate) detail: String,
}

impl WholeBlock<'_> {
    /// Gives every row: key, sequence number, kind, value.
    pub(crate) fn each_row(
        &self,
        mut row: impl FnMut(&[u8], u64, OpKind, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut failed = Ok(());
        let _checked_before = rows_of(self.block, |key, at| {
            let value = self.block.bytes().get(at.value.clone()).unwrap_or_default();
            failed = row(key, at.seq, at.kind, value);
            failed.is_ok()
        });
        failed
    }
}

impl TableWalk {
    /// Opens a table's file. Damage is no error.
    ///
    /// # Errors
    /// [`Error::TooNew`]; [`Error::InvalidArgument`] for a table of something else; [`Error::Io`].
    pub(crate) fn open(env: &Env, path: &Path) -> Result<Self> {
        let file = env.fs.open(path, OpenMode::Read).map_err(Error::io("open", path))?;
        let file_bytes = file.len().map_err(Error::io("measure", path))?;
        let parts = match Table::parts(env, path, CODEC_ID) {
            Ok(parts) => Ok(parts),
            Err(Error::Corruption { detail, .. }) => Err(detail),
            Err(Error::Io { source, .. }) => Err(format!("it cannot be read: {source}")),
            Err(other) => return Err(other),
        };
        Ok(Self { file, path: path.to_path_buf(), file_bytes, parts })
    }

    /// Index and properties, or what is wrong with them.
    pub(crate) fn parts(&self) -> Result<&TableParts, &str> {
        self.parts.as_ref().map_err(String::as_str)
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Goes through the whole file, in order; deleted ranges come last. `visit` is told how far it is.
    ///
    /// # Errors
    /// What `visit` says; [`Error::Io`] for what the file system said, unless it is of one place only: that is
    /// damage, too.
    pub(crate) fn run(&self, visit: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        match &self.parts {
            Ok(parts) => self.by_index(parts, visit),
            Err(detail) => {
                let range = 0..self.file_bytes;
                let detail = detail.clone();
                visit(Item::Damaged(DamagedPart { role: Role::Container, partition: None, range, detail }))?;
                self.by_content(visit)
            }
        }
    }

    fn by_index(&self, parts: &TableParts, visit: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        let mut last = LastRow::default();
        for (i, (meta, range)) in parts.blocks.iter().zip(&parts.ranges).enumerate() {
            let damaged = |role, at: ChunkHandle, detail| {
                let start = at.offset.saturating_sub(FRAME_BYTES as u64);
                let range = start..at.offset + u64::from(at.len);
                Item::Damaged(DamagedPart { role, partition: Some(i), range, detail })
            };
            let filter = meta.filters.first().copied();
            let data_end = data_end(meta.directory, filter);
            let data_bytes = data_end.saturating_sub(range.start);
            let filter = filter.map(|at| {
                self.chunk(at)
                    .and_then(|bytes| FuseFilter::decode(&bytes).map_err(str::to_owned))
                    .map_err(|e| (at, e))
            });
            let directory = self
                .chunk(meta.directory)
                .and_then(|bytes| Directory::decode(&bytes, data_bytes).map_err(str::to_owned));
            let filter = match filter.transpose() {
                Ok(filter) => filter,
                Err((at, detail)) => {
                    visit(damaged(Role::Filter, at, detail))?;
                    None
                }
            };
            let mut lookout = Lookout { walk: self, partition: i, filter: filter.as_ref(), last: &mut last };
            match directory {
                Ok(directory) => {
                    let frames = (0..directory.len()).filter_map(|chunk| directory.frame(chunk));
                    for frame in
                        frames.map(|f| range.start + u64::from(f.start)..range.start + u64::from(f.end))
                    {
                        lookout.block(frame, visit)?;
                    }
                }
                Err(detail) => {
                    visit(damaged(Role::Directory, meta.directory, detail))?;
                    let mut at = range.start;
                    while at < data_end {
                        let Some(next) = self.next_frame(at, data_end) else {
                            let detail = "its length makes no sense".to_owned();
                            let (role, partition) = (Role::Block, Some(i));
                            visit(Item::Damaged(DamagedPart {
                                role,
                                partition,
                                range: at..data_end,
                                detail,
                            }))?;
                            break;
                        };
                        lookout.block(at..next, visit)?;
                        at = next;
                    }
                }
            }
        }
        self.ranges(parts, visit)
    }

    fn ranges(&self, parts: &TableParts, visit: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        let Some(bytes) = parts.properties.get(properties::RANGE_TOMBSTONES) else { return Ok(()) };
        let damaged = |range, detail| DamagedPart { role: Role::Ranges, partition: None, range, detail };
        let Some(at) = properties::decode_handle(bytes) else {
            let range = parts.chunks_end..parts.chunks_end;
            let detail = "deleted ranges that cannot be found".to_owned();
            return visit(Item::Damaged(damaged(range, detail)));
        };
        let found = self.chunk(at).and_then(|bytes| tombstones::decode(&bytes).map_err(str::to_owned));
        match found {
            Ok(ranges) => visit(Item::Ranges(ranges)),
            Err(detail) => {
                let range =
                    at.offset.saturating_sub(FRAME_BYTES as u64)..at.offset.saturating_add(at.len.into());
                visit(Item::Damaged(damaged(range, detail)))
            }
        }
    }

    /// Where the frame at `at` ends by its own length, if that can be believed: it is whole, or the next one is, or it
    /// ends where it must.
    fn next_frame(&self, at: u64, end: u64) -> Option<u64> {
        let next = self.frame_end(at, end)?;
        let whole = |from: u64| self.frame_end(from, end).is_some_and(|to| self.frame(from..to).is_ok());
        (next == end || whole(at) || whole(next)).then_some(next)
    }

    fn frame_end(&self, at: u64, end: u64) -> Option<u64> {
        let mut len = [0; 4];
        self.file.read_exact_at(&mut len, at).ok()?;
        let len = FRAME_BYTES as u64 + u64::from(u32::from_le_bytes(len));
        at.checked_add(len).filter(|next| *next <= end && len <= MAX_CHUNK_BYTES)
    }

    /// A chunk's payload, verified.
    fn chunk(&self, at: ChunkHandle) -> Result<SharedBytes, String> {
        let start = at.offset.checked_sub(FRAME_BYTES as u64);
        let end = at.offset.checked_add(u64::from(at.len)).filter(|end| *end <= self.file_bytes);
        let Some((start, end)) = start.zip(end) else { return Err("a chunk outside the file".to_owned()) };
        self.frame(start..end).map(|bytes| bytes.get(FRAME_BYTES..).unwrap_or_default().into())
    }

    /// A whole frame, verified.
    fn frame(&self, range: Range<u64>) -> Result<SharedBytes, String> {
        if range.end > self.file_bytes {
            return Err("a chunk outside the file".to_owned());
        }
        let bytes = SharedBytes::new((range.end - range.start) as usize, None, |place| {
            self.file.read_exact_at(place, range.start).map_err(|e| format!("it cannot be read: {e}"))
        })?;
        check_frame(&bytes)?;
        Ok(bytes)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads the blocks of one partition.
struct Lookout<'a> {
    walk: &'a TableWalk,
    partition: usize,
    filter: Option<&'a FuseFilter>,
    last: &'a mut LastRow,
}

impl Lookout<'_> {
    fn block(&mut self, range: Range<u64>, visit: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        let found = self.walk.frame(range.clone()).and_then(|bytes| {
            let len = bytes.len();
            let block = compress::open(bytes, FRAME_BYTES..len, None).map_err(str::to_owned)?;
            let checked = Checked::of(block, self.last).map_err(str::to_owned)?;
            checked.are_in(self.filter)?;
            Ok(checked)
        });
        match found {
            Ok(checked) => checked.give(Some(self.partition), range, self.last, visit),
            Err(detail) => {
                let (role, partition) = (Role::Block, Some(self.partition));
                visit(Item::Damaged(DamagedPart { role, partition, range, detail }))
            }
        }
    }
}
