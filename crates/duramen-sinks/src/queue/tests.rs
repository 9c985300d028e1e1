//! The queue over a database that fails as it is told to.

use super::*;
use crate::error::Error;
use crate::options::{SinkOptions, WhenFull};
use duramen::{Level, Record};
use duramen_engine::io::sim::Sim;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Debug, Default)]
struct Fake(Arc<Mutex<FakeState>>);

#[derive(Debug, Default)]
struct FakeState {
    batches: Vec<(u64, Vec<String>)>,
    failures: VecDeque<WriteError>,
}

impl Fake {
    fn fail(&self, errors: impl IntoIterator<Item = WriteError>) {
        self.0.lock().unwrap().failures.extend(errors);
    }

    fn batches(&self) -> Vec<Vec<String>> {
        self.0.lock().unwrap().batches.iter().map(|(_, lines)| lines.clone()).collect()
    }
}

impl Backend for Fake {
    fn write(&mut self, first: u64, lines: &[Line]) -> Result<(), WriteError> {
        let mut state = self.0.lock().unwrap();
        if let Some(error) = state.failures.pop_front() {
            return Err(error);
        }
        if lines.iter().any(|line| line.message == "bad") {
            return Err(WriteError::Lines("bad line".into()));
        }
        state.batches.push((first, lines.iter().map(|line| line.message.clone()).collect()));
        Ok(())
    }
}

/// A sink without a thread, whose time stands still.
fn stepped(sim: &Sim, options: SinkOptions) -> (BatchSink<Fake>, Fake) {
    let fake = Fake::default();
    let sink = BatchSink::new(fake.clone(), options.env(sim.env()).background(false), "test").unwrap();
    (sink, fake)
}

fn log(sink: &BatchSink<Fake>, level: Level, message: &str) -> crate::Result<()> {
    sink.log(&Record { time_ns: 1, level, message, fields: &[] })
}

fn info(sink: &BatchSink<Fake>, messages: impl IntoIterator<Item = impl ToString>) {
    for message in messages {
        log(sink, Level::Info, &message.to_string()).unwrap();
    }
}

#[test]
fn full_batches_are_written_and_the_rest_when_the_interval_is_over() {
    let sim = Sim::new(1);
    let (sink, fake) = stepped(&sim, SinkOptions::new().batch_size(3).flush_interval_ms(5_000));
    info(&sink, 0..7);
    sink.background_step().unwrap();
    assert_eq!(fake.batches(), [["0", "1", "2"], ["3", "4", "5"]]);
    assert_eq!((sink.stats().written, sink.stats().queued, sink.stats().batches), (6, 1, 2));
    sim.clock().advance(Duration::from_millis(4_999));
    sink.background_step().unwrap();
    assert_eq!(fake.batches().len(), 2, "not yet");
    sim.clock().advance(Duration::from_millis(1));
    sink.background_step().unwrap();
    assert_eq!(fake.batches()[2], ["6"]);
}

#[test]
fn who_waits_for_a_line_that_is_lost_at_the_end_is_told_though_another_was_before() {
    let queue = waiting::Waiting::new(SinkOptions::new().env(Sim::new(1).env()).background(false));
    let record = Record { time_ns: 1, level: Level::Error, message: "m", fields: &[] };
    let push = || queue.push(Line::new(&record).unwrap(), true, queue.deadline(), &|| false).unwrap();
    let numbers = [push(), push(), push()];
    queue.begin_closing();
    queue.abandon();
    queue.end(&mut VecDeque::new(), None);
    assert!(matches!(queue.outcome(), Err(Error::LinesLost { count: 3, .. })));
    for number in numbers {
        let told = queue.settle(number, queue.deadline(), &|| false);
        assert!(matches!(told, Err(Error::LinesLost { count: 1, .. })), "{told:?}");
    }
}

