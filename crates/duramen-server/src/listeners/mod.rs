//! Listeners beside HTTP: syslog, Fluent's forward protocol and GELF.
//!
//! None of these protocols says who sends, so no token is asked for: listen where only senders can connect. Their lines
//! go to the store's own tenant. Over TCP a sender is made to wait by not being read while the store has no room; what
//! comes by datagrams then is lost, and counted (`duramen_rejected_lines_total`).

mod fluent;
mod gelf;
mod held;
mod syslog;

use crate::app::Shared;
use crate::connection::Door;
use crate::intake::Intake;
use crate::server::ServeError;
use crate::settings::Settings;
use duramen_wire::Decoded;
use duramen_wire::framing::{Frame, Framer};
use held::{Patience, Resting, TooSlow, hold};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinHandle;

/// How many bytes are read at once.
const READ_BYTES: usize = 16 << 10;
/// The most bytes of a datagram.
const DATAGRAM_BYTES: usize = 64 << 10;
/// How long to rest after the system refused a datagram, or the store lines.
const REST: Duration = Duration::from_millis(50);
/// How long, when the server stops, the rest of a message is waited for that has begun to come.
const REST_OF_MESSAGE: Duration = Duration::from_secs(1);
/// How often it is told, at most, that senders send what makes no sense.
const TOLD_EVERY: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Syslog,
    SyslogTls,
    Fluent,
    Gelf,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Syslog | Self::SyslogTls => "syslog",
            Self::Fluent => "fluent",
            Self::Gelf => "gelf",
        }
    }

    /// Whether datagrams are taken, too.
    const fn has_datagrams(self) -> bool {
        matches!(self, Self::Syslog | Self::Gelf)
    }
}

/// Sockets that are bound and not served yet.
#[derive(Debug)]
pub(crate) struct Bound {
    kind: Kind,
    tcp: TcpListener,
    udp: Option<UdpSocket>,
}

/// Binds what the settings ask for.
///
/// # Errors
/// [`ServeError::Listen`].
pub(crate) async fn bind(settings: &Settings) -> Result<Vec<Bound>, ServeError> {
    let kinds = [
        (Kind::Syslog, &settings.syslog_listen),
        (Kind::SyslogTls, &settings.syslog_tls_listen),
        (Kind::Fluent, &settings.fluent_listen),
        (Kind::Gelf, &settings.gelf_listen),
    ];
    let mut all = Vec::new();
    for (kind, addresses) in kinds {
        for &address in addresses {
            let failed = |source| ServeError::Listen { address, source };
            let tcp = TcpListener::bind(address).await.map_err(failed)?;
            // With port 0 the system chooses one, and both are to have the same.
            let here = tcp.local_addr().map_err(failed)?;
            let udp = match kind.has_datagrams() {
                true => Some(UdpSocket::bind(here).await.map_err(failed)?),
                false => None,
            };
            #[cfg(target_os = "linux")]
            udp.iter().for_each(wait_for_bursts);
            if !here.ip().is_loopback() {
                tracing::warn!(address = %here, protocol = kind.name(), "whoever reaches this address may send");
            }
            tracing::info!(address = %here, protocol = kind.name(), "listening");
            all.push(Bound { kind, tcp, udp });
        }
    }
    Ok(all)
}

/// Has the system keep more of a burst than it does by itself: as much as it allows (`net.core.rmem_max`).
#[cfg(target_os = "linux")]
fn wait_for_bursts(udp: &UdpSocket) {
    const WAITING_BYTES: usize = 4 << 20;
    if let Err(e) = socket2::SockRef::from(udp).set_recv_buffer_size(WAITING_BYTES) {
        tracing::debug!(error = %e, "datagrams wait in a buffer of the system's own size");
    }
}

/// Serves them until the server stops.
pub(crate) fn spawn(bound: Vec<Bound>, app: &Shared, door: &Arc<Door>) -> Vec<JoinHandle<()>> {
    let mut tasks = Vec::new();
    for Bound { kind, tcp, udp } in bound {
        tasks.push(tokio::spawn(accept(kind, tcp, app.clone(), door.clone())));
        if let Some(socket) = udp {
            tasks.push(tokio::spawn(datagrams(kind, socket, app.clone())));
        }
    }
    tasks
}

