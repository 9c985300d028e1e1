//! Writing a table.

use super::filter::FilterBuilder;
use super::format::{FOOTER_BYTES, FRAME_BYTES, Footer, encode_frame, encode_header};
use super::index::{Index, encode_properties};
use super::memory::check_chunk_len;
use super::unsynced::{Unfinished, UnsyncedTable};
use super::write_behind::WriteBehind;
use super::{BlockCodec, BlockMeta, ChunkHandle, ChunkSink};
use crate::io::{Env, File, OpenMode};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes reach the file in pieces of about this size.
const WRITE_BYTES: usize = 1 << 20;

/// Writes a table under a temporary name, `<final name>.tmp`, and gives it its final name once it is
/// complete and synced, so that a file with the final name is always whole.
///
/// Dropping an unfinished builder removes the temporary file, as far as that works. After a failed write
/// every later call says [`Error::Poisoned`].
#[derive(Debug)]
pub struct TableBuilder {
    env: Env,
    file: Arc<dyn File>,
    path: PathBuf,
    tmp_path: PathBuf,
    codec_id: u32,
    /// What is not in the file yet, and where it goes.
    buffer: Vec<u8>,
    /// Writes the buffers, if that was asked for.
    behind: Option<WriteBehind>,
    written: u64,
    index: Index,
    /// Filters that will lie behind the blocks: each as the how-manieth, of how many, of which block.
    filters: BTreeMap<(usize, usize, usize), Vec<u8>>,
    /// Makes those of key-value tables, unless the thread does.
    filter_builder: FilterBuilder,
    entries: u64,
    properties: BTreeMap<String, Vec<u8>>,
    /// Where in the buffer the frame of the chunk begins that is being written there.
    chunk_at: Option<usize>,
    failed: Option<String>,
    /// Removes the temporary file unless the table gets its final name.
    unfinished: Unfinished,
}

/// What [`TableBuilder::finish`] wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// The file's length in bytes.
    pub file_bytes: u64,
    /// How many entries all blocks hold.
    pub entries: u64,
    /// How many blocks there are.
    pub blocks: u64,
    /// The smallest key; empty if there is no block.
    pub min_key: Vec<u8>,
    /// The largest key; empty if there is no block.
    pub max_key: Vec<u8>,
}

