//! A range of entries, in order.

use super::Run;
use crate::Result;

/// What an engine gives to scan: the next entry that a reader is to see.
pub(crate) trait ScanSource: Send {
    /// Goes to the next entry; `false` at the end.
    fn advance(&mut self) -> Result<bool>;
    /// The present entry's key; after `advance` returned true.
    fn key(&self) -> &[u8];
    /// The present entry's value.
    fn value(&self) -> &[u8];

    /// Puts the present entry and some that follow it into `run`, if it can do so at once, and is then at the last of
    /// them. `false`: it did not, and is where it was. After `advance` returned true.
    fn take_run(&mut self, run: &mut Run) -> bool {
        let _ = run;
        false
    }
}

/// Goes through a range of entries in order of their keys, or backwards. It sees the store as it was when the
/// scan began, whatever is written meanwhile.
///
/// ```
/// # use duramen_engine::{kv::Engine, log::{Log, LogOptions}};
/// # let dir = tempfile::tempdir().unwrap();
/// # let store = Log::open(dir.path(), LogOptions::default())?;
/// store.put(b"a", b"1")?;
/// store.put(b"b", b"2")?;
/// let mut scan = store.scan(b"a".as_slice()..)?;
/// while let Some((key, value)) = scan.next()? {
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// # Ok::<(), duramen_engine::Error>(())
/// ```
pub struct Scan {
    source: Box<dyn ScanSource>,
    run: Run,
    done: bool,
}

impl Scan {
    pub(crate) fn new(source: Box<dyn ScanSource>) -> Self {
        Self { source, run: Run::default(), done: false }
    }

    /// The next key and its value; `None` at the end, and from then on.
    ///
    /// # Errors
    /// [`Error::Corruption`](crate::Error::Corruption) where a block is damaged, [`Error::Io`](crate::Error::Io).
    /// After an error the scan is over.
    #[allow(clippy::should_implement_trait)] // it lends: what it gives lives until the next call
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if let Some(nth) = self.run.step() {
            return Ok(Some(self.run.entry(nth)));
        }
        self.next_from_source()
    }

    fn next_from_source(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.done {
            return Ok(None);
        }
        self.done = true;
        if !self.source.advance()? {
            return Ok(None);
        }
        self.done = false;
        if self.source.take_run(&mut self.run)
            && let Some(nth) = self.run.step()
        {
            return Ok(Some(self.run.entry(nth)));
        }
        Ok(Some((self.source.key(), self.source.value())))
    }

    /// All that is left, copied.
    ///
    /// # Errors
    /// As [`Scan::next`].
    pub fn collect(mut self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut all = Vec::new();
        while let Some((key, value)) = self.next()? {
            all.push((key.to_vec(), value.to_vec()));
        }
        Ok(all)
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("done", &self.done).finish_non_exhaustive()
    }
}