async fn accept(kind: Kind, listener: TcpListener, app: Shared, door: Arc<Door>) {
    let mut connections = tokio::task::JoinSet::new();
    let told = Arc::new(Mutex::new(None));
    while let Some((socket, peer, place)) = door.next(&listener, &door.sender_places).await {
        let (app, door, told) = (app.clone(), door.clone(), told.clone());
        connections.spawn(async move {
            let _place = place;
            if let Err(e) = connection(kind, socket, peer, &app, &door).await {
                let protocol = kind.name();
                let why = match e.kind() {
                    std::io::ErrorKind::InvalidData => "what it sends makes no sense",
                    _ if TooSlow::is(&e) => "it is too slow",
                    _ => "",
                };
                if !why.is_empty() && is_time(&told, app.env.clock.monotonic()) {
                    tracing::warn!(%peer, protocol, error = %e, "a sender is hung up on: {why}");
                } else {
                    tracing::debug!(%peer, protocol, error = %e, "a connection ended badly");
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
    // What has come is appended; they see the stop for themselves.
    while connections.join_next().await.is_some() {}
}

/// Whether it is time to tell it again; notes that it is told, then.
fn is_time(told: &Mutex<Option<Duration>>, now: Duration) -> bool {
    let mut last = told.lock().unwrap_or_else(PoisonError::into_inner);
    let is_time = last.is_none_or(|last| now.saturating_sub(last) >= TOLD_EVERY);
    if is_time {
        *last = Some(now);
    }
    is_time
}

async fn connection(
    kind: Kind,
    socket: TcpStream,
    peer: SocketAddr,
    app: &Shared,
    door: &Door,
) -> std::io::Result<()> {
    if kind != Kind::SyslogTls {
        return talk(kind, socket, peer, app).await;
    }
    match door.tls.load_full() {
        Some(config) => talk(kind, door.handshake(config, socket).await?, peer, app).await,
        // The certificate was there when the server started; it does not go.
        None => Ok(()),
    }
}

async fn talk(
    kind: Kind,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    peer: SocketAddr,
    app: &Shared,
) -> std::io::Result<()> {
    match kind {
        Kind::Syslog | Kind::SyslogTls => syslog::stream(stream, peer, app).await,
        Kind::Fluent => fluent::stream(stream, app).await,
        Kind::Gelf => gelf::stream(stream, app).await,
    }
}

/// Makes entries of datagrams.
trait Datagrams: Send {
    /// Takes one.
    fn take(&mut self, datagram: &[u8], peer: SocketAddr, now_ns: i64, intake: &mut Intake);
}

async fn datagrams(kind: Kind, socket: UdpSocket, app: Shared) {
    let mut taker: Box<dyn Datagrams> = match kind {
        Kind::Gelf => Box::new(gelf::Datagrams::new(&app)),
        _ => Box::new(syslog::Datagrams::new(&app)),
    };
    let mut intake = Intake::new(&app, app.tenants.own(), kind.name());
    let mut buffer = vec![0; DATAGRAM_BYTES];
    loop {
        let first = tokio::select! {
            () = app.stopped() => return,
            first = socket.recv_from(&mut buffer) => first,
        };
        let mut next = match first {
            Ok(datagram) => Some(datagram),
            Err(e) => {
                tracing::warn!(error = %e, protocol = kind.name(), "cannot receive a datagram");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        let now_ns = app.env.clock.now_unix_ns();
        // Those that have come meanwhile are appended together.
        while let Some((len, peer)) = next {
            intake.received(len);
            taker.take(&buffer[..len], peer, now_ns, &mut intake);
            if intake.is_enough() {
                break;
            }
            next = socket.try_recv_from(&mut buffer).ok();
        }
        if let Err(e) = intake.append().await {
            let lines = intake.give_up();
            tracing::warn!(lines, protocol = kind.name(), error = %e.message, "lines that came by datagrams are lost");
        }
    }
}

/// Takes a connection's messages, which `framer` cuts out of its bytes; `take` makes entries of each.
async fn framed(
    mut stream: impl AsyncRead + Unpin,
    app: &Shared,
    protocol: &'static str,
    mut framer: Framer,
    mut take: impl FnMut(Frame<'_>, i64, &mut Decoded) -> duramen_wire::Result<()>,
) -> std::io::Result<()> {
    let mut intake = Intake::new(app, app.tenants.own(), protocol);
    let mut buffer = vec![0; READ_BYTES];
    let mut share = app.bodies.share(app.tenants.own());
    let (mut ends_at, mut rest, mut patience) = (None, Resting::default(), Patience::default());
    loop {
        let len = match ends_at {
            None => match read(&mut stream, &mut buffer, app, &mut rest, &mut patience).await? {
                Some(len) => len,
                None => {
                    patience.check(&mut intake, app)?;
                    framer.rest();
                    intake.decoded.rest();
                    // It is not more than before.
                    hold(&mut share, framer.held_bytes(), app).await.map_err(no_memory)?;
                    patience.holds(share.bytes(), false, app);
                    continue;
                }
            },
            // A read that is ready goes before the time that is over.
            Some(at) if framer.is_between() || at <= tokio::time::Instant::now() => 0,
            Some(at) => tokio::time::timeout_at(at, stream.read(&mut buffer)).await.unwrap_or(Ok(0))?,
        };
        if len == 0 && ends_at.is_none() && *app.stopping.borrow() {
            ends_at = Some(tokio::time::Instant::now() + REST_OF_MESSAGE);
            continue;
        }
        let now_ns = app.env.clock.now_unix_ns();
        intake.received(len);
        let (mut outcome, mut has_ended) = (Ok(()), false);
        let take = |frame: Frame<'_>| {
            has_ended = true;
            if outcome.is_ok() {
                outcome = take(frame, now_ns, &mut intake.decoded);
            }
        };
        if len == 0 {
            framer.finish(take)
        } else {
            framer.feed(&buffer[..len], take)
        }
        if let Err(e) = &outcome {
            intake.refuse(e.to_string());
        }
        // Whole messages before a broken one are kept. A message that is not whole, and entries that wait, count as a body does.
        let mut is_appended = intake.append_at_once();
        let waiting = if is_appended { 0 } else { intake.decoded.entries_bytes() };
        let mut held = hold(&mut share, framer.held_bytes().saturating_add(waiting), app).await;
        if held.is_err() && !is_appended && intake.append().await.is_ok() {
            // The store took what had to wait: nobody would send it again.
            is_appended = true;
            held = hold(&mut share, framer.held_bytes(), app).await;
        }
        if let Err(e) = held {
            intake.refuse(e.message.clone());
            let lines = intake.give_up();
            tracing::warn!(lines, protocol, error = %e.message, "a sender is hung up on: there is no memory for what it sends");
            return Ok(());
        }
        if !is_appended {
            if !persist(&mut intake, app).await {
                return Ok(());
            }
            // It is less now: there is no waiting for that.
            hold(&mut share, framer.held_bytes(), app).await.map_err(no_memory)?;
        }
        if len == 0 {
            return Ok(());
        }
        outcome.map_err(broken)?;
        patience.holds(share.bytes(), has_ended, app);
        patience.check(&mut intake, app)?;
    }
}

/// Appends until it goes well, or the server stops; says which.
async fn persist(intake: &mut Intake, app: &Shared) -> bool {
    loop {
        let Err(e) = intake.append().await else { return true };
        tracing::warn!(error = %e.message, "a sender has to wait");
        if *app.stopping.borrow() {
            return false;
        }
        tokio::time::sleep(REST).await;
    }
}

/// Reads the next bytes of a stream; 0 at its end, when nothing has come for too long, and when the server stops. `None` if it
/// is time to rest: once, a while after something came; and if there is no more patience.
async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut [u8],
    app: &Shared,
    rest: &mut Resting,
    patience: &mut Patience,
) -> std::io::Result<Option<usize>> {
    let now = tokio::time::Instant::now();
    let until = rest.at().unwrap_or(now + app.limits.sender_idle_timeout);
    let until = patience.until(now).map_or(until, |other| until.min(other));
    let len = tokio::select! {
        () = app.stopped() => Some(0),
        () = tokio::time::sleep_until(until) => None,
        len = stream.read(buffer) => Some(len?),
    };
    patience.waited(now.elapsed(), len.unwrap_or_default());
    let Some(len) = len else {
        let goes_on = rest.begins() || patience.is_over();
        return Ok(if goes_on { None } else { Some(0) });
    };
    rest.is_due_after(now);
    Ok(Some(len))
}

/// There is no memory for what a connection holds.
fn no_memory(e: crate::error::ApiError) -> std::io::Error {
    std::io::Error::other(e.message)
}

/// A decoder's error, which ends a connection.
fn broken(e: duramen_wire::Error) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_all_the_time_is_told_now_and_then() {
        let told = Mutex::new(None);
        let times = [0, 1, 9, 10, 11, 19, 25].map(|s| is_time(&told, Duration::from_secs(s)));
        assert_eq!(times, [true, false, false, true, false, false, true]);
    }
}
