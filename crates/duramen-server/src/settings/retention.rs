//! How long lines are kept, as the settings say it: what a server that starts makes its stores' policy.
//!
//! The policy is the store's, and lies in its manifest. Settings that say nothing of it leave it as it is; settings that
//! say anything say all of it, so that a rule that is taken out of a file is gone.

use clap::Args;
use duramen::{Level, Retention, RetentionLines, RetentionRule, StreamSelector};
use duramen_query::number::{Number, parse_duration_ns};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A store's retention. What is left out limits nothing; if all is, the store's policy stays as it is.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RetentionSettings {
    /// Keep lines for so long, if no rule says otherwise: 12h, 30d, 1y, forever
    ///
    /// Any --retention flag replaces the policy that `duramen retention` has set; without one, it stays.
    #[arg(long = "retention-max-age", value_name = "AGE", env = "DURAMEN_RETENTION_MAX_AGE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<Age>,

    /// Let tables take at most so much: 500MB, 50GB
    #[arg(long = "retention-max-bytes", value_name = "SIZE", env = "DURAMEN_RETENTION_MAX_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<Size>,

    /// Keep so much of the file system free: 5GB
    #[arg(long = "retention-min-free-bytes", value_name = "SIZE", env = "DURAMEN_RETENTION_MIN_FREE_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_free_bytes: Option<Size>,

    /// Keep lines of a level for so long: debug=3d, error=forever; may be given again
    #[arg(
        long = "retention-level",
        value_name = "LEVEL=AGE",
        env = "DURAMEN_RETENTION_LEVEL",
        value_delimiter = ','
    )]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub level: Vec<Rule<Level>>,

    /// Keep lines of streams with these labels for so long: '{app="web"}=7d'; may be given again
    #[arg(long = "retention-stream", value_name = "STREAM=AGE", env = "DURAMEN_RETENTION_STREAM")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stream: Vec<Rule<StreamSelector>>,
}

impl RetentionSettings {
    /// These, and where they say nothing, `other`'s.
    pub fn or(self, other: Self) -> Self {
        Self {
            max_age: self.max_age.or(other.max_age),
            max_bytes: self.max_bytes.or(other.max_bytes),
            min_free_bytes: self.min_free_bytes.or(other.min_free_bytes),
            level: if self.level.is_empty() { other.level } else { self.level },
            stream: if self.stream.is_empty() { other.stream } else { self.stream },
        }
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The policy that they ask for; `None` if they say nothing.
    pub fn policy(&self) -> Option<Retention> {
        if self.is_empty() {
            return None;
        }
        // Streams before levels: who names a stream means all of it.
        let streams = self.stream.iter().map(|rule| RetentionRule {
            lines: RetentionLines::Stream(rule.lines.clone()),
            max_age: rule.age.0,
        });
        let levels = self
            .level
            .iter()
            .map(|rule| RetentionRule { lines: RetentionLines::Level(rule.lines), max_age: rule.age.0 });
        Some(Retention {
            max_age: self.max_age.and_then(|age| age.0),
            max_bytes: self.max_bytes.map(|size| size.0),
            min_free_bytes: self.min_free_bytes.map(|size| size.0),
            rules: streams.chain(levels).collect(),
        })
    }
}

/// An age as people write it: `12h`, `30d`, `1y`; `forever` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age(pub Option<Duration>);

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Self(None));
        }
        let ns = parse_duration_ns(text).and_then(|ns| u64::try_from(ns).ok()).filter(|ns| *ns > 0);
        ns.map(|ns| Self(Some(Duration::from_nanos(ns))))
            .ok_or_else(|| format!("an age such as 12h, 30d or forever is expected, not `{text}`"))
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(age) = self.0 else { return f.write_str("forever") };
        let ns = age.as_nanos();
        let units = [("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000)];
        let smaller = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        let (unit, in_ns) =
            units.into_iter().chain(smaller).find(|(_, unit)| ns.is_multiple_of(*unit)).unwrap_or(("ns", 1));
        write!(f, "{}{unit}", ns / in_ns)
    }
}

