//! Calls that may run Python code: anybody's `__str__`, a signal's handler, a function.
//!
//! When a program ends, Python before 3.14 ends its daemon threads where they next ask for the GIL, which is mostly inside
//! of Python code. It does so by `pthread_exit`, which unwinds the thread's stack; and at a call that is not declared as
//! one that may unwind, that aborts the whole process. Such calls therefore go through here. A thread that comes back
//! by unwinding stays where it is, as PyO3 has it stay that waits for the GIL itself, and as Python 3.14 has all of them.
#![allow(unsafe_code)]

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::ffi::c_int;
use std::mem::forget;
use std::ptr::null_mut;

mod raw {
    use super::{PyObject, c_int};

    unsafe extern "C-unwind" {
        pub(super) fn PyObject_Str(value: *mut PyObject) -> *mut PyObject;
        pub(super) fn PyObject_IsTrue(value: *mut PyObject) -> c_int;
        pub(super) fn PyObject_GetAttr(of: *mut PyObject, name: *mut PyObject) -> *mut PyObject;
        pub(super) fn PyObject_CallMethodObjArgs(
            of: *mut PyObject,
            name: *mut PyObject,
            ...
        ) -> *mut PyObject;
        pub(super) fn PyObject_Call(
            what: *mut PyObject,
            args: *mut PyObject,
            keywords: *mut PyObject,
        ) -> *mut PyObject;
        pub(super) fn PyErr_CheckSignals() -> c_int;
    }
}

/// Dropped when a thread is being ended, and never otherwise: it keeps the thread from being unwound further.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}

/// Makes a call that may run Python code. It must not panic.
fn staying<T>(call: impl FnOnce() -> T) -> T {
    let stay = Stay;
    let result = call();
    forget(stay);
    result
}

/// `str(value)`.
pub(crate) fn str_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: the GIL is held, as there is a `Bound`, which keeps the value; what comes back is new, or null with an
    // exception set.
    let text = unsafe {
        let text = staying(|| raw::PyObject_Str(value.as_ptr()));
        Bound::from_owned_ptr_or_err(value.py(), text)?
    };
    Ok(text.cast_into()?)
}

/// `bool(value)`.
pub(crate) fn is_true(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    // SAFETY: the GIL is held, as there is a `Bound`, which keeps the value.
    match staying(|| unsafe { raw::PyObject_IsTrue(value.as_ptr()) }) {
        -1 => Err(PyErr::fetch(value.py())),
        truth => Ok(truth != 0),
    }
}

/// `value.name`.
pub(crate) fn attribute<'py>(
    value: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the GIL is held, as there is a `Bound`; both are kept by theirs; what comes back is new, or null with an
    // exception set.
    unsafe {
        let found = staying(|| raw::PyObject_GetAttr(value.as_ptr(), name.as_ptr()));
        Bound::from_owned_ptr_or_err(value.py(), found)
    }
}

/// `value.name()`.
pub(crate) fn method<'py>(
    value: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the GIL is held, as there is a `Bound`; both are kept by theirs; a null pointer ends the arguments, of which
    // there are none; what comes back is new, or null with an exception set.
    unsafe {
        let given = staying(|| {
            raw::PyObject_CallMethodObjArgs(value.as_ptr(), name.as_ptr(), null_mut::<PyObject>())
        });
        Bound::from_owned_ptr_or_err(value.py(), given)
    }
}

/// `what(*args)`.
pub(crate) fn call<'py>(what: &Bound<'py, PyAny>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the GIL is held, as there is a `Bound`; both are kept by theirs; no keywords are a null pointer; what comes
    // back is new, or null with an exception set.
    unsafe {
        let given = staying(|| raw::PyObject_Call(what.as_ptr(), args.as_ptr(), null_mut()));
        Bound::from_owned_ptr_or_err(what.py(), given)
    }
}

/// Runs the handlers of signals that came, if this is the main thread.
pub(crate) fn check_signals(py: Python<'_>) -> PyResult<()> {
    // SAFETY: the GIL is held, as there is a `Python`.
    match staying(|| unsafe { raw::PyErr_CheckSignals() }) {
        0 => Ok(()),
        _ => Err(PyErr::fetch(py)),
    }
}
