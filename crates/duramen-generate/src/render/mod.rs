//! Writing events: as the program that logs them would, or all alike.
//!
//! | module | format |
//! |---|---|
//! | [`uniform`] | one JSON object per event, the same names for all |
//! | [`app`] | a service's JSON, with nested objects |
//! | [`access`] | the combined access log format |
//! | [`system`] | syslog, RFC 5424 and RFC 3164 |
//! | [`stack`] | text with stack traces |

pub(crate) mod access;
pub(crate) mod app;
pub(crate) mod stack;
pub(crate) mod system;
pub(crate) mod uniform;

use crate::catalog::Catalog;
use crate::catalog::exceptions::{self, Trace};
use crate::catalog::services::Service;
use crate::catalog::variables::Var;
use crate::event::{Body, Event, Needle};
use crate::needles::{Needles, PHRASE};
use crate::options::Kind;
use crate::rng::mix;
use crate::text;

/// An event, and all that is needed to write it.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) needles: &'a Needles,
    pub(crate) event: &'a Event,
}

/// Writes the event as the program that logs it would.
pub(crate) fn native(out: &mut Vec<u8>, context: Context<'_>, kind: Kind) {
    match (context.event.body, kind) {
        (Body::Access, _) | (Body::Needle(_), Kind::Access) => access::write(out, context),
        (Body::System { .. }, _) | (Body::Needle(_), Kind::Syslog) => system::write(out, context),
        (Body::Message { .. } | Body::Needle(_), Kind::StackTraces)
        | (Body::Message { trace: Some(_), .. }, Kind::Mixed) => stack::write(out, context),
        (Body::Message { .. } | Body::Needle(_), _) => app::write(out, context),
    }
}

impl<'a> Context<'a> {
    fn service(&self) -> &'a Service {
        &self.catalog.services[usize::from(self.event.app)]
    }

    fn host(&self) -> &'a str {
        &self.catalog.hosts[usize::from(self.event.host)]
    }

    fn var(&self, out: &mut Vec<u8>, var: Var) {
        var.write(out, self.catalog, self.event, 1);
    }

    /// The id of the request; only for events of a request.
    fn request_id(&self, out: &mut Vec<u8>, request_seed: u64) {
        out.extend_from_slice(b"req-");
        text::hex(out, mix(request_seed), 16);
    }

    /// The path, with its variables filled in.
    fn path(&self, out: &mut Vec<u8>, route: u8) {
        // Made from the request alone, so that all its events show the same path.
        let mut event = self.event.clone();
        event.seed = event.request.map_or(event.seed, |r| r.seed);
        self.catalog.path(route).write(out, self.catalog, &event);
    }

    /// The text of a message, a system's line or a needle. Those of the access log have none of their own.
    fn message(&self, out: &mut Vec<u8>) {
        match self.event.body {
            Body::Access => {}
            Body::Message { message, .. } => {
                let message = &self.catalog.messages[usize::from(message)];
                message.template.write(out, self.catalog, self.event);
            }
            Body::System { program, sequence, line } => {
                let program = &self.catalog.programs[usize::from(program)];
                let (_, template) = &program.sequences[usize::from(sequence)][usize::from(line)];
                template.write(out, self.catalog, self.event);
            }
            Body::Needle(needle) => self.needle(out, needle),
        }
    }

    fn needle(&self, out: &mut Vec<u8>, needle: Needle) {
        match needle {
            Needle::Uuid => {
                out.extend_from_slice(b"export ");
                out.extend_from_slice(self.needles.uuid.as_bytes());
                out.extend_from_slice(b" finished");
            }
            Needle::Phrase => {
                out.extend_from_slice(b"inventory note: ");
                out.extend_from_slice(PHRASE.as_bytes());
            }
            Needle::Trace => {
                out.extend_from_slice(b"span of trace ");
                text::hex(out, self.needles.trace[0], 16);
                text::hex(out, self.needles.trace[1], 16);
                out.extend_from_slice(b" exported");
            }
        }
    }

    /// The exception that was thrown, if one was.
    fn trace(&self) -> Option<&'a Trace> {
        match self.event.body {
            Body::Message { trace: Some(choice), .. } => {
                exceptions::choose(&self.catalog.traces, self.service(), choice)
            }
            _ => None,
        }
    }

    fn write_trace(&self, out: &mut Vec<u8>, trace: &Trace) {
        trace.write(out, self.service(), |out, template| template.write(out, self.catalog, self.event));
    }

    /// How many bytes the edge answered with.
    fn body_bytes(&self) -> u64 {
        let bits = mix(self.event.seed);
        match self.event.request.map_or(200, |r| r.status) {
            204 | 304 => 0,
            400.. => 90 + bits % 140,
            _ => 200 + (bits >> 32) % 40_000 / (1 + bits % 31),
        }
    }
}

/// Writes `"name":` in an object, with a comma if it is not the first.
fn key(out: &mut Vec<u8>, name: &str) {
    if !matches!(out.last(), Some(b'{')) {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Writes a member of an object whose value is a string.
fn string(out: &mut Vec<u8>, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
    key(out, name);
    text::json_string(out, write);
}
