//! Who is taking which source: of two processes that are given one file at once, the second waits, and goes on behind what
//! the first has taken.
//!
//! The store knows how far each source was read, and each process looks once, when it begins: so whoever takes a source
//! holds a lock, and counts in its file when it begins and when it ends. Who finds another count than when it looked, or
//! looked while somebody had it (the count is odd), looks again. Sources share [`LOCKS`] files, `sources/00` and so on in the store: two that share one only wait for each other.

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use duramen_engine::io::{Env, File, Lock, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How many files sources share.
const LOCKS: u64 = 256;
/// How often to look whether a source is free.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Drop for Claim {
    fn drop(&mut self) {
        // Whoever comes next looks once more than it need if this fails, or is never done.
        let _looks_again = self.file.write_all_at(&self.ended.to_le_bytes(), 0);
    }
}

/// The locks of one store's sources.
#[derive(Debug)]
pub(crate) struct Claims {
    env: Env,
    dir: PathBuf,
    /// The count of each when the store was last asked, or later by ourselves; `None` if somebody had it.
    counts: Vec<Option<u64>>,
}

/// A source is taken by nobody else.
#[derive(Debug)]
pub(crate) struct Claim {
    file: Arc<dyn File>,
    /// The count when this has ended.
    ended: u64,
    _lock: Box<dyn Lock>,
    /// Whether another process held it since the store was last asked: ask it again.
    pub(crate) others_were_here: bool,
}

impl Claims {
    /// Of a store; ask it how far its sources are after this.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn of(env: &Env, store: &Path) -> Result<Self, Failure> {
        Self::read(env, store).map_err(|e| failed(&e))
    }

    fn read(env: &Env, store: &Path) -> io::Result<Self> {
        let dir = store.join("sources");
        env.fs.create_dir_all(&dir)?;
        let mut claims = Self { env: env.clone(), dir, counts: vec![Some(0); LOCKS as usize] };
        for file in claims.env.fs.read_dir(&claims.dir)? {
            if let Ok(number) = u64::from_str_radix(&file.name, 16)
                && let Some(slot) = claims.counts.get_mut(number as usize)
            {
                let found = count(&claims.env, &claims.dir.join(&file.name))?;
                *slot = Some(found).filter(|found| found % 2 == 0);
            }
        }
        Ok(claims)
    }

    /// Takes a source, by a hash of what it is. While another process has it, waits, and says so once; `None` if a signal
    /// came first.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn take(
        &mut self,
        source: u64,
        interrupt: &Interrupt,
        say: impl FnOnce(&str),
    ) -> Result<Option<Claim>, Failure> {
        let mut say = Some(say);
        while !interrupt.requested() {
            if let Some(claim) = self.try_take(source).map_err(|e| failed(&e))? {
                return Ok(Some(claim));
            }
            if let Some(say) = say.take() {
                say("another process is taking it; waiting until it has ended");
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
        Ok(None)
    }

    fn try_take(&mut self, source: u64) -> io::Result<Option<Claim>> {
        let number = source % LOCKS;
        let path = self.dir.join(format!("{number:02x}"));
        let Some(lock) = self.env.fs.try_lock(&path)? else { return Ok(None) };
        let found = count(&self.env, &path)?;
        let file = self.env.fs.open(&path, OpenMode::ReadWrite)?;
        let begun = found.wrapping_add(1) | 1;
        file.write_all_at(&begun.to_le_bytes(), 0)?;
        let ended = begun.wrapping_add(1);
        let slot = &mut self.counts[number as usize];
        let others_were_here = *slot != Some(found);
        *slot = Some(ended);
        Ok(Some(Claim { file, ended, _lock: lock, others_were_here }))
    }
}

fn failed(error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot lock a source in the store: {error}"))
}

/// How often a source was begun with, and ended with.
fn count(env: &Env, path: &Path) -> io::Result<u64> {
    let mut bytes = [0; 8];
    let read = env.fs.open(path, OpenMode::Read)?.read_at(&mut bytes, 0)?;
    // It was made, and never written to.
    Ok(if read == bytes.len() { u64::from_le_bytes(bytes) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen_engine::io::sim::Sim;

    #[test]
    fn one_takes_a_source_and_the_next_knows_of_it() {
        let sim = Sim::new(1);
        let claims = || Claims::of(&sim.env(), Path::new("/store")).unwrap();
        let (mut first, mut two) = (claims(), claims());
        let held = first.try_take(7).unwrap().unwrap();
        assert!(!held.others_were_here);
        assert!(two.try_take(7).unwrap().is_none());
        assert!(two.try_take(7 + LOCKS).unwrap().is_none(), "they share one");
        assert!(!two.try_take(8).unwrap().unwrap().others_were_here);
        let mut three = claims();
        drop(held);
        assert!(three.try_take(7).unwrap().unwrap().others_were_here, "it looked while one had it");
        let mut one = claims();
        assert!(!one.try_take(7).unwrap().unwrap().others_were_here, "nobody but ourselves");
        assert!(two.try_take(7).unwrap().unwrap().others_were_here);
        assert!(!two.try_take(7).unwrap().unwrap().others_were_here, "it has looked since");
        assert!(one.try_take(7).unwrap().unwrap().others_were_here);
        assert!(!claims().try_take(7).unwrap().unwrap().others_were_here, "it looks after this");
    }
}
