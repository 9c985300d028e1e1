//! The open tables of a store.

use super::cache::BlockCache;
use super::files::{Among, OpenFiles};
use super::reader::TableReader;
use crate::io::Env;
use crate::lsm::LsmOptions;
use crate::lsm::version::TableFile;
use crate::{Error, Result};
use std::sync::{Arc, OnceLock};

/// Opens a store's tables when they are first read from, and keeps the number of open files within
/// [`LsmOptions::max_open_files`]. Any thread may use it.
#[derive(Debug)]
pub(crate) struct TableCache {
    env: Env,
    blocks: Arc<BlockCache>,
    files: Arc<OpenFiles>,
    max_open: usize,
    when_too_many: WhenTooMany,
}

/// What is called when too many tables are open.
#[derive(Default)]
struct WhenTooMany(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl std::fmt::Debug for WhenTooMany {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WhenTooMany")
    }
}

/// What lies there may be whole and yet another table, put there by who restored a copy: its rows are not what the manifest
/// speaks of, and older or deleted ones would be taken for it.
fn refuse_another(table: &TableFile, (id, file_bytes): (u64, u64)) -> Result<()> {
    let (known, named) = (table.facts.id, &table.meta);
    let detail = if id != known && known != 0 {
        format!("it is table {id:016x}, and MANIFEST names table {known:016x} there")
    } else if file_bytes != named.file_bytes {
        format!("it has {file_bytes} bytes, and the table that MANIFEST names there has {}", named.file_bytes)
    } else {
        return Ok(());
    };
    Err(Error::corruption(table.path(), 0, detail))
}

impl TableCache {
    pub(crate) fn new(options: &LsmOptions) -> Self {
        Self {
            env: options.env.clone(),
            blocks: Arc::new(BlockCache::new(options.block_cache_bytes)),
            files: OpenFiles::new(options.max_open_files),
            max_open: options.max_open_files,
            when_too_many: WhenTooMany::default(),
        }
    }

    /// Files are closed at once when there are too many, but what a reader has of its table in memory cannot go while
    /// somebody may be looking at it. So when too many tables are open this is called, by whoever opens one more: to let
    /// go of those that [`Version::with_idle_closed`](crate::lsm::version::Version::with_idle_closed) leaves out. Only
    /// the first call counts.
    pub(in crate::lsm) fn when_too_many(&self, close: impl Fn() + Send + Sync + 'static) {
        let _the_first = self.when_too_many.0.set(Box::new(close));
    }

    /// The reader of a table. For one that is open: an atomic load.
    ///
    /// # Errors
    /// As [`TableReader::open`]. Where the process has no file descriptors left, other tables' files are closed first.
    #[inline]
    pub(in crate::lsm) fn reader<'a>(&self, table: &'a TableFile) -> Result<&'a Arc<TableReader>> {
        match table.reader.get() {
            Some(reader) => {
                reader.mark_used();
                Ok(reader)
            }
            None => self.open(table),
        }
    }

    #[cold]
    fn open<'a>(&self, table: &'a TableFile) -> Result<&'a Arc<TableReader>> {
        let among = Among { files: Arc::clone(&self.files), _keep: table.keep_file() };
        let reader = TableReader::open_among(&self.env, table.path(), &self.blocks, Some(among))?;
        refuse_another(table, reader.identity())?;
        let reader = table.reader.get_or_init(|| reader);
        if self.files.tables() > self.max_open
            && let Some(close) = self.when_too_many.0.get()
        {
            close();
        }
        Ok(reader)
    }

    pub(crate) fn blocks(&self) -> &Arc<BlockCache> {
        &self.blocks
    }

    /// How many tables are open, their filters and directories in memory.
    pub(crate) fn open_tables(&self) -> usize {
        self.files.tables()
    }

    /// How many files are open.
    pub(crate) fn open_files(&self) -> usize {
        self.files.len()
    }
}
