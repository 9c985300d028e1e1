//! Under which keys of a line the values are of which `json` makes labels.

use super::json::MAX_DEPTH;
use crate::labels::sanitize;
use jiter::{Jiter, JiterResult, Peek};

/// The labels that `json` makes of a line, before any is called `…_extracted`, each with the keys that lead to its value; of
/// those before a break in the line, and of a mebibyte of keys at most.
///
/// ```
/// let found = duramen_logql::json_paths(r#"{"user":{"full name":"ann","tags":["a"]},"n":1}"#);
/// let shown: Vec<_> = found.iter().map(|(label, keys)| format!("{label}={}", keys.join("."))).collect();
/// assert_eq!(shown, ["user_full_name=user.full name", "n=n"]);
/// ```
pub fn json_paths(line: &str) -> Vec<(String, Vec<String>)> {
    let mut walk = Walk { keys: Vec::new(), found: Vec::new(), room_bytes: MAX_PATHS_BYTES };
    // What is broken has no labels either, and nobody asks where they are.
    let _broken = walk.object(&mut Jiter::new(line.as_bytes()));
    walk.found
}

/// The most bytes of keys that a line's paths have together: a long key is in the path of each value behind it.
const MAX_PATHS_BYTES: usize = 1 << 20;

struct Walk {
    keys: Vec<String>,
    found: Vec<(String, Vec<String>)>,
    room_bytes: usize,
}

impl Walk {
    fn object(&mut self, jiter: &mut Jiter<'_>) -> JiterResult<()> {
        let mut key = jiter.next_object()?.map(str::to_string);
        while let Some(k) = key {
            self.keys.push(k);
            match jiter.peek()? {
                Peek::Object if self.keys.len() < MAX_DEPTH => self.object(jiter)?,
                peek @ (Peek::Object | Peek::Array | Peek::Null) => jiter.known_skip(peek)?,
                peek => {
                    jiter.known_skip(peek)?;
                    self.value();
                }
            }
            self.keys.pop();
            key = jiter.next_key()?.map(str::to_string);
        }
        Ok(())
    }

    fn value(&mut self) {
        let bytes = self.keys.iter().map(|key| key.len() + 1).sum();
        let Some(room_bytes) = self.room_bytes.checked_sub(bytes) else { return };
        self.room_bytes = room_bytes;
        let named = self.keys.iter().map(|key| key.trim()).filter(|key| !key.is_empty());
        let label = named.collect::<Vec<_>>().join("_");
        self.found.push((sanitize(&label).into_owned(), self.keys.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_before_many_values_takes_no_more_than_is_allowed() {
        let members: Vec<_> = (0..1_000).map(|n| format!("\"m{n}\":1")).collect();
        let line = format!("{{\"{}\":{{{}}},\"n\":1}}", "k".repeat(100_000), members.join(","));
        let found = json_paths(&line);
        assert_eq!(found.len(), 11);
        assert_eq!(found[10], ("n".to_owned(), vec!["n".to_owned()]));
    }
}
