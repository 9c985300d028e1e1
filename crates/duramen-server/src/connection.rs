//! Sockets to requests: TLS, limits of connections and heads, and a graceful stop.

use crate::answering::Answering;
use crate::app::{Shared, stopped, take};
use crate::insert::{self, Direct};
use arc_swap::ArcSwapOption;
use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower_service::Service;

/// Most bytes of a request's head; beyond it the client gets 431.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// After how many idle times without taking anything a client is closed.
const STUCK: u32 = 5;
/// How long to rest after a socket could not be accepted, for want of descriptors say.
const REST: Duration = Duration::from_millis(50);

/// What all listeners share.
pub(crate) struct Door {
    /// The certificate in force; `None` for plain text.
    pub tls: ArcSwapOption<rustls::ServerConfig>,
    /// Leave to hold a connection.
    pub places: Arc<Semaphore>,
    /// For a connection's next request, its head included: shippers send once in a while, and the moment at which
    /// one closes a connection is the moment at which the other may use it.
    pub idle_timeout: Duration,
    pub read_timeout: Duration,
    pub stopping: watch::Receiver<bool>,
}

/// A connection, whose it is, and leave to hold it.
pub(crate) type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

impl Door {
    /// The next connection; `None` when the server stops.
    pub async fn next(&self, listener: &TcpListener) -> Option<Accepted> {
        let mut stopping = self.stopping.clone();
        let accepted = async {
            loop {
                let place = self.places.clone().acquire_owned().await.ok()?;
                match listener.accept().await {
                    Ok((socket, peer)) => return Some((socket, peer, place)),
                    Err(e) => tracing::warn!(error = %e, "cannot accept a connection"),
                }
                tokio::time::sleep(REST).await;
            }
        };
        tokio::select! {
            () = stopped(&mut stopping) => None,
            accepted = accepted => accepted,
        }
    }

    /// Agrees on keys with a client, in time.
    ///
    /// # Errors
    /// What was wrong with the handshake, or that it took longer than a read may.
    pub async fn handshake(
        &self,
        config: Arc<rustls::ServerConfig>,
        socket: TcpStream,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        tokio::time::timeout(self.read_timeout, TlsAcceptor::from(config).accept(socket)).await?
    }
}

/// Accepts connections until the server stops; those that are open then are `graceful`'s to end.
pub(crate) async fn listen(
    listener: TcpListener,
    app: Shared,
    router: Router,
    door: Arc<Door>,
    graceful: Arc<GracefulShutdown>,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(door.idle_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(20))
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .max_concurrent_streams(256);
    let builder = Arc::new(builder);
    while let Some((socket, _, place)) = door.next(&listener).await {
        let (router, door, builder, watcher) =
            (router.clone(), door.clone(), builder.clone(), graceful.watcher());
        let app = app.clone();
        tokio::spawn(async move {
            let _place = place;
            let _slower_without = socket.set_nodelay(true);
            close_if_stuck(&socket, door.idle_timeout);
            match door.tls.load_full() {
                None => talk(socket, app, router, watcher, &builder).await,
                Some(config) => match door.handshake(config, socket).await {
                    Ok(stream) => talk(stream, app, router, watcher, &builder).await,
                    Err(e) => tracing::debug!(error = %e, "a TLS handshake failed"),
                },
            }
        });
    }
}

/// Has the system close a connection whose client takes nothing of what it is sent for [`STUCK`] idle times: it would keep
/// its place for ever. Who follows and looks away for a while is waited for.
fn close_if_stuck(socket: &TcpStream, idle_timeout: Duration) {
    #[cfg(target_os = "linux")]
    if let Err(e) = socket2::SockRef::from(socket).set_tcp_user_timeout(Some(idle_timeout * STUCK)) {
        tracing::debug!(error = %e, "a connection that gets stuck will stay");
    }
    #[cfg(not(target_os = "linux"))]
    let _no_such_setting = (socket, idle_timeout);
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    app: Shared,
    router: Router,
    watcher: Watcher,
    builder: &Builder<TokioExecutor>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let request = request.map(axum::body::Body::new);
        let (app, mut router) = (app.clone(), router.clone());
        let brings_logs = insert::brings_logs(request.method(), request.uri().path());
        let answer = async move {
            Ok::<_, Infallible>(match Direct::of(request.method(), request.uri().path()) {
                Some(route) => take(app, route, request).await,
                None => router.call(request).await.unwrap_or_else(|never| match never {}),
            })
        };
        Answering::new(answer, brings_logs)
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    if let Err(e) = watcher.watch(connection).await {
        tracing::debug!(error = %e, "a connection ended badly");
    }
}
