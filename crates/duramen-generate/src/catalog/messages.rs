//! What the services log: one template per line of their code that logs.

use super::variables::{Template, Var};
use crate::event::Level::{self, Debug, Error, Fatal, Info, Warn};

/// On which occasion a message is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// While a request is worked on.
    Step,
    /// When it is done.
    Done,
    /// When something about it is odd, but not its end.
    Odd,
    /// When the service itself fails it.
    Failed,
    /// When a service that was asked fails it.
    DependencyFailed,
    /// When the database takes long.
    SlowQuery,
    /// Without a request.
    Background,
    /// A new version is brought out.
    DeployBegins,
    /// A new version is taken back.
    DeployEnds,
    /// A service stops answering.
    OutageBegins,
    /// It answers again.
    OutageEnds,
    /// A service goes down.
    Dying,
}

impl Group {
    pub(crate) const ALL: [Self; 12] = [
        Self::Step,
        Self::Done,
        Self::Odd,
        Self::Failed,
        Self::DependencyFailed,
        Self::SlowQuery,
        Self::Background,
        Self::DeployBegins,
        Self::DeployEnds,
        Self::OutageBegins,
        Self::OutageEnds,
        Self::Dying,
    ];
}

/// A message, and the fields that go with it.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) group: Group,
    /// The packages of the services that say it; empty if all do.
    packages: &'static [&'static str],
    pub(crate) level: Level,
    pub(crate) weight: f64,
    pub(crate) template: Template,
    /// Names of fields, and the variable that each shows, the same value as in the text.
    pub(crate) fields: &'static [(&'static str, Var)],
}

use Group::{
    Background, DependencyFailed, DeployBegins, DeployEnds, Done, Dying, Failed, Odd, OutageBegins,
    OutageEnds, SlowQuery, Step,
};

