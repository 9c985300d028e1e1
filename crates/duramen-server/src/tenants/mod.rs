//! All tenants' stores: which are open, and opening one when it is first asked for.
//!
//! To open a store may take long: it reads what its log has that no table has yet. Nobody waits for that who does not ask for
//! this tenant.

pub(crate) mod freshness;
mod tenant;

use crate::error::{ApiError, ApiResult, kind_of};
use crate::settings::Settings;
use duramen::BlockCache;
use duramen_engine::io::Env;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tenant::FAILING_FOR;

pub(crate) use tenant::{Tenant, WRITE_BUFFER_BYTES};

/// Most tenants that are open at once.
const MAX_TENANTS: usize = 1_000;

/// For how long it is not tried again to open a store that could not be opened: each try may take long.
const NOT_AGAIN_FOR: Duration = Duration::from_secs(2);

/// All tenants.
#[derive(Debug)]
pub(crate) struct Tenants {
    env: Env,
    dir: PathBuf,
    settings: Settings,
    blocks: Arc<BlockCache>,
    own: Arc<Tenant>,
    others: Mutex<BTreeMap<String, Arc<Slot>>>,
}

/// A tenant that was asked for.
#[derive(Debug, Default)]
struct Slot {
    open: OnceLock<Arc<Tenant>>,
    /// Held while it is opened; why that failed last.
    opening: Arc<tokio::sync::Mutex<Option<Failed>>>,
}

#[derive(Debug)]
struct Failed {
    reason: String,
    /// For everybody's eyes.
    kind: &'static str,
    /// Until then, by the monotonic clock, it is not tried again.
    until: Duration,
}

impl Failed {
    fn told(&self) -> ApiError {
        ApiError::unavailable(format!("the tenant's store cannot be opened: {}", self.reason))
    }
}

impl Tenants {
    /// Opens the store in `dir`, and the tenants that the settings name.
    pub fn open(env: &Env, dir: &Path, settings: &Settings) -> duramen::Result<Self> {
        let blocks = BlockCache::new(settings.block_cache_bytes.unwrap_or_default());
        let own = Arc::new(Tenant::open(env, "", dir, settings, &blocks)?);
        let (env, dir, settings) = (env.clone(), dir.to_path_buf(), settings.clone());
        let this = Self { env, dir, settings, blocks, own, others: Mutex::default() };
        for name in this.settings.tenants.keys() {
            let open = OnceLock::from(Arc::new(this.open_other(name)?));
            this.others().insert(name.clone(), Arc::new(Slot { open, ..Slot::default() }));
        }
        Ok(this)
    }

    /// The store's own.
    pub fn own(&self) -> &Arc<Tenant> {
        &self.own
    }

    /// The tenant of this name.
    ///
    /// # Errors
    /// 503 if its store cannot be opened, for want of space, too: clients of some protocols send again after no other.
    pub async fn of(self: &Arc<Self>, name: Option<&str>) -> ApiResult<Arc<Tenant>> {
        let Some(name) = name else { return Ok(self.own.clone()) };
        let slot = self.slot(name)?;
        if let Some(tenant) = slot.open.get() {
            return Ok(tenant.clone());
        }
        let mut failed = slot.opening.clone().lock_owned().await;
        if let Some(tenant) = slot.open.get() {
            return Ok(tenant.clone());
        }
        if let Some(failed) = failed.as_ref().filter(|failed| self.env.clock.monotonic() < failed.until) {
            return Err(failed.told());
        }
        let (this, name) = (self.clone(), name.to_owned());
        // The lock goes along: who asked may go meanwhile.
        let opening = tokio::task::spawn_blocking(move || match this.open_other(&name) {
            Ok(tenant) => Ok(slot.open.get_or_init(|| Arc::new(tenant)).clone()),
            Err(e) => {
                let until = this.env.clock.monotonic() + NOT_AGAIN_FOR;
                tracing::error!(tenant = name, error = %e, "a tenant's store cannot be opened");
                let kind = kind_of(&e);
                Err(failed.insert(Failed { reason: ApiError::from(e).message, kind, until }).told())
            }
        });
        opening.await.map_err(|e| ApiError::unavailable(format!("cannot open the tenant's store: {e}")))?
    }

    /// Where a tenant's store is, or would be.
    pub fn dir_of(&self, name: &str) -> PathBuf {
        self.dir.join("tenants").join(name)
    }

    fn open_other(&self, name: &str) -> duramen::Result<Tenant> {
        Tenant::open(&self.env, name, &self.dir_of(name), &self.settings, &self.blocks)
    }

