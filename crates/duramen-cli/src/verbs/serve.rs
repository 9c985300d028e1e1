//! `duramen serve`.

use crate::allocator;
use crate::args::{LogFormatArg, ServeArgs};
use crate::failure::{Failure, Outcome};
use duramen_engine::io::Env;
use duramen_server::{Allocator, ServeError, Settings, serve};
use std::io::{Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

const ALLOCATOR: Allocator = Allocator { keep: allocator::keep_for_queries, trim: allocator::trim };

/// Serves the store until a signal.
pub(crate) fn run(args: &ServeArgs, dir: &Path, env: &Env) -> Outcome {
    let file = match &args.config {
        Some(path) => Settings::read(path).map_err(|e| Failure::Usage(e.to_string()))?,
        None => Settings::default(),
    };
    let settings = args.settings.clone().or(file).complete();
    if args.print_config {
        stdout().write_all(settings.to_toml().as_bytes()).map_err(Failure::output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let filter = EnvFilter::try_new(&args.log).map_err(|e| Failure::Usage(format!("--log: {e}")))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    match args.log_format {
        LogFormatArg::Text => log.init(),
        LogFormatArg::Json => log.json().init(),
    }
    serve(dir, env, settings, ALLOCATOR, |_| {}).map_err(|e| match e {
        e @ (ServeError::Open { .. } | ServeError::Tls { .. } | ServeError::TenantName { .. }) => {
            Failure::Usage(e.to_string())
        }
        e @ ServeError::Retention { source: duramen::Error::Invalid(_), .. } => Failure::Usage(e.to_string()),
        e => Failure::Failed(e.to_string()),
    })?;
    Ok(ExitCode::SUCCESS)
}
