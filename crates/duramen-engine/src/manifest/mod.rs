//! Which tables are live, and which WAL segments they hold.
//!
//! A store's directory has one file `MANIFEST`: a snapshot of the whole [`State`], then [`Edit`]s, each a
//! checksummed frame. An edit is durable before anybody acts on it. When the edits outgrow the snapshot
//! the next one is not appended: the new state goes as a snapshot to `MANIFEST.tmp`, which is synced and
//! renamed over `MANIFEST`. The rename is what switches, atomically, so no second file has to say which
//! manifest is the current one (LevelDB's `CURRENT`): that would be one more file to sync, to damage and
//! to explain.
//!
//! | module | what it holds |
//! |---|---|
//! | `state` | [`State`] and [`Edit`]: what is recorded, and which edits are valid |
//! | `cbor` | both as CBOR |
//! | `log` | every byte of the file, and what a damaged one means |
//! | `owner` | [`Manifest`]: for the one process that writes |
//! | `reader` | [`ManifestReader`]: for the others, without locks |
//! | `orphans` | table files that no state knows |
//! | `dump` | the file, line by line |

mod cbor;
mod dump;
mod log;
mod orphans;
mod owner;
mod reader;
mod state;

pub(crate) use dump::dump;
pub(crate) use log::MAGIC;
pub use orphans::{Orphan, orphans};
pub use owner::Manifest;
pub use reader::ManifestReader;
pub use state::{Edit, State, TableMeta};

/// The manifest's file name in its directory.
pub const FILE_NAME: &str = "MANIFEST";
/// The name under which a new one is written before it takes the place of the old.
pub const TMP_NAME: &str = "MANIFEST.tmp";
