//! How many files are open.
//!
//! A table that is being read keeps its file open; over a limit, those that were not read from for the longest time
//! are closed, and opened again when they are. Only reading a block from the file comes here: what is in memory is
//! found without.

use crate::io::{self, Env, File, OpenMode};
use crate::{Error, Result};
use std::any::Any;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

/// The open files of a store's tables.
#[derive(Debug)]
pub(super) struct OpenFiles {
    max: usize,
    open: AtomicUsize,
    tables: AtomicUsize,
    /// Those that are open, in the order in which they will be looked at: one that was read from since goes to the end
    /// again (the clock algorithm). Some may be gone.
    queue: Mutex<VecDeque<Weak<TableHandle>>>,
}

/// A table's file, open or not, and the table's own until this is dropped.
#[derive(Debug)]
pub(super) struct TableHandle {
    env: Env,
    path: PathBuf,
    file_bytes: u64,
    among: Option<Among>,
    file: Mutex<Option<Arc<dyn File>>>,
    /// Whether somebody has read from it since the queue looked.
    used: AtomicBool,
}

/// Where a table is one of several.
#[derive(Clone)]
pub(super) struct Among {
    pub(super) files: Arc<OpenFiles>,
    /// While somebody has this, the file is there: it may have to be opened again.
    pub(super) _keep: Arc<dyn Any + Send + Sync>,
}

impl std::fmt::Debug for Among {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Among").field("files", &self.files).finish_non_exhaustive()
    }
}

impl OpenFiles {
    pub(super) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            open: AtomicUsize::new(0),
            tables: AtomicUsize::new(0),
            queue: Mutex::default(),
        })
    }

    /// How many are open.
    pub(super) fn len(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// How many tables there are, their files open or not.
    pub(super) fn tables(&self) -> usize {
        self.tables.load(Ordering::Relaxed)
    }

    /// Closes one, that was not used for long. `false` if there is none that could be.
    pub(super) fn close_one(&self) -> bool {
        // Twice around: the first time may only take marks away.
        let mut left = 2 * lock(&self.queue).len();
        while left > 0 {
            left -= 1;
            let Some(handle) = lock(&self.queue).pop_front() else { return false };
            let Some(handle) = handle.upgrade() else { continue };
            let closed = if handle.used.swap(false, Ordering::Relaxed) {
                None
            } else {
                match handle.file.try_lock() {
                    Ok(mut file) => file.take(),
                    Err(TryLockError::Poisoned(file)) => file.into_inner().take(),
                    // Somebody is about to read from it.
                    Err(TryLockError::WouldBlock) => None,
                }
            };
            if closed.is_some() {
                self.open.fetch_sub(1, Ordering::Relaxed);
                return true;
            }
            lock(&self.queue).push_back(Arc::downgrade(&handle));
        }
        false
    }

    /// Opens something; where the process has no descriptor left, files are closed and it is tried again.
    pub(super) fn open<T>(&self, mut open: impl FnMut() -> Result<T>) -> Result<T> {
        loop {
            match open() {
                Err(error) if is_out_of_files(&error) && self.close_one() => {}
                other => return other,
            }
        }
    }

    fn add(&self, handle: &Arc<TableHandle>) {
        let mut queue = lock(&self.queue);
        queue.push_back(Arc::downgrade(handle));
        let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
        if queue.len() > 2 * open + 16 {
            queue.retain(|handle| handle.strong_count() > 0);
        }
        drop(queue);
        if open > self.max {
            self.close_one();
        }
    }
}

impl TableHandle {
    /// A file that was just opened. Alone, it stays open.
    pub(super) fn new(
        env: &Env,
        path: &Path,
        (file, file_bytes): (Arc<dyn File>, u64),
        among: Option<Among>,
    ) -> Arc<Self> {
        let handle = Arc::new(Self {
            env: env.clone(),
            path: path.to_path_buf(),
            file_bytes,
            among,
            file: Mutex::new(Some(file)),
            used: AtomicBool::new(true),
        });
        if let Some(Among { files, .. }) = &handle.among {
            files.tables.fetch_add(1, Ordering::Relaxed);
            files.add(&handle);
        }
        handle
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file.
    pub(super) fn file(self: &Arc<Self>) -> Result<Arc<dyn File>> {
        let mut slot = lock(&self.file);
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        if let Some(file) = &*slot {
            return Ok(Arc::clone(file));
        }
        let open = || self.env.fs.open(&self.path, OpenMode::Read).map_err(Error::io("open", &self.path));
        let file = match &self.among {
            Some(among) => among.files.open(open)?,
            None => open()?,
        };
        let found = file.len().map_err(Error::io("measure", &self.path))?;
        if found != self.file_bytes {
            let detail = format!("it is {found} bytes long and was {} when first opened", self.file_bytes);
            return Err(Error::corruption(&self.path, 0, detail));
        }
        *slot = Some(Arc::clone(&file));
        if let Some(among) = &self.among {
            among.files.add(self);
        }
        Ok(file)
    }
}

impl Drop for TableHandle {
    fn drop(&mut self) {
        let Some(Among { files, .. }) = &self.among else { return };
        files.tables.fetch_sub(1, Ordering::Relaxed);
        if self.file.get_mut().unwrap_or_else(PoisonError::into_inner).is_some() {
            files.open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the process, or the system, has no file descriptor left.
fn is_out_of_files(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if io::is_out_of_files(source))
}
