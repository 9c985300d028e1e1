//! Columns by their names. Blocks of many columns are opened to look for one: an index of numbers is one piece of memory, and
//! names are not there twice.

use super::super::bytes::bad;
use super::super::directory::ColumnEntry;
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// The numbers of columns.
#[derive(Debug)]
pub(super) struct ColumnIndex(HashTable<u32>);

fn hash(name: &str) -> u64 {
    FixedState::default().hash_one(name)
}

impl ColumnIndex {
    /// Of these columns, which are less than 2^32: each took bytes of a directory.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if two have one name.
    pub(super) fn of(columns: &[ColumnEntry]) -> Result<Self> {
        let mut index = HashTable::with_capacity(columns.len());
        let name_of = |number: u32| columns[number as usize].name.as_str();
        for (number, column) in (0..).zip(columns) {
            let is_it = |&other: &u32| name_of(other) == column.name;
            match index.entry(hash(&column.name), is_it, |&other| hash(name_of(other))) {
                Entry::Occupied(_) => return Err(bad("two columns have one name")),
                Entry::Vacant(place) => place.insert(number),
            };
        }
        Ok(Self(index))
    }

    /// The one of the same columns with this name.
    pub(super) fn find(&self, columns: &[ColumnEntry], name: &str) -> Option<usize> {
        let is_it = |&number: &u32| columns.get(number as usize).is_some_and(|column| column.name == name);
        self.0.find(hash(name), is_it).map(|&number| number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::directory::Form;
    use super::*;

    #[test]
    fn columns_are_found_by_their_names() {
        for count in [0, 1, 7, 300] {
            let column = |i: usize| ColumnEntry {
                name: format!("field{i}"),
                form: Form::Constant("x".into()),
                kind: Some(0),
                map: None,
                count: 1,
            };
            let mut columns: Vec<ColumnEntry> = (0..count).map(column).collect();
            let index = ColumnIndex::of(&columns).unwrap();
            for i in 0..count {
                assert_eq!(index.find(&columns, &format!("field{i}")), Some(i));
            }
            assert_eq!(index.find(&columns, &format!("field{count}")), None);
            assert_eq!(index.find(&columns, ""), None);
            columns.extend(columns.last().cloned());
            assert_eq!(ColumnIndex::of(&columns).is_err(), count > 0, "one is there twice");
        }
    }
}
