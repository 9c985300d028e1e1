//! An answer that is being found: an iterator, which any thread may use and close.
//!
//! Rows come from the thread of `search`, in batches, through a bounded channel. Whoever waits for the next batch has the
//! channel's end for itself meanwhile, and holds no lock; so closing is possible at any time, from other threads and from
//! handlers of signals, and ends the wait.

use crate::batch::Batch;
use crate::calls::{call, check_signals};
use crate::error::{failed, no_query};
use crate::search::{self, Asked, Sent};
use crate::value::to_python;
use duramen_engine::io::os::fork_generation;
use duramen_query::{Cancel, Order, RunOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a wait looks whether Ctrl-C was pressed, or the answer closed.
const LOOK_UP_EVERY: Duration = Duration::from_millis(50);

/// The rows of an answer, as dicts: an iterator that may be gone through once.
#[pyclass(frozen, module = "duramen")]
pub(crate) struct Rows {
    cancel: Arc<Cancel>,
    generation: u64,
    time_ns: bool,
    /// Never locked while something waits, be it for the GIL.
    state: Mutex<State>,
    /// Told when somebody no longer waits for a batch.
    changed: Condvar,
}

/// How far it has come.
#[derive(Default)]
struct State {
    /// None while a thread waits there for the next batch, and at the end.
    receiver: Option<Receiver<Sent>>,
    ended: bool,
    names: Arc<Vec<Py<PyString>>>,
    batch: Arc<Batch>,
    next_row: usize,
    lacking: Vec<String>,
}

/// Some rows of a batch.
struct Taken {
    names: Arc<Vec<Py<PyString>>>,
    batch: Arc<Batch>,
    rows: std::ops::Range<usize>,
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
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let options = RunOptions { order, limit, threads, ..RunOptions::default() };
    let cancel = Arc::new(Cancel::new());
    let asked = Asked { store_dir, text: text.to_owned(), options, cancel: cancel.clone() };
    let receiver = match py.detach(|| search::start(asked)) {
        Ok(receiver) => receiver,
        Err(search::Refused::NoQuery(e)) => return Err(no_query(py, text, &e)),
        Err(search::Refused::Failed(why)) => return Err(failed(why)),
    };
    Ok(Rows {
        cancel,
        generation: fork_generation(),
        time_ns,
        state: Mutex::new(State { receiver: Some(receiver), ..State::default() }),
        changed: Condvar::new(),
    })
}

#[pymethods]
impl Rows {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(Taken { names, batch, rows }) = self.take(py, 1)? else { return Ok(None) };
        let dict = PyDict::new(py);
        for (name, text, kind) in batch.cells(rows.start) {
            dict.set_item(&names[name], to_python(py, text, kind)?)?;
        }
        if self.time_ns
            && let Some(time_ns) = batch.time_ns(rows.start)
        {
            dict.set_item(pyo3::intern!(py, "_time_ns"), time_ns)?;
        }
        Ok(Some(dict))
    }

    /// The rows that are left, as a dict of lists of the same length; None where a row lacks a value.
    fn to_columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut columns: Vec<Vec<Py<PyAny>>> = Vec::new();
        let mut times: Vec<Option<i64>> = Vec::new();
        let mut all_names = Arc::default();
        let mut count = 0;
        while let Some(Taken { names, batch, rows }) = self.take(py, usize::MAX)? {
            columns.resize_with(names.len(), Vec::new);
            for row in rows {
                for (name, text, kind) in batch.cells(row) {
                    let column = &mut columns[name];
                    column.resize_with(count, || py.None());
                    column.push(to_python(py, text, kind)?.unbind());
                }
                if self.time_ns {
                    times.push(batch.time_ns(row));
                }
                count += 1;
            }
            all_names = names;
        }
        let dict = PyDict::new(py);
        for (name, mut column) in all_names.iter().zip(columns) {
            column.resize_with(count, || py.None());
            dict.set_item(name, PyList::new(py, column)?)?;
        }
        if self.time_ns {
            dict.set_item("_time_ns", PyList::new(py, times)?)?;
        }
        Ok(dict)
    }

    /// What the answer lacks, once it has ended.
    #[getter]
    fn incomplete(&self) -> Vec<String> {
        if self.is_here() { self.state().lacking.clone() } else { Vec::new() }
    }

    /// Ends the query; there are no further rows then, for whoever waits for one, too.
    fn close(&self) {
        if self.is_here() {
            self.cancel.cancel();
            self.end(&mut self.state());
        }
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&self, _type: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _trace: &Bound<'_, PyAny>) {
        self.close();
    }
}

