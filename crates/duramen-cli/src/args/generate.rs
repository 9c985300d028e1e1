//! `duramen generate`.

use clap::{Args, ValueEnum};
use duramen_generate::{Format, Kind};

const EXAMPLES: &str = "\
Examples:
  duramen generate --lines 100000 | duramen ingest -
  duramen generate --kind access --format native --rate 50 > access.log
  duramen generate --lines 1000000 --seed 7 --start 2026-01-05 --planted > logs.ndjson

The same flags give the same bytes, on every machine.";

/// What to generate.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GenerateArgs {
    /// How many events; each is one line, but for native stack traces
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100_000)]
    pub(crate) lines: u64,

    /// Another seed, other lines
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,

    /// What lines
    #[arg(long, value_enum, default_value_t = KindArg::Mixed)]
    pub(crate) kind: KindArg,

    /// How to write them
    #[arg(long, value_enum, default_value_t = FormatArg::Ndjson)]
    pub(crate) format: FormatArg,

    /// When the first happens: a date, a date and time (UTC unless it says otherwise), or how long ago (2d)
    #[arg(long, value_name = "TIME", default_value = "2026-01-05")]
    pub(crate) start: String,

    /// Lines per second, on average [default: all lines in one day]
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,

    /// Leave out deploys that go wrong and dependencies that fail
    #[arg(long)]
    pub(crate) no_incidents: bool,

    /// Say on stderr which texts were planted to be found again, and on how many lines each is
    #[arg(long)]
    pub(crate) planted: bool,
}

/// `--kind`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KindArg {
    /// A fleet as it is: all the others, sharing requests, users and incidents
    Mixed,
    /// What services log, as JSON
    App,
    /// A web server's access log
    Access,
    /// What machines log: sshd, cron, the kernel, systemd, postfix
    Syslog,
    /// Java and Python services, with stack traces
    StackTraces,
}

impl From<KindArg> for Kind {
    fn from(kind: KindArg) -> Self {
        match kind {
            KindArg::Mixed => Self::Mixed,
            KindArg::App => Self::App,
            KindArg::Access => Self::Access,
            KindArg::Syslog => Self::Syslog,
            KindArg::StackTraces => Self::StackTraces,
        }
    }
}

/// `--format`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatArg {
    /// One JSON object a line, with the same field names whatever it is
    Ndjson,
    /// As the program that logs it would write it
    Native,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Ndjson => Self::Ndjson,
            FormatArg::Native => Self::Native,
        }
    }
}
