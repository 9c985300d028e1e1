//! A queue of so many entries: one is put at its end, the first is read and deleted, one after the other, from one thread. What is
//! read is checked.

use super::{figures, ns_each};
use crate::Result;
use crate::case::Case;
use crate::data::{VALUE_BYTES, fill, key, tag};
use crate::store::Session;
use crate::systems::named;
use shared::case::Figures;
use std::path::Path;
use std::time::{Duration, Instant};

/// So that the fastest does not fill other files than the others.
const MOST_TAKEN: u64 = 200_000;

pub(super) fn run(case: &Case, dir: &Path) -> Result<Figures> {
    let store = named(&case.system)?.open(dir)?;
    let found = {
        let mut session = store.session()?;
        for n in 0..case.entries {
            push(&mut *session, case, n)?;
        }
        let limit = Duration::from_secs_f64(case.seconds);
        let begin = Instant::now();
        let mut taken = 0;
        while taken < MOST_TAKEN && begin.elapsed() < limit {
            push(&mut *session, case, case.entries + taken)?;
            if session.take_first()? != Some(tag(taken, 0)) {
                return Err(format!("entry {taken} is not the first, or not as it was written").into());
            }
            taken += 1;
        }
        figures([("cycle_ns", ns_each(begin.elapsed(), taken)), ("taken", taken as f64)])
    };
    store.close()?;
    Ok(found)
}

fn push(session: &mut dyn Session, case: &Case, n: u64) -> Result<()> {
    let mut value = [0; VALUE_BYTES];
    fill(n, 0, &mut value);
    session.put(&key(case.order, n), &value)
}
