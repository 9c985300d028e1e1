//! Who may do what, as which tenant.
//!
//! A request carries a token as `Authorization: Bearer …`, or as the password of `Basic`, for clients that have only
//! that; `ApiKey …` and `Splunk …` are read alike, for Elasticsearch's and Splunk's. While a store has no token, anybody
//! who reaches the server may do everything, and the server listens on this machine only.

mod rate;
mod tenancy;
mod tokens;
mod uses;

pub use tokens::{MAX_NAME_BYTES, MAX_TOKENS, NewToken, Token, TokenError, TokenFile};
pub(crate) use tokens::{check_file_name, check_tenant};
pub use uses::LastUses;

use crate::app::{App, Shared};
use crate::body::unread;
use crate::error::{ApiError, ApiResult};
use crate::tenants::Tenant;
use arc_swap::ArcSwap;
use axum::extract::{Request, State};
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use duramen_engine::io::Env;
use rate::Bucket;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use uses::Noted;

/// What a token may be used for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scope {
    /// To send logs.
    Ingest,
    /// To ask for logs, and for metrics.
    Read,
    /// All of it, and what changes the store: deletion, retention, snapshots.
    Admin,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ingest => "ingest",
            Self::Read => "read",
            Self::Admin => "admin",
        })
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Ingest, Self::Read, Self::Admin]
            .into_iter()
            .find(|scope| scope.to_string() == text)
            .ok_or_else(|| format!("`{text}` is none of: ingest, read, admin"))
    }
}

/// A token in use.
#[derive(Debug)]
pub(crate) struct Known {
    pub token: Token,
    /// The secret that was found right, so that only the first request with it pays for the hash.
    proven: Mutex<Option<String>>,
    /// 0 if it was not used yet.
    last_used_ns: AtomicI64,
    revoked: AtomicBool,
    bucket: Option<Bucket>,
}

impl Known {
    fn new(token: Token) -> Self {
        let bucket = token.max_bytes_per_s.map(Bucket::new);
        Self {
            token,
            proven: Mutex::new(None),
            last_used_ns: AtomicI64::new(0),
            revoked: AtomicBool::new(false),
            bucket,
        }
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub tenant: Arc<Tenant>,
    pub token: Option<Arc<Known>>,
}

impl Access {
    /// What [`require`] has found out about a request.
    ///
    /// # Errors
    /// 503 if nobody has asked it: a route without a guard.
    pub fn of(extensions: &Extensions) -> ApiResult<Self> {
        extensions.get().cloned().ok_or_else(|| ApiError::unavailable("nobody let it in"))
    }

    /// Whether the token was revoked, or has ended, since the request began: long answers end with it. Or whether one is needed
    /// now, if there was none.
    pub fn is_withdrawn(&self, app: &App) -> bool {
        let Some(known) = &self.token else { return !app.tokens.are_none() };
        known.revoked.load(Ordering::Relaxed) || known.token.has_expired(app.env.clock.now_unix_ns())
    }

    /// The most bytes its body may have.
    pub fn max_body_bytes(&self, servers: usize) -> usize {
        self.token
            .as_ref()
            .and_then(|known| known.token.max_body_bytes)
            .map_or(servers, |own| own.min(servers))
    }

    /// Whether the token has a limit of its own for that.
    pub fn limits_bodies(&self) -> bool {
        self.token.as_ref().is_some_and(|known| known.token.max_body_bytes.is_some())
    }

    /// Counts bytes against the token's rate.
    ///
    /// # Errors
    /// 429 if it has sent too much in the last second.
    pub fn spend(&self, env: &Env, bytes: usize) -> ApiResult<()> {
        let Some(bucket) = self.token.as_ref().and_then(|known| known.bucket.as_ref()) else { return Ok(()) };
        bucket.take(env.clock.monotonic(), bytes as u64).map_err(|wait_s| ApiError {
            retry_after_s: Some(wait_s),
            ..ApiError::busy("the token's limit of bytes a second (max_bytes_per_s) is reached: wait")
        })
    }
}

/// The tokens in force.
#[derive(Debug)]
pub(crate) struct Tokens {
    env: Env,
    file: TokenFile,
    bytes: Mutex<Vec<u8>>,
    known: ArcSwap<HashMap<String, Arc<Known>, foldhash::fast::FixedState>>,
    /// Whether there has been a token since the start: the last one's revocation must not open the door.
    guarded: AtomicBool,
    /// Hashes that may be computed at once: guessing must not take all processors.
    verifying: Semaphore,
    noted: Mutex<Noted>,
}

impl Tokens {
    /// Those of the store in `dir`.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn load(env: &Env, dir: &Path) -> Result<Self, TokenError> {
        let this = Self {
            env: env.clone(),
            file: TokenFile::of(env.clone(), dir),
            bytes: Mutex::default(),
            known: ArcSwap::default(),
            guarded: AtomicBool::new(false),
            verifying: Semaphore::new(1),
            noted: Mutex::default(),
        };
        this.reload()?;
        Ok(this)
    }

