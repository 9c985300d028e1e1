//! A workload that does a bit of everything, for crashes and faults at any of its operations.

use super::Map;
use super::driver::Driver;
use super::history::Write;
use duramen_engine::kv::Durability;
use duramen_engine::{Error, Result};

fn key(n: usize) -> Vec<u8> {
    format!("k{n}").into_bytes()
}

fn put(n: usize, len: usize) -> Write {
    Write::Put(key(n), vec![n as u8 ^ len as u8; len])
}

/// Whether to go on after an error: if the machine still runs, and it is worth going on in this life.
pub type GoOn<'a> = &'a mut dyn FnMut(&mut Driver, Error) -> Result<()>;

/// Runs it until `go_on` passes an error on.
pub fn run(d: &mut Driver, go_on: GoOn<'_>) -> Result<()> {
    type Step = fn(&mut Driver) -> Result<()>;
    let first: &[Step] = &[
        |d| (0..4).try_for_each(|n| d.write(&[put(n, 40 * n)], None)),
        |d| d.write(&[put(4, 3000)], Some(Durability::Sync)),
        |d| {
            d.snapshot();
            Ok(())
        },
        |d| d.write(&[put(1, 7), Write::Delete(key(2)), put(5, 0)], None),
        |d| d.write(&[Write::Delete(key(3))], Some(Durability::Process)),
        |d| d.read(),
        |d| d.flush(),
        |d| (2..7).try_for_each(|n| d.write(&[put(n, 60)], None)),
        |d| d.write(&[Write::DeleteRange(key(4), key(6)), put(4, 9)], None),
        |d| d.store().compact(),
        |d| d.read(),
        |d| {
            d.snapshots.clear();
            Ok(())
        },
        |d| (10..18).try_for_each(|n| d.write(&[put(n, 9000)], None)),
        |d| d.background(),
        |d| d.write(&[Write::DeleteRange(key(11), key(14))], None),
        |d| d.checkpoint("stores/copy"),
        |d| (10..18).try_for_each(|n| d.write(&[put(n, 9001)], None)),
        |d| d.background(),
        |d| d.read(),
        |d| d.close(),
    ];
    let second: &[Step] = &[
        |d| d.write(&[put(20, 100), put(21, 100)], None),
        |d| d.ingest(&(15..40).map(|n| (key(n), vec![n as u8; n * 10])).collect::<Map>()),
        |d| d.write(&[Write::Delete(key(30))], None),
        |d| d.read(),
        |d| {
            d.kill();
            Ok(())
        },
    ];
    let third: &[Step] = &[
        |d| d.write(&[put(22, 100)], None),
        |d| d.background(),
        |d| d.write(&[Write::DeleteRange(key(1), key(2))], None),
        |d| d.store().compact(),
        |d| d.write(&[put(23, 100)], Some(Durability::None)),
        |d| d.read(),
        |d| d.close(),
    ];
    for steps in [first, second, third] {
        let mut tries = 0;
        while let Err(error) = d.open(false) {
            tries += 1;
            assert!(tries < 50, "{}: it never opens: {error}", d.context);
            go_on(d, error)?;
        }
        for step in steps {
            if let Err(error) = step(d) {
                go_on(d, error)?;
            }
        }
        // What could not be closed is left.
        drop(d.store.take());
    }
    Ok(())
}

/// For [`run`]: ends at the first error.
pub fn stop(_: &mut Driver, error: Error) -> Result<()> {
    Err(error)
}
