//! A `logging.LogRecord`, taken apart.
//!
//! | attribute | becomes |
//! |---|---|
//! | `created`, `levelno`, `getMessage()` | time, level, message |
//! | `name` | `logger` |
//! | `pathname`, `lineno`, `funcName` | `file`, `line`, `function` |
//! | `process`, `processName`, `threadName`, `taskName` | `pid`, `process`, `thread`, `task` |
//! | `exc_info`, else `exc_text` | `exception.type`, `exception.message`, `exception.stacktrace` |
//! | `stack_info` | `stack_info` |
//! | what `extra` brought | fields of their names |
//!
//! A level that is not one of Python's five has its name in the field `level_name` besides.

use crate::calls;
use crate::convert::{self, text};
use crate::options::level_of;
use crate::room::{Fields, Room};

use duramen::{Level, Value};
use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString, PyType};

/// What is left of a record once it is taken apart.
#[derive(Debug)]
pub(crate) struct Parts {
    pub time_ns: Option<i64>,
    pub level: Level,
    pub message: String,
    pub fields: Fields,
    /// Why the message could not be formatted; then it is the unformatted one.
    pub format_error: Option<PyErr>,
}

/// What an attribute is to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Created,
    LevelNumber,
    LevelName,
    /// A field, unless it is None.
    Field(&'static str),
    /// A field, unless there is an exception whose trace says the same.
    ExceptionText,
    /// Said elsewhere, or worth nothing to who reads it later.
    Nothing,
}

/// The attributes that Python's own records have, and what its formatters leave behind in them.
const KNOWN: [(&str, Meaning); 23] = [
    ("created", Meaning::Created),
    ("levelno", Meaning::LevelNumber),
    ("levelname", Meaning::LevelName),
    ("name", Meaning::Field("logger")),
    ("pathname", Meaning::Field("file")),
    ("lineno", Meaning::Field("line")),
    ("funcName", Meaning::Field("function")),
    ("process", Meaning::Field("pid")),
    ("processName", Meaning::Field("process")),
    ("threadName", Meaning::Field("thread")),
    ("taskName", Meaning::Field("task")),
    ("stack_info", Meaning::Field("stack_info")),
    ("exc_text", Meaning::ExceptionText),
    ("exc_info", Meaning::Nothing),
    ("msg", Meaning::Nothing),
    ("args", Meaning::Nothing),
    ("filename", Meaning::Nothing),
    ("module", Meaning::Nothing),
    ("msecs", Meaning::Nothing),
    ("relativeCreated", Meaning::Nothing),
    ("thread", Meaning::Nothing),
    ("message", Meaning::Nothing),
    ("asctime", Meaning::Nothing),
];

/// What is looked up once.
struct Known {
    /// By the address of the interned name, which attributes have that were set in Python.
    by_address: HashMap<usize, Meaning, foldhash::fast::FixedState>,
    /// They hold the addresses.
    _names: Vec<Py<PyString>>,
    record_type: Py<PyType>,
}

impl Known {
    fn get(py: Python<'_>) -> PyResult<&'static Self> {
        static KNOWN_HERE: PyOnceLock<Known> = PyOnceLock::new();
        KNOWN_HERE.get_or_try_init(py, || {
            let names: Vec<_> = KNOWN.iter().map(|(name, _)| PyString::intern(py, name).unbind()).collect();
            let by_address = names
                .iter()
                .zip(&KNOWN)
                .map(|(name, (_, meaning))| (name.as_ptr().addr(), *meaning))
                .collect();
            let record_type = py.import("logging")?.getattr("LogRecord")?.cast_into::<PyType>()?.unbind();
            Ok(Known { by_address, _names: names, record_type })
        })
    }

    /// What the attribute means; none if it is one of `extra`'s.
    fn meaning(&self, name: &Bound<'_, PyString>) -> Option<Meaning> {
        self.by_address.get(&name.as_ptr().addr()).copied().or_else(|| {
            // A record that was made from a dict has names of its own.
            let name = name.to_string_lossy();
            KNOWN.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
        })
    }
}

/// The type, message and trace of an exception, which may have lone surrogates.
pub(crate) type Exception<'py> = (Bound<'py, PyString>, Bound<'py, PyString>, Bound<'py, PyString>);

