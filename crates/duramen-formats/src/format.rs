//! The formats by name.

use std::{fmt, str::FromStr};

/// What the lines of an input look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LineFormat {
    /// Find out, line by line, helped by what the first lines show.
    #[default]
    Auto,
    /// One JSON object a line.
    Ndjson,
    /// `key=value key="quoted value"`.
    Logfmt,
    /// RFC 3164 or RFC 5424, with or without `<PRI>`; CEF and LEEF, in syslog or by themselves.
    Syslog,
    /// Common or combined log format of web servers; access logs of AWS's load balancers and of S3.
    AccessLog,
    /// Columns whose names a header says: the W3C's extended log format (IIS, CloudFront), Zeek's tables, VPC flow logs.
    Columns,
    /// Files of containers' runtimes, each line behind a head: Docker's `json-file` driver, CRI's logs. What the programs wrote is read
    /// as by [`LineFormat::Auto`].
    Container,
    /// systemd's journal export format, of which entries are no lines (`journalctl -o export`).
    Journal,
    /// JSON documents that have all records in an array, be it in one line: `{"Records":[…]}`.
    CloudTrail,
    /// Text; only its time stamp and level are looked for.
    Plain,
}

impl LineFormat {
    /// Every format, `auto` first.
    pub fn all() -> [Self; 10] {
        [
            Self::Auto,
            Self::Ndjson,
            Self::Logfmt,
            Self::Syslog,
            Self::AccessLog,
            Self::Columns,
            Self::Container,
            Self::Journal,
            Self::CloudTrail,
            Self::Plain,
        ]
    }

    /// Its name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ndjson => "ndjson",
            Self::Logfmt => "logfmt",
            Self::Syslog => "syslog",
            Self::AccessLog => "access",
            Self::Columns => "columns",
            Self::Container => "container",
            Self::Journal => "journal",
            Self::CloudTrail => "cloudtrail",
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for LineFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no format is called {0:?}: use auto, ndjson, logfmt, syslog, access, columns, container, journal, cloudtrail or plain"
)]
pub struct UnknownFormat(
    /// The name.
    pub String,
);

impl FromStr for LineFormat {
    type Err = UnknownFormat;

    /// Reads a name in any case; also `json`, `jsonl`, `access-log`, `combined`, `common`, `w3c`, `zeek`, `docker`,
    /// `cri`, `export` and `text`.
    fn from_str(s: &str) -> Result<Self, UnknownFormat> {
        Ok(match &*s.to_ascii_lowercase() {
            "auto" => Self::Auto,
            "ndjson" | "json" | "jsonl" => Self::Ndjson,
            "logfmt" => Self::Logfmt,
            "syslog" => Self::Syslog,
            "access" | "access-log" | "access_log" | "accesslog" | "combined" | "common" => Self::AccessLog,
            "columns" | "w3c" | "zeek" => Self::Columns,
            "container" | "docker" | "cri" => Self::Container,
            "journal" | "export" => Self::Journal,
            "cloudtrail" => Self::CloudTrail,
            "plain" | "text" => Self::Plain,
            _ => return Err(UnknownFormat(s.to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for format in LineFormat::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert_eq!("Combined".parse(), Ok(LineFormat::AccessLog));
        assert!("xml".parse::<LineFormat>().unwrap_err().to_string().contains("\"xml\""));
    }
}
