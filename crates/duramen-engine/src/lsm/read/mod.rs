//! What a reader sees of versions that lie in many places, and what a compaction may drop because no reader does.
//!
//! ```text
//!  memtables, tables ─▶ MergeCursor ─▶ scan: one visible version per key ─▶ kv::Scan
//!  level of tables ─▶ LevelCursor ─┘ └▶ CompactionIter: every version that somebody may see ─▶ new tables
//! ```
//!
//! A reader at sequence number S sees of each key the newest version that is not newer than S, and does not see
//! the key if that version deletes it, or if a deleted range that covers the key lies between the version and S.
//! Sequence numbers begin with 1, so 0 stands for "none".
//!
//! | module | one idea |
//! |---|---|
//! | `key` | the key before |
//! | `head` | [`Head`]: a version in short |
//! | `merge` | [`MergeCursor`]: many cursors as one |
//! | `level` | [`LevelCursor`]: the tables of a level as one, one of them open at a time; `table_files`: those of a version |
//! | `tombstones` | [`RangeTombstones`]: which deleted range covers a key |
//! | `coverage` | [`Coverage`]: the same of all sources, for one reader |
//! | `scan` | [`scan`]: a range, forward (`forward`) or backward (`reverse`) |
//! | `source` | [`ForwardSource`]: versions in order, once through |
//! | `compaction_iter` | [`CompactionIter`]: what somebody may still see |
//! | `survivors` | which deleted ranges are still needed, and the part of them for one table |

mod compaction_iter;
mod coverage;
mod forward;
mod head;
mod key;
mod level;
mod merge;
#[cfg(test)]
mod model;
mod reverse;
mod scan;
mod source;
mod survivors;
mod table_files;
#[cfg(test)]
mod tests;
mod tombstones;
#[cfg(test)]
mod vec_cursor;

pub(crate) use compaction_iter::CompactionIter;
pub(crate) use coverage::{Coverage, Covered};
pub(crate) use head::Head;
pub(crate) use level::{LevelCursor, LevelTables};
pub(crate) use merge::MergeCursor;
pub(crate) use scan::{View, scan};
pub(crate) use source::{ForwardSource, FromStart};
pub(crate) use survivors::{clip, surviving_tombstones};
pub(crate) use table_files::TableFiles;
pub(crate) use tombstones::RangeTombstones;
#[cfg(test)]
pub(crate) use tombstones::covering_seq_among;
#[cfg(test)]
pub(crate) use vec_cursor::VecCursor;
