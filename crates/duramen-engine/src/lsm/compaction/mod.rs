//! Which tables to rewrite, and rewriting them.
//!
//! The tree is kept in shape by jobs, each a set of tables that becomes another set in one manifest edit. A pure
//! function finds the next job ([`pick`]); it is claimed, so that no other job takes its tables, run without a lock
//! held, and its edit is applied.
//!
//! **What no job may do.** Levels are ordered by age, key by key: wherever a table holds a version of a key, no table
//! of a deeper level, and no older one of level 0, holds a newer version. So a table moves down only together with
//! every older table that it overlaps on the way; deleted ranges count as keys. And within a level below 0 no two
//! tables overlap, those included that a running job is about to put there.
//!
//! | module | one idea |
//! |---|---|
//! | `job` | [`Job`]: what is to be done, to which tables |
//! | `keys` | ranges of keys and the tables in them |
//! | `leveled` | each level is held to a size |
//! | `size_tiered` | sorted runs of similar size are merged |
//! | `ttl` | what has expired is dropped unread |
//! | `manual` | everything into the bottom level |
//! | `run` | [`run`]: doing a job |
//! | `outputs` | the tables that a job writes, and where one ends |
//! | `base_level` | which keys have nothing older elsewhere |
//! | `limiter` | [`RateLimiter`]: how fast it may write |
//! | `cancel` | [`Cancel`]: giving up, at once |

mod base_level;
mod cancel;
mod job;
mod keys;
mod leveled;
mod limiter;
mod manual;
mod outputs;
mod run;
mod size_tiered;
#[cfg(test)]
mod tests;
mod ttl;

pub(super) use cancel::Cancel;
pub(super) use job::Job;
pub(super) use limiter::RateLimiter;
pub(super) use manual::plan_manual;
pub(super) use run::{Context, run};

use super::options::{CompactionStyle, LsmOptions};
use super::version::Version;
use std::sync::Arc;

/// What else goes on that a pick has to mind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LiveWork<'a> {
    /// The jobs that are claimed and neither installed nor given up.
    pub(super) running: &'a [Arc<Job>],
    /// The sequence numbers of the live snapshots, ascending.
    pub(super) snapshots: &'a [u64],
    /// The time by the wall clock, in seconds since 1970.
    pub(super) now_unix_s: i64,
}

/// The most urgent job there is, if any. [`Job::claim`] it before the next pick, and put it among
/// [`LiveWork::running`] until it is installed or given up.
///
/// Picking and applying until there is nothing more ends: every job moves data down, lessens the number of sorted
/// runs, or leaves garbage out for good.
pub(super) fn pick(version: &Version, options: &LsmOptions, live: &LiveWork<'_>) -> Option<Job> {
    ttl::pick(version, options, live).or_else(|| match options.compaction {
        CompactionStyle::Leveled => leveled::pick(version, options, live),
        CompactionStyle::SizeTiered => size_tiered::pick(version, options),
        CompactionStyle::None => None,
    })
}
