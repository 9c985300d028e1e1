//! The policy's bytes in the manifest, under the key `retention`. CBOR:
//!
//! ```text
//! [ version         uint           1
//!   max_age_ms      uint or null
//!   max_bytes       uint or null
//!   min_free_bytes  uint or null
//!   rules           [ rule … ] ]
//!
//! rule  [ level       uint or null   0 unknown, 1 trace … 6 fatal
//!         labels      [ [ name text, value text ] … ]   if level is null: a stream has all these
//!         max_age_ms  uint or null ]
//! ```

use super::{Retention, RetentionLines, RetentionRule, StreamSelector};
use crate::error::{Error, Result};
use crate::value::Level;
use minicbor::{Decode, Encode};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Where the policy lies among the manifest's values.
pub(crate) const POLICY_KEY: &[u8] = b"retention";

const VERSION: u64 = 1;

#[derive(Encode, Decode)]
#[cbor(array)]
struct Policy {
    #[n(0)]
    version: u64,
    #[n(1)]
    max_age_ms: Option<u64>,
    #[n(2)]
    max_bytes: Option<u64>,
    #[n(3)]
    min_free_bytes: Option<u64>,
    #[n(4)]
    rules: Vec<Rule>,
}

#[derive(Encode, Decode)]
#[cbor(array)]
struct Rule {
    #[n(0)]
    level: Option<u8>,
    #[n(1)]
    labels: Vec<(String, String)>,
    #[n(2)]
    max_age_ms: Option<u64>,
}

impl Retention {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let policy = Policy {
            version: VERSION,
            max_age_ms: self.max_age.map(to_ms),
            max_bytes: self.max_bytes,
            min_free_bytes: self.min_free_bytes,
            rules: self.rules.iter().map(|rule| to_rule(&rule.lines, rule.max_age)).collect(),
        };
        encode(&policy)
    }

    /// # Errors
    /// [`Error::Decode`] if the bytes are no policy, or one of a newer version: what that would keep is not known.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let bad = |e: &dyn std::fmt::Display| Error::decode("the retention policy", e);
        let mut d = minicbor::Decoder::new(bytes);
        match d.array().and_then(|_| d.u64()) {
            Ok(VERSION) => {}
            Ok(newer) => return Err(bad(&format!("it has version {newer}; use a newer duramen"))),
            Err(e) => return Err(bad(&e)),
        }
        let policy: Policy = minicbor::decode(bytes).map_err(|e| bad(&e))?;
        let rules = policy.rules.into_iter().map(from_rule).collect::<Result<Vec<_>>>()?;
        let decoded = Self {
            max_age: policy.max_age_ms.map(Duration::from_millis),
            max_bytes: policy.max_bytes,
            min_free_bytes: policy.min_free_bytes,
            rules,
        };
        decoded.validate().map_err(|e| bad(&e))?;
        Ok(decoded)
    }

    /// Tells which lines have which class: policies that differ only in ages and sizes have the same.
    pub(crate) fn classes_id(&self) -> u64 {
        let matchers: Vec<Rule> = self.rules.iter().map(|rule| to_rule(&rule.lines, None)).collect();
        xxh3_64(&encode(&matchers))
    }
}

fn to_rule(lines: &RetentionLines, max_age: Option<Duration>) -> Rule {
    let (level, labels) = match lines {
        RetentionLines::Level(level) => (Some(*level as u8), Vec::new()),
        RetentionLines::Stream(selector) => (None, selector.labels().to_vec()),
    };
    Rule { level, labels, max_age_ms: max_age.map(to_ms) }
}

fn from_rule(rule: Rule) -> Result<RetentionRule> {
    let lines = match rule.level {
        Some(level) => RetentionLines::Level(
            Level::from_u8(level)
                .ok_or_else(|| Error::decode("the retention policy", "there is no such level"))?,
        ),
        None => RetentionLines::Stream(
            StreamSelector::new(rule.labels).map_err(|e| Error::decode("the retention policy", e))?,
        ),
    };
    Ok(RetentionRule { lines, max_age: rule.max_age_ms.map(Duration::from_millis) })
}

fn to_ms(age: Duration) -> u64 {
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}

fn encode(value: &impl Encode<()>) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to a Vec cannot fail.
    let _infallible = minicbor::encode(value, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy() -> impl Strategy<Value = Retention> {
        let age = || proptest::option::of((1u64..10_000_000).prop_map(Duration::from_secs));
        let lines = prop_oneof![
            (0u8..7).prop_map(|n| RetentionLines::Level(Level::from_u8(n).unwrap())),
            ("[a-z]{1,3}", ".{0,4}")
                .prop_map(|label| { RetentionLines::Stream(StreamSelector::new([label]).unwrap()) }),
        ];
        let rule = (lines, age()).prop_map(|(lines, max_age)| RetentionRule { lines, max_age });
        let size = || proptest::option::of(1u64..);
        (age(), size(), size(), proptest::collection::vec(rule, 0..5)).prop_map(
            |(max_age, max_bytes, min_free_bytes, rules)| Retention {
                max_age,
                max_bytes,
                min_free_bytes,
                rules,
            },
        )
    }

    proptest! {
        #[test]
        fn a_policy_comes_back(policy in policy()) {
            prop_assert_eq!(Retention::decode(&policy.encode()).unwrap(), policy);
        }

        #[test]
        fn no_bytes_make_it_panic(policy in policy(), at: usize, byte: u8, junk: Vec<u8>) {
            let mut bytes = policy.encode();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _any = Retention::decode(&bytes);
            let _any = Retention::decode(&bytes[..at]);
            let _any = Retention::decode(&junk);
        }
    }

    #[test]
    fn a_newer_version_is_not_guessed_at() {
        let mut bytes = Retention::default().encode();
        bytes[1] = 2;
        assert!(Retention::decode(&bytes).unwrap_err().to_string().contains("newer duramen"));
    }

    #[test]
    fn ages_do_not_change_classes_and_matchers_do() {
        let mut policy = Retention::default();
        let none = policy.classes_id();
        policy.rules.push(RetentionRule::level(Level::Debug, None));
        let one = policy.classes_id();
        policy.rules[0].max_age = Some(Duration::from_secs(9));
        policy.max_age = Some(Duration::from_secs(9));
        assert_eq!(policy.classes_id(), one);
        policy.rules[0].lines = RetentionLines::Level(Level::Trace);
        assert!(none != one && policy.classes_id() != one);
    }
}
