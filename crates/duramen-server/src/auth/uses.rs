//! When tokens were last used: `DIR/server/tokens-used.json`, beside the tokens.
//!
//! ```text
//! {"version":1,"last_used_ns":{"<id>":<ns since the epoch>,…}}
//! ```
//!
//! Servers write it when a token is used, once a minute at most, and when they stop; under a lock of its own, so that it is
//! never in the way of the tokens. It is for people to look at: after a crash it lacks up to a minute.

use super::Tokens;
use super::tokens::{TokenError, TokenFile};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

const NAME: &str = "tokens-used.json";
const VERSION: u32 = 1;
/// How often it is written at most.
const EVERY: Duration = Duration::from_secs(60);

/// When tokens were last used, ns since the epoch, by their identities.
pub type LastUses = BTreeMap<String, i64>;

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    last_used_ns: LastUses,
}

impl TokenFile {
    /// When tokens were last used, as far as servers have told, which they do within a minute; without tokens that never
    /// were.
    ///
    /// # Errors
    /// [`TokenError::Io`]; [`TokenError::Malformed`] if the file's text is not what is expected.
    pub fn last_uses(&self) -> Result<LastUses, TokenError> {
        let file = self.parse_one(NAME, &self.bytes_of(NAME)?, |file: &File| (file.version, VERSION))?;
        Ok(file.map(|file| file.last_used_ns).unwrap_or_default())
    }

    /// Writes when tokens were used, beside what other servers have written, but for tokens that are not known any more.
    /// Says whether it did: not while another server does.
    fn note(&self, uses: &LastUses, is_known: impl Fn(&str) -> bool) -> Result<bool, TokenError> {
        let Some(_lock) = self.try_lock("tokens-used.lock")? else { return Ok(false) };
        // What cannot be read is not worth keeping.
        let mut all = self.last_uses().unwrap_or_default();
        for (id, &ns) in uses {
            let last = all.entry(id.clone()).or_insert(ns);
            *last = ns.max(*last);
        }
        all.retain(|id, _| is_known(id));
        self.replace(NAME, &File { version: VERSION, last_used_ns: all })?;
        Ok(true)
    }
}

/// What a server has written of its tokens' uses, and when, by the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Noted {
    at: Option<Duration>,
    uses: LastUses,
}

impl Tokens {
    /// Writes when tokens were last used, if that is news, and a minute after the last time, or `at_once`.
    ///
    /// # Errors
    /// [`TokenError::Io`]; it is tried again in a minute.
    pub fn note_uses(&self, at_once: bool) -> Result<(), TokenError> {
        let now = self.env.clock.monotonic();
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if !at_once && noted.at.is_some_and(|at| now.saturating_sub(at) < EVERY) {
            return Ok(());
        }
        let known = self.known.load();
        let uses = known.iter().map(|(id, known)| (id.clone(), known.last_used_ns.load(Ordering::Relaxed)));
        let uses: LastUses = uses.filter(|(_, ns)| *ns > 0).collect();
        if uses == noted.uses {
            return Ok(());
        }
        noted.at = Some(now);
        if self.file.note(&uses, |id| known.contains_key(id))? {
            noted.uses = uses;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewToken, Scope};
    use duramen_engine::io::Env;

    #[test]
    fn uses_of_several_servers_are_kept_and_those_of_revoked_tokens_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let file = TokenFile::of(Env::os(), dir.path());
        assert_eq!(file.last_uses().unwrap(), LastUses::new());
        let uses = |pairs: &[(&str, i64)]| -> LastUses {
            pairs.iter().map(|(id, ns)| ((*id).to_owned(), *ns)).collect()
        };
        assert!(file.note(&uses(&[("a", 5), ("b", 5)]), |_| true).unwrap());
        assert!(file.note(&uses(&[("a", 4), ("c", 6)]), |_| true).unwrap());
        assert_eq!(file.last_uses().unwrap(), uses(&[("a", 5), ("b", 5), ("c", 6)]));
        let held = file.try_lock("tokens-used.lock").unwrap();
        assert!(!file.note(&uses(&[("a", 7)]), |_| true).unwrap());
        drop(held);
        assert!(file.note(&uses(&[("a", 7)]), |id| id != "b").unwrap());
        assert_eq!(file.last_uses().unwrap(), uses(&[("a", 7), ("c", 6)]));
        std::fs::write(dir.path().join("server").join(NAME), "{").unwrap();
        assert!(file.last_uses().unwrap_err().to_string().contains(NAME));
        assert!(file.note(&uses(&[("a", 8)]), |_| true).unwrap(), "a damaged one is replaced");
        assert_eq!(file.last_uses().unwrap(), uses(&[("a", 8)]));
    }

    #[test]
    fn a_use_is_written_once_a_minute_and_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = TokenFile::of(Env::os(), dir.path());
        let new = NewToken { name: "a".into(), scopes: vec![Scope::Read], ..NewToken::default() };
        let (token, _) = file.create(new).unwrap();
        let tokens = Tokens::load(&Env::os(), dir.path()).unwrap();
        tokens.note_uses(true).unwrap();
        assert!(!dir.path().join("server").join(NAME).exists(), "nothing was used");
        let known = tokens.known.load().get(&token.id).unwrap().clone();
        let last = || file.last_uses().unwrap().get(&token.id).copied();
        for (used_ns, at_once, written) in [(5, false, 5), (6, false, 5), (7, true, 7)] {
            known.last_used_ns.store(used_ns, Ordering::Relaxed);
            tokens.note_uses(at_once).unwrap();
            assert_eq!(last(), Some(written));
        }
    }
}