type Row = (Group, Level, f64, &'static [&'static str], &'static str, &'static [(&'static str, Var)]);

/// Said by every service.
const ANY: &[&str] = &[];
/// Said by those that ask the database.
const DATABASE_USERS: &[&str] = &[
    "auth",
    "accounts",
    "catalog",
    "cart",
    "checkout",
    "payments",
    "orders",
    "inventory",
    "shipping",
    "billing",
];

const MESSAGES: &[Row] = &[
    (Step, Debug, 9.0, ANY, "cache hit for key {key}", &[("cache_key", Var::Key)]),
    (Step, Debug, 5.0, ANY, "cache miss for key {key}, loading from {table}", &[("cache_key", Var::Key)]),
    (
        Step,
        Debug,
        6.0,
        DATABASE_USERS,
        "query on {table} returned {small} rows in {millis} ms",
        &[("rows", Var::Small)],
    ),
    (Step, Debug, 4.0, DATABASE_USERS, "acquired connection {small} of 50 from pool {pool}", &[]),
    (
        Step,
        Debug,
        3.0,
        ANY,
        "feature flag {flag} evaluated to {bool} for user {user}",
        &[("flag", Var::Flag)],
    ),
    (Step, Info, 16.0, ANY, "request received from {ip}", &[]),
    (
        Step,
        Info,
        14.0,
        &["auth", "accounts", "cart", "checkout", "orders"],
        "session {session} resumed for user {user}",
        &[("session", Var::Session)],
    ),
    (
        Step,
        Info,
        11.0,
        &["edge", "auth", "accounts", "checkout"],
        "token accepted, scope {scope}, expires in {seconds} s",
        &[("scope", Var::Scope)],
    ),
    (Step, Info, 9.0, ANY, "loaded {small} items for user {user}", &[("items", Var::Small)]),
    (
        Step,
        Info,
        8.0,
        &["catalog", "search", "cart", "recommendations"],
        "price of product {product} is {amount} {currency}",
        &[("product", Var::Product)],
    ),
    (
        Step,
        Info,
        8.0,
        &["inventory", "orders", "cart"],
        "reserved {small} units of {product} in warehouse {warehouse}",
        &[("warehouse", Var::Warehouse)],
    ),
    (
        Step,
        Info,
        6.0,
        &["orders", "payments", "inventory", "shipping", "notifications", "scheduler", "analytics"],
        "published event {word}.{word2} to topic {topic} partition {small}",
        &[("topic", Var::Topic)],
    ),
    (Step, Info, 5.0, &["edge", "auth", "search"], "rate limit for {ip}: {small} of 100 used", &[]),
    (Done, Info, 40.0, ANY, "request completed with {status} in {took} ms", &[]),
    (
        Done,
        Info,
        12.0,
        &["media", "catalog", "config", "search"],
        "served {bytes} bytes to {ip}",
        &[("bytes", Var::Bytes)],
    ),
    (
        Done,
        Info,
        9.0,
        &["orders", "checkout", "inventory", "shipping"],
        "order {order} updated by user {user}",
        &[("order_id", Var::Order)],
    ),
    (
        Done,
        Info,
        7.0,
        &["payments", "billing"],
        "payment for order {order} over {amount} {currency} accepted by {provider}",
        &[
            ("order_id", Var::Order),
            ("amount", Var::Amount),
            ("currency", Var::Currency),
            ("provider", Var::Provider),
        ],
    ),
    (Done, Info, 6.0, &["notifications"], "sent {word} mail to {email}, message id {uuid}", &[]),
    (
        Done,
        Info,
        6.0,
        &["search"],
        "search for \"{word} {word2}\" found {int} results in {took} ms",
        &[("results", Var::Int)],
    ),
    (
        Done,
        Info,
        5.0,
        &["shipping"],
        "shipment {uuid} created, carrier {carrier}, {float} kg",
        &[("carrier", Var::Carrier), ("weight_kg", Var::Float)],
    ),
    (Odd, Warn, 10.0, ANY, "slow response from {peer}: {millis} ms", &[("peer", Var::Peer)]),
    (
        Odd,
        Warn,
        8.0,
        ANY,
        "retrying call to {peer}, attempt {attempt} of 5",
        &[("peer", Var::Peer), ("attempt", Var::Attempt)],
    ),
    (Odd, Warn, 5.0, ANY, "deprecated field \"{word}\" used by client {ip}", &[]),
    (
        Odd,
        Warn,
        5.0,
        &["auth", "accounts"],
        "login of user {user} failed: wrong password, attempt {attempt}",
        &[],
    ),
    (Odd, Warn, 4.0, ANY, "validation failed: {word} must be between 1 and {int}", &[]),
    (
        Odd,
        Warn,
        3.0,
        &["inventory", "catalog"],
        "stock of product {product} is low: {small} left",
        &[("product", Var::Product)],
    ),
    (Odd, Warn, 2.0, ANY, "stale read: version {int} of {key} is {seconds} s old", &[]),
    (
        Failed,
        Error,
        8.0,
        &["orders", "checkout", "payments", "shipping"],
        "request failed: {word} of order {order} is not allowed in state {state}",
        &[("order_id", Var::Order), ("error", Var::ErrorCode)],
    ),
    (
        Failed,
        Error,
        7.0,
        DATABASE_USERS,
        "cannot write to {table}: deadlock detected, process {int} waits for {int2}",
        &[("error", Var::ErrorCode)],
    ),
    (
        Failed,
        Error,
        6.0,
        ANY,
        "no connection from pool {pool} within {millis} ms",
        &[("error", Var::ErrorCode)],
    ),
    (
        Failed,
        Error,
        4.0,
        &["payments", "billing"],
        "payment for order {order} declined by {provider}: {code}",
        &[("order_id", Var::Order), ("provider", Var::Provider), ("error", Var::ErrorCode)],
    ),
    (
        Failed,
        Error,
        3.0,
        ANY,
        "cannot parse body of {bytes} bytes: unexpected end at line {small}",
        &[("error", Var::ErrorCode)],
    ),
    (
        DependencyFailed,
        Error,
        10.0,
        ANY,
        "call to {peer} failed: connection refused",
        &[("peer", Var::Peer), ("error", Var::ErrorCode)],
    ),
    (
        DependencyFailed,
        Error,
        8.0,
        ANY,
        "call to {peer} timed out after {millis} ms",
        &[("peer", Var::Peer), ("error", Var::ErrorCode)],
    ),
    (
        DependencyFailed,
        Warn,
        6.0,
        ANY,
        "circuit breaker for {peer} is open, {small} calls rejected",
        &[("peer", Var::Peer)],
    ),
    (DependencyFailed, Warn, 5.0, ANY, "falling back to cached answer for {key}", &[("cache_key", Var::Key)]),
    (
        SlowQuery,
        Warn,
        6.0,
        ANY,
        "duration: {took} ms  statement: SELECT * FROM {table} WHERE user_id = '{user}' ORDER BY created_at DESC LIMIT {small} /* trace_id={trace} */",
        &[("table", Var::Table)],
    ),
    (
        SlowQuery,
        Warn,
        4.0,
        ANY,
        "duration: {took} ms  statement: UPDATE {table} SET state = '{state}', updated_at = now() WHERE id = '{order}' /* trace_id={trace} */",
        &[("table", Var::Table)],
    ),
    (
        SlowQuery,
        Warn,
        2.0,
        ANY,
        "duration: {took} ms  statement: INSERT INTO {table} (id, product, amount) VALUES ('{order}', '{product}', {amount}) /* trace_id={trace} */",
        &[("table", Var::Table)],
    ),
    (Background, Debug, 8.0, ANY, "heartbeat {int} sent to coordinator {host}", &[]),
    (
        Background,
        Debug,
        6.0,
        &["accounts", "catalog", "search", "checkout", "payments", "orders", "billing"],
        "GC pause {millis} ms, heap {percent} % of 2048 MiB",
        &[("heap_percent", Var::Percent)],
    ),
    (
        Background,
        Info,
        9.0,
        ANY,
        "job {job} finished: {int} rows in {millis} ms",
        &[("job", Var::Job), ("rows", Var::Int)],
    ),
    (
        Background,
        Info,
        6.0,
        &["orders", "notifications", "analytics", "inventory"],
        "consumer group {word}-{topic}: lag {int}",
        &[("topic", Var::Topic)],
    ),
    (
        Background,
        Info,
        6.0,
        &["postgres"],
        "checkpoint complete: wrote {int} buffers ({percent} %), {float} s",
        &[],
    ),
    (
        Background,
        Info,
        5.0,
        ANY,
        "cache statistics: {int} entries, hit ratio {percent} %, evicted {small}",
        &[],
    ),
    (Background, Info, 4.0, ANY, "connected to {host}:{port}", &[("port", Var::Port)]),
    (
        Background,
        Info,
        3.0,
        ANY,
        "configuration version {version} loaded from /etc/{app}/{word}.toml",
        &[("version", Var::Version)],
    ),
    (
        Background,
        Warn,
        1.6,
        ANY,
        "disk /var/lib/{app} is {percent} % full",
        &[("disk_percent", Var::Percent)],
    ),
    (Background, Warn, 1.2, ANY, "certificate of {host}.example.com expires in {small} days", &[]),
    (
        Background,
        Error,
        0.5,
        ANY,
        "job {job} failed after {attempt} attempts: {code}",
        &[("job", Var::Job), ("error", Var::ErrorCode)],
    ),
    (
        Background,
        Error,
        0.3,
        ANY,
        "cannot rotate {file}: no space left on device",
        &[("error", Var::ErrorCode)],
    ),
    (
        DeployBegins,
        Info,
        1.0,
        ANY,
        "deploying {app} version {version}, image sha256:{digest}",
        &[("version", Var::Version)],
    ),
    (
        DeployEnds,
        Warn,
        1.0,
        ANY,
        "error budget spent, rolling {app} back from version {version}",
        &[("version", Var::Version)],
    ),
    (
        OutageBegins,
        Error,
        1.0,
        ANY,
        "health check of {app} on {host} failed: no answer within 5000 ms",
        &[("error", Var::ErrorCode)],
    ),
    (OutageEnds, Info, 1.0, ANY, "{app} on {host} is healthy again", &[]),
    (Dying, Fatal, 3.0, ANY, "out of memory: cannot allocate {bytes} bytes, exiting", &[]),
    (Dying, Fatal, 2.0, ANY, "lost quorum, leader {host} unreachable, exiting with status {small}", &[]),
    (Dying, Fatal, 1.0, ANY, "cannot bind port {port}: address already in use", &[("port", Var::Port)]),
];

impl Message {
    /// Whether services of this package say it on this occasion.
    pub(crate) fn is_said(&self, group: Group, package: &str) -> bool {
        self.group == group && (self.packages.is_empty() || self.packages.contains(&package))
    }
}

pub(crate) fn all() -> Vec<Message> {
    MESSAGES
        .iter()
        .map(|&(group, level, weight, packages, text, fields)| Message {
            group,
            packages,
            level,
            weight,
            template: Template::parse(text),
            fields,
        })
        .collect()
}
