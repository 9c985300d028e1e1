//! `duramen ingest`.

use crate::moment::parse_zone;
use clap::Args;
use duramen::store::Durability;
use duramen_formats::LineFormat;
use jiff::tz::TimeZone;
use std::path::PathBuf;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  duramen ingest /var/log/syslog /var/log/nginx/access.log
  duramen ingest -r /var/log/myapp            every file below, compressed or not
  my-app 2>&1 | duramen ingest -              visible to queries within a tenth of a second
  journalctl -o export -f | duramen ingest - --stream-fields _HOSTNAME,_SYSTEMD_UNIT
  duramen ingest old.log --timezone America/New_York --year 2019

Run it again at any time: what the store has of a file is not taken twice, also
if it was renamed, or compressed in its place; a copy beside it is another file.
Two that run at once take turns at a file. What is in the store stays there if it is killed in
the middle; the next run goes on behind it. Files that are compressed with gzip
or zstd are recognised by their content. A line that cannot be parsed is kept
whole. A last line without a line end is taken as it stands.";

/// What to take, and how to read it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IngestArgs {
    /// Log files, or `-` for stdin
    #[arg(required = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// What the lines look like: auto, ndjson, logfmt, syslog, access, columns, container, journal, cloudtrail or plain
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = LineFormat::from_str)]
    pub(crate) format: LineFormat,

    /// The zone of time stamps that name none: local, UTC, +02:00, Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "local", value_parser = parse_zone)]
    pub(crate) timezone: TimeZone,

    /// The year of time stamps without one [default: the file's last change tells]
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i16).range(1678..=2261))]
    pub(crate) year: Option<i16>,

    /// The fields that tell one stream of entries from another, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) stream_fields: Vec<String>,

    /// Look for the time in this field first
    #[arg(long, value_name = "NAME")]
    pub(crate) time_field: Option<String>,

    /// Look for the message in this field first
    #[arg(long, value_name = "NAME")]
    pub(crate) message_field: Option<String>,

    /// Look for the level in this field first
    #[arg(long, value_name = "NAME")]
    pub(crate) level_field: Option<String>,

    /// Make every line an entry of its own; by default the lines of a stack trace become one
    #[arg(long)]
    pub(crate) no_join: bool,

    /// Take files from their beginning, although the store may have them
    #[arg(long)]
    pub(crate) again: bool,

    /// Take the files in directories, and in those below
    #[arg(short, long)]
    pub(crate) recursive: bool,

    /// What a line survives once taken: none, process (kill -9), interval:MS or sync (loss of power)
    #[arg(long, value_name = "MODE", default_value = "process", value_parser = DurabilityArg::from_str)]
    pub(crate) durability: DurabilityArg,

    /// No progress bar and no summaries; errors are still told
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// `--durability`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DurabilityArg {
    /// Nothing in particular.
    None,
    /// The death of the process.
    Process,
    /// Loss of power, but for the last so many milliseconds.
    Interval {
        /// How many.
        ms: u64,
    },
    /// Loss of power.
    Sync,
}

impl From<DurabilityArg> for Durability {
    fn from(durability: DurabilityArg) -> Self {
        match durability {
            DurabilityArg::None => Self::None,
            DurabilityArg::Process => Self::Process,
            DurabilityArg::Interval { ms } => Self::IntervalMs(ms),
            DurabilityArg::Sync => Self::Sync,
        }
    }
}

impl FromStr for DurabilityArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once([':', '=']) {
            None if text == "none" => Ok(Self::None),
            None if text == "process" => Ok(Self::Process),
            None if text == "sync" => Ok(Self::Sync),
            None if text == "interval" => Ok(Self::Interval { ms: 1000 }),
            Some(("interval", ms)) => match ms.trim_end_matches("ms").parse() {
                Ok(ms @ 1..=3_600_000) => Ok(Self::Interval { ms }),
                _ => Err("the interval is in milliseconds, from 1 to 3600000".into()),
            },
            _ => Err("use none, process, interval:MS or sync".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_is_read() {
        assert_eq!("sync".parse(), Ok(DurabilityArg::Sync));
        assert_eq!("interval:50".parse(), Ok(DurabilityArg::Interval { ms: 50 }));
        assert_eq!("interval:50ms".parse(), Ok(DurabilityArg::Interval { ms: 50 }));
        for text in ["", "fsync", "interval:", "interval:0", "interval:-1", "sync:1"] {
            assert!(text.parse::<DurabilityArg>().is_err(), "{text}");
        }
    }
}
