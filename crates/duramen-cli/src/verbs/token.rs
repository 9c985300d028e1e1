//! `duramen token`.

use crate::args::{TokenArgs, TokenVerb};
use crate::failure::{Failure, Outcome, say};
use duramen_engine::io::Env;
use duramen_query::parse::time::format_time;
use duramen_server::{NewToken, TokenError, TokenFile};
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

/// Makes, lists or revokes tokens.
pub(crate) fn run(args: &TokenArgs, dir: &Path, env: &Env) -> Outcome {
    let file = TokenFile::of(env.clone(), dir);
    let failed = |e: TokenError| match e {
        TokenError::Invalid(_) => Failure::Usage(e.to_string()),
        e => Failure::Failed(e.to_string()),
    };
    match &args.verb {
        TokenVerb::Create(new) => {
            // A directory of tokens alone would be no store, and be refused later.
            duramen::Store::open(dir)?.close()?;
            let lifetime_ns = new.expires_in.map(|time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
            let new = NewToken {
                name: new.name.clone(),
                scopes: new.scope.clone(),
                tenant: new.tenant.clone(),
                expires_ns: lifetime_ns.map(|ns| env.clock.now_unix_ns().saturating_add(ns)),
                max_bytes_per_s: new.max_bytes_per_s,
                max_body_bytes: new.max_body_bytes,
            };
            let (_, text) = file.create(new).map_err(failed)?;
            writeln!(stdout(), "{text}").map_err(Failure::output)?;
            say("keep it: it is not shown again. Clients send it as `Authorization: Bearer TOKEN`");
        }
        TokenVerb::List => {
            let now_ns = env.clock.now_unix_ns();
            let uses = file.last_uses().map_err(failed)?;
            let mut out = stdout().lock();
            for token in file.list().map_err(failed)? {
                let scopes: Vec<_> = token.scopes.iter().map(ToString::to_string).collect();
                let expiry = match token.expires_ns {
                    None => "never expires".to_owned(),
                    Some(_) if token.has_expired(now_ns) => "expired".to_owned(),
                    Some(end) => format!("expires {}", format_time(end)),
                };
                let tenant = token.tenant.map(|tenant| format!(", tenant {tenant}")).unwrap_or_default();
                let mut limits = String::new();
                if let Some(most) = token.max_bytes_per_s {
                    limits = format!(", at most {most} bytes a second");
                }
                if let Some(most) = token.max_body_bytes {
                    limits += &format!(", at most {most} bytes a body");
                }
                let (id, name, scopes) = (token.id, token.name, scopes.join(" "));
                let made = format_time(token.created_ns);
                let used = match uses.get(&id) {
                    Some(ns) => format!("used {}", format_time(*ns)),
                    None => "never used".to_owned(),
                };
                writeln!(out, "{id}  {name}  {scopes}{tenant}{limits}, made {made}, {used}, {expiry}")
                    .map_err(Failure::output)?;
            }
        }
        TokenVerb::Revoke { token } => {
            let token = file.revoke(token).map_err(failed)?;
            say(&format!("revoked {} ({})", token.name, token.id));
        }
    }
    Ok(ExitCode::SUCCESS)
}
