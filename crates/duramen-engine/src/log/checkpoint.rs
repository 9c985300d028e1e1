//! A store of its own that holds the same.

use super::Inner;
use super::compact::write_live;
use super::format::Identity;
use super::new_file::NewFile;
use super::open::LOG;
use crate::Result;
use crate::kv::{self, EngineKind};
use std::path::Path;

impl Inner {
    pub(super) fn checkpoint(&self, dir: &Path) -> Result<()> {
        kv::checkpoint(&self.env, dir, EngineKind::Log, |tmp| {
            let view = self.view();
            let identity = Identity { store_id: self.env.random.next_u64(), generation: 1 };
            let mut new = NewFile::create(&self.env, tmp.join(LOG), identity)?;
            let base_end = write_live(&view, &self.path, &[view.seq], &mut new)?;
            new.finish((base_end, view.seq), view.seq + 1, self.env.clock.boot_id())?;
            new.keep();
            Ok(())
        })
    }
}
