//! A verification beside a writer that goes on: what it does meanwhile is no damage.

use crate::store::{Store, StoreOptions};
use crate::{Durability, EntryBuf};
use duramen_engine::io::sim::Sim;
use std::path::Path;

fn append(store: &Store, lines: u64) -> crate::Result<()> {
    let mut entry = EntryBuf::new(["app"]);
    for n in 0..lines {
        store.append(entry.start(n as i64).message(&"x".repeat(1000)).finish()?)?;
    }
    Ok(())
}

/// Where segments are not mapped, lines are in memory first: a segment has none when it is looked at, and all of them before the
/// one after it, which is there already, is.
#[test]
fn a_segment_that_is_written_meanwhile_is_not_missed() -> crate::Result<()> {
    for removes in [false, true] {
        let sim = Sim::new(1);
        sim.refuse_mapping(true);
        let options = || StoreOptions::new().background(false).write_buffer_size(64 << 10);
        let keeper = options().env(sim.spawn_process().env()).open("/logs")?;
        let writes = options().env(sim.spawn_process().env()).durability(Durability::None).keeper(false);
        let store = writes.open("/logs")?;
        append(&store, 1)?;
        store.flush()?;
        keeper.flush()?;
        append(&store, 50)?;
        if let Some(wal) = store.shared.wal.newest() {
            wal.background_step()?;
        }
        let reader = options().env(sim.spawn_process().env()).open_read_only("/logs")?;
        let meanwhile = || -> crate::Result<()> {
            append(&store, 50)?;
            store.sync()?;
            if removes {
                let segments = sim.files().into_iter().filter(|file| file.ends_with(".wal"));
                let first = segments.min().unwrap_or_default();
                let first = Path::new("/").join(first);
                let removed = sim.env().fs.remove_file(&first);
                removed.map_err(duramen_engine::Error::io("remove", &first))?;
            }
            Ok(())
        };
        // After the table, which is told of first, and the segment without lines.
        let (mut told, mut done) = (0, Ok(()));
        let report = reader.verify(&mut |_| {
            told += 1;
            if told == 2 {
                done = meanwhile();
            }
        })?;
        done?;
        assert!(told >= 3, "{told}: there are two segments");
        assert_eq!(report.damage.is_empty(), !removes, "{:?}", report.damage);
        let again = reader.verify(&mut |_| {})?;
        assert_eq!(again.damage.is_empty(), !removes, "{:?}", again.damage);
        if !removes {
            assert_eq!((report.lines, again.lines), (101, 101));
        }
    }
    Ok(())
}
