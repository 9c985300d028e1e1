//! What the manifest remembers of a table, so that a query can choose blocks without opening one.

use crate::error::{Error, Result};
use crate::store::flush::ID_PROPERTY;
use duramen_engine::Error as EngineError;
use duramen_engine::manifest::TableMeta;
use duramen_engine::sstable::Table;
use minicbor::{Decode, Encode};
use std::sync::atomic::AtomicBool;

/// The log store's facts about a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct TableFacts {
    /// Bytes of the lines that became its rows.
    #[n(0)]
    pub(crate) raw_bytes: u64,
    /// Its blocks, in the table's order.
    #[n(1)]
    pub(crate) blocks: Vec<BlockFacts>,
    /// Which retention classes its rows are of, if that was looked at.
    #[n(2)]
    pub(crate) classes: Option<Classes>,
    /// Whether its blocks were cut from rows enough, some of which may be in other tables; nothing if it is as its own size
    /// says.
    #[n(3)]
    pub(crate) is_well_cut: Option<bool>,
    /// What its file has as [`ID_PROPERTY`](crate::store::flush::ID_PROPERTY), and no other table's; nothing of tables that were
    /// written before there was one.
    #[n(4)]
    pub(crate) id: Option<u64>,
}

/// The retention classes of a table's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Classes {
    /// By which rules: with others, this says nothing.
    #[n(0)]
    pub(crate) id: u64,
    /// Each class that rows are of, ascending.
    #[n(1)]
    pub(crate) parts: Vec<ClassPart>,
}

/// The rows of one class in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct ClassPart {
    /// The number of the rule that they have, or of rules, if none fits them.
    #[n(0)]
    pub(crate) class: u32,
    #[n(1)]
    pub(crate) rows: u64,
    #[n(2)]
    pub(crate) max_time: i64,
}

/// A block of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct BlockFacts {
    #[n(0)]
    pub(crate) rows: u64,
    #[n(1)]
    pub(crate) min_time: i64,
    #[n(2)]
    pub(crate) max_time: i64,
}

impl TableFacts {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        // Writing to a Vec cannot fail.
        let _infallible = minicbor::encode(self, &mut out);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        minicbor::decode(bytes).map_err(|e| Error::decode("a table's facts", e))
    }

    pub(crate) fn rows(&self) -> u64 {
        self.blocks.iter().fold(0, |sum, block| sum.saturating_add(block.rows))
    }

    /// Its classes, if they are by these rules, and say something of every row.
    pub(crate) fn classes_by(&self, id: u64) -> Option<&[ClassPart]> {
        let classes = self.classes.as_ref().filter(|classes| classes.id == id)?;
        let rows = classes.parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.rows));
        (rows == self.rows()).then_some(&classes.parts)
    }

    /// Its classes, if that is one: then what is left of the table is of that class. Of several, it is not known how many
    /// rows of each are left.
    pub(crate) fn only_class(&self) -> Option<Classes> {
        self.classes.clone().filter(|classes| classes.parts.len() == 1)
    }

    pub(crate) fn time_range(&self) -> Option<(i64, i64)> {
        let min = self.blocks.iter().map(|b| b.min_time).min()?;
        let max = self.blocks.iter().map(|b| b.max_time).max()?;
        Some((min, max))
    }
}

/// A time as bytes that sort as times do: the key of a block.
pub(crate) fn time_key(time_ns: i64) -> Vec<u8> {
    ((time_ns as u64) ^ (1 << 63)).to_be_bytes().to_vec()
}

/// The time that [`time_key`] made a key of.
pub(crate) fn time_of(key: &[u8]) -> Option<i64> {
    key.try_into().ok().map(|key| (u64::from_be_bytes(key) ^ (1 << 63)) as i64)
}

/// A table, as the manifest knows it: of that, what stays as long as the table does.
#[derive(Debug)]
pub(crate) struct KnownTable {
    pub(crate) number: u64,
    pub(crate) path: String,
    pub(crate) file_bytes: u64,
    pub(crate) blocks: Vec<BlockFacts>,
    /// The earliest and the latest time stamp of its rows.
    pub(crate) times: (i64, i64),
    /// What only its file has.
    id: Option<u64>,
    /// Whether its file was seen.
    pub(crate) was_there: AtomicBool,
}

impl KnownTable {
    /// # Errors
    /// [`Error::Decode`] if the manifest's facts make no sense.
    pub(crate) fn of(meta: &TableMeta) -> Result<Self> {
        let facts = TableFacts::decode(&meta.user)?;
        Ok(Self {
            number: meta.number,
            path: meta.path.clone(),
            file_bytes: meta.file_bytes,
            times: facts.time_range().unwrap_or((i64::MAX, i64::MIN)),
            id: facts.id,
            was_there: AtomicBool::new(false),
            blocks: facts.blocks,
        })
    }

    /// Whether a file that has its name and is whole is this table. A backup's file of the same name, and what a restored store
    /// and its original wrote after they parted, may be another one, even of the same length.
    ///
    /// # Errors
    /// Corruption, if it is not.
    pub(crate) fn check_is_it(&self, found: &Table) -> Result<()> {
        let is_not = |detail: String| Err(EngineError::corruption(found.path(), 0, detail).into());
        let bytes = found.file_bytes();
        if bytes != self.file_bytes {
            return is_not(format!("it has {bytes} bytes, the manifest says {}", self.file_bytes));
        }
        let id = found.property(ID_PROPERTY).and_then(|id| id.try_into().ok()).map(u64::from_le_bytes);
        // Where neither has one, the blocks tell all that can be told.
        let has_its_blocks = || {
            found.blocks().len() == self.blocks.len()
                && found.blocks().iter().zip(&self.blocks).all(|(found, known)| {
                    found.entries == known.rows
                        && found.min_key == time_key(known.min_time)
                        && found.max_key == time_key(known.max_time)
                })
        };
        // An older version that wrote these facts anew has left it out.
        if (self.id.is_none() || id == self.id) && has_its_blocks() {
            return Ok(());
        }
        is_not("it is another table than the one that the manifest names".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_and_keys_sort() {
        let facts = TableFacts {
            raw_bytes: 7,
            blocks: vec![BlockFacts { rows: 3, min_time: -5, max_time: 9 }],
            ..TableFacts::default()
        };
        assert_eq!(TableFacts::decode(&facts.encode()).unwrap(), facts);
        assert_eq!(facts.encode()[0], 0x82, "as before there were classes");
        let part = ClassPart { class: 1, rows: 3, max_time: 9 };
        let with_classes = TableFacts { classes: Some(Classes { id: 5, parts: vec![part] }), ..facts };
        assert_eq!(TableFacts::decode(&with_classes.encode()).unwrap(), with_classes);
        assert!(TableFacts::decode(b"nonsense").is_err());
        let huge = BlockFacts { rows: u64::MAX, min_time: 0, max_time: 0 };
        let damaged = TableFacts { raw_bytes: 0, blocks: vec![huge; 2], ..TableFacts::default() };
        assert_eq!(TableFacts::decode(&damaged.encode()).unwrap().rows(), u64::MAX);
        let times = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(times.windows(2).all(|t| time_key(t[0]) < time_key(t[1])));
        assert!(times.iter().all(|&time| time_of(&time_key(time)) == Some(time)));
        assert_eq!(time_of(b"short"), None);
    }
}
