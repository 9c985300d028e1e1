//! WAL segments that come back after their lines were put into tables, and their writer was forgotten.

use super::*;
use duramen_engine::io::sim::Fault;

#[test]
fn its_lines_are_not_taken_again_and_it_is_kept() {
    let sim = Sim::new(1);
    let (segment, bytes) = killed(&sim);
    let store = flushed(&sim);
    let delete = |store: &Store, line: i64| {
        let report = store.delete(line..=line, &mut |block| Ok(vec![true; block.rows()]), &|| false);
        assert_eq!(report.unwrap().unwrap().lines, 1);
    };
    delete(&store, 7);
    let there: Vec<u64> = (0..60).filter(|n| *n != 7).collect();
    assert_eq!(numbers(&store), there);
    store.close().unwrap();
    assert!(!sim.files().contains(&segment));

    put(&sim, Path::new(&segment), &bytes);
    let store = flushed(&sim);
    assert_eq!(numbers(&store), there);
    assert!(store.incidents().messages.iter().any(|told| told.contains("came back")));
    let kept = store.stats().unwrap().quarantined;
    assert_eq!(kept.len(), 1);
    assert_eq!(sim.read_file(&Path::new("/logs/quarantine").join(&kept[0])).unwrap(), bytes);
    assert!(!sim.files().contains(&segment));
    // Nor when it comes a second time, and what is kept is kept once.
    store.close().unwrap();
    put(&sim, Path::new(&segment), &bytes);
    let store = flushed(&sim);
    assert_eq!(numbers(&store), there);
    assert_eq!(store.stats().unwrap().quarantined, kept);
}

#[test]
fn lines_of_a_writer_that_no_table_knows_are_taken() {
    let sim = Sim::new(2);
    let (segment, bytes) = killed(&sim);
    let store = flushed(&sim);
    store.close().unwrap();
    // Into another store, as who looks into what was set aside does.
    let other = options(sim.env()).open("/other").unwrap();
    append(&other, 100);
    other.close().unwrap();
    put(&sim, Path::new(&segment.replace("logs", "other")), &bytes);
    let other = options(sim.env()).open("/other").unwrap();
    other.flush().unwrap();
    assert_eq!(numbers(&other), (0..60).chain([100]).collect::<Vec<_>>());
    assert_eq!(other.stats().unwrap().quarantined.len(), 0);
}

#[test]
fn nor_are_they_taken_again_where_there_is_no_descriptor_for_the_table_that_tells() {
    let came_back = || {
        let sim = Sim::new(3);
        let (segment, bytes) = killed(&sim);
        flushed(&sim).close().unwrap();
        put(&sim, Path::new(&segment), &bytes);
        sim
    };
    let sim = came_back();
    let from = sim.operations();
    drop(flushed(&sim));
    for at in from..sim.operations() {
        let sim = came_back();
        sim.fail_at(at, Fault::TooManyFiles);
        if let Ok(store) = options(sim.env()).open("/logs") {
            // It may have failed.
            let _flushed = store.flush();
        }
        assert_eq!(
            numbers(&flushed(&sim)),
            (0..60).collect::<Vec<_>>(),
            "{:?}",
            sim.trace().get(at as usize)
        );
    }
}
