//! Syslog over TCP, TLS and UDP.

use super::framed;
use crate::app::Shared;
use crate::intake::Intake;
use duramen_wire::Params;
use duramen_wire::framing::{Frame, Framer, without_end};
use duramen_wire::syslog::Messages;
use jiff::tz::TimeZone;
use std::net::SocketAddr;
use tokio::io::AsyncRead;

/// A decoder; stamps that name no zone are of this machine's.
fn messages(app: &Shared) -> Messages {
    Messages::new(&Params::default(), TimeZone::system(), app.env.clock.now_unix_ns())
}

/// Messages of a connection, by octet counting, or ended by line feeds or NULs.
pub(super) async fn stream(
    stream: impl AsyncRead + Unpin,
    peer: SocketAddr,
    app: &Shared,
) -> std::io::Result<()> {
    let (peer, mut messages) = (peer.ip().to_string(), messages(app));
    let framer = Framer::syslog(app.limits.max_line_bytes);
    framed(stream, app, "syslog", framer, |frame, now_ns, decoded| {
        messages.message(frame, Some(&peer), now_ns, decoded)
    })
    .await
}

/// Messages of datagrams, one in each.
pub(super) struct Datagrams {
    messages: Messages,
    /// The peer of the last datagram, as text.
    peer: Option<(std::net::IpAddr, String)>,
}

impl Datagrams {
    pub fn new(app: &Shared) -> Self {
        Self { messages: messages(app), peer: None }
    }
}

impl super::Datagrams for Datagrams {
    fn take(&mut self, datagram: &[u8], peer: SocketAddr, now_ns: i64, intake: &mut Intake) {
        if self.peer.as_ref().is_none_or(|(ip, _)| *ip != peer.ip()) {
            self.peer = Some((peer.ip(), peer.ip().to_string()));
        }
        let peer = self.peer.as_ref().map(|(_, text)| text.as_str());
        let message = without_end(datagram);
        if message.trim_ascii().is_empty() {
            return;
        }
        // The only error is a limit that one datagram cannot reach, after which an append makes room.
        let _taken = self.messages.message(Frame::Message(message), peer, now_ns, &mut intake.decoded);
    }
}
