//! Why a server does not start, or ends badly.

use crate::auth::TokenError;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server does not start, or ends badly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The store cannot be opened, or closed.
    #[error(transparent)]
    Store(#[from] duramen::Error),
    /// The tokens cannot be read.
    #[error("cannot read the tokens: {0}")]
    Tokens(#[from] TokenError),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Others could reach the server, and there is no token.
    #[error(
        "{address} can be reached from other machines, and the store has no token: make one with \
         `duramen token create NAME --scope ingest`, or listen on 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// Retention cannot be as the settings say.
    #[error("the retention of {whose}: {source}")]
    Retention {
        /// The store itself, or which tenant's.
        whose: String,
        /// What is wrong with it, or went wrong.
        source: duramen::Error,
    },
    /// A tenant that the settings name cannot be one.
    #[error("[tenants.{name}] of the settings: {detail}")]
    TenantName {
        /// The name.
        name: String,
        /// What is wrong with it.
        detail: String,
    },
    /// TLS is to be spoken, and there is no certificate.
    #[error("syslog over TLS at {address} needs --tls-cert and --tls-key")]
    NoCertificate {
        /// The address.
        address: SocketAddr,
    },
    /// A certificate or key cannot be used.
    #[error("{}: {detail}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The system refuses threads or signals.
    #[error("cannot start: {0}")]
    System(#[from] std::io::Error),
}
