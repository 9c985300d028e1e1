//! What can be set: by flag, by environment variable, by file; in this order, then the default.

mod durable;
mod limits;
mod retention;

use clap::Args;
use duramen::Durability;
use duramen_query::exec::memory::{machine_bytes, share_of_machine_bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub use durable::Durable;
pub(crate) use limits::Limits;
pub use retention::{Age, RetentionSettings, Rule, Size};

/// Everything that can be set. `None` is the default, which [`Settings::complete`] fills in.
#[derive(Args, Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Settings {
    /// Address to listen on; may be given again [default: 127.0.0.1:9428]
    ///
    /// Without any token configured, only addresses of this machine itself are taken.
    #[arg(long, value_name = "ADDR", env = "DURAMEN_LISTEN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<SocketAddr>,

    /// Address for syslog, over UDP and TCP; may be given again. Whoever reaches it may send [default: none]
    #[arg(long, value_name = "ADDR", env = "DURAMEN_SYSLOG_LISTEN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub syslog_listen: Vec<SocketAddr>,

    /// Address for syslog over TLS, with the certificate of --tls-cert; may be given again [default: none]
    #[arg(long, value_name = "ADDR", env = "DURAMEN_SYSLOG_TLS_LISTEN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub syslog_tls_listen: Vec<SocketAddr>,

    /// Address for the forward protocol of Fluentd and Fluent Bit; may be given again [default: none]
    #[arg(long, value_name = "ADDR", env = "DURAMEN_FLUENT_LISTEN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fluent_listen: Vec<SocketAddr>,

    /// Address for GELF, over UDP and TCP; may be given again [default: none]
    #[arg(long, value_name = "ADDR", env = "DURAMEN_GELF_LISTEN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gelf_listen: Vec<SocketAddr>,

    /// Address for OpenTelemetry over gRPC, beside --listen, which takes it, too; may be given again [default: none]
    #[arg(long, value_name = "ADDR", env = "DURAMEN_OTLP_GRPC_LISTEN", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub otlp_grpc_listen: Vec<SocketAddr>,

    /// PEM file with the certificate chain: speak TLS. Read again on SIGHUP
    #[arg(long, value_name = "FILE", env = "DURAMEN_TLS_CERT", requires = "tls_key")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", env = "DURAMEN_TLS_KEY", requires = "tls_cert")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_key: Option<PathBuf>,

    /// What a line survives before it is acknowledged: none, process, interval:MS, sync [default: process]
    #[arg(long, value_name = "LEVEL", env = "DURAMEN_DURABILITY")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durable>,

    /// Most bytes of a request's body, compressed and decompressed [default: 64 MiB]
    #[arg(long, value_name = "BYTES", env = "DURAMEN_MAX_BODY_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_body_bytes: Option<usize>,

    /// Most bytes of all bodies in memory at once; beyond, clients are told to wait [default: 256 MiB]
    #[arg(long, value_name = "BYTES", env = "DURAMEN_MAX_BODIES_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bodies_bytes: Option<usize>,

    /// Most bytes of one log line; a longer one is refused [default: 1 MiB]
    #[arg(long, value_name = "BYTES", env = "DURAMEN_MAX_LINE_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_line_bytes: Option<usize>,

    /// Most connections of HTTP at once; further ones wait to be accepted [default: 8192]
    #[arg(long, value_name = "N", env = "DURAMEN_MAX_CONNECTIONS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<usize>,

    /// Most connections of syslog, Fluent and GELF at once; further ones wait to be accepted [default: 8192]
    #[arg(long, value_name = "N", env = "DURAMEN_MAX_SENDER_CONNECTIONS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sender_connections: Option<usize>,

    /// How long a connection may be idle, its next request's head included [default: 120000]
    #[arg(long, value_name = "MS", env = "DURAMEN_IDLE_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,

    /// How long a connection of syslog, Fluent or GELF may bring nothing; many have little to tell [default: 86400000]
    #[arg(long, value_name = "MS", env = "DURAMEN_SENDER_IDLE_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_idle_timeout_ms: Option<u64>,

    /// How long a message of syslog, Fluent or GELF over TCP may be waited for that holds memory, is not whole and comes by less than 1 KiB a second [default: 60000]
    #[arg(long, value_name = "MS", env = "DURAMEN_MESSAGE_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_timeout_ms: Option<u64>,

    /// How long a client may pause in a request's body [default: 10000]
    #[arg(long, value_name = "MS", env = "DURAMEN_READ_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_timeout_ms: Option<u64>,

    /// How long a line may wait for room in the store before its client is told to wait [default: 5000]
    #[arg(long, value_name = "MS", env = "DURAMEN_STALL_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_timeout_ms: Option<u64>,

    /// How long lines may stay in the WAL before they are put into tables, where queries find them faster [default: 30000]
    #[arg(long, value_name = "MS", env = "DURAMEN_FLUSH_AFTER_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_after_ms: Option<u64>,

    /// Most queries running at once; further ones wait [default: 2 a core, at least 4]
    #[arg(long, value_name = "N", env = "DURAMEN_MAX_QUERIES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queries: Option<usize>,

    /// Most who follow a tenant's lines at once; further ones are refused [default: 64]
    #[arg(long, value_name = "N", env = "DURAMEN_MAX_TAILS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tails: Option<usize>,

    /// Longest run of a query [default: 30000]
    #[arg(long, value_name = "MS", env = "DURAMEN_QUERY_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_timeout_ms: Option<u64>,

    /// Most bytes that a query may hold to sort and group [default: a quarter of the machine's memory, shared by max_queries; 128 MiB to 2 GiB]
    #[arg(long, value_name = "BYTES", env = "DURAMEN_QUERY_MEMORY_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_memory_bytes: Option<usize>,

    /// Most bytes of blocks that are kept decompressed for further queries, of all tenants together [default: a 32nd of the machine's memory, 64 to 512 MiB]
    #[arg(long, value_name = "BYTES", env = "DURAMEN_BLOCK_CACHE_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_cache_bytes: Option<usize>,

    /// Longest wait at a stop for requests and queries that run [default: 10000]
    #[arg(long, value_name = "MS", env = "DURAMEN_STOP_TIMEOUT_MS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_timeout_ms: Option<u64>,

    /// Origin that browsers may ask from (CORS), or * [default: none]
    #[arg(long, value_name = "ORIGIN", env = "DURAMEN_CORS_ORIGIN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cors_origin: Option<String>,

    /// Name by which the server may be asked while it has no token, beside localhost and addresses; may be given again [default: none]
    ///
    /// A page of another site could else have its own name lead here. Pages of such a host may also send.
    #[arg(long, value_name = "NAME", env = "DURAMEN_ALLOWED_HOST", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_host: Vec<String>,

    /// How long lines are kept: of the store itself, not of tenants.
    #[command(flatten)]
    #[serde(skip_serializing_if = "RetentionSettings::is_empty")]
    pub retention: RetentionSettings,

    /// What is set for tenants, by name. These are opened at the start; others, when first asked for.
    #[arg(skip)]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tenants: BTreeMap<String, TenantSettings>,
}

