//! Sockets to requests: TLS, limits of connections and heads, and a graceful stop.

use crate::app::stopped;
use crate::settings::Limits;
use arc_swap::ArcSwapOption;
use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

/// Most bytes of a request's head; beyond it the client gets 431.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// How long to rest after a socket could not be accepted, for want of descriptors say.
const REST: Duration = Duration::from_millis(50);

/// What all listeners share.
pub(crate) struct Door {
    /// The certificate in force; `None` for plain text.
    pub tls: ArcSwapOption<rustls::ServerConfig>,
    /// Leave to hold a connection.
    pub places: Arc<Semaphore>,
    pub limits: Limits,
    pub graceful: GracefulShutdown,
}

/// Accepts connections until the server stops.
pub(crate) async fn listen(
    listener: TcpListener,
    router: Router,
    door: Arc<Door>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(door.limits.read_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(20))
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .max_concurrent_streams(256);
    let builder = Arc::new(builder);
    loop {
        let accepted = async {
            let place = door.places.clone().acquire_owned().await.ok()?;
            Some((listener.accept().await, place))
        };
        let (socket, place) = tokio::select! {
            () = stopped(&mut stopping) => return,
            accepted = accepted => match accepted {
                Some((Ok((socket, _)), place)) => (socket, place),
                Some((Err(e), _)) => {
                    tracing::warn!(error = %e, "cannot accept a connection");
                    tokio::time::sleep(REST).await;
                    continue;
                }
                None => return,
            },
        };
        let (router, door, builder) = (router.clone(), door.clone(), builder.clone());
        tokio::spawn(async move {
            let _place = place;
            serve(socket, router, &door, &builder).await;
        });
    }
}

async fn serve(socket: TcpStream, router: Router, door: &Door, builder: &Builder<TokioExecutor>) {
    let _slower_without = socket.set_nodelay(true);
    match door.tls.load_full() {
        None => talk(socket, router, door, builder).await,
        Some(config) => {
            let handshake = TlsAcceptor::from(config).accept(socket);
            match tokio::time::timeout(door.limits.read_timeout, handshake).await {
                Ok(Ok(stream)) => talk(stream, router, door, builder).await,
                Ok(Err(e)) => tracing::debug!(error = %e, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            }
        }
    }
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    door: &Door,
    builder: &Builder<TokioExecutor>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = router.clone().call(request.map(axum::body::Body::new));
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    if let Err(e) = door.graceful.watch(connection).await {
        tracing::debug!(error = %e, "a connection ended badly");
    }
}