/// A number of bytes as people write it: `500MB`, `50GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = Number::parse(text).and_then(Number::as_int).and_then(|n| u64::try_from(n).ok());
        bytes
            .filter(|n| *n > 0)
            .map(Self)
            .ok_or_else(|| format!("a size such as 500MB or 50GiB is expected, not `{text}`"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An age for some lines, as people write it: `debug=3d`, `{app="web"}=7d`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule<T> {
    /// Which lines.
    pub lines: T,
    /// How old they may get.
    pub age: Age,
}

/// What rules are for.
trait Lines: Sized {
    fn read(text: &str) -> Result<Self, String>;
    fn written(&self) -> String;
}

impl Lines for Level {
    fn read(text: &str) -> Result<Self, String> {
        let level = if text == "unknown" { Some(Self::Unknown) } else { Self::parse(text) };
        level.ok_or_else(|| {
            format!("`{text}` is no level: trace, debug, info, warn, error, fatal, or unknown for lines without one")
        })
    }

    fn written(&self) -> String {
        if *self == Self::Unknown { "unknown".into() } else { self.to_string() }
    }
}

impl Lines for StreamSelector {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e: duramen::Error| e.to_string())
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

impl<T: Lines> FromStr for Rule<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (lines, age) = text.rsplit_once('=').ok_or("an age is expected behind `=`, as in debug=3d")?;
        Ok(Self { lines: T::read(lines)?, age: age.parse()? })
    }
}

impl<T: Lines> fmt::Display for Rule<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.lines.written(), self.age)
    }
}

/// Written and read as text.
macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(Age, Size, Rule<Level>, Rule<StreamSelector>);

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn read(toml: &str) -> Result<RetentionSettings, String> {
        toml::from_str(toml).map_err(|e| e.to_string())
    }

    #[test]
    fn what_is_said_is_the_whole_policy() {
        assert_eq!(read("").unwrap().policy(), None);
        let settings = read(
            "max_age = '30d'\nmax_bytes = '50GB'\nlevel = ['debug=90s', 'error=forever']\nstream = ['{app=\"a=b\"}=1y']",
        )
        .unwrap();
        let policy = settings.policy().unwrap();
        assert_eq!(
            (policy.max_age, policy.max_bytes, policy.min_free_bytes),
            (Some(30 * DAY), Some(50_000_000_000), None)
        );
        let stream: StreamSelector = r#"{app="a=b"}"#.parse().unwrap();
        let wanted = [
            RetentionRule::stream(stream, Some(365 * DAY)),
            RetentionRule::level(Level::Debug, Some(Duration::from_secs(90))),
            RetentionRule::level(Level::Error, None),
        ];
        assert_eq!(policy.rules, wanted);
        assert_eq!(read("max_age = 'forever'").unwrap().policy(), Some(Retention::default()));
        assert_eq!(read(&toml::to_string(&settings).unwrap()).unwrap(), settings, "as it is printed");
    }

    #[test]
    fn flags_go_before_the_file() {
        let file = read("max_age = '30d'\nlevel = ['debug=3d']").unwrap();
        let both = read("max_age = '1d'").unwrap().or(file);
        assert_eq!(both, read("max_age = '1d'\nlevel = ['debug=3d']").unwrap());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (toml, told) in [
            ("max_age = '3'", "an age such as"),
            ("max_age = '-3d'", "an age such as"),
            ("max_bytes = '0'", "a size such as"),
            ("level = ['loud=3d']", "is no level"),
            ("level = ['debug']", "an age is expected"),
            ("stream = ['{}=3d']", "1 to 64"),
            ("age = '3d'", "unknown field"),
        ] {
            let error = read(toml).unwrap_err();
            assert!(error.contains(told), "{toml}: {error}");
        }
    }
}