/// What can be set for a tenant: `[tenants.NAME.retention]` in the file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct TenantSettings {
    /// How long its lines are kept.
    pub retention: RetentionSettings,
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file's text is not what is expected; it says where.
    #[error("{}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        detail: String,
    },
}

impl Settings {
    /// Reads a TOML file whose keys are the flags' names with `_` for `-`; those of retention are in the table
    /// `retention`.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SettingsError::Unreadable { path: path.to_path_buf(), source })?;
        toml::from_str(&text).map_err(|e| SettingsError::Malformed {
            path: path.to_path_buf(),
            detail: e.to_string().trim_end().to_owned(),
        })
    }

    /// These, and where they say nothing, `other`'s.
    pub fn or(self, other: Self) -> Self {
        fn first<T>(a: Vec<T>, b: Vec<T>) -> Vec<T> {
            if a.is_empty() { b } else { a }
        }
        Self {
            listen: first(self.listen, other.listen),
            syslog_listen: first(self.syslog_listen, other.syslog_listen),
            syslog_tls_listen: first(self.syslog_tls_listen, other.syslog_tls_listen),
            fluent_listen: first(self.fluent_listen, other.fluent_listen),
            gelf_listen: first(self.gelf_listen, other.gelf_listen),
            otlp_grpc_listen: first(self.otlp_grpc_listen, other.otlp_grpc_listen),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            durability: self.durability.or(other.durability),
            max_body_bytes: self.max_body_bytes.or(other.max_body_bytes),
            max_bodies_bytes: self.max_bodies_bytes.or(other.max_bodies_bytes),
            max_line_bytes: self.max_line_bytes.or(other.max_line_bytes),
            max_connections: self.max_connections.or(other.max_connections),
            max_sender_connections: self.max_sender_connections.or(other.max_sender_connections),
            idle_timeout_ms: self.idle_timeout_ms.or(other.idle_timeout_ms),
            sender_idle_timeout_ms: self.sender_idle_timeout_ms.or(other.sender_idle_timeout_ms),
            message_timeout_ms: self.message_timeout_ms.or(other.message_timeout_ms),
            read_timeout_ms: self.read_timeout_ms.or(other.read_timeout_ms),
            stall_timeout_ms: self.stall_timeout_ms.or(other.stall_timeout_ms),
            flush_after_ms: self.flush_after_ms.or(other.flush_after_ms),
            max_queries: self.max_queries.or(other.max_queries),
            max_tails: self.max_tails.or(other.max_tails),
            query_timeout_ms: self.query_timeout_ms.or(other.query_timeout_ms),
            query_memory_bytes: self.query_memory_bytes.or(other.query_memory_bytes),
            block_cache_bytes: self.block_cache_bytes.or(other.block_cache_bytes),
            stop_timeout_ms: self.stop_timeout_ms.or(other.stop_timeout_ms),
            cors_origin: self.cors_origin.or(other.cors_origin),
            allowed_host: first(self.allowed_host, other.allowed_host),
            retention: self.retention.or(other.retention),
            tenants: if self.tenants.is_empty() { other.tenants } else { self.tenants },
        }
    }

    /// These, with the defaults where they say nothing.
    pub fn complete(self) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let max_queries = self.max_queries.unwrap_or((2 * cores).max(4));
        self.or(Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 9428))],
            syslog_listen: Vec::new(),
            syslog_tls_listen: Vec::new(),
            fluent_listen: Vec::new(),
            gelf_listen: Vec::new(),
            otlp_grpc_listen: Vec::new(),
            tls_cert: None,
            tls_key: None,
            durability: Some(Durable(Durability::Process)),
            max_body_bytes: Some(64 << 20),
            max_bodies_bytes: Some(256 << 20),
            max_line_bytes: Some(1 << 20),
            max_connections: Some(8192),
            max_sender_connections: Some(8192),
            idle_timeout_ms: Some(120_000),
            sender_idle_timeout_ms: Some(86_400_000),
            message_timeout_ms: Some(60_000),
            read_timeout_ms: Some(10_000),
            stall_timeout_ms: Some(5_000),
            flush_after_ms: Some(30_000),
            max_queries: Some(max_queries),
            max_tails: Some(64),
            query_timeout_ms: Some(30_000),
            query_memory_bytes: Some(share_of_machine_bytes(max_queries)),
            block_cache_bytes: Some(block_cache_bytes(machine_bytes())),
            stop_timeout_ms: Some(10_000),
            cors_origin: None,
            allowed_host: Vec::new(),
            retention: RetentionSettings::default(),
            tenants: BTreeMap::new(),
        })
    }

    /// As a file that [`Settings::read`] reads.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}

