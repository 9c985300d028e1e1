//! The machine's clocks and its source of randomness.
#![allow(clippy::disallowed_methods)] // the io layer is where clocks are read

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
use super::ticks;
use crate::io::{Clock, Random};
use std::time::{Duration, Instant, SystemTime};

/// The machine's clocks.
#[derive(Debug)]
pub struct OsClock {
    start: Instant,
    boot_id: u64,
}

impl Default for OsClock {
    fn default() -> Self {
        #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
        ticks::begin();
        Self { start: Instant::now(), boot_id: read_boot_id() }
    }
}

/// Linux makes up a UUID at every start.
fn read_boot_id() -> u64 {
    match std::fs::read("/proc/sys/kernel/random/boot_id") {
        Ok(uuid) if !uuid.is_empty() => xxhash_rust::xxh3::xxh3_64(&uuid).max(1),
        _ => 0,
    }
}

impl Clock for OsClock {
    #[inline]
    fn now_unix_ns(&self) -> i64 {
        #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
        return ticks::now_unix_ns();
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
        kernel_unix_ns()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn boot_id(&self) -> u64 {
        self.boot_id
    }
}

/// Nanoseconds since 1970, from the kernel.
pub(super) fn kernel_unix_ns() -> i64 {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

/// The kernel's randomness.
#[derive(Debug)]
pub struct OsRandom;

impl Random for OsRandom {
    fn next_u64(&self) -> u64 {
        // A kernel without either source: two clocks and our own number make an identity.
        kernel_random().unwrap_or_else(|| {
            let now = OsClock::default().now_unix_ns() as u64;
            now.rotate_left(32) ^ u64::from(std::process::id()).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
    }
}

#[cfg(target_os = "linux")]
fn kernel_random() -> Option<u64> {
    let mut bytes = [0u8; 8];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(8) => Some(u64::from_ne_bytes(bytes)),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn kernel_random() -> Option<u64> {
    use std::io::Read;
    let mut bytes = [0u8; 8];
    std::fs::File::open("/dev/urandom").ok()?.read_exact(&mut bytes).ok()?;
    Some(u64::from_ne_bytes(bytes))
}
