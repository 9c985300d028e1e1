//! Blocks that are passed over by what their filters tell, unopened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use duramen::block::{Block, BlockHandle, ValueWords};
use duramen_query::{Cancel, ParseOptions, Query, RunOptions};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use support::{TestBlock, rows_and_times, store};

/// A block of which its filter tells, once it is read, that it has none of the words; unless it is the one that has them.
#[derive(Debug)]
struct Telling {
    block: Arc<TestBlock>,
    has_words: bool,
    is_read: AtomicBool,
    asked: AtomicUsize,
    meeting: Option<Arc<Meeting>>,
}

/// Where threads wait for each other, but not for ever.
#[derive(Debug, Default)]
struct Meeting {
    came: Mutex<BTreeSet<String>>,
    changed: Condvar,
}

impl Meeting {
    fn wait_for(&self, threads: usize) {
        let mut came = self.came.lock().unwrap();
        came.insert(format!("{:?}", std::thread::current().id()));
        self.changed.notify_all();
        let few = |came: &mut BTreeSet<String>| came.len() < threads;
        let _came = self.changed.wait_timeout_while(came, Duration::from_secs(20), few).unwrap();
    }
}

impl Telling {
    fn new(block: Arc<TestBlock>, has_words: bool, meeting: Option<Arc<Meeting>>) -> Self {
        Self { block, has_words, is_read: AtomicBool::new(false), asked: AtomicUsize::new(0), meeting }
    }
}

impl BlockHandle for Telling {
    rows_and_times!(block);
    fn open(&self) -> duramen::Result<Arc<dyn Block>> {
        self.block.opened.fetch_add(1, Relaxed);
        Ok(self.block.clone())
    }
    fn may_have_words(&self, words: &ValueWords<'_>, reads: bool) -> bool {
        assert_eq!((words.field, words.may_be_integer), ("user", false));
        self.asked.fetch_add(1, Relaxed);
        if let Some(meeting) = self.meeting.as_ref().filter(|_| reads) {
            meeting.wait_for(2);
        }
        self.has_words || !(self.is_read.fetch_or(reads, Relaxed) || reads)
    }
}

#[test]
fn of_blocks_whose_filters_tell_that_they_have_no_such_value_none_is_opened_and_few_are_asked_again() {
    for (threads, with_words) in [(1, 250), (2, 250), (2, 0), (1, 299), (3, 120)] {
        let blocks: Vec<_> = store(300, 10)
            .into_iter()
            .enumerate()
            .map(|(i, block)| Arc::new(Telling::new(block, i == with_words, None)))
            .collect();
        let options = RunOptions { threads, ..RunOptions::default() };
        for end in ["", " | stats count() n", " | sort by (n) limit 3"] {
            let query = Query::parse(&format!("user:=\"ann-7\"{end}"), &ParseOptions::default()).unwrap();
            let handles = blocks.iter().map(|block| block.clone() as Arc<dyn BlockHandle>).collect();
            query.run(handles, &options, &Cancel::new(), &mut |_| ControlFlow::Continue(())).unwrap();
        }
        let opened: Vec<usize> = (0..300).filter(|&i| blocks[i].block.opened.load(Relaxed) > 0).collect();
        assert_eq!(opened, [with_words]);
        let asked: usize = blocks.iter().map(|block| block.asked.load(Relaxed)).sum();
        assert!(asked < 2 * 3 * 300, "{asked}");
    }
}

#[test]
fn filters_are_read_side_by_side_though_all_blocks_are_passed_over() {
    let meeting = Arc::new(Meeting::default());
    let blocks = store(300, 10).into_iter().enumerate().map(|(i, block)| {
        // The first ones are asked for before the others start, and the last ones perhaps before they have.
        let meets = (50..200).contains(&i).then(|| meeting.clone());
        Arc::new(Telling::new(block, false, meets)) as Arc<dyn BlockHandle>
    });
    let options = RunOptions { threads: 2, ..RunOptions::default() };
    let query = Query::parse("user:=\"ann-7\" | stats count() n", &ParseOptions::default()).unwrap();
    query.run(blocks.collect(), &options, &Cancel::new(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(meeting.came.lock().unwrap().len(), 2);
}
