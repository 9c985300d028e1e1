//! Sockets to requests: TLS, limits of connections and heads, and a graceful stop.

mod idle;

use crate::answering::{Answering, Making, Outliving};
use crate::app::{Shared, refuse, stopped, take};
use crate::browsers;
use crate::insert::{Direct, brings_logs};
use crate::paths::with_single_slashes;
use arc_swap::ArcSwapOption;
use axum::Router;
use axum::extract::Request;
use axum::http::Version;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use idle::Uses;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
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
/// After how long without a word the system asks whether a peer is still there: one that lost its power says nothing.
#[cfg(target_os = "linux")]
const ASKED_AFTER: Duration = Duration::from_secs(60);
/// It asks again and again, until [`STUCK`] idle times are over.
#[cfg(target_os = "linux")]
const ASKED_EVERY: Duration = Duration::from_secs(10);

/// What all listeners share.
pub(crate) struct Door {
    /// The certificate in force; `None` for plain text.
    pub tls: ArcSwapOption<rustls::ServerConfig>,
    /// Leave to hold a connection of HTTP.
    pub places: Arc<Semaphore>,
    /// Leave to hold another: who sends there needs no token, and must not keep those of HTTP out.
    pub sender_places: Arc<Semaphore>,
    /// For a connection's next request, its head included: shippers send once in a while, and the moment at which
    /// one closes a connection is the moment at which the other may use it.
    pub idle_timeout: Duration,
    pub read_timeout: Duration,
    pub stopping: watch::Receiver<bool>,
}

/// What a connection holds until it has ended, and so has each request that outlives it.
struct Held {
    _place: OwnedSemaphorePermit,
    /// A graceful stop waits for it.
    _watcher: Watcher,
    /// How long a request outlives it at most.
    outlived_for: Duration,
}

/// A connection, whose it is, and leave to hold it.
pub(crate) type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

