//! Messages in several datagrams, put together again.

use std::collections::HashMap;
use std::net::IpAddr;

/// The most chunks of a message.
const MAX_CHUNKS: u8 = 128;
/// How long chunks wait for the others, ns.
const PATIENCE_NS: i64 = 5_000_000_000;
const HEADER_BYTES: usize = 12;

/// Puts chunks together. What is incomplete after five seconds is forgotten and counted, and so is the oldest when
/// there is no room. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Chunks {
    waiting: HashMap<(IpAddr, [u8; 8]), Waiting>,
    bytes: usize,
    max_bytes: usize,
    /// No message has waited since before this.
    oldest_ns: i64,
    lost: u64,
}

#[derive(Debug)]
struct Waiting {
    since_ns: i64,
    pieces: Vec<Option<Vec<u8>>>,
    bytes: usize,
}

/// A piece takes at least so much memory, whatever it holds.
const PIECE_BYTES: usize = 64;

impl Chunks {
    /// For chunks of `max_bytes` in all.
    pub fn new(max_bytes: usize) -> Self {
        Self { waiting: HashMap::new(), bytes: 0, max_bytes, oldest_ns: i64::MAX, lost: 0 }
    }

    /// Takes a datagram and gives the message that it is or completes, still packed.
    pub fn datagram<'d>(
        &mut self,
        peer: IpAddr,
        datagram: &'d [u8],
        now_ns: i64,
    ) -> Option<std::borrow::Cow<'d, [u8]>> {
        self.forget_late(now_ns);
        let Some(chunk) = datagram.strip_prefix(b"\x1e\x0f") else { return Some(datagram.into()) };
        let (Some(id), Some([number, count])) = (chunk.first_chunk::<8>(), chunk.get(8..10)) else {
            self.lost += 1;
            return None;
        };
        if *count == 0 || *count > MAX_CHUNKS || number >= count {
            self.lost += 1;
            return None;
        }
        let piece = &datagram[HEADER_BYTES..];
        if *count == 1 {
            return Some(piece.into());
        }
        self.make_room(piece.len() + PIECE_BYTES * usize::from(*count));
        let key = (peer, *id);
        self.oldest_ns = self.oldest_ns.min(now_ns);
        let waiting = self.waiting.entry(key).or_insert_with(|| {
            let bytes = PIECE_BYTES * usize::from(*count);
            self.bytes += bytes;
            Waiting { since_ns: now_ns, pieces: vec![None; usize::from(*count)], bytes }
        });
        let Some(slot @ None) = waiting.pieces.get_mut(usize::from(*number)) else {
            return None; // it came twice
        };
        *slot = Some(piece.to_vec());
        waiting.bytes += piece.len();
        self.bytes += piece.len();
        if waiting.pieces.iter().any(Option::is_none) {
            return None;
        }
        let waiting = self.waiting.remove(&key)?;
        self.bytes -= waiting.bytes;
        Some(waiting.pieces.into_iter().flatten().collect::<Vec<_>>().concat().into())
    }

    /// How many messages were lost: chunks that were none, or waited in vain.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Forgets messages whose chunks have waited too long.
    fn forget_late(&mut self, now_ns: i64) {
        // Most datagrams need not look at what waits.
        if now_ns.saturating_sub(self.oldest_ns) <= PATIENCE_NS {
            return;
        }
        let before = self.waiting.len();
        self.oldest_ns = i64::MAX;
        self.waiting.retain(|_, waiting| {
            let keep = now_ns.saturating_sub(waiting.since_ns) <= PATIENCE_NS;
            self.bytes -= if keep { 0 } else { waiting.bytes };
            self.oldest_ns = self.oldest_ns.min(if keep { waiting.since_ns } else { i64::MAX });
            keep
        });
        self.lost += (before - self.waiting.len()) as u64;
    }

    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > self.max_bytes
            && let Some(oldest) =
                self.waiting.iter().min_by_key(|(_, waiting)| waiting.since_ns).map(|(key, _)| *key)
            && let Some(waiting) = self.waiting.remove(&oldest)
        {
            self.bytes -= waiting.bytes;
            self.lost += 1;
        }
    }
}
