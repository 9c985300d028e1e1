//! A second name for a file that never changes, or where there can be none, a copy.

use super::{Fs, OpenMode};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// How much is copied at a time.
const COPY_BYTES: usize = 1 << 20;

/// Gives the file `from` the name `to`, too, which must not exist. Where the file system has no links, or `to` lies on
/// another one, `to` becomes a copy, whose bytes are durable when this returns. Its name is not, either way: see
/// [`Fs::sync_dir`].
///
/// # Errors
/// [`Error::Io`] for what the file system said. A copy that fails may leave a part behind.
pub fn link_or_copy(fs: &dyn Fs, from: &Path, to: &Path) -> Result<()> {
    match fs.hard_link(from, to) {
        Ok(()) => return Ok(()),
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::Unsupported | ErrorKind::CrossesDevices | ErrorKind::PermissionDenied
            ) => {}
        Err(e) => return Err(Error::io("link", from)(e)),
    }
    let source = fs.open(from, OpenMode::Read).map_err(Error::io("open", from))?;
    let target = fs.open(to, OpenMode::CreateNew).map_err(Error::io("create", to))?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut at = 0;
    loop {
        let read = source.read_at(&mut buffer, at).map_err(Error::io("read", from))?;
        if read == 0 {
            break;
        }
        target.write_all_at(&buffer[..read], at).map_err(Error::io("write", to))?;
        at += read as u64;
    }
    target.sync_data().map_err(Error::io("sync", to))
}
