//! Space: 10,000 entries as small as those of study 000 (`key17` → `value17`; its log took 369 KiB for them),
//! closed, and after a compaction.

use super::figures;
use crate::Result;
use crate::case::Case;
use crate::systems::named;
use shared::case::Figures;
use std::path::Path;

pub(super) fn run(case: &Case, dir: &Path) -> Result<Figures> {
    let system = named(&case.system)?;
    let store = system.open(dir)?;
    let mut payload = 0;
    {
        let mut session = store.session()?;
        for n in 0..case.entries {
            let (key, value) = (format!("key{n}"), format!("value{n}"));
            payload += key.len() + value.len();
            session.put(key.as_bytes(), value.as_bytes())?;
        }
    }
    store.close()?;
    let closed = shared::disk::disk_bytes(dir);
    let store = system.open(dir)?;
    store.settle()?;
    store.close()?;
    let compacted = shared::disk::disk_bytes(dir);

    let store = system.open(dir)?;
    store.read(&mut |reader| {
        for n in (0..case.entries).step_by(17) {
            if reader.get_value(format!("key{n}").as_bytes())?.as_deref()
                != Some(format!("value{n}").as_bytes())
            {
                return Err(format!("key{n} is not as it was written").into());
            }
        }
        match reader.scan()?.count {
            count if count == case.entries => Ok(()),
            count => Err(format!("{count} entries of {}", case.entries).into()),
        }
    })?;
    Ok(figures([
        ("payload_bytes", payload as f64),
        ("closed_bytes", closed as f64),
        ("compacted_bytes", compacted as f64),
    ]))
}
