//! Reading a table.

use super::format::{FOOTER_BYTES, FRAME_BYTES, Footer, HEADER_BYTES, decode_header};
use super::index::{Index, decode_properties};
use super::memory::check_frame;
use super::{BlockCodec, BlockMeta, ChunkHandle, ChunkSource};
use crate::io::{Env, File, OpenMode};
use crate::{Error, Result, memory};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table opened for reading. It holds the file open: reading goes on after the file's name is gone.
/// Threads may share one; reads take no lock.
#[derive(Debug)]
pub struct Table {
    file: Arc<dyn File>,
    path: PathBuf,
    file_bytes: u64,
    chunks_end: u64,
    entries: u64,
    index: Index,
    properties: BTreeMap<String, Vec<u8>>,
}

/// All that an open table is, for who reads its chunks in another way.
#[derive(Debug)]
pub(crate) struct TableParts {
    pub(crate) file: Arc<dyn File>,
    pub(crate) file_bytes: u64,
    /// What the index knows of each block; handles lie inside their blocks.
    pub(crate) blocks: Vec<BlockMeta>,
    /// Where in the file each block's chunks lie, frames included.
    pub(crate) ranges: Vec<Range<u64>>,
    /// Where the chunks end.
    pub(crate) chunks_end: u64,
    pub(crate) properties: BTreeMap<String, Vec<u8>>,
}

impl Table {
    pub(crate) fn into_parts(self) -> TableParts {
        let Self { file, file_bytes, chunks_end, index, properties, .. } = self;
        let ranges = (0..index.blocks.len()).zip(&index.ends).map(|(i, &end)| index.start(i)..end).collect();
        let Index { blocks, .. } = index;
        TableParts { file, file_bytes, blocks, ranges, chunks_end, properties }
    }