/// Takes a record apart. `exception` is that of its exception, if it has one; `room` is what there is beside a message.
///
/// # Errors
/// If the object is no `LogRecord`.
pub(crate) fn take_apart(
    record: &Bound<'_, PyAny>,
    exception: Option<Exception<'_>>,
    room: impl FnOnce(&str) -> Room,
) -> PyResult<Parts> {
    let py = record.py();
    let known = Known::get(py)?;
    let attributes = calls::attribute(record, pyo3::intern!(py, "__dict__"))?;
    let attributes = attributes.cast::<PyDict>()?;
    let (message, format_error) = message(record, attributes, known)?;
    let fields = Fields::new(room(&message));
    let mut parts = Parts { time_ns: None, level: Level::Unknown, message, fields, format_error };
    let (mut own, mut extra) = (Vec::with_capacity(KNOWN.len()), Vec::new());
    for (name, value) in attributes.iter() {
        let Ok(name) = name.cast_into::<PyString>() else { continue };
        match known.meaning(&name) {
            None => extra.push((name, value)),
            Some(Meaning::Nothing) => {}
            Some(meaning) => own.push((meaning, value)),
        }
    }
    // After the loop, because the `str()` of a value may be anybody's code, and may change the record.
    for (meaning, value) in own {
        parts.attribute(meaning, &value, exception.is_some());
    }
    if let Some((kind, message, trace)) = &exception {
        let told =
            [("exception.type", kind), ("exception.message", message), ("exception.stacktrace", trace)];
        for (name, text) in told {
            let text = text.to_string_lossy();
            if !text.is_empty() {
                parts.text(name, &text);
            }
        }
    }
    if let Some(error) = &parts.format_error {
        let error = shown(py, error);
        parts.text("format_error", &error);
    }
    // Last, so that they are the ones found by a name that is ours, too.
    for (name, value) in extra {
        convert::add(&mut parts.fields, &name.to_string_lossy(), &value);
    }
    Ok(parts)
}

impl Parts {
    fn text(&mut self, name: &str, text: &str) {
        self.fields.push(name, Value::Str(text));
        self.fields.ended(name);
    }

    fn attribute(&mut self, meaning: Meaning, value: &Bound<'_, PyAny>, has_exception: bool) {
        match meaning {
            Meaning::Created => self.time_ns = seconds(value).map(nanoseconds),
            Meaning::LevelNumber => self.level = number(value).map(level_of).unwrap_or_default(),
            Meaning::LevelName => {
                if let Ok(name) = value.cast::<PyString>() {
                    let name = name.to_string_lossy();
                    if !matches!(&*name, "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL") {
                        self.text("level_name", &name);
                    }
                }
            }
            Meaning::Field(name) if !value.is_none() => convert::add(&mut self.fields, name, value),
            Meaning::ExceptionText if !value.is_none() && !has_exception => {
                convert::add(&mut self.fields, "exception.stacktrace", value);
            }
            Meaning::Field(_) | Meaning::ExceptionText | Meaning::Nothing => {}
        }
    }
}

/// The message; the unformatted one, and why, if its arguments do not fit.
fn message(
    record: &Bound<'_, PyAny>,
    attributes: &Bound<'_, PyDict>,
    known: &Known,
) -> PyResult<(String, Option<PyErr>)> {
    let py = record.py();
    let raw = attributes.get_item(pyo3::intern!(py, "msg"))?;
    let has_args = attributes
        .get_item(pyo3::intern!(py, "args"))?
        .is_some_and(|args| calls::is_true(&args).unwrap_or(true));
    if !has_args
        && record.get_type().is(known.record_type.bind(py))
        && let Some(Ok(text)) = raw.as_ref().map(|raw| raw.cast_exact::<PyString>())
    {
        return Ok((text.to_string_lossy().into_owned(), None));
    }
    match calls::method(record, pyo3::intern!(py, "getMessage")) {
        Ok(formatted) => Ok((text(&formatted), None)),
        Err(e) if e.is_instance_of::<pyo3::exceptions::PyException>(py) => {
            Ok((raw.map(|raw| text(&raw)).unwrap_or_default(), Some(e)))
        }
        // Ctrl-C, or the end of the program.
        Err(e) => Err(e),
    }
}

/// An exception, as the last line of its trace shows it.
fn shown(py: Python<'_>, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    format!("{kind}: {}", text(error.value(py)))
}

/// A number of any kind but those that only their own code can read.
fn seconds(value: &Bound<'_, PyAny>) -> Option<f64> {
    let is_number = value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>();
    is_number.then(|| value.extract().ok())?
}

fn number(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.is_instance_of::<PyInt>().then(|| value.extract().ok())?
}

/// Seconds since the epoch, to the microsecond, which is what a float gives back today.
fn nanoseconds(seconds: f64) -> i64 {
    // Beyond the range of an i64 it saturates.
    ((seconds * 1e6).round() as i64).saturating_mul(1000)
}
