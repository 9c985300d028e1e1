//! A logger: opened once, then line after line.

use crate::convert;
use crate::error::failed;
use crate::options::{durability, level};
use crate::record::{self, Parts};
use crate::room::{Fields, Room};
use duramen::{FieldBuf, Level, Logger, OnFull, Record};
use duramen_engine::io::{Clock, Env};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longer messages are cut, whatever the option says.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// What `duramen.Logger`, `Handler` and `StructlogProcessor` log with. Any thread may call any method, and so may a
/// forked child.
#[pyclass(frozen, name = "NativeLogger", module = "duramen._duramen")]
#[derive(Debug)]
pub(crate) struct NativeLogger {
    /// None while it is dropped.
    logger: Option<Logger>,
    clock: Arc<dyn Clock>,
    max_message_bytes: usize,
    /// What the fields of each line leave for others.
    room: Room,
}

#[pymethods]
impl NativeLogger {
    #[new]
    #[pyo3(signature = (store_dir, *, stream_fields, fields, durability, sync_levels, block_timeout_ms, max_message_bytes, keeper, write_buffer_size))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        py: Python<'_>,
        store_dir: PathBuf,
        stream_fields: Vec<String>,
        fields: Option<&Bound<'_, PyDict>>,
        durability: &Bound<'_, PyString>,
        sync_levels: Vec<Bound<'_, PyAny>>,
        block_timeout_ms: u64,
        max_message_bytes: usize,
        keeper: bool,
        write_buffer_size: Option<usize>,
    ) -> PyResult<Self> {
        let sync_levels = sync_levels.iter().map(level).collect::<PyResult<Vec<Level>>>()?;
        let on_full = match block_timeout_ms {
            0 => OnFull::Count,
            ms => OnFull::Block { timeout: Duration::from_millis(ms) },
        };
        let env = Env::os();
        let mut builder = Logger::builder(store_dir)
            .env(env.clone())
            .stream_fields(stream_fields)
            .durability(self::durability(&durability.to_string_lossy())?)
            .sync_levels(&sync_levels)
            .on_full(on_full)
            .max_message_bytes(max_message_bytes)
            .keeper(keeper);
        if let Some(bytes) = write_buffer_size {
            builder = builder.write_buffer_size(bytes);
        }
        let mut all = Fields::default();
        if let Some(fields) = fields {
            convert::add_members(&mut all, fields);
        }
        convert::interrupted()?;
        if all.are_cut() {
            return Err(PyValueError::new_err("fields: there are more than a line has room for"));
        }
        let (fields, room) = all.finish();
        builder = fields
            .with(|fields| fields.iter().fold(builder, |builder, &(name, value)| builder.field(name, value)));
        let logger = py.detach(|| builder.open()).map_err(failed)?;
        Ok(Self {
            logger: Some(logger),
            clock: env.clock,
            max_message_bytes: max_message_bytes.min(MAX_MESSAGE_BYTES),
            room,
        })
    }

    /// Logs a line, as of now.
    fn log(
        &self,
        py: Python<'_>,
        level: &Bound<'_, PyAny>,
        message: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let level = self::level(level)?;
        let message = convert::text(message);
        let mut all = Fields::new(self.room_beside(&message));
        if let Some(fields) = fields {
            convert::add_members(&mut all, fields);
        }
        self.write(py, self.clock.now_unix_ns(), level, &message, &all.finish().0)
    }

    /// Logs a `logging.LogRecord`; `exception` is the type, message and trace of its exception.
    ///
    /// A record whose arguments do not fit its message is logged with the message as it is, and raises then.
    #[pyo3(signature = (record, exception=None))]
    fn log_record(
        &self,
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        exception: Option<record::Exception<'_>>,
    ) -> PyResult<()> {
        let Parts { time_ns, level, message, fields, format_error } =
            record::take_apart(record, exception, |message| self.room_beside(message))?;
        let time_ns = time_ns.unwrap_or_else(|| self.clock.now_unix_ns());
        self.write(py, time_ns, level, &message, &fields.finish().0)?;
        format_error.map_or(Ok(()), Err)
    }

    /// Puts every line into tables if this process is the keeper, and otherwise has the keeper do so soon.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let logger = self.logger()?;
        py.detach(|| logger.flush()).map_err(failed)
    }

    /// Makes every line so far survive a loss of power.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let logger = self.logger()?;
        py.detach(|| logger.sync()).map_err(failed)
    }

    /// Syncs what was logged, and refuses later lines.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let logger = self.logger()?;
        py.detach(|| logger.close()).map_err(failed)
    }

    /// What was done so far, in this process.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let logger = self.logger()?;
        let stats = py.detach(|| logger.stats());
        let dict = PyDict::new(py);
        dict.set_item("lines", stats.lines)?;
        dict.set_item("bytes", stats.bytes)?;
        dict.set_item("truncated", stats.truncated)?;
        dict.set_item("dropped", stats.dropped)?;
        dict.set_item("errors", stats.errors)?;
        dict.set_item("reopened", stats.reopened)?;
        dict.set_item("unsynced", stats.unsynced)?;
        dict.set_item("last_error", stats.last_error)?;
        dict.set_item("incidents", stats.incidents.messages)?;
        Ok(dict)
    }
}

impl NativeLogger {
    fn logger(&self) -> PyResult<&Logger> {
        self.logger.as_ref().ok_or_else(|| failed("the logger is gone"))
    }

    /// What a message leaves for fields.
    fn room_beside(&self, message: &str) -> Room {
        self.room.clone().beside(message.len().min(self.max_message_bytes))
    }

    fn write(
        &self,
        py: Python<'_>,
        time_ns: i64,
        level: Level,
        message: &str,
        line: &FieldBuf,
    ) -> PyResult<()> {
        let logger = self.logger()?;
        // The texts are copies, so that the GIL can go while the line is written.
        let written =
            py.detach(|| line.with(|fields| logger.log_at(&Record { time_ns, level, message, fields })));
        convert::interrupted()?;
        written.map_err(failed)
    }
}

impl Drop for NativeLogger {
    fn drop(&mut self) {
        // That may wait for a device and for a thread in the middle of a merge.
        let logger = self.logger.take();
        Python::attach(|py| py.detach(move || drop(logger)));
    }
}
