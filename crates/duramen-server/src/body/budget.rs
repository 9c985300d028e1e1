//! The memory of all bodies together, and each body's share of it.

use super::rooms::Rooms;
use crate::error::{ApiError, ApiResult};
use crate::tenants::Tenant;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What the budget is counted in.
const UNIT_BYTES: usize = 1024;

/// The memory that all bodies together may take.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    /// How many there are.
    all_units: usize,
    rooms: Rooms,
}

impl Budget {
    /// Of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let all_units = (bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { units: Arc::new(Semaphore::new(all_units)), all_units, rooms: Rooms::default() }
    }

    /// How many bytes are left.
    pub fn left_bytes(&self) -> usize {
        self.units.available_permits() * UNIT_BYTES
    }

    /// Nothing yet of it, nor of what this tenant may take.
    pub fn share(&self, tenant: &Tenant) -> Share {
        Share {
            units: [tenant.bodies.units.clone(), self.units.clone()],
            most_units: tenant.bodies.all_units.min(self.all_units),
            permits: [None, None],
            bytes: 0,
            rooms: self.rooms.clone(),
        }
    }
}

/// A body's part of its tenant's budget, and of that of all; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    units: [Arc<Semaphore>; 2],
    /// How many there are, if nobody else has any.
    most_units: usize,
    permits: [Option<OwnedSemaphorePermit>; 2],
    bytes: usize,
    /// Where they are put together.
    pub(super) rooms: Rooms,
}

impl Share {
    /// How many bytes it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `bytes` more.
    ///
    /// # Errors
    /// 429 if there are not so many left; 413 if there never are.
    pub fn grow(&mut self, bytes: usize) -> ApiResult<()> {
        let units = |bytes: usize| bytes.div_ceil(UNIT_BYTES);
        if units(self.bytes.saturating_add(bytes)) > self.most_units {
            let told =
                "the body takes more memory than there is for all (max_bodies_bytes): send it in parts";
            return Err(ApiError::too_large(told));
        }
        let more = units(self.bytes + bytes) - units(self.bytes);
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let [own, all] = self.units.each_ref().map(|units| units.clone().try_acquire_many_owned(more));
        let (Ok(own), Ok(all)) = (own, all) else {
            let told = "too many bytes of requests are in memory (max_bodies_bytes): send again later";
            return Err(ApiError::busy(told));
        };
        for (mine, permit) in self.permits.iter_mut().zip([own, all]) {
            match mine {
                Some(mine) => mine.merge(permit),
                None => *mine = Some(permit),
            }
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Takes more or gives back, so that it is of `bytes`.
    ///
    /// # Errors
    /// As [`Share::grow`].
    pub fn resize(&mut self, bytes: usize) -> ApiResult<()> {
        if bytes >= self.bytes {
            return self.grow(bytes - self.bytes);
        }
        let less = self.bytes.div_ceil(UNIT_BYTES) - bytes.div_ceil(UNIT_BYTES);
        for permit in self.permits.iter_mut().flatten() {
            drop(permit.split(less));
        }
        self.bytes = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use duramen::BlockCache;
    use duramen_engine::io::Env;

    #[test]
    fn what_never_fits_is_not_to_be_sent_again() {
        let (dir, settings) = (tempfile::tempdir().unwrap(), Settings::default().complete());
        let mut tenant = Tenant::open(&Env::os(), "", dir.path(), &settings, &BlockCache::new(0)).unwrap();
        for (own, all) in [(64 << 10, 1 << 20), (1 << 20, 64 << 10)] {
            tenant.bodies = Budget::new(own);
            let all = Budget::new(all);
            let status = |share: &mut Share, bytes| share.grow(bytes).map_err(|e| e.status.as_u16());
            let (mut one, mut other) = (all.share(&tenant), all.share(&tenant));
            assert_eq!(status(&mut one, 40 << 10), Ok(()));
            assert_eq!(status(&mut other, 40 << 10), Err(429));
            assert_eq!(status(&mut one, 30 << 10), Err(413));
            assert_eq!(status(&mut one, usize::MAX), Err(413));
            drop(one);
            assert_eq!(status(&mut other, 64 << 10), Ok(()), "all of it");
        }
        tenant.close().unwrap();
    }
}