    /// Reads the file again if it has changed. Says whether it had.
    ///
    /// # Errors
    /// [`TokenError`]; the tokens stay as they were.
    pub fn reload(&self) -> Result<bool, TokenError> {
        let bytes = self.file.bytes()?;
        let mut last = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == bytes {
            return Ok(false);
        }
        let old = self.known.load_full();
        let mut new = HashMap::default();
        for token in self.file.parse(&bytes)? {
            let known = match old.get(&token.id) {
                Some(known) if known.token == token => known.clone(),
                _ => Arc::new(Known::new(token)),
            };
            new.insert(known.token.id.clone(), known);
        }
        for (id, known) in old.iter() {
            if !new.get(id).is_some_and(|same: &Arc<Known>| Arc::ptr_eq(same, known)) {
                known.revoked.store(true, Ordering::Relaxed);
            }
        }
        if !new.is_empty() {
            self.guarded.store(true, Ordering::SeqCst);
        }
        self.known.store(Arc::new(new));
        *last = bytes;
        Ok(true)
    }

    /// Whether there was none since the start: then everybody may do everything.
    pub fn are_none(&self) -> bool {
        !self.guarded.load(Ordering::SeqCst)
    }

    /// The token that a request carries, if it may be used for `scope`. `None` if none is needed.
    async fn check(&self, headers: &HeaderMap, scope: Scope) -> ApiResult<Option<Arc<Known>>> {
        if self.are_none() {
            return Ok(None);
        }
        let known = self.known.load_full();
        let refuse = |why: &str| Err(ApiError::new(StatusCode::UNAUTHORIZED, why));
        let Some(text) = carried(headers) else {
            return refuse(
                "a token is needed: send `Authorization: Bearer TOKEN` (`duramen token create` makes one)",
            );
        };
        let Some((known, secret)) =
            tokens::parts(&text).and_then(|(id, secret)| Some((known.get(id)?, secret)))
        else {
            return refuse("the token is not known");
        };
        let is_proven = |known: &Known| {
            let proven = known.proven.lock().unwrap_or_else(PoisonError::into_inner);
            proven.as_deref().is_some_and(|proven| same(proven.as_bytes(), secret.as_bytes()))
        };
        if !is_proven(known) {
            let Ok(_one_at_a_time) = self.verifying.acquire().await else {
                return refuse("the server stops");
            };
            if !is_proven(known) {
                let (one, secret) = (known.clone(), secret.to_owned());
                let proven =
                    tokio::task::spawn_blocking(move || one.token.verify(&secret).then_some(secret)).await;
                let Ok(Some(secret)) = proven else { return refuse("the token is not known") };
                *known.proven.lock().unwrap_or_else(PoisonError::into_inner) = Some(secret);
            }
        }
        let now_ns = self.env.clock.now_unix_ns();
        if known.token.has_expired(now_ns) {
            return refuse("the token has expired");
        }
        if !known.token.scopes.iter().any(|has| *has == scope || *has == Scope::Admin) {
            let needed = format!("the token `{}` lacks the scope `{scope}`", known.token.name);
            return Err(ApiError::new(StatusCode::FORBIDDEN, needed));
        }
        known.last_used_ns.store(now_ns, Ordering::Relaxed);
        Ok(Some(known.clone()))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.known.load().len()
    }
}

/// Lets a request through that may do what `scope` says, with its [`Access`].
pub(crate) async fn require(
    State((app, scope)): State<(Shared, Scope)>,
    mut request: Request,
    next: Next,
) -> Response {
    match admit(&app, request.headers(), scope).await {
        Ok(access) => {
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(e) => unread(&app, request, e).await,
    }
}

/// Who asks, if a request with these headers may do what `scope` says.
///
/// # Errors
/// 401 without a token that is in force, 403 if it may not, or is another tenant's; 503 if the tenant's store cannot be
/// opened.
pub(crate) async fn admit(app: &Shared, headers: &HeaderMap, scope: Scope) -> ApiResult<Access> {
    let token = app.tokens.check(headers, scope).await?;
    let tenant = token.as_ref().and_then(|known| known.token.tenant.as_deref());
    tenancy::agree(headers, tenant)?;
    let tenant = app.tenants.of(tenant).await?;
    Ok(Access { tenant, token })
}

/// The token's text, wherever a client puts it.
fn carried(headers: &HeaderMap) -> Option<String> {
    if let Some(key) = headers.get("dd-api-key") {
        return key.to_str().ok().map(str::to_owned);
    }
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, value) = text.split_once(' ')?;
    let value = value.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "splunk" => Some(value.to_owned()),
        // Elasticsearch's clients join identity and key with a colon and encode both.
        "apikey" => Some(decoded_password(value).unwrap_or_else(|| value.to_owned())),
        "basic" => decoded_password(value),
        _ => None,
    }
}

/// What follows the first colon of text in base64.
fn decoded_password(base64: &str) -> Option<String> {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    let text = String::from_utf8(STANDARD.decode(base64).ok()?).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}

/// Compares in a time that does not tell where the first difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn wherever_a_client_puts_it() {
        let from = |name: &'static str, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            carried(&headers)
        };
        let token = Some("drm_1_2".to_owned());
        assert_eq!(from("authorization", "Bearer drm_1_2"), token);
        assert_eq!(from("authorization", "bearer  drm_1_2"), token);
        assert_eq!(from("authorization", "Splunk drm_1_2"), token);
        assert_eq!(from("authorization", "Basic dXNlcjpkcm1fMV8y"), token);
        assert_eq!(from("authorization", "ApiKey dXNlcjpkcm1fMV8y"), token);
        assert_eq!(from("authorization", "ApiKey drm_1_2"), token);
        assert_eq!(from("dd-api-key", "drm_1_2"), token);
        for wrong in ["drm_1_2", "Digest x", "Basic !", "Basic dXNlcg=="] {
            assert_eq!(from("authorization", wrong), None, "{wrong}");
        }
        assert_eq!(carried(&HeaderMap::new()), None);
    }
}
