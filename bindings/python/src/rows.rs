//! A running query: an iterator, and a thread that fills it.
//!
//! The thread reads blocks and sends batches of rows through a bounded channel, so an answer of any size takes the
//! memory of some batches. It never touches Python. It ends when the query does, or at the next batch after the
//! iterator is dropped.

use crate::batch::{Batch, Packer};
use crate::calls::{call, check_signals};
use crate::error::{failed, no_query};
use crate::value::to_python;
use duramen::Store;
use duramen_engine::io::Env;
use duramen_engine::io::os::fork_generation;
use duramen_query::{Cancel, Order, ParseOptions, Query, RunOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How many batches may wait to be taken.
const BATCHES_AHEAD: usize = 4;

/// How often a wait looks whether Ctrl-C was pressed.
const LOOK_UP_EVERY: Duration = Duration::from_millis(50);

/// What the thread sends.
enum Sent {
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

/// The rows of an answer, as dicts: an iterator that may be gone through once.
#[pyclass(module = "duramen")]
pub(crate) struct Rows {
    /// None once the answer has ended.
    receiver: Option<Mutex<Receiver<Sent>>>,
    cancel: Arc<Cancel>,
    generation: u64,
    time_ns: bool,
    names: Vec<Py<PyString>>,
    batch: Batch,
    next_row: usize,
}

/// Asks the store in `store_dir`, and gives the rows of the answer.
#[pyfunction]
#[pyo3(signature = (store_dir, text, limit, order, time_ns))]
pub(crate) fn query(
    py: Python<'_>,
    store_dir: PathBuf,
    text: &str,
    limit: Option<usize>,
    order: &str,
    time_ns: bool,
) -> PyResult<Rows> {
    let order = match order {
        "newest" => Order::NewestFirst,
        "oldest" => Order::OldestFirst,
        _ => return Err(PyValueError::new_err(format!("order is newest or oldest, not {order:?}"))),
    };
    let now_ns = Env::os().clock.now_unix_ns();
    let query = Query::parse(text, &ParseOptions { now_ns, ..ParseOptions::default() })
        .map_err(|e| no_query(py, text, &e))?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let options = RunOptions { order, limit, threads, ..RunOptions::default() };
    let cancel = Arc::new(Cancel::new());
    let (sender, receiver) = sync_channel(BATCHES_AHEAD);
    let for_thread = cancel.clone();
    let store = py.detach(|| Store::open_read_only(&store_dir)).map_err(failed)?;
    std::thread::Builder::new()
        .name("duramen-query".into())
        .spawn(move || answer(&store, &query, &options, &for_thread, &sender))
        .map_err(|e| failed(format!("cannot start a thread for the query: {e}")))?;
    Ok(Rows {
        receiver: Some(Mutex::new(receiver)),
        cancel,
        generation: fork_generation(),
        time_ns,
        names: Vec::new(),
        batch: Batch::default(),
        next_row: 0,
    })
}

/// Runs the query, on a thread of its own.
fn answer(store: &Store, query: &Query, options: &RunOptions, cancel: &Cancel, to: &SyncSender<Sent>) {
    let last = match run(store, query, options, cancel, to) {
        Ok(lacking) => Sent::Done(lacking),
        Err(why) => Sent::Failed(why),
    };
    // Nobody may be there any more to be told.
    let _best_effort = to.send(last);
}

fn run(
    store: &Store,
    query: &Query,
    options: &RunOptions,
    cancel: &Cancel,
    to: &SyncSender<Sent>,
) -> Result<Vec<String>, String> {
    let (min_time, max_time) = query.time_range();
    let blocks = store.snapshot().map_err(|e| e.to_string())?.blocks(min_time, max_time);
    let mut packer = Packer::new(to);
    let stats = query
        .run(blocks, options, cancel, &mut |row| match packer.push(row) {
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

#[pymethods]
impl Rows {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if !self.fill(py)? {
            return Ok(None);
        }
        let row = self.next_row;
        self.next_row += 1;
        let dict = PyDict::new(py);
        for (name, text, kind) in self.batch.cells(row) {
            dict.set_item(&self.names[name], to_python(py, text, kind)?)?;
        }
        if self.time_ns
            && let Some(time_ns) = self.batch.time_ns(row)
        {
            dict.set_item(pyo3::intern!(py, "_time_ns"), time_ns)?;
        }
        Ok(Some(dict))
    }

    /// The rows that are left, as a dict of lists of the same length; None where a row lacks a value.
    #[expect(clippy::wrong_self_convention, reason = "the name that Python's data frames use")]
    fn to_columns<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut columns: Vec<Vec<Py<PyAny>>> = Vec::new();
        let mut times: Vec<Option<i64>> = Vec::new();
        let mut rows = 0;
        while self.fill(py)? {
            columns.resize_with(self.names.len(), Vec::new);
            for row in self.next_row..self.batch.len() {
                for (name, text, kind) in self.batch.cells(row) {
                    let column = &mut columns[name];
                    column.resize_with(rows, || py.None());
                    column.push(to_python(py, text, kind)?.unbind());
                }
                if self.time_ns {
                    times.push(self.batch.time_ns(row));
                }
                rows += 1;
            }
            self.next_row = self.batch.len();
        }
        let dict = PyDict::new(py);
        for (name, mut column) in self.names.iter().zip(columns) {
            column.resize_with(rows, || py.None());
            dict.set_item(name, PyList::new(py, column)?)?;
        }
        if self.time_ns {
            dict.set_item("_time_ns", PyList::new(py, times)?)?;
        }
        Ok(dict)
    }

    /// Ends the query; there are no further rows then.
    fn close(&mut self) {
        self.cancel.cancel();
        self.receiver = None;
        self.batch = Batch::default();
        self.next_row = 0;
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&mut self, _type: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {
        self.close();
    }
}

impl Rows {
    /// Sees to it that the batch has a next row; false at the end.
    fn fill(&mut self, py: Python<'_>) -> PyResult<bool> {
        while self.next_row >= self.batch.len() {
            let Some(receiver) = &mut self.receiver else { return Ok(false) };
            if self.generation != fork_generation() {
                return Err(failed("the query runs in the process that this one was forked from: ask again"));
            }
            let received = py.detach(|| {
                let receiver = receiver.get_mut().unwrap_or_else(PoisonError::into_inner);
                receiver.recv_timeout(LOOK_UP_EVERY)
            });
            match received {
                Ok(Sent::Batch(batch)) => {
                    self.names.extend(batch.new_names.iter().map(|name| PyString::intern(py, name).unbind()));
                    self.batch = batch;
                    self.next_row = 0;
                    // `to_columns` runs no line of Python between one batch and the next.
                    check_signals(py)?;
                }
                Ok(Sent::Done(lacking)) => {
                    self.close();
                    if !lacking.is_empty() {
                        warn(py, &lacking)?;
                    }
                }
                Ok(Sent::Failed(why)) => {
                    self.close();
                    return Err(failed(why));
                }
                Err(RecvTimeoutError::Timeout) => check_signals(py)?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.close();
                    return Err(failed("the query's thread died"));
                }
            }
        }
        Ok(true)
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.close();
    }
}

/// Warns that the answer lacks something.
fn warn(py: Python<'_>, lacking: &[String]) -> PyResult<()> {
    let category = py.import("duramen")?.getattr("IncompleteAnswer")?;
    let message = format!("the answer is incomplete: {}", lacking.join("; "));
    let warn = py.import("warnings")?.getattr("warn")?;
    call(&warn, &(message, category, 2).into_pyobject(py)?)?;
    Ok(())
}
