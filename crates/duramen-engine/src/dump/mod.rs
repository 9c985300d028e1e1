//! What is in the engine's files, line by line: for people who want to look, and for programs that help them.
//!
//! Every file is decoded by the code that reads it in earnest; of a damaged file all is told that can be decoded, and
//! where the damage is. Nothing is changed, no lock is taken, and the store may be in use meanwhile.
//!
//! ```text
//!  file       path, kind, bytes                                    one for each file, before its lines
//!  ENGINE     engine
//!  manifest   header | snapshot, edit (add_table, remove_table, …) *, mark | state (table, writer, value) *
//!  WAL        header, counters | record (put, delete, delete_range) *, sync, seal | torn
//!  table      header, footer, property *, partition * | block (put, delete) *, delete_range *
//!  LOG        header | base, batch, part (put, delete, delete_range) *, mark | torn
//!  damage     offset, bytes, detail                                where the bytes are not as they were written
//!  more       detail                                               the limit was reached
//! ```
//!
//! | module | one idea |
//! |---|---|
//! | `line` | [`Line`]: a thing, and what is to be said of it |
//! | `out` | where lines go: counting them, and ending early |
//! | `files` | which files there are, and what a file is |
//! | `ops` | writes, as WAL records and log frames hold them |
//!
//! How each kind of file is told lies beside its reader: `manifest/dump.rs`, `wal/dump.rs`, `sstable/dump.rs`,
//! `lsm/table/dump.rs`, `log/dump.rs`.

mod files;
mod line;
mod ops;
mod out;

pub use line::{FieldValue, Line};
pub(crate) use ops::{name as op_name, ops, put};
pub(crate) use out::{Out, Stop};

use crate::Result;
use crate::io::Env;
use std::ops::ControlFlow;
use std::path::Path;

/// How much is to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DumpOptions {
    /// Every entry of a table and every write of a WAL record or log frame, with its key. Default false: only how
    /// many there are.
    pub keys: bool,
    /// Values, too, and with them `keys`; default false: only their lengths. A record of the WAL that holds something
    /// else than writes of a key-value store is then told as bytes.
    pub values: bool,
    /// The most lines about the content of any one file: frames, records, blocks, writes, entries. Default `None`:
    /// all.
    pub limit: Option<u64>,
}

/// What a dump came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DumpReport {
    /// How many files were told of.
    pub files: u64,
    /// How many damaged places were found in them. 0 does not mean that the store is whole: what the files say is not
    /// held against each other, as [`kv::verify`](crate::kv::verify) does.
    pub damaged: u64,
}

/// Tells what is in `path`, line by line: any one of the engine's files, or a directory with a store. Of a store the
/// files come in this order: `ENGINE`, the manifest, tables by name, WAL segments by writer and number; or the log
/// engine's one file. A file is known by its first bytes, and if they are damaged by its name.
///
/// `sink` gets every line, and ends the dump when it breaks. Of the log store, whose manifest, tables and WAL have the
/// same forms, all is told but what is inside its blocks and records.
///
/// Memory: a WAL segment or a manifest is held whole, of a table one partition's directory and filter.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if it is not one of the engine's;
/// [`Error::TooNew`](crate::Error::TooNew); [`Error::Io`](crate::Error::Io). Damage is no error but a line.
///
/// ```
/// use duramen_engine::dump::{DumpOptions, dump};
/// use duramen_engine::io::Env;
/// use duramen_engine::kv::{Engine, OpenOptions, open};
/// use std::ops::ControlFlow;
/// # let dir = tempfile::tempdir().unwrap();
/// # let dir = dir.path().join("store");
/// open(&dir, &OpenOptions::default())?.put(b"k", b"v")?;
/// let mut puts = 0;
/// let options = DumpOptions { keys: true, ..DumpOptions::default() };
/// let report = dump(&Env::os(), &dir, options, &mut |line| {
///     puts += u32::from(line.what == "put");
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!((puts, report.damaged), (1, 0));
/// # Ok::<(), duramen_engine::Error>(())
/// ```
pub fn dump(
    env: &Env,
    path: impl AsRef<Path>,
    options: DumpOptions,
    sink: &mut dyn FnMut(&Line) -> ControlFlow<()>,
) -> Result<DumpReport> {
    let options = DumpOptions { keys: options.keys || options.values, ..options };
    let mut out = Out::new(options, sink);
    match files::path(env, path.as_ref(), &mut out) {
        Ok(()) | Err(Stop::Asked | Stop::Enough) => Ok(out.report()),
        Err(Stop::Failed(error)) => Err(error),
    }
}
