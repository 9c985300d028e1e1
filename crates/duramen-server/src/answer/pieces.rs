//! The way of an answer, in pieces, from the thread that makes it to the client.

use super::CancelOnDrop;
use crate::error::{ApiError, ApiResult};
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// A piece has no more bytes than this,
pub(super) const PIECE_BYTES: usize = 256 << 10;
/// and no more pieces wait for a client: they take memory.
pub(super) const PIECES_WAITING: usize = 4;

#[derive(Debug)]
pub(super) struct Piece {
    bytes: Bytes,
    /// Without the last one, an answer is not whole.
    is_last: bool,
}

/// Where pieces come from. `left` tells how long a client is waited for.
pub(super) struct PieceSender<L> {
    to: mpsc::Sender<ApiResult<Piece>>,
    runtime: Handle,
    left: L,
    /// Something could not be sent: then nothing more is, so that a client which reads on sees no end.
    is_broken: bool,
}

impl<L: Fn() -> Duration> PieceSender<L> {
    pub fn new(to: mpsc::Sender<ApiResult<Piece>>, runtime: Handle, left: L) -> Self {
        Self { to, runtime, left, is_broken: false }
    }

    /// Sends a text, the last of the answer or not. Breaks when the client has gone, or has not read in time.
    pub fn send(&mut self, text: Vec<u8>, is_last: bool) -> ControlFlow<()> {
        let mut rest = Bytes::from(text);
        loop {
            let bytes = rest.split_to(rest.len().min(PIECE_BYTES));
            let is_end = rest.is_empty();
            self.send_one(Ok(Piece { bytes, is_last: is_last && is_end }))?;
            if is_end {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Ends the answer with an error.
    pub fn send_error(&mut self, error: ApiError) -> ControlFlow<()> {
        self.send_one(Err(error))
    }

    fn send_one(&mut self, piece: ApiResult<Piece>) -> ControlFlow<()> {
        if !self.is_broken {
            self.is_broken = match self.to.try_send(piece) {
                Err(TrySendError::Full(piece)) => {
                    self.runtime.block_on(self.to.send_timeout(piece, (self.left)())).is_err()
                }
                sent => sent.is_err(),
            };
        }
        if self.is_broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The pieces of an answer, as they are made. The query ends soon after they are dropped.
#[derive(Debug)]
pub(crate) struct Pieces {
    first: Option<Piece>,
    /// The others, if there are any.
    rest: Option<(mpsc::Receiver<ApiResult<Piece>>, CancelOnDrop)>,
    has_ended: bool,
}

impl Pieces {
    pub(super) fn new(first: Piece, from: mpsc::Receiver<ApiResult<Piece>>, guard: CancelOnDrop) -> Self {
        Self { first: Some(first), rest: Some((from, guard)), has_ended: false }
    }

    /// Of an answer that is there already.
    pub(super) fn whole(text: Vec<u8>) -> Self {
        Self { first: Some(Piece { bytes: text.into(), is_last: true }), rest: None, has_ended: false }
    }

    /// All of them: one that is alone is sent at once, and its length told before it.
    pub fn into_body(mut self) -> Body {
        match self.first.take_if(|first| first.is_last) {
            Some(only) => Body::from(only.bytes),
            None => Body::from_stream(self.into_stream()),
        }
    }

    /// One after the other; an error is the last.
    pub fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> {
        stream::unfold(self, |mut this| async move {
            if this.has_ended {
                return None;
            }
            let piece = match (this.first.take(), &mut this.rest) {
                (Some(first), _) => Some(Ok(first)),
                (None, Some((from, _))) => from.recv().await,
                (None, None) => None,
            };
            let piece = piece.unwrap_or_else(|| Err(ApiError::unavailable("it broke off")));
            this.has_ended = piece.as_ref().map_or(true, |piece| piece.is_last);
            Some((piece.map(|piece| piece.bytes).map_err(|e| io::Error::other(e.message)), this))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use duramen_query::Cancel;
    use futures_util::StreamExt;
    use std::sync::Arc;

    fn received(first: Piece, from: mpsc::Receiver<ApiResult<Piece>>) -> Vec<io::Result<Bytes>> {
        let pieces = Pieces::new(first, from, CancelOnDrop(Arc::new(Cancel::new())));
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(pieces.into_stream().collect::<Vec<_>>())
    }

    #[test]
    fn long_texts_are_sent_in_pieces() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
        let (to, mut from) = mpsc::channel(8);
        let mut sender = PieceSender::new(to, runtime.handle().clone(), || Duration::from_secs(60));
        let text: Vec<u8> = (0..2 * PIECE_BYTES + 5).map(|i| i as u8).collect();
        assert!(sender.send(b"head".to_vec(), false).is_continue());
        assert!(sender.send(text.clone(), true).is_continue());
        drop(sender);
        let first = from.blocking_recv().unwrap().unwrap();
        let pieces: Vec<Bytes> = received(first, from).into_iter().map(Result::unwrap).collect();
        assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [4, PIECE_BYTES, PIECE_BYTES, 5]);
        assert!(pieces[1..].concat() == text);
    }

    #[test]
    fn the_length_of_a_piece_that_is_alone_is_told() {
        use axum::body::HttpBody;
        for (is_last, expected) in [(true, Some(3)), (false, None)] {
            let (_to, from) = mpsc::channel(1);
            let first = Piece { bytes: "one".into(), is_last };
            let pieces = Pieces::new(first, from, CancelOnDrop(Arc::new(Cancel::new())));
            assert_eq!(pieces.into_body().size_hint().exact(), expected);
        }
    }

    #[test]
    fn an_answer_that_lacks_a_piece_has_no_end() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
        let (to, mut from) = mpsc::channel(1);
        let mut sender = PieceSender::new(to, runtime.handle().clone(), || Duration::ZERO);
        assert!(sender.send(b"one".to_vec(), false).is_continue());
        assert!(sender.send(b"two".to_vec(), false).is_break(), "nobody reads");
        let first = from.blocking_recv().unwrap().unwrap();
        // There is room again.
        assert!(sender.send(b"three".to_vec(), true).is_break());
        drop(sender);
        let pieces = received(first, from);
        assert!(matches!(&pieces[..], [Ok(one), Err(_)] if one == "one"), "{pieces:?}");
    }
}