    /// All parts of a table whose header may be damaged: footer and index lead to everything.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub(crate) fn parts(env: &Env, path: &Path, codec_id: u32) -> Result<TableParts> {
        let (file, file_bytes, found) = open_file(env, path)?;
        let known = match found {
            Err(error) if error.is_corruption() => Ok(codec_id),
            known => known,
        };
        Ok(Self::of_file(file, file_bytes, known, path.to_path_buf(), codec_id)?.into_parts())
    }

    /// Opens a table, reading its header, footer, index and properties and no block.
    ///
    /// # Errors
    /// [`Error::Corruption`] if one of these is damaged or the file is no table; [`Error::TooNew`] for a later
    /// format; [`Error::InvalidArgument`] if its blocks were written by another codec than `codec_id`;
    /// [`Error::Io`] for what the file system said.
    pub fn open(env: &Env, path: impl AsRef<Path>, codec_id: u32) -> Result<Self> {
        Opening::begin(env, path.as_ref())?.finish(codec_id)
    }

    fn of_file(
        file: Arc<dyn File>,
        file_bytes: u64,
        found: Result<u32>,
        path: PathBuf,
        codec_id: u32,
    ) -> Result<Self> {
        let found = found?;
        if found != codec_id {
            let detail = format!("{} was written by block codec {found}, not {codec_id}", path.display());
            return Err(Error::InvalidArgument(detail));
        }
        let footer = read_footer(&*file, &path, file_bytes)?;
        let (index, properties) = read_index(&*file, &path, &footer)?;
        Ok(Self {
            file,
            path,
            file_bytes,
            chunks_end: footer.chunks_end(),
            entries: footer.entries,
            index,
            properties,
        })
    }

    /// Opens a block of the table.
    ///
    /// # Errors
    /// What the codec says; [`Error::InvalidArgument`] if there is no such block.
    pub fn open_block<C: BlockCodec>(self: &Arc<Self>, codec: &C, block: usize) -> Result<C::Block> {
        let Some(meta) = self.index.blocks.get(block) else {
            return Err(Error::InvalidArgument(format!("{} has no block {block}", self.path.display())));
        };
        codec.open(self.clone(), meta)
    }

    /// What the index knows of each block, in the order of their smallest keys.
    pub fn blocks(&self) -> &[BlockMeta] {
        &self.index.blocks
    }

    /// Where in the file a block's chunks lie, frames included.
    pub fn block_range(&self, block: usize) -> Option<Range<u64>> {
        self.index.ends.get(block).map(|&end| self.index.start(block)..end)
    }

    /// Says that these bytes of the file will be read soon: see [`File::will_read`].
    pub fn will_read_range(&self, range: Range<u64>) {
        self.file.will_read(range.start, range.end.saturating_sub(range.start));
    }

    /// Says that the last `len` bytes of a block, or all if it has fewer, will be read soon: see [`File::will_read`].
    pub fn will_read_end_of(&self, block: usize, len: u64) {
        if let Some(range) = self.block_range(block) {
            let start = range.start.max(range.end.saturating_sub(len));
            self.file.will_read(start, range.end - start);
        }
    }

    /// The last block that begins at or before `key`, if it does not end before it. Where blocks do not
    /// overlap it is the only one that can have the key.
    pub fn block_for(&self, key: &[u8]) -> Option<usize> {
        let after = self.index.blocks.partition_point(|block| block.min_key.as_slice() <= key);
        let block = after.checked_sub(1)?;
        (self.index.blocks[block].max_key.as_slice() >= key).then_some(block)
    }

    /// What the builder recorded under a name.
    pub fn property(&self, name: &str) -> Option<&[u8]> {
        self.properties.get(name).map(Vec::as_slice)
    }

    /// All properties by name.
    pub fn properties(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.properties
    }

    /// How many entries all blocks hold.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The file's length in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The name the table was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl ChunkSource for Table {
    fn read_chunk(&self, handle: ChunkHandle) -> Result<Vec<u8>> {
        // Checked before allocating: a handle from a damaged directory may say anything.
        let inside = handle.frame_start().is_some_and(|start| start >= HEADER_BYTES as u64)
            && handle.end().is_some_and(|end| end <= self.chunks_end);
        if !inside {
            return Err(self.corruption(handle, &"a chunk outside the table's blocks is asked for"));
        }
        read_frame(&*self.file, &self.path, handle)
    }

    fn will_read(&self, handle: ChunkHandle) {
        if let Some(start) = handle.frame_start() {
            self.file.will_read(start, u64::from(handle.len) + FRAME_BYTES as u64);
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// An open table file, its length, and its codec or what is wrong with its header.
pub(super) type Opened = (Arc<dyn File>, u64, Result<u32>);

/// Footer, index and properties of most tables lie in so many bytes at the end.
const TAIL_BYTES: u64 = 64 << 10;

/// A table that is being opened: the device has been asked for what [`Opening::finish`] reads. Who will open several has
/// it fetch them at once.
#[derive(Debug)]
pub struct Opening {
    file: Arc<dyn File>,
    path: PathBuf,
    file_bytes: u64,
}

impl Opening {
    /// Opens the file, and waits for none of its content.
    ///
    /// # Errors
    /// [`Error::Io`] for what the file system said.
    pub fn begin(env: &Env, path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let file = env.fs.open(&path, OpenMode::Read).map_err(Error::io("open", &path))?;
        let file_bytes = file.len().map_err(Error::io("measure", &path))?;
        // Both ends of the file are read, one after the other: the device fetches them at once.
        let tail_at = file_bytes.saturating_sub(TAIL_BYTES);
        file.will_read(tail_at, file_bytes - tail_at);
        file.will_read(0, tail_at.min(HEADER_BYTES as u64));
        Ok(Self { file, path, file_bytes })
    }

    /// The table, opened.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub fn finish(self, codec_id: u32) -> Result<Table> {
        let found = self.header()?;
        let Self { file, path, file_bytes } = self;
        Table::of_file(file, file_bytes, found, path, codec_id)
    }

    /// The codec, or what is wrong with the header.
    fn header(&self) -> Result<Result<u32>> {
        let Self { file, path, file_bytes } = self;
        let mut header = [0; HEADER_BYTES];
        if *file_bytes < HEADER_BYTES as u64 {
            let detail = format!("it is {file_bytes} bytes long, too short for a table");
            return Ok(Err(Error::corruption(path, 0, detail)));
        }
        file.read_exact_at(&mut header, 0).map_err(Error::io("read", path))?;
        Ok(decode_header(path, &header))
    }
}

/// Opens a file and looks at its header.
pub(super) fn open_file(env: &Env, path: &Path) -> Result<Opened> {
    let opening = Opening::begin(env, path)?;
    let found = opening.header()?;
    Ok((opening.file, opening.file_bytes, found))
}

/// Reads and checks the footer.
pub(super) fn read_footer(file: &dyn File, path: &Path, file_bytes: u64) -> Result<Footer> {
    let Some(at) = file_bytes.checked_sub(FOOTER_BYTES as u64) else {
        return Err(Error::corruption(
            path,
            0,
            format!("it is {file_bytes} bytes long, too short for a table"),
        ));
    };
    let mut footer = [0; FOOTER_BYTES];
    file.read_exact_at(&mut footer, at).map_err(Error::io("read", path))?;
    Footer::decode(path, &footer, file_bytes)
}

/// Reads and checks the index and the properties.
pub(super) fn read_index(
    file: &dyn File,
    path: &Path,
    footer: &Footer,
) -> Result<(Index, BTreeMap<String, Vec<u8>>)> {
    let bytes = read_frame(file, path, footer.index)?;
    let index = Index::decode(&bytes, footer.chunks_end())
        .map_err(|detail| Error::corruption(path, footer.index.offset, format!("the index has {detail}")))?;
    let entries = index.blocks.iter().try_fold(0u64, |sum, block| sum.checked_add(block.entries));
    if index.blocks.len() != footer.blocks as usize || entries != Some(footer.entries) {
        return Err(Error::corruption(
            path,
            footer.index.offset,
            "the index does not add up to what the footer says",
        ));
    }
    let bytes = read_frame(file, path, footer.properties)?;
    let properties = decode_properties(&bytes).map_err(|detail| {
        Error::corruption(path, footer.properties.offset, format!("the properties have {detail}"))
    })?;
    Ok((index, properties))
}

/// Reads a chunk that is known to lie inside the file.
fn read_frame(file: &dyn File, path: &Path, handle: ChunkHandle) -> Result<Vec<u8>> {
    let start = handle.frame_start().unwrap_or(0);
    let mut frame = memory::zeros(FRAME_BYTES + handle.len as usize);
    match file.read_exact_at(&mut frame, start) {
        // The file was long enough when it was opened: somebody cut it.
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Err(Error::corruption(path, start, "the file has become shorter since it was opened"));
        }
        other => other.map_err(Error::io("read", path))?,
    }
    check_frame(&frame).map_err(|detail| Error::corruption(path, handle.offset, detail))?;
    frame.drain(..FRAME_BYTES);
    Ok(frame)
}
