//! The server: fronts a store directory with HTTP, for what already ships, queries and watches logs.
//!
//! | module | what it is |
//! |---|---|
//! | `settings` | what can be set, where from, and the defaults; how long lines are kept |
//! | `probe` | asking a server of this machine whether it is well |
//! | `server` | starts and stops: store, listeners, signals |
//! | `connection` | sockets to requests: TLS, limits of connections and headers, an end to idle ones, graceful stop |
//! | `paths` | what clients mean by the paths that they write |
//! | `browsers` | what a page of another site must not make a browser on this machine do |
//! | `answering` | the answer to a request in the making, also when the client has gone |
//! | `app` | what every request can reach, and the table of routes |
//! | `auth` | tokens: who may do what, as which tenant |
//! | `tenants` | a tenant's store; all of them; lines out of the WAL and into tables, in time |
//! | `body` | a request's body: limits, decompression, memory of all bodies together |
//! | `insert` | taking logs in over HTTP, one file a protocol |
//! | `listeners` | taking logs in beside HTTP: syslog, Fluent, GELF |
//! | `intake` | what a stream brings, collected and appended |
//! | `select` | answering queries as VictoriaLogs does |
//! | `loki` | answering queries as Loki does, for Grafana and `logcli` |
//! | `following` | new lines, looked for once and given to all who follow; to each what is new to it, and what it missed |
//! | `entries` | entries, facets and timelines for applications' own pages |
//! | `admin` | what changes a store: snapshots, deletion |
//! | `answer` | a query running on a thread of its own, its rows as a streamed body |
//! | `working_memory` | what queries work with, kept while they come |
//! | `health`, `metrics` | how it goes |
//! | `openapi` | what can be asked, for programs |
//! | `error`, `json`, `dialect` | what a client is told, and in which form |
//!
//! Applications may log directly into the directory that is served: the server is one more process on the store.

mod admin;
mod answer;
mod answering;
mod app;
mod auth;
mod body;
mod browsers;
mod connection;
mod dialect;
mod entries;
mod error;
mod following;
mod health;
mod insert;
mod intake;
mod json;
mod listeners;
mod loki;
mod metrics;
mod openapi;
mod paths;
mod probe;
mod select;
mod server;
mod settings;
mod tenants;
mod working_memory;

pub use auth::{LastUses, MAX_NAME_BYTES, MAX_TOKENS, NewToken, Scope, Token, TokenError, TokenFile};
pub use probe::health;
pub use server::{ServeError, check_tls, serve};
pub use settings::{Age, Durable, RetentionSettings, Rule, Settings, SettingsError, Size, TenantSettings};
pub use working_memory::Allocator;
