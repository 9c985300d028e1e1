//! What a line survives before it is acknowledged, as people write it.

use duramen::Durability;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// [`Durability`] as people write it: `none`, `process`, `interval:MS`, `sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durable(pub Durability);

impl FromStr for Durable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let durability = match text.split_once([':', '=']) {
            None if text == "none" => Durability::None,
            None if text == "process" => Durability::Process,
            None if text == "sync" => Durability::Sync,
            None if text == "interval" => Durability::IntervalMs(1000),
            Some(("interval", ms)) => match ms.trim_end_matches("ms").parse() {
                Ok(interval_ms @ 1..=3_600_000) => Durability::IntervalMs(interval_ms),
                _ => return Err(format!("`{ms}` is no number of milliseconds from 1 to 3600000")),
            },
            _ => return Err(format!("`{text}` is none of: none, process, interval:MS, sync")),
        };
        Ok(Self(durability))
    }
}

impl Serialize for Durable {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Durability::None => serializer.serialize_str("none"),
            Durability::Process => serializer.serialize_str("process"),
            Durability::Sync => serializer.serialize_str("sync"),
            Durability::IntervalMs(interval_ms) => {
                serializer.collect_str(&format_args!("interval:{interval_ms}"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Durable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_as_people_write_it() {
        assert_eq!("interval:50".parse(), Ok(Durable(Durability::IntervalMs(50))));
        assert_eq!("interval=50ms".parse(), Ok(Durable(Durability::IntervalMs(50))));
        assert_eq!("interval".parse(), Ok(Durable(Durability::IntervalMs(1000))));
        assert_eq!("sync".parse(), Ok(Durable(Durability::Sync)));
        for wrong in ["", "interval:0", "interval:x", "sync:1"] {
            assert!(wrong.parse::<Durable>().is_err(), "{wrong}");
        }
    }
}
