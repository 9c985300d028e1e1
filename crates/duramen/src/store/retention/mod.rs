//! How long lines are kept, and how much disk they may take.
//!
//! ```text
//! a line's rule    the first of the policy's rules that fits it: by its stream, or by its level
//! its limit        that rule's age; if no rule fits, the policy's `max_age`; none: it is kept for ever
//! ```
//!
//! The policy lies in the manifest, so that whichever process is keeper enforces the same one. Lines that have the
//! same rule are a *class*, and classes lie in tables of their own, so that expiry is the removal of files.

mod classes;
mod codec;
mod counts;
mod plan;
mod selector;

pub use counts::{Removed, RetentionCounts};
pub use selector::StreamSelector;

pub(crate) use classes::{Classifier, Sorted, sort};
pub(crate) use codec::POLICY_KEY;
pub(crate) use counts::COUNTS_KEY;
pub(crate) use plan::{Plan, Reason, plan};

use crate::error::{Error, Result};
use crate::value::Level;
use std::time::Duration;

/// The most rules that a policy may have: each makes tables of its own.
pub const MAX_RETENTION_RULES: usize = 64;
/// The shortest age that may be asked for: less is a mistake.
pub const MIN_RETENTION_AGE: Duration = Duration::from_secs(1);

/// How long lines are kept, and how much disk they may take. The default keeps everything.
///
/// ```
/// use duramen::{Level, Retention, RetentionRule};
/// use std::time::Duration;
/// const DAY: Duration = Duration::from_secs(86_400);
/// let policy = Retention {
///     max_age: Some(30 * DAY),
///     rules: vec![
///         RetentionRule::stream(r#"{app="audit"}"#.parse()?, None), // for ever
///         RetentionRule::level(Level::Debug, Some(3 * DAY)),
///     ],
///     ..Retention::default()
/// };
/// # let dir = tempfile::tempdir()?;
/// # let store = duramen::Store::open(dir.path().join("logs"))?;
/// store.set_retention(&policy)?;
/// assert_eq!(store.retention()?, policy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// How old a line may get that no rule fits; at least [`MIN_RETENTION_AGE`]. Default: `None`, any age.
    pub max_age: Option<Duration>,
    /// How many bytes the tables may take together. Over it, the oldest go first; those of the newest UTC day that
    /// has lines, and of today and what is dated later, stay. Default: `None`, any number.
    pub max_bytes: Option<u64>,
    /// How many bytes of the file system are to stay free. Below it, tables go as with `max_bytes`. Default: `None`.
    pub min_free_bytes: Option<u64>,
    /// Other ages for some lines; the first that fits a line decides. At most [`MAX_RETENTION_RULES`].
    pub rules: Vec<RetentionRule>,
}

/// An age for some lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionRule {
    /// Which lines.
    pub lines: RetentionLines,
    /// How old these may get, at least [`MIN_RETENTION_AGE`]; `None`: any age.
    pub max_age: Option<Duration>,
}

/// Which lines a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetentionLines {
    /// Those of this level.
    Level(Level),
    /// Those of these streams.
    Stream(StreamSelector),
}

impl RetentionRule {
    /// A rule for the lines of a level.
    pub fn level(level: Level, max_age: Option<Duration>) -> Self {
        Self { lines: RetentionLines::Level(level), max_age }
    }

    /// A rule for the lines of some streams.
    pub fn stream(streams: StreamSelector, max_age: Option<Duration>) -> Self {
        Self { lines: RetentionLines::Stream(streams), max_age }
    }
}

impl Retention {
    /// Whether it keeps everything.
    pub fn keeps_everything(&self) -> bool {
        self.max_bytes.is_none()
            && self.min_free_bytes.is_none()
            && self.max_age.is_none()
            && self.rules.iter().all(|rule| rule.max_age.is_none())
    }

    /// The age of the class with this number: that of the rule, or behind the last rule that of all other lines.
    /// `None`: any age.
    pub(crate) fn age_of_class(&self, class: usize) -> Option<Duration> {
        self.rules.get(class).map_or(self.max_age, |rule| rule.max_age)
    }

    /// The age that no line gets over, whatever its class.
    pub(crate) fn longest_age(&self) -> Option<Duration> {
        let ages = (0..=self.rules.len()).map(|class| self.age_of_class(class));
        ages.reduce(|a, b| Some(a?.max(b?))).flatten()
    }

    /// The age that some line may not get over, if there is any.
    pub(crate) fn shortest_age(&self) -> Option<Duration> {
        (0..=self.rules.len()).filter_map(|class| self.age_of_class(class)).min()
    }

    /// # Errors
    /// [`Error::Invalid`] if it asks for what cannot be meant.
    pub(crate) fn validate(&self) -> Result<()> {
        let ages = self.rules.iter().map(|rule| rule.max_age).chain([self.max_age]).flatten();
        if let Some(age) = ages.min().filter(|age| *age < MIN_RETENTION_AGE) {
            return Err(Error::Invalid(format!(
                "an age of {age:?} would remove everything; give at least 1 s"
            )));
        }
        if self.max_bytes == Some(0) {
            return Err(Error::Invalid("0 bytes would remove everything".into()));
        }
        if self.rules.len() > MAX_RETENTION_RULES {
            let found = self.rules.len();
            return Err(Error::Invalid(format!("{found} retention rules; at most {MAX_RETENTION_RULES}")));
        }
        Ok(())
    }
}

/// The moment before which a line of this age limit has expired, ns since the epoch.
pub(crate) fn expiry(now_ns: i64, age: Duration) -> i64 {
    now_ns.saturating_sub(i64::try_from(age.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_age_is_none_if_any_line_stays_for_ever() {
        let secs = |n| Some(Duration::from_secs(n));
        let mut policy = Retention { max_age: secs(5), ..Retention::default() };
        assert_eq!(policy.longest_age(), secs(5));
        policy.rules.push(RetentionRule::level(Level::Error, secs(9)));
        assert_eq!(
            (policy.longest_age(), policy.age_of_class(0), policy.age_of_class(1)),
            (secs(9), secs(9), secs(5))
        );
        policy.rules.push(RetentionRule::level(Level::Fatal, None));
        assert_eq!(policy.longest_age(), None);
        assert!(!policy.keeps_everything() && Retention::default().keeps_everything());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let mut policy = Retention { max_age: Some(Duration::from_millis(999)), ..Retention::default() };
        assert!(policy.validate().unwrap_err().to_string().contains("at least 1 s"));
        policy.max_age = None;
        policy.rules = vec![RetentionRule::level(Level::Debug, None); MAX_RETENTION_RULES + 1];
        assert!(policy.validate().unwrap_err().to_string().contains("at most 64"));
        policy.rules.pop();
        policy.validate().unwrap();
        policy.max_bytes = Some(0);
        assert!(policy.validate().is_err());
    }
}
