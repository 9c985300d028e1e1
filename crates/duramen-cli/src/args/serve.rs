//! `duramen serve` and `duramen token`.

use super::query::parse_timeout;
use clap::{Args, Subcommand, ValueEnum};
use duramen_server::Settings;
use std::path::PathBuf;
use std::time::Duration;

/// `duramen serve`.
#[derive(Args, Debug)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) settings: Settings,

    /// TOML file with settings: the names of the flags above, with _ for -; those of retention in a table of that name. Flags and
    /// environment variables go first
    #[arg(long, value_name = "FILE", env = "DURAMEN_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Print the settings in force as TOML, and end
    #[arg(long)]
    pub(crate) print_config: bool,

    /// How the server's own log looks, on stderr
    #[arg(long, value_enum, default_value_t = LogFormatArg::Text, env = "DURAMEN_LOG_FORMAT")]
    pub(crate) log_format: LogFormatArg,

    /// What the server's own log tells: error, warn, info, debug, or by module
    #[arg(long, value_name = "FILTER", default_value = "info", env = "DURAMEN_LOG")]
    pub(crate) log: String,
}

/// How the server's own log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormatArg {
    /// Lines for people
    Text,
    /// An object a line
    Json,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  duramen serve                                    serve ./duramen-data on 127.0.0.1:9428
  curl -d '{\"_msg\":\"hello\"}' localhost:9428/api/v1/ingest
  curl localhost:9428/select/logsql/query -d query=hello
  duramen token create shipper --scope ingest      a token; with one, other machines may connect
  duramen serve --listen 0.0.0.0:9428 --tls-cert cert.pem --tls-key key.pem
  duramen serve --retention-max-age 30d --retention-level debug=3d --retention-max-bytes 50GB
  duramen serve --print-config > duramen.toml; duramen serve --config duramen.toml";

/// `duramen token`.
#[derive(Args, Debug)]
#[command(after_help = TOKEN_EXAMPLES)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) verb: TokenVerb,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    /// Make a token, and print it: it is shown this once
    #[command(after_help = TOKEN_EXAMPLES)]
    Create(TokenCreateArgs),
    /// List the tokens, without their secrets
    #[command(after_help = TOKEN_EXAMPLES)]
    List,
    /// Revoke a token; servers notice within a second
    #[command(after_help = TOKEN_EXAMPLES)]
    Revoke {
        /// The token's name or identity
        token: String,
    },
}

/// `duramen token create`.
#[derive(Args, Debug)]
pub(crate) struct TokenCreateArgs {
    /// What to call it
    pub(crate) name: String,

    /// What it may be used for; may be given again: ingest, read, admin
    #[arg(long, required = true, value_parser = parse_scope)]
    pub(crate) scope: Vec<duramen_server::Scope>,

    /// The tenant whose logs it is for [default: the store's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,

    /// How long it is good for, such as 90d [default: until revoked]
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub(crate) expires_in: Option<Duration>,

    /// Most bytes of bodies that may be sent with it in a second
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes_per_s: Option<u64>,

    /// Most bytes of one body sent with it
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_body_bytes: Option<usize>,
}

fn parse_scope(text: &str) -> Result<duramen_server::Scope, String> {
    text.parse()
}

const TOKEN_EXAMPLES: &str = "\
Examples:
  duramen token create shipper --scope ingest --expires-in 365d
  duramen token create grafana --scope read --tenant shop
  duramen token list
  duramen token revoke shipper";
