//! What a service logs: JSON with nested objects, and fields that only some messages have.

use super::{Context, key, string};
use crate::catalog::services::Runtime;
use crate::catalog::variables::{Var, write_address, write_user};
use crate::event::Body;
use crate::text::{Civil, fixed, int, json_string};

pub(crate) fn write(out: &mut Vec<u8>, c: Context<'_>) {
    let event = c.event;
    let time = if c.service().runtime == Runtime::Go { "_time" } else { "timestamp" };
    out.push(b'{');
    string(out, time, |o| Civil::new(event.time_ns).rfc3339(o, 9));
    string(out, "level", |o| o.extend_from_slice(event.level.name().as_bytes()));
    string(out, "app", |o| o.extend_from_slice(c.service().name.as_bytes()));
    string(out, "host", |o| o.extend_from_slice(c.host().as_bytes()));
    string(out, "message", |o| c.message(o));
    if let Some(request) = &event.request {
        key(out, "http");
        out.push(b'{');
        string(out, "method", |o| {
            o.extend_from_slice(c.catalog.routes[usize::from(request.route)].method.as_bytes());
        });
        string(out, "path", |o| c.path(o, request.route));
        if event.took_us > 0 {
            key(out, "status");
            int(out, u64::from(request.status));
        }
        out.push(b'}');
        if event.took_us > 0 {
            key(out, "duration_ms");
            fixed(out, u64::from(event.took_us), 3);
        }
        key(out, "user");
        out.push(b'{');
        string(out, "id", |o| write_user(o, request.user));
        let plan = ["free", "free", "pro", "free", "team"][request.user as usize % 5];
        string(out, "plan", |o| o.extend_from_slice(plan.as_bytes()));
        out.push(b'}');
        string(out, "ip", |o| write_address(o, request.address as usize));
        string(out, "request_id", |o| c.request_id(o, request.seed));
        string(out, "trace_id", |o| c.var(o, Var::Trace));
    }
    if let Body::Message { message, .. } = event.body {
        for &(name, var) in c.catalog.messages[usize::from(message)].fields {
            key(out, name);
            if is_number(var) { c.var(out, var) } else { json_string(out, |o| c.var(o, var)) }
        }
    }
    if let Some(trace) = c.trace() {
        string(out, "stack", |o| c.write_trace(o, trace));
    }
    out.push(b'}');
}

fn is_number(var: Var) -> bool {
    matches!(
        var,
        Var::Amount
            | Var::Attempt
            | Var::Bytes
            | Var::Float
            | Var::Int
            | Var::Percent
            | Var::Port
            | Var::Small
    )
}
