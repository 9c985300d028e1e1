//! Blocks of a table that cannot be read, where all else of it is written anew: their bytes are kept in quarantine, for a person
//! to look at, and alone, so that nothing else of the table stays with them.

use super::Keeper;
use crate::error::Result;
use crate::store::flush::COLUMN_CODEC_ID;
use crate::store::shared::Shared;
use crate::store::table_facts::TableFacts;
use duramen_engine::Error as EngineError;
use duramen_engine::io::OpenMode;
use duramen_engine::manifest::TableMeta;
use duramen_engine::sstable::{Part, Table};
use std::collections::BTreeMap;

/// By their places in the table; why.
pub(super) type DamagedBlocks = BTreeMap<usize, String>;

impl Keeper {
    /// All blocks of a table that cannot be read, which a damaged filter does not keep anybody from; reads every byte.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn damaged_blocks(&self, meta: &TableMeta) -> Result<DamagedBlocks> {
        let path = self.shared.layout.resolve(&meta.path);
        let damage = Table::verify(&self.shared.env, &path)?.damage.into_iter();
        let of_data = damage.filter(|damage| damage.part != Part::Filter);
        Ok(of_data.filter_map(|damage| Some((damage.block?, damage.detail))).collect())
    }

    /// Keeps the bytes of blocks of a table that goes, and says where.
    ///
    /// # Errors
    /// What the file system said.
    pub(super) fn set_blocks_aside(&self, meta: &TableMeta, blocks: &DamagedBlocks) -> Result<Vec<String>> {
        let Shared { env, layout, .. } = &*self.shared;
        let path = layout.resolve(&meta.path);
        let table = Table::open(env, &path, COLUMN_CODEC_ID)?;
        let file = env.fs.open(&path, OpenMode::Read).map_err(EngineError::io("open", &path))?;
        let facts = TableFacts::decode(&meta.user)?;
        let mut told = Vec::new();
        for (&block, why) in blocks {
            let Some(range) = table.block_range(block) else { continue };
            let mut bytes = vec![0; usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0)];
            file.read_exact_at(&mut bytes, range.start).map_err(EngineError::io("read", &path))?;
            let to = self.free_in_quarantine(&format!("{}.block{block}", meta.path.replace('/', "-")))?;
            let kept = env.fs.open(&to, OpenMode::CreateNew).map_err(EngineError::io("create", &to))?;
            kept.write_all_at(&bytes, 0).map_err(EngineError::io("write", &to))?;
            kept.sync_data().map_err(EngineError::io("sync", &to))?;
            let rows = facts.blocks.get(block).map_or(0, |block| block.rows);
            told.push(format!(
                "{}: block {block}: {why}; its {rows} lines, whichever they are, were moved to quarantine as they are ({}), and \
                 what is whole of the table was written anew",
                meta.path,
                to.file_name().unwrap_or_default().display()
            ));
        }
        self.sync_quarantine()?;
        told.iter().for_each(|told| self.shared.incident(told));
        Ok(told)
    }
}
