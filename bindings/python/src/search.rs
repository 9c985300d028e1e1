//! A query at work, on a thread of its own, which never touches Python.
//!
//! It reads the query's text, too, and forgets it: queries may be nested deep, and the stack of the thread that asks may
//! be of any size. It ends when the query does, or at the next batch after nobody is there any more to have it.

use crate::batch::{Batch, Packer};
use duramen::Store;
use duramen_engine::io::Env;
use duramen_query::{Cancel, ParseError, ParseOptions, Query, RunOptions};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// How many batches may wait to be taken.
const BATCHES_AHEAD: usize = 4;

/// Enough for the deepest query.
const STACK_BYTES: usize = 4 << 20;

/// What the thread sends.
pub(crate) enum Sent {
    Batch(Batch),
    /// The end, and what the answer lacks.
    Done(Vec<String>),
    Failed(String),
}

impl From<Batch> for Sent {
    fn from(batch: Batch) -> Self {
        Self::Batch(batch)
    }
}

/// A question.
pub(crate) struct Asked {
    pub store_dir: PathBuf,
    pub text: String,
    pub options: RunOptions,
    pub cancel: Arc<Cancel>,
}

/// Why there will be no answer.
pub(crate) enum Refused {
    NoQuery(ParseError),
    Failed(String),
}

/// Starts to look for the answer, once the question is understood and the store open.
pub(crate) fn start(asked: Asked) -> Result<Receiver<Sent>, Refused> {
    let (sender, receiver) = sync_channel(BATCHES_AHEAD);
    let (tell_begun, begun) = sync_channel(1);
    std::thread::Builder::new()
        .name("duramen-query".into())
        .stack_size(STACK_BYTES)
        .spawn(move || match prepare(&asked) {
            Err(refused) => {
                let _best_effort = tell_begun.send(Err(refused));
            }
            Ok((query, store)) => {
                let _best_effort = tell_begun.send(Ok(()));
                answer(&store, &query, &asked, &sender);
            }
        })
        .map_err(|e| Refused::Failed(format!("cannot start a thread for the query: {e}")))?;
    match begun.recv() {
        Ok(begun) => begun.map(|()| receiver),
        Err(_) => Err(Refused::Failed("the query's thread died".into())),
    }
}

fn prepare(asked: &Asked) -> Result<(Query, Store), Refused> {
    let now_ns = Env::os().clock.now_unix_ns();
    let options = ParseOptions { now_ns, ..ParseOptions::default() };
    let query = Query::parse(&asked.text, &options).map_err(Refused::NoQuery)?;
    let store = Store::open_read_only(&asked.store_dir).map_err(|e| Refused::Failed(e.to_string()))?;
    Ok((query, store))
}

fn answer(store: &Store, query: &Query, asked: &Asked, to: &SyncSender<Sent>) {
    let last = match run(store, query, asked, to) {
        Ok(lacking) => Sent::Done(lacking),
        Err(why) => Sent::Failed(why),
    };
    // Nobody may be there any more to be told.
    let _best_effort = to.send(last);
}

fn run(store: &Store, query: &Query, asked: &Asked, to: &SyncSender<Sent>) -> Result<Vec<String>, String> {
    let (min_time, max_time) = query.time_range();
    let blocks = store.snapshot().map_err(|e| e.to_string())?.blocks(min_time, max_time);
    let mut packer = Packer::new(to);
    let stats = query
        .run(blocks, &asked.options, &asked.cancel, &mut |row| match packer.push(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        })
        .map_err(|e| e.to_string())?;
    let mut lacking = store.incidents().messages;
    if let Some(why) = stats.first_failure {
        lacking.push(format!("{} blocks could not be read: {why}", stats.blocks_failed));
    }
    // Nobody may be there any more to have them.
    let _best_effort = packer.send();
    Ok(lacking)
}
