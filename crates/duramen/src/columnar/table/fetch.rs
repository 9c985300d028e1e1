//! Asking for what will be read before it is.

use super::super::directory::{ColumnEntry, Form};
use super::super::streams::ALL;
use super::TableBlock;
use crate::block::names;
use std::collections::BTreeSet;

impl TableBlock {
    /// [`crate::block::Block::will_read`]. What the texts of a field refer to in others is not known before they are read.
    pub(super) fn fetch(&self, wants: &dyn Fn(&str) -> bool) {
        let directory = &self.directory;
        let of_labels = wants(names::STREAM) || directory.label_names.iter().any(|name| wants(name));
        let mut bundles = BTreeSet::new();
        // Rows lead to slots by way of the structure, unless they are taken as they are stored.
        if !self.unordered || (of_labels && self.told.is_none()) || wants(names::TIME) {
            bundles.insert(directory.structure.bundle);
        }
        if of_labels || self.told.is_none() && (!self.unordered || wants(names::TIME)) {
            bundles.insert(directory.label_sets.bundle);
        }
        let is_of_message = |column: &ColumnEntry| column.form == Form::Alias && wants(&column.name);
        let wants_message = wants(names::MESSAGE) || directory.columns.iter().any(is_of_message);
        for (i, column) in directory.columns.iter().enumerate() {
            let is_wanted = wants(&column.name) || (wants_message && column.name == names::MESSAGE);
            if !is_wanted || self.columns[i].peek().is_some() {
                continue;
            }
            let map = column.map.filter(|&map| self.maps[map].peek().is_none());
            bundles.extend(map.map(|map| directory.maps[map].bundle));
            bundles.extend(column.form.location().map(|at| at.bundle));
        }
        // What is there does not ask for what it was made with.
        let is_missing = |bundle: &usize| {
            self.bundles.get(*bundle).is_some_and(|bundle| !bundle.peek().is_some_and(|read| read.has(ALL)))
        };
        bundles.retain(is_missing);
        let needs = |bundle| directory.needs.get(bundle).copied().unwrap_or_default().bundles();
        bundles.extend(bundles.clone().iter().flat_map(needs));
        for bundle in bundles.into_iter().filter(is_missing) {
            self.source.will_read(directory.bundles[bundle]);
        }
    }
}
