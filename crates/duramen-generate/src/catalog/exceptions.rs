//! What is thrown, and from where: the stack traces of Java and Python services.

use super::services::{Runtime, Service};
use super::variables::Template;
use crate::rng::mix;
use crate::text::int;

/// A kind of failure: what is thrown, and what caused it, outermost first.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    runtime: Runtime,
    thrown: Vec<(&'static str, Template)>,
}

type Row = (Runtime, &'static [(&'static str, &'static str)]);

const TRACES: &[Row] = &[
    (
        Runtime::Java,
        &[
            ("com.example.commons.ServiceException", "cannot complete order {order}"),
            (
                "com.example.commons.UpstreamException",
                "POST http://{peer}.svc.example.com/v1/{word} answered 503",
            ),
            ("java.net.SocketTimeoutException", "Read timed out"),
        ],
    ),
    (
        Runtime::Java,
        &[
            ("org.example.orm.StorageException", "could not execute statement on {table}"),
            (
                "java.sql.SQLTransientConnectionException",
                "{pool} - Connection is not available, request timed out after {millis}ms.",
            ),
        ],
    ),
    (
        Runtime::Java,
        &[("java.lang.NullPointerException", "Cannot invoke \"String.length()\" because \"{word}\" is null")],
    ),
    (Runtime::Java, &[("java.lang.IllegalStateException", "order {order} is {state}, expected PAID")]),
    (
        Runtime::Java,
        &[
            (
                "java.util.concurrent.CompletionException",
                "com.example.commons.RejectedException: queue of {pool} is full",
            ),
            ("com.example.commons.RejectedException", "queue of {pool} is full"),
        ],
    ),
    (
        Runtime::Python,
        &[
            ("example.errors.ShipmentError", "no label for order {order}"),
            (
                "requests.exceptions.ConnectionError",
                "HTTPConnectionPool(host='{peer}.svc.example.com', port={port}): Max retries exceeded",
            ),
        ],
    ),
    (Runtime::Python, &[("KeyError", "'{word}'")]),
    (Runtime::Python, &[("ValueError", "invalid literal for int() with base 10: '{hex}'")]),
    (
        Runtime::Python,
        &[
            ("example.storage.StorageError", "insert into {table} failed"),
            ("psycopg.errors.DeadlockDetected", "deadlock detected"),
            ("psycopg.OperationalError", "server closed the connection unexpectedly"),
        ],
    ),
];

pub(crate) fn all() -> Vec<Trace> {
    TRACES
        .iter()
        .map(|&(runtime, thrown)| Trace {
            runtime,
            thrown: thrown.iter().map(|&(class, text)| (class, Template::parse(text))).collect(),
        })
        .collect()
}

/// The trace that this choice means for a service: `None` for those that throw nothing.
pub(crate) fn choose<'t>(traces: &'t [Trace], service: &Service, choice: u8) -> Option<&'t Trace> {
    let of_runtime = || traces.iter().filter(|t| t.runtime == service.runtime);
    let n = of_runtime().count();
    if n == 0 { None } else { of_runtime().nth(usize::from(choice) % n) }
}

const CLASSES: [&str; 10] = [
    "OrderController",
    "OrderService",
    "StockClient",
    "RetryPolicy",
    "HttpExchange",
    "TransactionScope",
    "PriceCalculator",
    "RequestFilter",
    "SessionCache",
    "WorkerLoop",
];
const METHODS: [&str; 10] = [
    "handle",
    "invoke",
    "apply",
    "submit",
    "doFilter",
    "lambda$load$0",
    "execute",
    "proceed",
    "resolve",
    "run",
];
const FUNCTIONS: [(&str, &str); 8] = [
    ("handle", "return self.dispatch(request, *args)"),
    ("dispatch", "response = view(request)"),
    ("load", "row = self.cursor.execute(sql, params).fetchone()"),
    ("create_label", "label = client.post(url, json=payload, timeout=5)"),
    ("send", "raise ConnectionError(err, request=request)"),
    ("run", "result = job.perform()"),
    ("parse", "count = int(fields[2])"),
    ("get", "return self._values[key]"),
];
const LIBRARIES: [&str; 4] =
    ["org.example.web.servlet", "org.example.net.http", "java.util.concurrent", "org.example.orm.session"];

impl Trace {
    /// Writes the trace, beginning with what was thrown and without a line end.
    ///
    /// The frames depend only on the service and the trace: code fails where it failed before.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        service: &Service,
        mut fill: impl FnMut(&mut Vec<u8>, &Template),
    ) {
        let first = self.thrown.first().map_or(0, |(class, _)| class.len() as u64);
        let mut place = mix(first ^ service.base_us as u64 ^ ((service.package.len() as u64) << 32));
        match self.runtime {
            Runtime::Go | Runtime::Java => {
                for (depth, (class, text)) in self.thrown.iter().enumerate() {
                    out.extend_from_slice(if depth == 0 { b"" } else { b"\nCaused by: " });
                    out.extend_from_slice(class.as_bytes());
                    out.extend_from_slice(b": ");
                    fill(out, text);
                    let frames = if depth == 0 { 9 + place % 9 } else { 3 + place % 4 };
                    for frame in 0..frames {
                        place = mix(place);
                        java_frame(out, service, place, frame < frames / 2);
                    }
                    if depth > 0 {
                        out.extend_from_slice(b"\n\t... ");
                        int(out, 12 + place % 20);
                        out.extend_from_slice(b" more");
                    }
                }
            }
            Runtime::Python => {
                // Python tells the cause first.
                for (depth, (class, text)) in self.thrown.iter().rev().enumerate() {
                    if depth > 0 {
                        out.extend_from_slice(
                            b"\n\nThe above exception was the direct cause of the following exception:\n\n",
                        );
                    }
                    out.extend_from_slice(b"Traceback (most recent call last):");
                    for _ in 0..3 + place % 4 {
                        place = mix(place);
                        python_frame(out, service, place);
                    }
                    out.push(b'\n');
                    out.extend_from_slice(class.as_bytes());
                    out.extend_from_slice(b": ");
                    fill(out, text);
                }
            }
        }
    }
}

fn java_frame(out: &mut Vec<u8>, service: &Service, place: u64, own: bool) {
    let class = CLASSES[place as usize % CLASSES.len()];
    out.extend_from_slice(b"\n\tat ");
    if own {
        out.extend_from_slice(b"com.example.");
        out.extend_from_slice(service.package.as_bytes());
    } else {
        out.extend_from_slice(LIBRARIES[(place >> 8) as usize % LIBRARIES.len()].as_bytes());
    }
    out.push(b'.');
    out.extend_from_slice(class.as_bytes());
    out.push(b'.');
    out.extend_from_slice(METHODS[(place >> 16) as usize % METHODS.len()].as_bytes());
    out.push(b'(');
    out.extend_from_slice(class.as_bytes());
    out.extend_from_slice(b".java:");
    int(out, 20 + (place >> 24) % 480);
    out.push(b')');
}

fn python_frame(out: &mut Vec<u8>, service: &Service, place: u64) {
    let (function, code) = FUNCTIONS[place as usize % FUNCTIONS.len()];
    out.extend_from_slice(b"\n  File \"/srv/");
    out.extend_from_slice(service.package.as_bytes());
    out.extend_from_slice(b"/app/");
    out.extend_from_slice(function.as_bytes());
    out.extend_from_slice(b".py\", line ");
    int(out, 10 + (place >> 24) % 300);
    out.extend_from_slice(b", in ");
    out.extend_from_slice(function.as_bytes());
    out.extend_from_slice(b"\n    ");
    out.extend_from_slice(code.as_bytes());
}
