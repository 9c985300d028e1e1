//! The edge's access log, in the combined format:
//! `address - user [time] "method path protocol" status bytes "referer" "agent"`.

use super::Context;
use crate::catalog::routes::{AGENTS, REFERERS};
use crate::catalog::variables::{Var, write_address, write_user};
use crate::event::{Body, Needle};
use crate::needles::PHRASE;
use crate::rng::mix;
use crate::text::{Civil, int};

pub(crate) fn write(out: &mut Vec<u8>, c: Context<'_>) {
    let Some(request) = &c.event.request else { return };
    let route = &c.catalog.routes[usize::from(request.route)];
    write_address(out, request.address as usize);
    out.extend_from_slice(b" - ");
    // Only calls of the API tell who calls.
    if route.is_file() {
        out.push(b'-')
    } else {
        write_user(out, request.user)
    }
    out.extend_from_slice(b" [");
    Civil::new(c.event.time_ns).access(out);
    out.extend_from_slice(b"] \"");
    out.extend_from_slice(route.method.as_bytes());
    out.push(b' ');
    let start = out.len();
    c.path(out, request.route);
    if !route.is_file() {
        out.push(if out[start..].contains(&b'?') { b'&' } else { b'?' });
        out.extend_from_slice(b"rid=");
        c.request_id(out, request.seed);
    }
    if let Body::Needle(needle @ (Needle::Uuid | Needle::Trace)) = c.event.body {
        out.extend_from_slice(if out[start..].contains(&b'?') { b"&" } else { b"?" });
        out.extend_from_slice(b"ref=");
        if needle == Needle::Uuid {
            out.extend_from_slice(c.needles.uuid.as_bytes());
        } else {
            c.var(out, Var::Trace);
        }
    }
    out.extend_from_slice(b" HTTP/");
    out.extend_from_slice(if mix(request.seed) & 3 == 0 { b"1.1" } else { b"2.0" });
    out.extend_from_slice(b"\" ");
    int(out, u64::from(request.status));
    out.push(b' ');
    int(out, c.body_bytes());
    out.extend_from_slice(b" \"");
    let referer = REFERERS[(request.seed >> 7) as usize % REFERERS.len()];
    out.extend_from_slice(if referer.is_empty() { b"-" } else { referer.as_bytes() });
    out.extend_from_slice(b"\" \"");
    out.extend_from_slice(AGENTS[usize::from(request.agent) % AGENTS.len()].as_bytes());
    if c.event.body == Body::Needle(Needle::Phrase) {
        out.extend_from_slice(b" (");
        out.extend_from_slice(PHRASE.as_bytes());
        out.push(b')');
    }
    out.push(b'"');
}