impl Door {
    /// The next connection, once it has one of these places; `None` when the server stops.
    pub async fn next(&self, listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
        let mut stopping = self.stopping.clone();
        let accepted = async {
            loop {
                let place = places.clone().acquire_owned().await.ok()?;
                match listener.accept().await {
                    Ok((socket, peer)) => {
                        close_if_gone(&socket, self.idle_timeout);
                        return Some((socket, peer, place));
                    }
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
    let on_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    while let Some((socket, _, place)) = door.next(&listener, &door.places).await {
        let (app, router, door, builder) = (app.clone(), router.clone(), door.clone(), builder.clone());
        let (watcher, outlived_for) = (graceful.watcher(), app.limits.stall_timeout);
        let held = Arc::new(Held { _place: place, _watcher: watcher, outlived_for });
        let answer = move |route: Option<&'static Direct>, request: Request| -> Making {
            if let Err(e) = browsers::check(&app, on_loopback, &request) {
                return Box::pin(refuse(app.clone(), request, e));
            }
            match route {
                Some(route) => Box::pin(take(app.clone(), route, request)),
                None => Box::pin(router.clone().call(request).map(|Ok(answer)| answer)),
            }
        };
        tokio::spawn(async move {
            let _slower_without = socket.set_nodelay(true);
            match door.tls.load_full() {
                None => talk(socket, answer, held, &door, &builder).await,
                Some(config) => match door.handshake(config, socket).await {
                    Ok(stream) => talk(stream, answer, held, &door, &builder).await,
                    Err(e) => tracing::debug!(error = %e, "a TLS handshake failed"),
                },
            }
        });
    }
}

/// Has the system close a connection whose client takes nothing of what it is sent for [`STUCK`] idle times: it would keep
/// its place for ever. Who follows and looks away for a while is waited for. Likewise one whose peer is there no more.
fn close_if_gone(socket: &TcpStream, idle_timeout: Duration) {
    #[cfg(target_os = "linux")]
    {
        let socket = socket2::SockRef::from(socket);
        let asking = socket2::TcpKeepalive::new().with_time(ASKED_AFTER).with_interval(ASKED_EVERY);
        let outcome = socket.set_tcp_keepalive(&asking);
        if let Err(e) = outcome.and_then(|()| socket.set_tcp_user_timeout(Some(idle_timeout * STUCK))) {
            tracing::debug!(error = %e, "a connection that gets stuck will stay");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _no_such_setting = (socket, idle_timeout);
}

/// Has the requests of a connection answered. Over HTTP/1 those that bring logs may outlive it; a stream of HTTP/2 that a
/// client resets has ended, or there would be more of them than a connection may have. Ends when the server stops, and when
/// nobody has asked for a while; then a client that does not see to it that it ends is left.
async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answer: impl Fn(Option<&'static Direct>, Request) -> Making + Send + 'static,
    held: Arc<Held>,
    door: &Door,
    builder: &Builder<TokioExecutor>,
) {
    let uses = Arc::new(Uses::default());
    let of_service = uses.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(axum::body::Body::new);
        if let Some(uri) = with_single_slashes(request.uri()) {
            *request.uri_mut() = uri;
        }
        let running = of_service.begin();
        let (method, path) = (request.method(), request.uri().path());
        let route = Direct::of(method, path);
        let outlives = request.version() < Version::HTTP_2 && (route.is_some() || brings_logs(method, path));
        let outliving = || Outliving { held: held.clone(), at_most: held.outlived_for };
        let answering = Answering::new(answer(route, request), outlives.then(outliving));
        answering.map(|Ok(answer)| Ok::<_, Infallible>(running.until_sent(answer)))
    });
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    let ending = GracefulShutdown::new();
    let mut connection = pin!(ending.watch(connection));
    let mut stopping = door.stopping.clone();
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stopped(&mut stopping) => tokio::select! {
            ended = connection => ended,
            () = ending.shutdown() => Ok(()), // not before the connection has ended
        },
        () = uses.none_for(door.idle_timeout) => tokio::select! {
            ended = connection => ended,
            () = ending.shutdown() => Ok(()),
            () = tokio::time::sleep(door.idle_timeout * STUCK) => Ok(()),
        },
    };
    if let Err(e) = ended {
        tracing::debug!(error = %e, "a connection ended badly");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use tokio::io::AsyncWriteExt;
    use tokio::sync::mpsc;

    const HTTP_1: &[u8] = b"POST /gelf HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
    const QUESTION: &[u8] = b"GET /gelf HTTP/1.1\r\nhost: x\r\n\r\n";
    /// No settings, then the head of `POST /gelf`, as HPACK writes it without a table, and all of its body.
    const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
        \x00\x00\x00\x04\x00\x00\x00\x00\x00\
        \x00\x00\x0c\x01\x04\x00\x00\x00\x01\x83\x86\x04\x05/gelf\x01\x01x\
        \x00\x00\x02\x00\x01\x00\x00\x00\x01{}";

    /// With what tells it that the server stops.
    fn door(idle_timeout: Duration) -> (Door, watch::Sender<bool>) {
        let (stop, stopping) = watch::channel(false);
        let places = Arc::new(Semaphore::new(1));
        let door = Door {
            tls: ArcSwapOption::empty(),
            sender_places: places.clone(),
            places,
            idle_timeout,
            read_timeout: Duration::from_secs(3600),
            stopping,
        };
        (door, stop)
    }

    #[tokio::test]
    async fn who_asks_nothing_is_closed_whatever_it_has_sent() {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
        for sent in [&b""[..], b"P", &preface[..24], preface, HTTP_2] {
            let (places, graceful) = (Arc::new(Semaphore::new(1)), GracefulShutdown::new());
            let place = places.clone().acquire_owned().await.unwrap();
            let (watcher, outlived_for) = (graceful.watcher(), Duration::from_secs(3600));
            let held = Arc::new(Held { _place: place, _watcher: watcher, outlived_for });
            let answer = |_, _| -> Making { Box::pin(async { ().into_response() }) };
            let (mut client, stream) = tokio::io::duplex(1024);
            client.write_all(sent).await.unwrap();
            let door = door(Duration::from_millis(5));
            talk(stream, answer, held, &door.0, &Builder::new(TokioExecutor::new())).await;
            assert_eq!(places.available_permits(), 1, "{sent:?}");
        }
    }

    #[tokio::test]
    async fn logs_of_a_client_that_has_gone_hold_its_place_and_a_stop() {
        for (sent, outlives) in [(HTTP_1, true), (QUESTION, false), (HTTP_2, false)] {
            let (places, graceful) = (Arc::new(Semaphore::new(1)), GracefulShutdown::new());
            let place = places.clone().acquire_owned().await.unwrap();
            let (watcher, outlived_for) = (graceful.watcher(), Duration::from_secs(3600));
            let held = Arc::new(Held { _place: place, _watcher: watcher, outlived_for });
            let (begins, mut begun) = mpsc::channel(1);
            let (may_end, end) = watch::channel(false);
            let (ends, mut ended) = mpsc::channel(1);
            let answer = move |_, _| -> Making {
                let (begins, mut end, ends) = (begins.clone(), end.clone(), ends.clone());
                Box::pin(async move {
                    begins.send(()).await.unwrap();
                    end.wait_for(|may| *may).await.unwrap();
                    ends.send(()).await.unwrap();
                    ().into_response()
                })
            };
            let (mut client, stream) = tokio::io::duplex(1024);
            let door = door(Duration::from_secs(3600));
            let connection = tokio::spawn(async move {
                talk(stream, answer, held, &door.0, &Builder::new(TokioExecutor::new())).await;
            });
            client.write_all(sent).await.unwrap();
            begun.recv().await.unwrap();
            drop(client);
            connection.await.unwrap();
            let mut stop = Box::pin(graceful.shutdown());
            assert_eq!((&mut stop).now_or_never().is_none(), outlives);
            assert_eq!(places.available_permits(), usize::from(!outlives));
            if outlives {
                may_end.send(true).unwrap();
                stop.await;
                assert_eq!(places.available_permits(), 1);
            }
            assert_eq!(ended.recv().await.is_some(), outlives);
        }
    }
}
