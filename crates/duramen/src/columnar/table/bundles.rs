//! Which bundles stay decompressed: those that several columns share. What one column has for itself goes with it.

use super::super::directory::Location;
use super::super::streams::{Before, Bundle, Part};
use super::{TableBlock, get_or_make};
use crate::error::Result;
use std::ops::Deref;

/// A bundle that was read.
pub(super) enum ReadBundle<'a> {
    /// It stays with the block.
    Kept(&'a Bundle),
    /// Read for the one part that it has.
    Own(Bundle),
}

impl Deref for ReadBundle<'_> {
    type Target = Bundle;

    fn deref(&self) -> &Bundle {
        match self {
            Self::Kept(bundle) => bundle,
            Self::Own(bundle) => bundle,
        }
    }
}

impl ReadBundle<'_> {
    /// Whether nobody else reads its text, all of which is that of the part at `at`.
    pub(super) fn is_only_for(&self, at: &Location) -> bool {
        matches!(self, Self::Own(_)) && self.text().len() == at.lens[3]
    }

    /// Its text, without a copy if it is its own.
    pub(super) fn into_text(self) -> Vec<u8> {
        match self {
            Self::Kept(bundle) => bundle.text().to_vec(),
            Self::Own(bundle) => bundle.into_text(),
        }
    }
}

impl TableBlock {
    pub(super) fn bundle(&self, i: usize) -> Result<&Bundle> {
        get_or_make(&self.bundles[i], || self.read_bundle(i))
    }

    fn read_bundle(&self, i: usize) -> Result<Bundle> {
        let chunk = self.source.read_chunk(self.directory.bundles[i])?;
        let Some(&needs) = self.directory.needs.get(&i) else {
            return Bundle::read(&chunk, Before::default());
        };
        let base = needs.base.map(|base| self.needed(base)).transpose()?;
        let key = needs.key.filter(|&key| needs.base != Some(key)).map(|key| self.needed(key)).transpose()?;
        let (base, key) = (base.as_deref(), key.as_deref());
        Bundle::read(&chunk, Before { base, key: key.or(base.filter(|_| needs.key.is_some())) })
    }

    /// A bundle that another needs. It is not kept for that.
    fn needed(&self, i: usize) -> Result<ReadBundle<'_>> {
        Ok(match self.bundles[i].get() {
            Some(kept) => ReadBundle::Kept(kept),
            None => ReadBundle::Own(self.read_bundle(i)?),
        })
    }

    /// The bundle with a part. One with no other part is not kept if all that is in it is decoded and kept.
    pub(super) fn bundle_of(&self, at: &Location, is_for_all: bool) -> Result<ReadBundle<'_>> {
        if is_for_all && !self.is_shared(at) {
            return Ok(ReadBundle::Own(self.read_bundle(at.bundle)?));
        }
        Ok(ReadBundle::Kept(self.bundle(at.bundle)?))
    }

    /// Calls `f` with the part.
    pub(super) fn with_part<T>(
        &self,
        at: &Location,
        is_for_all: bool,
        f: impl FnOnce(&mut Part<'_>) -> Result<T>,
    ) -> Result<T> {
        f(&mut self.bundle_of(at, is_for_all)?.part(&at.starts, &at.lens)?)
    }

    /// Whether it is kept.
    fn is_shared(&self, at: &Location) -> bool {
        self.bundles[at.bundle].get().is_some() || self.are_shared.get(at.bundle) == Some(&true)
    }
}
