//! One JSON object per event, with the same names for all: `_time`, `level`, `app`, `host`, `_msg`, and where the
//! event has them `status`, `path`, `ip`, `user`, `request_id`, `trace_id`, `duration_ms`.

use super::{Context, key, string};
use crate::catalog::routes::AGENTS;
use crate::catalog::variables::{Var, write_address, write_user};
use crate::event::{Body, Request};
use crate::text::{Civil, fixed, int};

pub(crate) fn write(out: &mut Vec<u8>, c: Context<'_>) {
    let event = c.event;
    out.push(b'{');
    string(out, "_time", |o| Civil::new(event.time_ns).rfc3339(o, 9));
    string(out, "level", |o| o.extend_from_slice(event.level.name().as_bytes()));
    let app = match event.body {
        Body::System { program, .. } => c.catalog.programs[usize::from(program)].name,
        _ => &c.service().name,
    };
    string(out, "app", |o| o.extend_from_slice(app.as_bytes()));
    string(out, "host", |o| o.extend_from_slice(c.host().as_bytes()));
    string(out, "_msg", |o| message(o, c));
    if let Some(request) = &event.request {
        if event.body == Body::Access || event.took_us > 0 {
            key(out, "status");
            int(out, u64::from(request.status));
        }
        if event.body == Body::Access {
            string(out, "path", |o| c.path(o, request.route));
        }
        string(out, "ip", |o| write_address(o, request.address as usize));
        string(out, "user", |o| write_user(o, request.user));
        string(out, "request_id", |o| c.request_id(o, request.seed));
        string(out, "trace_id", |o| c.var(o, Var::Trace));
    }
    if event.took_us > 0 {
        key(out, "duration_ms");
        fixed(out, u64::from(event.took_us), 3);
    }
    out.push(b'}');
}

fn message(out: &mut Vec<u8>, c: Context<'_>) {
    match (&c.event.body, &c.event.request) {
        (Body::Access, Some(request)) => access(out, c, request),
        _ => {
            c.message(out);
            if let Some(trace) = c.trace() {
                out.push(b'\n');
                c.write_trace(out, trace);
            }
        }
    }
}

fn access(out: &mut Vec<u8>, c: Context<'_>, request: &Request) {
    out.extend_from_slice(c.catalog.routes[usize::from(request.route)].method.as_bytes());
    out.push(b' ');
    c.path(out, request.route);
    out.push(b' ');
    int(out, u64::from(request.status));
    out.push(b' ');
    int(out, c.body_bytes());
    out.extend_from_slice(b" \"");
    out.extend_from_slice(AGENTS[usize::from(request.agent) % AGENTS.len()].as_bytes());
    out.push(b'"');
}
