//! What was there, and what comes: nothing is missing between them, and nothing is there twice.

use duramen::block::OpenBlock;
use duramen::{EntryBuf, Store};
use duramen_query::{Cancel, Order, ParseOptions, Query, RunOptions};
use std::ops::ControlFlow;
use std::time::Duration;

#[test]
fn rows_that_a_snapshot_has_are_left_out_of_what_comes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("logs")).unwrap();
    let mut entry = EntryBuf::default();
    let mut append = |n: i64| {
        entry.start(1_700_000_000_000_000_000 + n).message("x").field("n", n);
        store.append(entry.finish().unwrap()).unwrap();
    };
    for known in 0..6 {
        let mut tail = store.tail().unwrap();
        (0..known).for_each(&mut append);
        let snapshot = store.snapshot().unwrap();
        (known..6).for_each(&mut append);
        let came = tail.poll(Duration::ZERO).unwrap();
        assert_eq!(came.iter().map(|block| block.rows()).sum::<usize>(), 6);
        let mut seen = Vec::new();
        for block in snapshot.without_known(came).unwrap() {
            let query = Query::parse("*", &ParseOptions::default()).unwrap();
            let options = RunOptions { order: Order::OldestFirst, ..RunOptions::default() };
            let handle = OpenBlock::handle(block).unwrap();
            let stats = query
                .run(vec![handle], &options, &Cancel::new(), &mut |row| {
                    seen.push(row.get("n").unwrap().parse::<i64>().unwrap());
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert!(stats.first_failure.is_none(), "{stats:?}");
        }
        assert_eq!(seen, (known..6).collect::<Vec<_>>(), "{known} were known");
    }
}
