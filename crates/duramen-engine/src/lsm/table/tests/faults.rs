//! Reads that fail, files that cannot be opened.

use super::*;
use crate::Error;
use crate::io::sim::{Fault, OperationKind, Sim};

#[test]
fn a_read_that_fails_is_an_error_and_the_next_one_works() {
    let versions = plain_versions(200);
    let sim = Sim::new(5);
    let env = sim.env();
    write(&env, &small(), &versions);
    let run = |env: &Env| -> Result<usize, Error> {
        let reader = TableReader::open(env, Path::new(PATH), &Arc::new(BlockCache::new(1 << 20)))?;
        let (mut failed, mut error) = (0, None);
        for (key, seq, ..) in versions.iter().step_by(9) {
            match reader.get(key, hash(key), u64::MAX) {
                Ok(found) => assert_eq!(found.unwrap().seq, *seq),
                Err(e) => {
                    failed += 1;
                    error = Some(e);
                    // A fault strikes once.
                    assert_eq!(reader.get(key, hash(key), u64::MAX).unwrap().unwrap().seq, *seq);
                }
            }
        }
        let mut cursor = reader.cursor(true);
        if let Err(e) = cursor.seek_to_first() {
            assert!(!cursor.valid());
            return Err(e);
        }
        let mut rows = 0;
        while cursor.valid() {
            rows += 1;
            if let Err(e) = cursor.next() {
                assert!(!cursor.valid());
                return Err(e);
            }
        }
        assert!(failed <= 1);
        error.map_or(Ok(rows), Err)
    };
    let start = sim.operations();
    assert_eq!(run(&env).unwrap(), versions.len());
    let reads: Vec<u64> =
        sim.indices_of(OperationKind::Read).into_iter().filter(|&i| i >= start).map(|i| i - start).collect();
    assert!(reads.len() > 20);
    for fault in [Fault::ReadError, Fault::FlipBit] {
        for &read in &reads {
            let index = sim.operations() + read;
            sim.fail_at(index, fault);
            let result = run(&env);
            assert!(sim.faults_struck().contains(&index));
            match result {
                Err(Error::Io { operation: "read", .. }) => assert_eq!(fault, Fault::ReadError),
                Err(Error::Corruption { .. }) => assert_eq!(fault, Fault::FlipBit),
                // A filter that cannot be believed is done without.
                Ok(rows) => assert!(fault == Fault::FlipBit && rows == versions.len()),
                Err(other) => panic!("{fault:?} at read {read}: {other}"),
            }
        }
    }
}
