//! What `duramen serve` reads: settings, certificate and key, tokens.

use super::{Findings, Visit};
use duramen_engine::io::Env;
use duramen_server::{Settings, TokenFile, check_tls};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Everything that a server would read.
pub(super) fn examine(findings: &mut Findings, visit: &Visit<'_>, env: &Env) {
    let tokens = tokens(findings, visit.dir, env);
    let Some(config) = visit.config else { return };
    let settings = match Settings::read(config) {
        Ok(settings) => settings.complete(),
        Err(e) => return findings.error("settings", e.to_string(), "see `duramen serve --print-config`"),
    };
    let reachable = settings.listen.iter().chain(&settings.otlp_grpc_listen).find(|a| !a.ip().is_loopback());
    match reachable {
        Some(address) if tokens == Some(0) => findings.error(
            "settings",
            format!("{address} can be reached from other machines, and there is no token: the server does not start"),
            "duramen token create NAME --scope ingest, or listen on 127.0.0.1",
        ),
        Some(address) if settings.tls_cert.is_none() => findings.warn(
            "settings",
            format!("{address} can be reached from other machines, and tokens travel without TLS"),
            "set tls_cert and tls_key, or see to it that a proxy speaks TLS",
        ),
        _ => findings.ok("settings", format!("{} can be used", config.display())),
    }
    if settings.tls_cert.is_some() || settings.tls_key.is_some() {
        match check_tls(&settings) {
            Ok(()) => findings.ok("tls", "certificate and key can be used"),
            Err(e) => findings.error(
                "tls",
                e.to_string(),
                "give PEM files, readable by the server's user, that belong together",
            ),
        }
    }
    if let Some(key) = settings.tls_key.as_deref().filter(|key| is_open(key)) {
        let told = format!("{} can be read by everybody", key.display());
        findings.warn("tls", told, format!("chmod 600 {}", key.display()));
    }
}

/// How many tokens there are; `None` if they cannot be read.
fn tokens(findings: &mut Findings, dir: &Path, env: &Env) -> Option<usize> {
    let tokens = match TokenFile::of(env.clone(), dir).list() {
        Ok(tokens) => tokens,
        Err(e) => {
            findings.error(
                "tokens",
                e.to_string(),
                "put the file back from a backup, or remove it and make tokens anew",
            );
            return None;
        }
    };
    let now_ns = env.clock.now_unix_ns();
    let expired: Vec<_> = tokens.iter().filter(|t| t.has_expired(now_ns)).map(|t| t.name.as_str()).collect();
    match tokens.len() {
        0 => {} // many stores are never served
        n if !expired.is_empty() => findings.warn(
            "tokens",
            format!("{n}, of which have expired: {}", expired.join(", ")),
            "revoke them, and make new ones for who still needs one: `duramen token`",
        ),
        n => findings.ok("tokens", format!("{n}, none has expired")),
    }
    Some(tokens.len())
}

/// Whether everybody may read it.
fn is_open(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.mode() & 0o004 != 0)
}
