//! The time from which and up to which entries are asked for.

use clap::Args;

/// A span of time, as people type its ends. They are read where it is known what time it is.
#[derive(Args, Debug)]
pub(crate) struct SpanArgs {
    /// Only entries from this long ago on (90s, 15m, 2h30m, 7d), or from this time on
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    pub(crate) since: Option<String>,

    /// Only entries from this time on: 14:30, 2026-11-21, '2026-11-21 14:30', RFC 3339, 2h, yesterday
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,

    /// Only entries before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
}
