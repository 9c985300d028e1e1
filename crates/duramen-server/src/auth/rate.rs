//! How many bytes a token may send: a bucket that fills steadily, and holds what may be sent in one second.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A bucket. A body larger than all it holds is let through when it is full, and waited for by those that follow.
#[derive(Debug)]
pub(super) struct Bucket {
    bytes_per_s: u64,
    /// What is in it, below none after a large body; and when that was so.
    state: Mutex<Option<(f64, Duration)>>,
}

impl Bucket {
    /// Full.
    pub fn new(bytes_per_s: u64) -> Self {
        Self { bytes_per_s: bytes_per_s.max(1), state: Mutex::new(None) }
    }

    /// Takes `bytes` out, if there is anything in it.
    ///
    /// # Errors
    /// How many seconds to wait.
    pub fn take(&self, now: Duration, bytes: u64) -> Result<(), u64> {
        let rate = self.bytes_per_s as f64;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let held = match *state {
            None => rate,
            Some((held, at)) => rate.min(held + rate * now.saturating_sub(at).as_secs_f64()),
        };
        if held <= 0.0 {
            *state = Some((held, now));
            return Err((-held / rate).ceil().max(1.0) as u64);
        }
        *state = Some((held - bytes as f64, now));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fills_and_empties() {
        let at = Duration::from_secs;
        let bucket = Bucket::new(100);
        assert_eq!(bucket.take(at(0), 60), Ok(()));
        assert_eq!(bucket.take(at(0), 340), Ok(()), "something was left");
        assert_eq!(bucket.take(at(0), 1), Err(3));
        assert_eq!(bucket.take(at(2), 1), Err(1));
        assert_eq!(bucket.take(at(4), 100), Ok(()));
        assert_eq!(bucket.take(at(4), 1), Err(1));
        assert_eq!(bucket.take(at(1_000), 100), Ok(()), "it holds a second's worth at most");
        assert_eq!(bucket.take(at(1_000), 1), Err(1));
    }
}