    /// Never held while something is waited for.
    fn others(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, name: &str) -> ApiResult<Arc<Slot>> {
        let mut others = self.others();
        if let Some(slot) = others.get(name) {
            return Ok(slot.clone());
        }
        if others.len() >= MAX_TENANTS {
            // One that cannot be opened leaves its place to others.
            others.retain(|_, slot| slot.open.get().is_some() || Arc::strong_count(slot) > 1);
        }
        if others.len() >= MAX_TENANTS {
            return Err(ApiError::unavailable(format!("{MAX_TENANTS} tenants are open already")));
        }
        Ok(others.entry(name.to_owned()).or_default().clone())
    }

    /// What keeps stores from taking lines, or kept them a moment ago, by the names of their tenants, for everybody's eyes; the own
    /// store's comes first.
    pub fn troubles(&self) -> Vec<(String, &'static str)> {
        let now = self.env.clock.monotonic();
        let of_slot = |name: &String, slot: &Slot| {
            let trouble = match slot.open.get() {
                Some(tenant) => tenant.trouble(),
                // While it is being opened it is in no trouble yet.
                None => slot.opening.try_lock().ok().and_then(|failed| {
                    let failed = failed.as_ref().filter(|failed| now < failed.until + FAILING_FOR);
                    failed.map(|failed| failed.kind)
                }),
            };
            trouble.map(|kind| (name.clone(), kind))
        };
        let own = self.own.trouble().map(|kind| (String::new(), kind));
        let others = self.others();
        own.into_iter().chain(others.iter().filter_map(|(name, slot)| of_slot(name, slot))).collect()
    }

    /// Whether any store took lines a moment ago, and is in no trouble.
    pub fn any_takes(&self) -> bool {
        self.all().iter().any(|tenant| tenant.takes())
    }

    /// All that are open.
    pub fn all(&self) -> Vec<Arc<Tenant>> {
        let others = self.others();
        std::iter::once(&self.own)
            .chain(others.values().filter_map(|slot| slot.open.get()))
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use futures_util::FutureExt;

    fn tenants(dir: &Path) -> Arc<Tenants> {
        Arc::new(Tenants::open(&Env::os(), dir, &Settings::default().complete()).unwrap())
    }

    #[tokio::test]
    async fn nobody_waits_for_another_tenants_store_to_open() {
        let dir = tempfile::tempdir().unwrap();
        let tenants = tenants(dir.path());
        let is_opening = tenants.slot("slow").unwrap().opening.clone().lock_owned().await;
        let mut slow = Box::pin(tenants.of(Some("slow")));
        assert!((&mut slow).now_or_never().is_none());
        assert_eq!(tenants.of(Some("quick")).await.unwrap().name, "quick");
        assert_eq!(tenants.all().len(), 2);
        assert!((&mut slow).now_or_never().is_none());
        drop(is_opening);
        assert_eq!(slow.await.unwrap().name, "slow");
        for tenant in tenants.all() {
            tenant.close().unwrap();
        }
    }

    #[tokio::test]
    async fn a_store_that_took_lines_a_moment_ago_takes_them() {
        let dir = tempfile::tempdir().unwrap();
        let tenants = tenants(dir.path());
        let shop = tenants.of(Some("shop")).await.unwrap();
        assert!(!tenants.any_takes(), "nobody has sent anything");
        let batch = || {
            let (mut batch, mut entry) = (duramen::Batch::new(), duramen::EntryBuf::new([""; 0]));
            batch.push(entry.start(1).message("m").finish().unwrap()).unwrap();
            batch
        };
        shop.try_append(&mut [batch()]).unwrap();
        assert!(tenants.any_takes() && shop.takes() && !tenants.own().takes());
        for tenant in tenants.all() {
            tenant.close().unwrap();
        }
        assert!(shop.append(&mut [batch()], Duration::ZERO).is_err());
        assert!(!tenants.any_takes(), "it is in trouble");
    }

    #[tokio::test]
    async fn a_store_that_cannot_be_opened_is_tried_again_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let tenants = tenants(dir.path());
        let in_its_place = tenants.dir_of("shop");
        std::fs::create_dir_all(in_its_place.parent().unwrap()).unwrap();
        std::fs::write(&in_its_place, "").unwrap();
        let told = tenants.of(Some("shop")).await.unwrap_err();
        assert_eq!((told.status, told.retry_after_s), (StatusCode::SERVICE_UNAVAILABLE, Some(1)));
        tenants.env.fs.rename(&in_its_place, &dir.path().join("elsewhere")).unwrap();
        assert!(tenants.of(Some("shop")).await.is_err(), "not so soon");
        assert_eq!(tenants.troubles().iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["shop"]);
        if let Some(failed) = &mut *tenants.slot("shop").unwrap().opening.lock().await {
            failed.until = Duration::ZERO;
        }
        assert_eq!(tenants.of(Some("shop")).await.unwrap().name, "shop");
        assert!(tenants.troubles().is_empty());
        for tenant in tenants.all() {
            tenant.close().unwrap();
        }
    }
}
