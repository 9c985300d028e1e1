//! A request that brings logs, on its way into the store.

use crate::app::{Shared, elsewhere};
use crate::auth::Access;
use crate::body::{Received, discard, receive};
use crate::dialect::says_json;
use crate::error::{ApiError, ApiResult};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, Uri, header};
use duramen::{EntryRef, Value};
use duramen_wire::{Decoded, Params, Rejected, Treatment};
use std::cell::RefCell;

/// More bytes of entries than this are not appended by a thread that serves others, too, however small the body was that
/// means them: labels and `extra_fields` are sent once and are in each.
const QUICK_ENTRIES_BYTES: usize = 1 << 20;

/// A request that brings logs.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub app: Shared,
    pub access: Access,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Body,
    /// When it came, ns since the epoch: the time of lines that have none.
    pub now_ns: i64,
    /// What is done with each entry, once the parameters are read.
    pub treatment: Treatment,
}

impl FromRequest<Shared> for Delivery {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Shared) -> ApiResult<Self> {
        let access = Access::of(request.extensions())?;
        Ok(Self::new(app, access, request))
    }
}

/// What has become of a body.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub accepted: u64,
    pub rejected: Rejected,
    /// What the protocol's decoder wants to answer with.
    pub answer: T,
}

impl Delivery {
    /// What is in a request that was let in.
    pub fn new(app: &Shared, access: Access, request: Request) -> Self {
        let (parts, body) = request.into_parts();
        let now_ns = app.env.clock.now_unix_ns();
        let treatment = Treatment::default();
        Self { app: app.clone(), access, uri: parts.uri, headers: parts.headers, body, now_ns, treatment }
    }

    /// The URL's parameters, in order.
    pub fn query(&self) -> form_urlencoded::Parse<'_> {
        form_urlencoded::parse(self.uri.query().unwrap_or_default().as_bytes())
    }

    /// The parameters that VictoriaLogs' protocols take: of headers, then of the URL.
    ///
    /// # Errors
    /// 400 for one that makes no sense, once the body has come, for who is still sending would not see it.
    pub async fn params(&mut self) -> ApiResult<Params> {
        let params = self.read_params();
        match &params {
            Ok(params) => self.treatment = params.treatment(show),
            Err(_) => self.let_send().await,
        }
        params
    }

    /// Before a refusal: has the client send its body, within bounds, for nothing. One that asks first sends none.
    pub async fn let_send(&mut self) {
        if !self.headers.contains_key(header::EXPECT) {
            Box::pin(discard(&self.app, &mut self.body)).await;
        }
    }

    fn read_params(&self) -> ApiResult<Params> {
        let mut params = Params::default();
        // Few requests have any of them.
        let has_some = self.headers.keys().any(|name| name.as_str().starts_with("vl-"));
        for (header, name) in duramen_wire::params::HEADERS.into_iter().filter(|_| has_some) {
            if let Some(value) = self.headers.get(header) {
                let value = std::str::from_utf8(value.as_bytes())
                    .map_err(|_| ApiError::bad_request(format!("the header {header} is not UTF-8")))?;
                params.set(name, value)?;
            }
        }
        for (name, value) in self.query() {
            params.set(&name, &value)?;
        }
        Ok(params)
    }

    /// Whether the body says that it is JSON.
    pub fn is_json(&self) -> bool {
        says_json(&self.headers)
    }

    /// Receives the body, has `decode` make entries of it, and appends them.
    ///
    /// # Errors
    /// As [`receive`] and `decode`; 429, 503 or 507 if the store has no room in time; then nothing, or in a body of more
    /// entries than one batch takes, a part of it, was appended.
    pub async fn take<T: Send + 'static>(
        self,
        protocol: &'static str,
        decode: impl FnOnce(&mut Received, &mut Decoded) -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<Taken<T>> {
        let Self { app, access, headers, body, treatment, .. } = self;
        let mut received = receive(&app, &access, &headers, body).await?;
        let bytes = received.raw().len() as u64;
        let append = |app: &Shared, access: &Access, mut decoded: Decoded, answer| {
            access.tenant.append(decoded.batches(), app.limits.stall_timeout)?;
            Ok::<_, ApiError>(done(decoded, answer))
        };
        let taken = if received.is_small() && !access.tenant.waits_for_device {
            let mut decoded = spare(&app);
            decoded.treat(treatment);
            let answer = decode(&mut received, &mut decoded)?;
            let is_quick = decoded.entries_bytes() <= QUICK_ENTRIES_BYTES;
            if is_quick && access.tenant.try_append(decoded.batches()).is_ok() {
                done(decoded, answer)
            } else {
                // Any number of requests may wait for their turn.
                received.hold(decoded.entries_bytes())?;
                let tenant = access.tenant.clone();
                let append = move |app: &Shared| {
                    let taken = append(app, &access, decoded, answer);
                    drop(received);
                    taken
                };
                Box::pin(elsewhere(&app, &tenant, append)).await??
            }
        } else {
            let tenant = access.tenant.clone();
            let decoding = elsewhere(&app, &tenant, move |app| {
                let mut decoded = spare(app);
                decoded.treat(treatment);
                let answer = decode(&mut received, &mut decoded)?;
                drop(received);
                append(app, &access, decoded, answer)
            });
            Box::pin(decoding).await??
        };
        app.metrics.taken(protocol, bytes, taken.accepted, taken.rejected.count);
        Ok(taken)
    }
}

impl<T> Taken<T> {
    /// Which lines were rejected, and why.
    pub fn told(&self) -> String {
        let (rejected, all) = (self.rejected.count, self.accepted + self.rejected.count);
        format!("{rejected} of {all} lines rejected: {}", self.rejected)
    }

    /// For clients that know only whether all is well.
    ///
    /// # Errors
    /// 400 if lines were rejected; the others were taken.
    pub fn whole(&self) -> ApiResult<()> {
        if self.rejected.count == 0 { Ok(()) } else { Err(ApiError::bad_request(self.told())) }
    }
}

/// Writes into the server's log what would have been stored.
fn show(entry: &EntryRef<'_>) {
    let of = |fields: duramen::entry::Fields<'_>| {
        let pairs = fields.map(|(name, value)| match value {
            Value::Str(text) => format!("{name}={text:?}"),
            other => format!("{name}={other:?}"),
        });
        pairs.collect::<Vec<_>>().join(" ")
    };
    tracing::info!(
        time = entry.time,
        level = %entry.level,
        stream = of(entry.stream()),
        fields = of(entry.fields()),
        line = entry.message,
        "debug: not stored"
    );
}

thread_local! {
    /// Memory of the last body that this thread has taken.
    static SPARE: RefCell<Option<Decoded>> = const { RefCell::new(None) };
}

fn spare(app: &Shared) -> Decoded {
    match SPARE.take() {
        Some(spare) if *spare.limits() == app.limits.decoding() => spare,
        _ => Decoded::new(app.limits.decoding()),
    }
}

fn done<T>(mut decoded: Decoded, answer: T) -> Taken<T> {
    let taken = Taken { accepted: decoded.accepted(), rejected: decoded.rejected().clone(), answer };
    decoded.clear(); // which keeps little: the next body may be long in coming
    SPARE.with_borrow_mut(|spare| *spare = Some(decoded));
    taken
}