impl TableBuilder {
    /// Starts a table that will be called `path`, its blocks written by the codec with the number
    /// `codec_id`. A temporary file left by an earlier attempt is replaced.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a file is called `path` already: a table is never overwritten.
    /// [`Error::Io`] for what the file system said.
    pub fn create(env: &Env, path: impl AsRef<Path>, codec_id: u32) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        if env.fs.exists(&path).map_err(Error::io("look for", &path))? {
            return Err(Error::InvalidArgument(format!(
                "{} exists: a table is never overwritten",
                path.display()
            )));
        }
        let mut tmp_name = path.clone().into_os_string();
        tmp_name.push(".tmp");
        let tmp_path = PathBuf::from(tmp_name);
        let file = create_replacing(env, &tmp_path)?;
        let mut buffer = Vec::with_capacity(WRITE_BYTES + WRITE_BYTES / 4);
        buffer.extend_from_slice(&encode_header(codec_id));
        Ok(Self {
            env: env.clone(),
            file,
            path,
            tmp_path: tmp_path.clone(),
            codec_id,
            buffer,
            behind: None,
            written: 0,
            index: Index { blocks: Vec::new(), ends: Vec::new() },
            filters: BTreeMap::new(),
            filter_builder: FilterBuilder::default(),
            entries: 0,
            properties: BTreeMap::new(),
            chunk_at: None,
            failed: None,
            unfinished: Unfinished::new(env, tmp_path),
        })
    }

    /// Encodes rows as the next block.
    ///
    /// # Errors
    /// What the codec says, and those of [`TableBuilder::add_block`]; [`Error::InvalidArgument`] if the
    /// table was started for another codec.
    pub fn write_block<C: BlockCodec>(&mut self, codec: &C, rows: C::Rows<'_>) -> Result<()> {
        if C::ID != self.codec_id {
            let (path, own) = (self.path.display(), self.codec_id);
            return Err(Error::InvalidArgument(format!(
                "{path} is written by block codec {own}, not {}",
                C::ID
            )));
        }
        let meta = codec.encode(rows, self)?;
        self.add_block(meta)
    }

    /// Makes the chunks added since the last block the next block.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the block has no entries or too many filters, its keys are the wrong way round, its smallest
    /// key is below that of the block before it, or a handle does not lie in the block.
    pub fn add_block(&mut self, meta: BlockMeta) -> Result<()> {
        self.check()?;
        let (start, end) = (self.index.start(self.index.blocks.len()), self.position());
        let inside =
            |h: ChunkHandle| h.frame_start().is_some_and(|s| s >= start) && h.end().is_some_and(|e| e <= end);
        let wrong = if meta.filters.len() > usize::from(u8::MAX) {
            "has more than 255 filters"
        } else if meta.entries == 0 {
            "has no entries"
        } else if meta.min_key > meta.max_key {
            "has its smallest key above its largest"
        } else if self.index.blocks.last().is_some_and(|before| before.min_key > meta.min_key) {
            "begins below the block before it"
        } else if !inside(meta.directory) || !meta.filters.iter().all(|&filter| inside(filter)) {
            "has a chunk that was not added to it"
        } else {
            self.entries += meta.entries;
            self.index.blocks.push(meta);
            self.index.ends.push(end);
            return Ok(());
        };
        let (block, path) = (self.index.blocks.len(), self.path.display());
        Err(Error::InvalidArgument(format!("block {block} of {path} {wrong}")))
    }

    /// The same, with filters that will lie behind all blocks: those of all blocks that have as many, and there those of the
    /// same place, side by side. Who asks many blocks whether they may have something reads them at once. Until the table is
    /// finished they are kept in memory.
    ///
    /// # Errors
    /// As [`TableBuilder::add_block`]; [`Error::InvalidArgument`] if the block has others, too, or one is longer than a chunk.
    pub fn add_block_with_filters(&mut self, meta: BlockMeta, filters: Vec<Vec<u8>>) -> Result<()> {
        let (block, path) = (self.index.blocks.len(), self.path.display());
        if !meta.filters.is_empty() || filters.len() > usize::from(u8::MAX) {
            let most = u8::MAX;
            return Err(Error::InvalidArgument(format!(
                "block {block} of {path} has more than {most} filters, or in two places"
            )));
        }
        filters.iter().try_for_each(|filter| check_chunk_len(filter.len()))?;
        self.add_block(meta)?;
        let count = filters.len();
        self.filters.extend(filters.into_iter().enumerate().map(|(at, filter)| ((count, at, block), filter)));
        Ok(())
    }

    /// The same, with one filter, of keys with these hashes, which the thread makes that writes, if there is one.
    ///
    /// # Errors
    /// As [`TableBuilder::add_block`]; those of a write before.
    pub(crate) fn add_block_with_filter_of(&mut self, meta: BlockMeta, mut hashes: Vec<u64>) -> Result<()> {
        let block = self.index.blocks.len();
        self.add_block(meta)?;
        match &mut self.behind {
            None => {
                let filter = self.filter_builder.build(&mut hashes).encode();
                self.filters.insert((1, 0, block), filter);
            }
            Some(behind) => {
                if behind.make_filter(block, hashes).is_err() {
                    self.end_write_behind()?;
                }
            }
        }
        Ok(())
    }

    /// Writes the filters that were kept.
    fn write_filters(&mut self) -> Result<()> {
        for ((_, at, block), filter) in std::mem::take(&mut self.filters) {
            let handle = self.add_chunk(&filter)?;
            if let Some(meta) = self.index.blocks.get_mut(block) {
                debug_assert_eq!(meta.filters.len(), at, "they come in order");
                meta.filters.push(handle);
            }
        }
        Ok(())
    }

    /// Records a fact about the whole table under a name, replacing what the name had.
    pub fn set_property(&mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.properties.insert(name.into(), value.into());
    }

    /// How many bytes the table has so far, with what is still buffered.
    pub fn file_bytes(&self) -> u64 {
        self.position()
    }

    /// Completes the file, syncs it, gives it its final name and syncs the directory. When this returns
    /// the table survives a loss of power. Chunks added after the last block belong to the table as such
    /// (a property may hold their handles).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a table without blocks; [`Error::Io`] for what the file system said.
    /// Then the table does not count: it may be there under its final name only if syncing the directory
    /// failed.
    pub fn finish(self) -> Result<TableInfo> {
        self.check()?;
        if self.index.blocks.is_empty() {
            return Err(Error::InvalidArgument(format!("{} has no blocks", self.path.display())));
        }
        self.finish_unsynced()?.sync()
    }

    /// Completes the file and leaves it under its temporary name: [`UnsyncedTable::sync`] does the rest. The
    /// table may have no blocks, for what matters of it may be in its properties.
    ///
    /// # Errors
    /// [`Error::Io`] for what the file system said. Then the table does not count.
    pub fn finish_unsynced(mut self) -> Result<UnsyncedTable> {
        self.check()?;
        let min_key = self.index.blocks.first().map(|block| block.min_key.clone()).unwrap_or_default();
        let max_key = self.index.blocks.iter().map(|b| &b.max_key).max().cloned().unwrap_or_default();
        let blocks = u32::try_from(self.index.blocks.len())
            .map_err(|_| Error::InvalidArgument(format!("{} has too many blocks", self.path.display())))?;
        if self.behind.is_some() {
            self.flush()?;
            self.end_write_behind()?;
        }
        self.write_filters()?;
        let index = self.add_chunk(&self.index.encode())?;
        let properties = self.add_chunk(&encode_properties(&self.properties))?;
        let footer = Footer { index, properties, entries: self.entries, blocks };
        self.buffer.extend_from_slice(&footer.encode());
        self.flush()?;
        let file_bytes = properties.offset + u64::from(properties.len) + FOOTER_BYTES as u64;
        let info =
            TableInfo { file_bytes, entries: self.entries, blocks: u64::from(blocks), min_key, max_key };
        let Self { env, file, path, unfinished, .. } = self;
        Ok(UnsyncedTable::new(env, file, path, info, unfinished))
    }

    /// The smallest key of the blocks so far.
    pub(crate) fn first_key(&self) -> Option<&[u8]> {
        self.index.blocks.first().map(|block| block.min_key.as_slice())
    }

    /// Gives up: removes the temporary file, as far as that works. Dropping does the same.
    pub fn abandon(self) {}

    fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn check(&self) -> Result<()> {
        match &self.failed {
            Some(reason) => Err(Error::Poisoned { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// Writes from now on with a thread of its own, which ends with the table: for who has more to do than to wait
    /// for the file system, and no need for the order of its calls. Errors are told later.
    ///
    /// # Errors
    /// [`Error::Io`] if there can be no thread.
    pub fn write_behind(&mut self) -> Result<()> {
        if self.behind.is_none() {
            let started = WriteBehind::start(Arc::clone(&self.file), &self.path);
            self.behind = Some(started.map_err(Error::io("start a thread to write", &self.path))?);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let len = self.buffer.len() as u64;
        match &mut self.behind {
            None => {
                let written = self.file.write_all_at(&self.buffer, self.written);
                written.map_err(|source| self.fail(source))?;
                self.buffer.clear();
            }
            Some(behind) => {
                if behind.write(&mut self.buffer, self.written).is_err() {
                    self.end_write_behind()?;
                }
            }
        }
        self.written += len;
        Ok(())
    }

    /// Waits until everything is done that was handed over.
    fn end_write_behind(&mut self) -> Result<()> {
        match self.behind.take() {
            None => Ok(()),
            Some(behind) => {
                let filters = behind.finish().map_err(|source| self.fail(source))?;
                self.filters.extend(filters.into_iter().map(|(block, filter)| ((1, 0, block), filter)));
                Ok(())
            }
        }
    }

    /// Remembers that nothing can be relied on any more.
    fn fail(&mut self, source: std::io::Error) -> Error {
        let error = Error::io("write", &self.tmp_path)(source);
        self.failed = Some(error.to_string());
        error
    }
}

impl ChunkSink for TableBuilder {
    fn add_chunk(&mut self, bytes: &[u8]) -> Result<ChunkHandle> {
        self.check()?;
        check_chunk_len(bytes.len())?;
        self.buffer.extend_from_slice(&encode_frame(bytes));
        let handle = ChunkHandle { offset: self.position(), len: bytes.len() as u32 };
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(handle)
    }
}

/// Chunks written where they will be: without a copy.
impl TableBuilder {
    /// Begins a chunk. No other may be begun or added before [`TableBuilder::end_chunk`].
    ///
    /// # Errors
    /// [`Error::Poisoned`] after a failed write.
    #[inline]
    pub(crate) fn begin_chunk(&mut self) -> Result<()> {
        self.check()?;
        self.chunk_at = Some(self.buffer.len());
        self.buffer.extend_from_slice(&[0; FRAME_BYTES]);
        Ok(())
    }

    /// Where the bytes of the chunk go: append to it, leave what is there.
    #[inline]
    pub(crate) fn chunk_buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Ends the chunk.
    ///
    /// # Errors
    /// As [`ChunkSink::add_chunk`]; [`Error::InvalidArgument`] if none was begun.
    pub(crate) fn end_chunk(&mut self) -> Result<ChunkHandle> {
        self.check()?;
        let Some((at, (frame, payload))) = self
            .chunk_at
            .take()
            .and_then(|at| Some((at, self.buffer.get_mut(at..)?.split_at_mut_checked(FRAME_BYTES)?)))
        else {
            return Err(Error::InvalidArgument("a chunk ends that was not begun".into()));
        };
        check_chunk_len(payload.len())?;
        frame.copy_from_slice(&encode_frame(payload));
        let offset = self.written + (at + FRAME_BYTES) as u64;
        let handle = ChunkHandle { offset, len: payload.len() as u32 };
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(handle)
    }
}

/// Creates a file, removing first what an interrupted attempt left under its name.
fn create_replacing(env: &Env, path: &Path) -> Result<Arc<dyn File>> {
    match env.fs.open(path, OpenMode::CreateNew) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            env.fs.remove_file(path).map_err(Error::io("remove", path))?;
            env.fs.open(path, OpenMode::CreateNew).map_err(Error::io("create", path))
        }
        other => other.map_err(Error::io("create", path)),
    }
}