#[test]
fn an_eager_line_takes_all_before_it_along() {
    let sim = Sim::new(1);
    let (sink, fake) = stepped(&sim, SinkOptions::new());
    info(&sink, ["a", "b"]);
    assert!(fake.batches().is_empty());
    log(&sink, Level::Error, "c").unwrap();
    assert_eq!(fake.batches(), [["a", "b", "c"]]);
    log(&sink, Level::Warn, "d").unwrap();
    assert_eq!(sink.stats().queued, 1);
    log(&sink, Level::Fatal, "e").unwrap();
    assert_eq!(fake.batches()[1], ["d", "e"]);
    let (none, fake) = stepped(&sim, SinkOptions::new().eager_flush_levels([]));
    log(&none, Level::Fatal, "x").unwrap();
    assert!(fake.batches().is_empty());
    none.flush().unwrap();
    assert_eq!(fake.batches(), [["x"]]);
}

#[test]
fn what_takes_too_long_is_written_in_parts_that_grow_again() {
    let sim = Sim::new(1);
    let (sink, fake) =
        stepped(&sim, SinkOptions::new().batch_size(40).max_queue_lines(1_000).retry_ms(100, 100));
    let too_long = |times| vec![WriteError::TooLong("60 s".into()); times];
    // Of 40 lines no more than 10 at once are quick enough, and one after another.
    fake.fail(too_long(2));
    info(&sink, 0..40);
    for _ in 0..2 {
        sink.background_step().unwrap();
        sim.clock().advance(sink.retry_at().unwrap() - sim.env().clock.monotonic());
    }
    sink.flush().unwrap();
    let lengths = |fake: &Fake| fake.batches().iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(
        lengths(&fake),
        [10, 10, 12, 8],
        "more and more, but never beyond what may be written already"
    );
    info(&sink, 40..80);
    sink.flush().unwrap();
    assert_eq!(lengths(&fake)[4..], [14, 16, 10]);
    assert_eq!(fake.batches().concat(), (0..80).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!((sink.stats().written, sink.stats().retries, sink.stats().failed), (80, 2, 0));
}

/// A database that says of some attempts that they took too long, and finishes them all the same. It knows up to which line it has
/// all, as the real one does.
#[derive(Debug, Default)]
struct Late {
    written: Vec<String>,
    /// Which attempts are late.
    late: Vec<bool>,
}

impl Backend for Arc<Mutex<Late>> {
    fn write(&mut self, first: u64, lines: &[Line]) -> Result<(), WriteError> {
        let mut state = self.lock().unwrap();
        let has = state.written.len() as u64;
        let begin = first - 1;
        if has == begin {
            state.written.extend(lines.iter().map(|line| line.message.clone()));
        } else if has < begin + lines.len() as u64 {
            return Err(WriteError::Permanent("it has a part of them".into()));
        }
        if state.late.pop() == Some(true) { Err(WriteError::TooLong("0 s".into())) } else { Ok(()) }
    }
}

#[test]
fn what_took_too_long_and_was_written_after_all_is_there_once() {
    for pattern in 0..256u32 {
        let sim = Sim::new(1);
        let late = Arc::new(Mutex::new(Late {
            written: vec![],
            late: (0..8).map(|bit| pattern >> bit & 1 == 1).collect(),
        }));
        let options = SinkOptions::new().batch_size(21).max_queue_lines(1_000).retry_ms(100, 100);
        let sink = BatchSink::new(late.clone(), options.env(sim.env()).background(false), "test").unwrap();
        for n in 0..63 {
            sink.log(&Record { time_ns: 1, level: Level::Info, message: &n.to_string(), fields: &[] })
                .unwrap();
        }
        while sink.stats().queued > 0 {
            sink.background_step().unwrap();
            if let Some(at) = sink.retry_at() {
                sim.clock().advance(at.saturating_sub(sim.env().clock.monotonic()));
            }
            assert_eq!(sink.stats().failed, 0, "{pattern:b}");
        }
        assert_eq!(
            late.lock().unwrap().written,
            (0..63).map(|n| n.to_string()).collect::<Vec<_>>(),
            "{pattern:b}"
        );
    }
}

#[test]
fn one_line_that_takes_too_long_is_tried_again() {
    let sim = Sim::new(1);
    let (sink, fake) = stepped(&sim, SinkOptions::new().batch_size(1).retry_ms(100, 100));
    fake.fail(vec![WriteError::TooLong("60 s".into()); 3]);
    info(&sink, ["x"]);
    for _ in 0..3 {
        sink.background_step().unwrap();
        sim.clock().advance(sink.retry_at().unwrap() - sim.env().clock.monotonic());
    }
    sink.flush().unwrap();
    assert_eq!(fake.batches(), [["x"]]);
}

/// A database that takes too long for one line, and for all others as long as it is locked.
#[derive(Clone, Debug, Default)]
struct Slow(Arc<Mutex<(bool, Vec<String>)>>);

impl Backend for Slow {
    fn write(&mut self, _: u64, lines: &[Line]) -> Result<(), WriteError> {
        let (is_locked, written) = &mut *self.0.lock().unwrap();
        if *is_locked || lines.iter().any(|line| line.message == "slow") {
            return Err(WriteError::TooLong("60 s".into()));
        }
        written.extend(lines.iter().map(|line| line.message.clone()));
        Ok(())
    }

    fn takes_others(&mut self) -> bool {
        !self.0.lock().unwrap().0
    }
}

#[test]
fn a_line_that_always_takes_too_long_is_lost_and_told_and_holds_up_no_others() {
    let sim = Sim::new(1);
    let slow = Slow::default();
    let options = SinkOptions::new().batch_size(4).retry_ms(100, 100).env(sim.env()).background(false);
    let sink = BatchSink::new(slow.clone(), options, "test").unwrap();
    for message in ["a", "b", "slow", "c", "d", "e"] {
        sink.log(&Record { time_ns: 1, level: Level::Info, message, fields: &[] }).unwrap();
    }
    let step = |times: usize| {
        let mut told = Vec::new();
        for _ in 0..times {
            told.extend(sink.background_step().err());
            if let Some(at) = sink.retry_at() {
                sim.clock().advance(at.saturating_sub(sim.env().clock.monotonic()));
            }
        }
        told
    };
    // While nothing is taken, it is nobody's fault.
    slow.0.lock().unwrap().0 = true;
    assert!(step(40).is_empty());
    assert_eq!((sink.stats().failed, sink.stats().queued), (0, 6));
    slow.0.lock().unwrap().0 = false;
    let told = step(20);
    assert!(matches!(&told[..], [Error::LinesLost { count: 1, why }] if &**why == "60 s"), "{told:?}");
    sink.flush().unwrap();
    assert_eq!(slow.0.lock().unwrap().1, ["a", "b", "c", "d", "e"]);
    let stats = sink.stats();
    assert_eq!((stats.written, stats.failed, stats.queued), (5, 1, 0));
}

/// A database that is locked until it is asked whether it takes others.
#[derive(Clone, Debug, Default)]
struct LetGo(Arc<Mutex<(bool, u32)>>);

impl Backend for LetGo {
    fn write(&mut self, _: u64, lines: &[Line]) -> Result<(), WriteError> {
        let (is_free, attempts) = &mut *self.0.lock().unwrap();
        *attempts += u32::from(lines.len() == 1);
        if *is_free { Ok(()) } else { Err(WriteError::TooLong("1 s".into())) }
    }

    fn takes_others(&mut self) -> bool {
        let (is_free, attempts) = &mut *self.0.lock().unwrap();
        *is_free = *attempts >= 5;
        *is_free
    }
}

#[test]
fn a_lock_that_is_let_go_while_that_is_asked_costs_no_line() {
    let sim = Sim::new(1);
    let options = SinkOptions::new().batch_size(3).retry_ms(100, 100).env(sim.env()).background(false);
    let sink = BatchSink::new(LetGo::default(), options, "test").unwrap();
    for message in ["a", "b", "c"] {
        sink.log(&Record { time_ns: 1, level: Level::Info, message, fields: &[] }).unwrap();
    }
    for _ in 0..20 {
        sink.background_step().unwrap();
        if let Some(at) = sink.retry_at() {
            sim.clock().advance(at.saturating_sub(sim.env().clock.monotonic()));
        }
    }
    sink.flush().unwrap();
    assert_eq!((sink.stats().written, sink.stats().failed), (3, 0));
}

#[test]
fn a_transient_failure_is_repeated_with_the_same_batch_later_and_later() {
    let sim = Sim::new(1);
    let options = SinkOptions::new().batch_size(2).retry_ms(100, 300);
    let (sink, fake) = stepped(&sim, options);
    fake.fail(vec![WriteError::Transient("away".into()); 3]);
    info(&sink, 0..3);
    for least_ms in [100u64, 200, 300] {
        sink.background_step().unwrap();
        let wait = sink.retry_at().unwrap() - sim.env().clock.monotonic();
        let most_ms = least_ms + least_ms / 4;
        assert!((least_ms..=most_ms).contains(&(wait.as_millis() as u64)), "{wait:?}");
        assert!(matches!(sink.flush(), Err(Error::Timeout { queued: 3, why: Some(_), .. })));
        sim.clock().advance(wait);
    }
    sink.flush().unwrap();
    assert_eq!(fake.batches(), [vec!["0", "1"], vec!["2"]]);
    let stats = sink.stats();
    assert_eq!((stats.written, stats.queued, stats.failed, stats.retries), (3, 0, 0, 3));
    assert_eq!(stats.last_error.as_deref(), Some("away"));
}

#[test]
fn a_bad_line_costs_only_itself() {
    let sim = Sim::new(1);
    let (sink, fake) = stepped(&sim, SinkOptions::new().batch_size(7));
    info(&sink, ["0", "1", "bad", "3", "4", "bad", "6"]);
    assert_eq!(sink.flush().unwrap_err(), Error::LinesLost { count: 2, why: "bad line".into() }, "said once");
    sink.flush().unwrap();
    assert_eq!(fake.batches().concat(), ["0", "1", "3", "4", "6"]);
    assert_eq!((sink.stats().written, sink.stats().failed), (5, 2));
    let numbers: Vec<u64> = fake.0.lock().unwrap().batches.iter().map(|(first, _)| *first).collect();
    assert!(numbers.is_sorted() && numbers[0] == 1, "{numbers:?}");
    // An eager line hears of itself, whoever else has asked.
    assert!(matches!(log(&sink, Level::Error, "bad"), Err(Error::LinesLost { count: 1, .. })));
}

#[test]
fn after_a_permanent_failure_every_call_says_so() {
    let sim = Sim::new(1);
    let (sink, fake) = stepped(&sim, SinkOptions::new());
    fake.fail([WriteError::Permanent("no such table".into())]);
    info(&sink, 0..5);
    let failed = Error::Failed("no such table".into());
    assert_eq!(log(&sink, Level::Error, "x"), Err(failed.clone()));
    assert_eq!(log(&sink, Level::Info, "y"), Err(failed.clone()));
    assert_eq!(sink.flush(), Err(failed.clone()));
    assert_eq!(sink.close(), Err(failed));
    let stats = sink.stats();
    assert_eq!((stats.written, stats.queued, stats.failed, stats.dropped), (0, 0, 6, 1));
}

#[test]
fn a_full_queue_refuses_and_counts() {
    let sim = Sim::new(1);
    for policy in [WhenFull::Refuse, WhenFull::Block] {
        let options = SinkOptions::new().batch_size(2).max_queue_lines(4).when_full(policy);
        let (sink, fake) = stepped(&sim, options);
        fake.fail(vec![WriteError::Transient("away".into()); 9]);
        sink.background_step().unwrap();
        info(&sink, 0..4);
        assert!(matches!(log(&sink, Level::Info, "4"), Err(Error::QueueFull { queued: 4, .. })));
        assert_eq!((sink.stats().dropped, sink.stats().queued), (1, 4));
        fake.0.lock().unwrap().failures.clear();
        sim.clock().advance(Duration::from_secs(60));
        if policy == WhenFull::Refuse {
            sink.background_step().unwrap();
        }
        log(&sink, Level::Info, "5").unwrap();
        sink.close().unwrap();
        assert_eq!(fake.batches().concat(), ["0", "1", "2", "3", "5"]);
    }
}

#[test]
fn bytes_are_limited_and_one_large_line_goes_alone() {
    let sim = Sim::new(1);
    let (sink, _) = stepped(&sim, SinkOptions::new().max_queue_bytes(1_000).when_full(WhenFull::Refuse));
    let large = "x".repeat(2_000);
    log(&sink, Level::Info, &large).unwrap();
    assert!(matches!(log(&sink, Level::Info, "y"), Err(Error::QueueFull { .. })));
    sink.flush().unwrap();
    log(&sink, Level::Info, "y").unwrap();
    assert!(matches!(log(&sink, Level::Info, &large), Err(Error::QueueFull { .. })));
}

#[test]
fn a_close_that_cannot_write_says_how_many_are_lost() {
    let sim = Sim::new(1);
    let (sink, fake) = stepped(&sim, SinkOptions::new());
    fake.fail([WriteError::Transient("away".into())]);
    info(&sink, 0..3);
    assert_eq!(sink.close(), Err(Error::LinesLost { count: 3, why: "away".into() }));
    assert_eq!(log(&sink, Level::Info, "x"), Err(Error::Closed));
    sink.close().unwrap();
    let stats = sink.stats();
    assert_eq!((stats.written, stats.queued, stats.failed, stats.dropped), (0, 0, 3, 1));
}

#[test]
fn with_a_thread_and_many_callers_every_line_is_there_once_and_in_order() {
    let fake = Fake::default();
    let options = SinkOptions::new().batch_size(10).max_queue_lines(50).retry_ms(1, 2);
    let sink = BatchSink::new(fake.clone(), options, "test").unwrap();
    fake.fail(vec![WriteError::Transient("away".into()); 3]);
    std::thread::scope(|scope| {
        for t in 0..4 {
            let sink = &sink;
            scope.spawn(move || {
                for i in 0..500 {
                    let level = if i % 100 == 99 { Level::Error } else { Level::Info };
                    log(sink, level, &format!("{t} {i:03}")).unwrap();
                }
            });
        }
    });
    sink.close().unwrap();
    let lines = fake.batches().concat();
    for t in 0..4 {
        let expected: Vec<String> = (0..500).map(|i| format!("{t} {i:03}")).collect();
        let found: Vec<&String> = lines.iter().filter(|l| l.starts_with(&format!("{t} "))).collect();
        assert!(found.into_iter().eq(&expected));
    }
    assert_eq!((lines.len(), sink.stats().written), (2_000, 2_000));
}

#[test]
fn a_writer_that_panics_is_a_failure_and_not_a_wait() {
    #[derive(Debug)]
    struct Panics;
    impl Backend for Panics {
        fn write(&mut self, _: u64, _: &[Line]) -> Result<(), WriteError> {
            panic!("as this test wants it");
        }
    }
    let sink = BatchSink::new(Panics, SinkOptions::new(), "test").unwrap();
    let record = Record { time_ns: 1, level: Level::Error, message: "x", fields: &[] };
    assert!(matches!(sink.log(&record), Err(Error::Failed(_))));
    assert_eq!(sink.stats().failed, 1);
}

#[test]
fn options_out_of_range_are_refused() {
    for options in [
        SinkOptions::new().batch_size(0),
        SinkOptions::new().batch_size(100_001),
        SinkOptions::new().flush_interval_ms(0),
        SinkOptions::new().max_queue_lines(99),
        SinkOptions::new().retry_ms(0, 5),
        SinkOptions::new().retry_ms(10, 5),
    ] {
        let refused = BatchSink::new(Fake::default(), options, "test").map(|_| ());
        assert!(matches!(refused, Err(Error::Invalid(_))));
    }
}
