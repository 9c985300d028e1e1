//! GELF over TCP, each message with a NUL behind it, and over UDP, in chunks or not, packed or not.

use super::framed;
use crate::app::Shared;
use crate::intake::Intake;
use duramen_wire::Params;
use duramen_wire::framing::{Frame, Framer};
use duramen_wire::gelf::{Chunks, Messages, unpack};
use std::net::SocketAddr;
use tokio::io::AsyncRead;

/// The most bytes of messages whose chunks have not all come.
const CHUNKS_BYTES: usize = 16 << 20;

/// Messages of a connection.
pub(super) async fn stream(stream: impl AsyncRead + Unpin, app: &Shared) -> std::io::Result<()> {
    let mut messages = Messages::new(&Params::default());
    let framer = Framer::delimited(0, app.limits.max_line_bytes);
    framed(stream, app, "gelf", framer, |frame, now_ns, decoded| match frame {
        // None of it tells its length, so that none is known to be cut.
        Frame::Message(message) | Frame::Cut(message, _) => messages.message(message, now_ns, decoded),
        Frame::TooLong(bytes) => {
            decoded.reject_too_long(bytes);
            Ok(())
        }
    })
    .await
}

/// Messages of datagrams.
pub(super) struct Datagrams {
    messages: Messages,
    chunks: Chunks,
    max_bytes: usize,
    lost: u64,
}

impl Datagrams {
    pub fn new(app: &Shared) -> Self {
        Self {
            messages: Messages::new(&Params::default()),
            chunks: Chunks::new(CHUNKS_BYTES),
            max_bytes: app.limits.max_line_bytes,
            lost: 0,
        }
    }
}

impl super::Datagrams for Datagrams {
    fn take(&mut self, datagram: &[u8], peer: SocketAddr, now_ns: i64, intake: &mut Intake) {
        let whole = self.chunks.datagram(peer.ip(), datagram, now_ns);
        let taken = match whole.as_deref().map(|message| unpack(message, self.max_bytes)) {
            Some(Ok(message)) => self.messages.message(&message, now_ns, &mut intake.decoded),
            Some(Err(e)) => {
                intake.refuse(e.to_string());
                Ok(())
            }
            None => Ok(()),
        };
        // The only error is a limit that one message cannot reach, after which an append makes room.
        let _taken = taken;
        for _ in self.lost..self.chunks.lost() {
            intake.refuse("chunks that were none, or whose others did not come".to_owned());
        }
        self.lost = self.chunks.lost();
    }
}
