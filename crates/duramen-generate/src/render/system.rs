//! What the machines log. A third of the hosts sends RFC 5424, a third RFC 3164, and a third keeps files as the
//! traditional daemons write them: RFC 3164 without the priority.

use super::Context;
use crate::event::{Body, Level};
use crate::rng::mix;
use crate::text::{Civil, int};

pub(crate) fn write(out: &mut Vec<u8>, c: Context<'_>) {
    let event = c.event;
    let program = match event.body {
        Body::System { program, .. } => c.catalog.programs.get(usize::from(program)),
        _ => None,
    };
    // Daemons of the company itself log as the facility `daemon`.
    let (name, facility, has_pid) =
        program.map_or(("exporter", 3, true), |p| (p.name, p.facility, p.has_pid));
    let severity = match event.level {
        Level::Debug => 7,
        Level::Info => 6,
        Level::Warn => 4,
        Level::Error => 3,
        Level::Fatal => 2,
    };
    let pid = 300 + mix(event.seed) % 60_000;
    let style = event.host % 3;
    if style != 1 {
        out.push(b'<');
        int(out, facility * 8 + severity);
        out.push(b'>');
    }
    let time = Civil::new(event.time_ns);
    if style == 0 {
        out.extend_from_slice(b"1 ");
        time.rfc3339(out, 6);
        out.push(b' ');
        out.extend_from_slice(c.host().as_bytes());
        out.extend_from_slice(b".example.com ");
        out.extend_from_slice(name.as_bytes());
        out.push(b' ');
        if has_pid {
            int(out, pid)
        } else {
            out.push(b'-')
        }
        if facility == 4 {
            out.extend_from_slice(b" AUTH [origin software=\"sshd\" swVersion=\"9.6\"] ");
        } else {
            out.extend_from_slice(b" - - ");
        }
    } else {
        time.syslog(out);
        out.push(b' ');
        out.extend_from_slice(c.host().as_bytes());
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        if has_pid {
            out.push(b'[');
            int(out, pid);
            out.push(b']');
        }
        out.extend_from_slice(b": ");
    }
    c.message(out);
}