/// The least that `block_cache_bytes` is by default.
const MIN_BLOCK_CACHE_BYTES: usize = 64 << 20;
/// The most that it is by default.
const MAX_BLOCK_CACHE_BYTES: usize = 512 << 20;

/// What is kept decompressed on a machine with so much memory, if that is known.
fn block_cache_bytes(machine_bytes: Option<u64>) -> usize {
    let share = machine_bytes.unwrap_or_default() / 32;
    usize::try_from(share).unwrap_or(usize::MAX).clamp(MIN_BLOCK_CACHE_BYTES, MAX_BLOCK_CACHE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_read() {
        let retention = RetentionSettings { max_age: "30d".parse().ok(), ..RetentionSettings::default() };
        let tenants = BTreeMap::from([("shop".to_owned(), TenantSettings { retention: retention.clone() })]);
        let complete = Settings { cors_origin: Some("*".into()), retention, tenants, ..Settings::default() };
        let complete = complete.complete();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("duramen.toml");
        std::fs::write(&path, complete.to_toml()).unwrap();
        assert_eq!(Settings::read(&path).unwrap(), complete);
    }

    #[test]
    fn the_first_that_says_something_counts() {
        let flags = Settings { max_line_bytes: Some(1), ..Settings::default() };
        let file = Settings { max_line_bytes: Some(2), max_queries: Some(3), ..Settings::default() };
        let both = flags.or(file).complete();
        assert_eq!((both.max_line_bytes, both.max_queries), (Some(1), Some(3)));
        assert_eq!(both.listen, ["127.0.0.1:9428".parse().unwrap()]);
    }

    #[test]
    fn the_block_cache_is_a_share_of_the_machine() {
        const GIB: u64 = 1 << 30;
        let shares = [None, Some(GIB), Some(8 * GIB), Some(24 * GIB), Some(u64::MAX)].map(block_cache_bytes);
        assert_eq!(shares.map(|bytes| bytes >> 20), [64, 64, 256, 512, 512]);
    }

    #[test]
    fn a_wrong_file_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("duramen.toml");
        for (text, told) in [
            ("max_queries = 2\nlisten_on = 3", "listen_on"),
            ("durability = \"often\"", "none, process, interval:MS, sync"),
            ("max_queries = \"x\"", "line 1"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Settings::read(&path).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert!(Settings::read(&dir.path().join("none")).is_err());
    }
}
