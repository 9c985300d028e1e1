//! `duramen health`.

use clap::Args;
use duramen_server::Settings;
use std::net::SocketAddr;
use std::path::PathBuf;

const HEALTH_EXAMPLES: &str = "\
Examples:
  duramen health                                  is the server at 127.0.0.1:9428 well?
  duramen health --config /etc/duramen.toml       the one with these settings
  HEALTHCHECK CMD [\"duramen\", \"health\"]           of a container

It asks `/health` of a server on this machine: at the address, and with the certificate, of its
settings.

Exit codes: 0 lines are taken, be it not of all tenants; 1 they are not, or nobody answers; 2 what
was given cannot be understood.";

/// Which server.
#[derive(Args, Debug)]
#[command(after_help = HEALTH_EXAMPLES)]
pub(crate) struct HealthArgs {
    /// The address it listens on [default: 127.0.0.1:9428]
    #[arg(long, value_name = "ADDR", env = "DURAMEN_LISTEN", value_delimiter = ',')]
    pub(crate) listen: Vec<SocketAddr>,

    /// PEM file with its certificate, if it speaks TLS
    #[arg(long, value_name = "FILE", env = "DURAMEN_TLS_CERT")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// TOML file with its settings
    #[arg(long, value_name = "FILE", env = "DURAMEN_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Longest wait for each step
    #[arg(long, value_name = "MS", default_value_t = 5_000)]
    pub(crate) timeout_ms: u64,
}

impl HealthArgs {
    /// What the flags say of a server's settings.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.listen.clone_from(&self.listen);
        settings.tls_cert.clone_from(&self.tls_cert);
        settings
    }
}
