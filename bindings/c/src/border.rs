//! The functions: pointers in, a status out. What each does is told in the header.
#![allow(unsafe_code)]

use crate::given::{Field, Line, Options, Text, builder, level, path, required};
use crate::status::{Failure, call, last};
use duramen::{Logger, Store};
use duramen_engine::io::Env;
use duramen_query::{Cancel, ParseOptions, Query, RunOptions};
use std::ffi::{c_char, c_int, c_void};
use std::ops::ControlFlow;

/// Takes a row of an answer as JSON, and its length; returns 0 to go on.
pub type RowCallback =
    Option<unsafe extern "C" fn(ctx: *mut c_void, json: *const c_char, len: usize) -> c_int>;

/// Opens the store in `dir`, and sets `*logger`.
///
/// # Safety
/// As the header says of its arguments: texts end with a zero byte, `options` is null or whole, `logger` is null or
/// may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duramen_open(
    dir: *const c_char,
    options: *const Options,
    logger: *mut *mut Logger,
) -> c_int {
    call(|| {
        if logger.is_null() {
            return Err(Failure::Invalid("logger is NULL".into()));
        }
        // SAFETY: as the caller says.
        unsafe { logger.write(std::ptr::null_mut()) };
        // SAFETY: as the caller says.
        let opened = unsafe { builder(dir, options) }?.open().map_err(|e| match e {
            // Found before anything is made, as what is wrong with other options.
            duramen::Error::Engine(duramen_engine::Error::InvalidArgument(why)) => Failure::Invalid(why),
            other => other.into(),
        })?;
        // SAFETY: as the caller says.
        unsafe { logger.write(Box::into_raw(Box::new(opened))) };
        Ok(())
    })
}

/// Logs a line.
///
/// # Safety
/// `logger` is null or was given by [`duramen_open`] and is not closed; the texts and fields are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duramen_log(
    logger: *const Logger,
    level: c_int,
    message: *const c_char,
    len: usize,
    fields: *const Field,
    nfields: usize,
) -> c_int {
    call(|| {
        // SAFETY: as the caller says.
        let logger = unsafe { opened(logger) }?;
        let level = self::level(level)?;
        // SAFETY: as the caller says.
        let (line, message) = unsafe {
            let mut line = Line::read(fields, nfields)?;
            let message = line.text(Text { data: message, len })?;
            (line, message)
        };
        Ok(logger.log(level, &message, &line.fields())?)
    })
}

/// Puts every line into tables, or has the keeper do so.
///
/// # Safety
/// As for [`duramen_log`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duramen_flush(logger: *const Logger) -> c_int {
    // SAFETY: as the caller says.
    call(|| Ok(unsafe { opened(logger) }?.flush()?))
}

/// Makes every line so far survive a loss of power.
///
/// # Safety
/// As for [`duramen_log`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duramen_sync(logger: *const Logger) -> c_int {
    // SAFETY: as the caller says.
    call(|| Ok(unsafe { opened(logger) }?.sync()?))
}

/// Syncs what was logged, and frees the logger.
///
/// # Safety
/// As for [`duramen_log`]; nobody uses the logger any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duramen_close(logger: *mut Logger) -> c_int {
    call(|| {
        if logger.is_null() {
            return Ok(());
        }
        // SAFETY: `duramen_open` made it of a box, and as the caller says it is closed once.
        let logger = unsafe { Box::from_raw(logger) };
        Ok(logger.close()?)
    })
}

/// Asks the store in `dir`, and calls `row` with every row.
///
/// # Safety
/// The texts end with a zero byte; `row` may be called with `ctx`, and does not unwind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn duramen_query(
    dir: *const c_char,
    query: *const c_char,
    row: RowCallback,
    ctx: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: as the caller says.
        let (dir, text) = unsafe { (path(dir)?, required("query", query)?) };
        let row = row.ok_or_else(|| Failure::Invalid("row is NULL".into()))?;
        ask(dir, text, &mut |json| {
            // SAFETY: as the caller says; the text ends with a zero byte, which is not counted.
            if unsafe { row(ctx, json.as_ptr().cast(), json.len() - 1) } == 0 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
    })
}

/// Why the thread's last call did not do what it was asked to.
#[unsafe(no_mangle)]
pub extern "C" fn duramen_last_error() -> *const c_char {
    last()
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn duramen_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// # Safety
/// As for [`duramen_log`].
unsafe fn opened<'a>(logger: *const Logger) -> Result<&'a Logger, Failure> {
    // SAFETY: as the caller says.
    unsafe { logger.as_ref() }.ok_or_else(|| Failure::Invalid("logger is NULL".into()))
}

/// Calls `each` with every row of the answer: JSON, and a zero byte.
fn ask(
    dir: &std::path::Path,
    text: &str,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), Failure> {
    let query = understood(text)?;
    let store = Store::open_read_only(dir)?;
    let (min_time, max_time) = query.time_range();
    let blocks = store.snapshot()?.blocks(min_time, max_time);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let options = RunOptions { threads, ..RunOptions::default() };
    let mut json = Vec::new();
    let stats = query
        .run(blocks, &options, &Cancel::new(), &mut |row| {
            json.clear();
            row.write_json(&mut json);
            json.push(0);
            each(&json)
        })
        .map_err(|e| Failure::Failed(e.to_string()))?;
    let mut lacking = store.incidents().messages;
    if let Some(why) = stats.first_failure {
        lacking.push(format!("{} blocks could not be read: {why}", stats.blocks_failed));
    }
    if lacking.is_empty() { Ok(()) } else { Err(Failure::Incomplete(lacking.join("; "))) }
}

/// Reads a query's text, on a thread of its own: it may be nested deep, and the caller's stack may be of any size.
fn understood(text: &str) -> Result<Query, Failure> {
    /// Enough for the deepest query.
    const STACK_BYTES: usize = 4 << 20;
    let now_ns = Env::os().clock.now_unix_ns();
    let options = ParseOptions { now_ns, ..ParseOptions::default() };
    let thread = std::thread::Builder::new().name("duramen-query".into()).stack_size(STACK_BYTES);
    std::thread::scope(|scope| {
        let reader = thread.spawn_scoped(scope, || Query::parse(text, &options));
        let reader =
            reader.map_err(|e| Failure::Failed(format!("cannot start a thread for the query: {e}")))?;
        match reader.join() {
            Ok(read) => read.map_err(|e| Failure::Invalid(e.to_string())),
            // It is told as any other fault is.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
