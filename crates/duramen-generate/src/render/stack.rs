//! Text logs of Java and Python services: `time LEVEL [thread] logger - message`, and the stack trace below.

use super::Context;
use crate::catalog::services::Runtime;
use crate::event::Level;
use crate::rng::mix;
use crate::text::{Civil, int};

pub(crate) fn write(out: &mut Vec<u8>, c: Context<'_>) {
    let event = c.event;
    let service = c.service();
    let java = service.runtime != Runtime::Python;
    Civil::new(event.time_ns).comma_millis(out);
    let level = match event.level {
        Level::Debug => "DEBUG",
        Level::Info => "INFO",
        Level::Warn if java => "WARN",
        Level::Warn => "WARNING",
        Level::Error => "ERROR",
        Level::Fatal if java => "FATAL",
        Level::Fatal => "CRITICAL",
    };
    out.push(b' ');
    out.extend_from_slice(level.as_bytes());
    let thread = 1 + mix(event.seed) % 16;
    if java {
        out.extend_from_slice(b" [exec-");
        int(out, thread);
        out.extend_from_slice(b"] com.example.");
        out.extend_from_slice(service.package.as_bytes());
        out.extend_from_slice(b".Worker - ");
    } else {
        out.push(b' ');
        out.extend_from_slice(service.package.as_bytes());
        out.extend_from_slice(b".worker:");
        int(out, 100 + thread);
        out.extend_from_slice(b" - ");
    }
    c.message(out);
    if let Some(trace) = c.trace() {
        out.push(b'\n');
        c.write_trace(out, trace);
    }
}
