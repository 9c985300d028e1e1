//! Where the pieces of a body are put together: rooms that are kept for the bodies that follow.
//!
//! The system zeroes each page that is new to a process, and shippers send a megabyte at a time: that would be the pages that the
//! body before has just given back.

use bytes::Bytes;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// The most that rooms in which no body is may take together. Larger ones are given back to the system.
const MOST_KEPT_BYTES: usize = 4 << 20;
/// Smaller rooms are not kept: there is mostly room for so little.
const LEAST_KEPT_BYTES: usize = 64 << 10;
/// A body has a room that is at most so many times what it asked for: what a room takes is not counted but for what is in it.
const MOST_TIMES: usize = 4;

/// Rooms for bodies.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    kept: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Rooms {
    /// An empty room for so many bytes, or more.
    pub fn take(&self, bytes: usize) -> Room {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |room: &Vec<u8>| (bytes..=bytes.saturating_mul(MOST_TIMES)).contains(&room.capacity());
        let of_kept = kept.iter().position(fits).map(|at| kept.swap_remove(at));
        drop(kept);
        Room { bytes: of_kept.unwrap_or_else(|| Vec::with_capacity(bytes)), home: self.clone() }
    }

    fn keep(&self, mut room: Vec<u8>) {
        room.clear();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: usize = kept.iter().map(Vec::capacity).sum();
        if room.capacity() >= LEAST_KEPT_BYTES && bytes + room.capacity() <= MOST_KEPT_BYTES {
            kept.push(room);
        }
    }
}

/// A room that is kept again when it is dropped, as a body's bytes too.
#[derive(Debug)]
pub(super) struct Room {
    bytes: Vec<u8>,
    home: Rooms,
}

impl Room {
    /// The bytes in it.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl Deref for Room {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.home.keep(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(rooms: &Rooms, bytes: &[u8]) -> Bytes {
        let mut room = rooms.take(bytes.len());
        room.extend_from_slice(bytes);
        room.into_bytes()
    }

    fn kept_bytes(rooms: &Rooms) -> usize {
        rooms.kept.lock().unwrap().iter().map(Vec::capacity).sum()
    }

    #[test]
    fn a_room_is_kept_once_nobody_has_its_bytes() {
        let rooms = Rooms::default();
        let first = body(&rooms, &[1; LEAST_KEPT_BYTES]);
        let part = first.slice(10..20);
        drop(first);
        assert_eq!(kept_bytes(&rooms), 0, "somebody still reads it");
        assert_eq!(part, vec![1; 10]);
        drop(part);
        assert_eq!(kept_bytes(&rooms), LEAST_KEPT_BYTES);
        assert_eq!(body(&rooms, b"small"), "small");
        assert_eq!(kept_bytes(&rooms), LEAST_KEPT_BYTES, "it has another room");
        let second = body(&rooms, &[2; LEAST_KEPT_BYTES / 2]);
        assert_eq!(kept_bytes(&rooms), 0);
        assert_eq!(second, vec![2; LEAST_KEPT_BYTES / 2], "nothing of the first is left in it");
    }

    #[test]
    fn rooms_over_the_limit_are_given_back() {
        let rooms = Rooms::default();
        let sizes = [MOST_KEPT_BYTES / 2, MOST_KEPT_BYTES / 2, 1, MOST_KEPT_BYTES + 1];
        let bodies = sizes.map(|bytes| body(&rooms, &vec![0; bytes]));
        drop(bodies);
        assert_eq!(kept_bytes(&rooms), MOST_KEPT_BYTES);
    }
}
