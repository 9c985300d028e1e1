//! The open tables of a store.

use super::cache::BlockCache;
use super::files::OpenFiles;
use super::reader::TableReader;
use crate::Result;
use crate::io::Env;
use crate::lsm::LsmOptions;
use crate::lsm::version::TableFile;
use std::sync::Arc;

/// Opens a store's tables when they are first read from, and keeps the number of open files within
/// [`LsmOptions::max_open_files`]. Any thread may use it.
#[derive(Debug)]
pub(crate) struct TableCache {
    env: Env,
    blocks: Arc<BlockCache>,
    files: Arc<OpenFiles>,
}

impl TableCache {
    pub(crate) fn new(options: &LsmOptions) -> Self {
        Self {
            env: options.env.clone(),
            blocks: Arc::new(BlockCache::new(options.block_cache_bytes)),
            files: OpenFiles::new(options.max_open_files),
        }
    }

    /// The reader of a table. For one that is open: an atomic load.
    ///
    /// # Errors
    /// As [`TableReader::open`]. Where the process has no file descriptors left, other tables' files are closed first.
    #[inline]
    pub(in crate::lsm) fn reader<'a>(&self, table: &'a TableFile) -> Result<&'a Arc<TableReader>> {
        match table.reader.get() {
            Some(reader) => Ok(reader),
            None => self.open(table),
        }
    }

    #[cold]
    fn open<'a>(&self, table: &'a TableFile) -> Result<&'a Arc<TableReader>> {
        let reader = TableReader::open_among(&self.env, table.path(), &self.blocks, Some(&self.files))?;
        Ok(table.reader.get_or_init(|| reader))
    }

    pub(crate) fn blocks(&self) -> &Arc<BlockCache> {
        &self.blocks
    }

    /// How many files are open.
    pub(crate) fn open_files(&self) -> usize {
        self.files.len()
    }

    /// Closes a file that was not read from for long, for somebody who needs its descriptor: it is opened again when
    /// needed. `false` if there is none.
    pub(crate) fn close_one(&self) -> bool {
        self.files.close_one()
    }
}