impl Rows {
    /// Whether this is the process that asked. In a forked child, what another thread was doing stays half done, and
    /// what it had locked, locked.
    fn is_here(&self) -> bool {
        self.generation == fork_generation()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, state: &mut State) {
        state.ended = true;
        state.receiver = None;
        state.batch = Arc::default();
        state.next_row = 0;
        self.changed.notify_all();
    }

    /// The next rows, so many at most; none at the end.
    fn take(&self, py: Python<'_>, max_rows: usize) -> PyResult<Option<Taken>> {
        loop {
            if !self.is_here() {
                return Err(failed("the query runs in the process that this one was forked from: ask again"));
            }
            let mut state = self.state();
            let rows = state.next_row..state.batch.len().min(state.next_row.saturating_add(max_rows));
            if !rows.is_empty() {
                state.next_row = rows.end;
                return Ok(Some(Taken { names: state.names.clone(), batch: state.batch.clone(), rows }));
            }
            if state.ended {
                return Ok(None);
            }
            let receiver = state.receiver.take();
            drop(state);
            match receiver {
                Some(receiver) => self.receive(py, receiver)?,
                None => py.detach(|| self.wait_for_another()),
            }
            // `to_columns` runs no line of Python between one batch and the next.
            check_signals(py)?;
        }
    }

    /// Waits a moment for a batch.
    fn receive(&self, py: Python<'_>, receiver: Receiver<Sent>) -> PyResult<()> {
        let (receiver, received) = py.detach(move || {
            let received = receiver.recv_timeout(LOOK_UP_EVERY);
            (receiver, received)
        });
        let mut state = self.state();
        if state.ended {
            return Ok(());
        }
        match received {
            Ok(Sent::Batch(batch)) => {
                if !batch.new_names.is_empty() {
                    // Not interned: Python 3.12 keeps what is for ever.
                    let new = batch.new_names.iter().map(|name| PyString::new(py, name).unbind());
                    state.names =
                        Arc::new(state.names.iter().map(|name| name.clone_ref(py)).chain(new).collect());
                }
                (state.batch, state.next_row, state.receiver) = (Arc::new(batch), 0, Some(receiver));
                self.changed.notify_all();
                Ok(())
            }
            Ok(Sent::Done(lacking)) => {
                self.end(&mut state);
                state.lacking.clone_from(&lacking);
                drop(state);
                if lacking.is_empty() { Ok(()) } else { warn(py, &lacking) }
            }
            Ok(Sent::Failed(why)) => {
                self.end(&mut state);
                Err(failed(why))
            }
            Err(RecvTimeoutError::Timeout) => {
                state.receiver = Some(receiver);
                self.changed.notify_all();
                Ok(())
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.end(&mut state);
                Err(failed("the query's thread died"))
            }
        }
    }

    /// Waits a moment for the thread that waits for a batch.
    fn wait_for_another(&self) {
        let state = self.state();
        if state.receiver.is_none() && !state.ended {
            let _woken_or_not = self.changed.wait_timeout(state, LOOK_UP_EVERY);
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.cancel.cancel();
        if !self.is_here() {
            // The channel may be in the middle of something that will never end here.
            let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(state.receiver.take());
        }
    }
}

/// Warns that the answer lacks something.
fn warn(py: Python<'_>, lacking: &[String]) -> PyResult<()> {
    let warn = py.import("duramen._store")?.getattr("warn_of")?;
    call(&warn, &(lacking,).into_pyobject(py)?)?;
    Ok(())
}
