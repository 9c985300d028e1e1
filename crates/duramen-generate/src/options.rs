//! What to generate.

/// What lines to generate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A fleet as it is: all the others, sharing requests, users and incidents.
    #[default]
    Mixed,
    /// What the services log, as JSON.
    App,
    /// The edge's access log, in the combined format.
    Access,
    /// What the machines log: RFC 5424 and RFC 3164 lines of sshd, cron, the kernel, systemd and postfix.
    Syslog,
    /// Text logs of Java and Python services, with multi-line stack traces.
    StackTraces,
}

/// How to write each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line, with the same field names whatever the event is.
    #[default]
    Ndjson,
    /// As the program that logs it would: JSON, combined access log, syslog, text with stack traces.
    Native,
}

/// How the events lie in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// All of them in about so many nanoseconds.
    DurationNs(u64),
    /// So many per second on average.
    PerSecond(f64),
}

/// The options of a [`Generator`](crate::Generator).
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Same options and seed, same bytes. Default 1.
    pub seed: u64,
    /// How many events. Each is one line, but for native stack traces, which span several. Default 100,000.
    pub lines: u64,
    /// The time before the first event, in nanoseconds since 1970-01-01T00:00:00Z.
    /// From the year 1970 to 2200. Default 2026-01-05T00:00:00Z.
    pub start_ns: i64,
    /// How the events lie in time; at most 10 years in all. Default one day.
    pub pace: Pace,
    /// What lines. Default [`Kind::Mixed`].
    pub kind: Kind,
    /// How to write them. Default [`Format::Ndjson`].
    pub format: Format,
    /// How many services log, 1 to 1,000. Default 20.
    pub services: u16,
    /// On how many hosts they run, 1 to 1,000. Default 20.
    pub hosts: u16,
    /// Whether deploys go wrong and dependencies fail now and then. Default true.
    pub incidents: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            lines: 100_000,
            start_ns: 1_767_571_200_000_000_000,
            pace: Pace::DurationNs(86_400_000_000_000),
            kind: Kind::Mixed,
            format: Format::Ndjson,
            services: 20,
            hosts: 20,
            incidents: true,
        }
    }
}

/// An option is outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} must be {range}")]
pub struct InvalidOption {
    /// The option's name.
    pub option: &'static str,
    /// What it may be.
    pub range: &'static str,
}

const TEN_YEARS_NS: f64 = 3.2e17;
const YEAR_2200_NS: i64 = 7_258_118_400_000_000_000;

impl Options {
    /// How many nanoseconds the events span.
    pub(crate) fn span_ns(&self) -> Result<f64, InvalidOption> {
        let invalid = |option, range| Err(InvalidOption { option, range });
        if !(1..=1000).contains(&self.services) {
            return invalid("services", "from 1 to 1000");
        }
        if !(1..=1000).contains(&self.hosts) {
            return invalid("hosts", "from 1 to 1000");
        }
        if !(0..=YEAR_2200_NS).contains(&self.start_ns) {
            return invalid("start_ns", "between the years 1970 and 2200");
        }
        let span_ns = match self.pace {
            Pace::DurationNs(ns) => ns as f64,
            Pace::PerSecond(rate) if rate.is_finite() && rate > 0.0 => self.lines as f64 / rate * 1e9,
            Pace::PerSecond(_) => return invalid("the rate", "a positive number"),
        };
        if span_ns > TEN_YEARS_NS {
            return invalid("the time that all lines span", "at most ten years: raise the rate");
        }
        Ok(span_ns.max(1.0))
    }
}
