//! Which fields a table's blocks have, and of fields of few values, how many rows have each: kept with the table, so that a
//! block need not be opened to be passed over, or only to be counted.
//!
//! ```text
//! property:   method u8 (0 stored, 1 zstd), plain_len varint, bytes
//! plain:
//!   blocks    count varint
//!   fields    count varint, then each, ascending by name: name (counted), body (counted)
//! body:       values: count varint, then each (counted); then of each block, up to the last that has the field, a varint:
//!             0: no row has it; 1: it is not told; otherwise one more than how many of the values rows of it have, and of
//!             each its number and how many rows, varints. All other rows have none
//! ```
//!
//! Of a field that makes streams, nothing is told of the blocks in which it does: `table_streams` tells its values.
//! A query asks for few of the fields: so each can be found, and is read, by itself.

use super::FieldSummary;
use super::bytes::{Reader, bad, put_bytes, put_varint};
use super::compress::{Zstd, unpacked};
use crate::error::Result;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The most bytes of fields that a table remembers, before compression. Of a table with more, it is not told how many rows have
/// which value of those fields of which that would take most; if that is not enough, blocks tell theirs when they are opened.
pub const MAX_TABLE_FIELDS_BYTES: usize = 256 << 10;
/// And the most of a table of few lines: one byte of so many of theirs, for it is soon opened…
const RAW_BYTES_A_BYTE: u64 = 512;
/// …but so many in any case.
const LEAST_TABLE_FIELDS_BYTES: usize = 1 << 10;
/// The most values that a field may have in a block for them to be told.
pub(crate) const MAX_FEW_VALUES: usize = 16;
/// The longest value that is told, in bytes.
pub(crate) const MAX_FEW_VALUE_BYTES: usize = 64;

const ABSENT: u64 = 0;
const NOT_TOLD: u64 = 1;

/// Texts, and how many rows have each.
pub type FewValues = Vec<(Arc<str>, u64)>;

/// Collects the fields of a table while its blocks are written.
#[derive(Debug, Default)]
pub(crate) struct TableFieldsBuilder {
    fields: BTreeMap<String, OfField>,
    blocks: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct OfField {
    /// By text, in which order they came.
    values: BTreeMap<Arc<str>, u64>,
    texts: Vec<u8>,
    /// What is told of each block.
    told: Vec<u8>,
    /// The same, of each block a byte, without values.
    without_values: Vec<u8>,
    /// Whether it is no longer told how many rows have which value, which would take too much.
    forgets_values: bool,
}

impl OfField {
    /// Tells of the block of this number.
    fn tell(&mut self, block: usize, few: Option<&FewValues>) {
        // A field that a damaged directory names twice is told once.
        let Some(blocks) = block.checked_sub(self.without_values.len()) else { return };
        self.told.resize(self.told.len() + blocks, ABSENT as u8);
        self.without_values.resize(block, ABSENT as u8);
        let few = few.filter(|_| !self.forgets_values);
        self.without_values.push(NOT_TOLD as u8);
        let Some(few) = few else { return put_varint(&mut self.told, NOT_TOLD) };
        put_varint(&mut self.told, few.len() as u64 + 1);
        for (text, rows) in few {
            let next = self.values.len() as u64;
            let number = *self.values.entry(text.clone()).or_insert_with(|| {
                put_bytes(&mut self.texts, text.as_bytes());
                next
            });
            put_varint(&mut self.told, number);
            put_varint(&mut self.told, *rows);
        }
    }

    fn bytes(&self) -> usize {
        self.texts.len() + self.told.len()
    }

    /// How many bytes less it takes if values are forgotten.
    fn bytes_of_values(&self) -> usize {
        self.bytes() - self.without_values.len()
    }

    fn forget_values(&mut self) {
        self.values.clear();
        self.texts.clear();
        self.told.clone_from(&self.without_values);
        self.forgets_values = true;
    }
}

impl TableFieldsBuilder {
    /// Adds the next block: its fields, and the names of those that make streams.
    pub(crate) fn add_block(&mut self, fields: &[FieldSummary], labels: &[String]) {
        let block = self.blocks;
        self.blocks += 1;
        let of_fields = fields.iter().filter(|field| labels.binary_search(&field.name).is_err());
        let of_fields = of_fields.map(|field| (&field.name, field.few_values.as_ref()));
        for (name, few) in of_fields.chain(labels.iter().map(|name| (name, None))) {
            if self.bytes > MAX_TABLE_FIELDS_BYTES
                && !self.make_room(MAX_TABLE_FIELDS_BYTES / 4 * 3, MAX_TABLE_FIELDS_BYTES)
            {
                return;
            }
            if !self.fields.contains_key(name) {
                self.bytes += name.len() + 8;
                self.fields.insert(name.clone(), OfField::default());
            }
            if let Some(of_field) = self.fields.get_mut(name) {
                self.bytes -= of_field.bytes();
                of_field.tell(block, few);
                self.bytes += of_field.bytes();
            }
        }
    }

    /// Forgets values until so many `wanted` bytes are left, of those fields first of which they take most. Says whether there
    /// are no more than `most`.
    fn make_room(&mut self, wanted: usize, most: usize) -> bool {
        while self.bytes > wanted {
            let largest = self.fields.values_mut().max_by_key(|field| field.bytes_of_values());
            match largest.filter(|field| field.bytes_of_values() > 0) {
                Some(field) => {
                    self.bytes -= field.bytes_of_values();
                    field.forget_values();
                }
                None => return self.bytes <= most,
            }
        }
        true
    }

    /// The property of a table of lines of so many bytes, unless that is too much.
    ///
    /// # Errors
    /// What zstd says, which is a fault of the program.
    pub(crate) fn finish(&mut self, raw_bytes: u64, zstd: &mut Zstd) -> Result<Option<Vec<u8>>> {
        let share = usize::try_from(raw_bytes / RAW_BYTES_A_BYTE).unwrap_or(usize::MAX);
        let most = share.clamp(LEAST_TABLE_FIELDS_BYTES, MAX_TABLE_FIELDS_BYTES);
        if !self.make_room(most, most) {
            return Ok(None);
        }
        let mut plain = Vec::new();
        put_varint(&mut plain, self.blocks as u64);
        put_varint(&mut plain, self.fields.len() as u64);
        for (name, of_field) in &self.fields {
            let mut body = Vec::new();
            put_varint(&mut body, of_field.values.len() as u64);
            body.extend_from_slice(&of_field.texts);
            body.extend_from_slice(&of_field.told);
            put_bytes(&mut plain, name.as_bytes());
            put_bytes(&mut plain, &body);
        }
        if plain.len() > MAX_TABLE_FIELDS_BYTES { Ok(None) } else { zstd.packed(&plain).map(Some) }
    }
}

/// The fields of a table.
#[derive(Debug)]
pub(crate) struct TableFields {
    plain: Vec<u8>,
    blocks: usize,
    /// Ascending by name.
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: Box<str>,
    body: Range<usize>,
    /// What is told of it; nothing if its body makes no sense.
    told: OnceLock<Option<Told>>,
}

/// Numbers of values, and how many rows have each.
type RowsOfValues = Box<[(u32, u64)]>;

/// What is told of a field.
#[derive(Debug)]
struct Told {
    values: Vec<Arc<str>>,
    /// Of each block, if it is told; of those at the end, no row has any.
    blocks: Vec<Option<RowsOfValues>>,
}

impl Told {
    fn read(body: &[u8], blocks: usize) -> Result<Self> {
        let mut r = Reader::new(body);
        let count = r.count(r.remaining())?;
        let values = (0..count).map(|_| r.str().map(Arc::from)).collect::<Result<Vec<_>>>()?;
        let mut told = Vec::new();
        while r.remaining() > 0 {
            if told.len() == blocks {
                return Err(bad("more blocks are told of than there are"));
            }
            told.push(match r.varint()? {
                ABSENT => Some(Box::default()),
                NOT_TOLD => None,
                more => {
                    let few = (1..more).map(|_| {
                        let number = r.count(values.len().saturating_sub(1))?;
                        Ok((number as u32, r.varint()?))
                    });
                    Some(few.collect::<Result<_>>()?)
                }
            });
        }
        let are_known = told.iter().flatten().flatten().all(|&(number, _)| (number as usize) < values.len());
        if are_known { Ok(Self { values, blocks: told }) } else { Err(bad("there is no such value")) }
    }
}

impl TableFields {
    /// Reads the property. What is told of a field is read when it is asked for; if that makes no sense, nothing is.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if it makes no sense.
    pub(crate) fn decode(property: &[u8]) -> Result<Self> {
        let plain = unpacked(property, MAX_TABLE_FIELDS_BYTES)?;
        let mut r = Reader::new(&plain);
        let blocks = r.count(u32::MAX as usize)?;
        let mut fields: Vec<Field> = Vec::new();
        for _ in 0..r.count(plain.len())? {
            let (name, body) = (r.str()?, r.bytes()?);
            if fields.last().is_some_and(|last| *last.name >= *name) {
                return Err(bad("its fields are not in order"));
            }
            let end = plain.len() - r.remaining();
            fields.push(Field { name: name.into(), body: end - body.len()..end, told: OnceLock::new() });
        }
        if r.remaining() > 0 {
            return Err(bad("there is more than its fields"));
        }
        Ok(Self { plain, blocks, fields })
    }

    /// The values that rows of a block have in a field, if they are told; all other rows, of so many, have none.
    pub(crate) fn of_block(&self, name: &str, block: usize, rows: u64) -> Option<FewValues> {
        if block >= self.blocks {
            return None;
        }
        let Ok(at) = self.fields.binary_search_by(|field| (*field.name).cmp(name)) else {
            return Some(Vec::new());
        };
        let Field { body, told, .. } = &self.fields[at];
        let read = || Told::read(self.plain.get(body.clone())?, self.blocks).ok();
        let told = told.get_or_init(read).as_ref()?;
        let Some(of_block) = told.blocks.get(block) else { return Some(Vec::new()) };
        let few = of_block.as_ref()?.iter();
        let few: FewValues = few
            .filter_map(|&(number, rows)| Some((told.values.get(number as usize)?.clone(), rows)))
            .collect();
        let all = few.iter().fold(0u64, |sum, (_, rows)| sum.saturating_add(*rows));
        (all <= rows).then_some(few)
    }
}

/// Reads a property and all that it tells. Panics if that are more rows than a block has.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn look_at_all(property: &[u8]) {
    let Ok(table) = TableFields::decode(property) else { return };
    for name in table.fields.iter().map(|field| &*field.name).chain(["none"]) {
        for block in 0..table.blocks.min(1 << 10) {
            let few = table.of_block(name, block, 1 << 20).unwrap_or_default();
            assert!(few.iter().map(|(_, rows)| rows).sum::<u64>() <= 1 << 20);
        }
        assert!(table.of_block(name, table.blocks, 1).is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValueKind;

    fn field(name: &str, few: Option<&[(&str, u64)]>) -> FieldSummary {
        let few_values = few.map(|few| few.iter().map(|&(text, rows)| (text.into(), rows)).collect());
        FieldSummary { name: name.into(), rows: 9, kind: ValueKind::String, stored_bytes: 0, few_values }
    }

    fn property(blocks: &[(Vec<FieldSummary>, &[&str])]) -> Option<Vec<u8>> {
        property_of(blocks, u64::MAX)
    }

    /// Of a table of lines of so many bytes.
    fn property_of(blocks: &[(Vec<FieldSummary>, &[&str])], raw_bytes: u64) -> Option<Vec<u8>> {
        let mut builder = TableFieldsBuilder::default();
        for (fields, labels) in blocks {
            builder.add_block(fields, &labels.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        }
        builder.finish(raw_bytes, &mut Zstd::of_level(3)).unwrap()
    }

    fn some() -> Vec<u8> {
        let levels = field("level", Some(&[("info", 7), ("error", 1)]));
        property(&[
            (vec![levels, field("user", None)], &["app"]),
            (vec![field("app", Some(&[("shop", 2)])), field("user", Some(&[("", 1)]))], &[]),
            (vec![field("level", Some(&[("error", 9), ("warn", 1)]))], &["user"]),
        ])
        .unwrap()
    }

    #[test]
    fn fields_come_back_and_what_is_not_told_is_not() {
        let table = TableFields::decode(&some()).unwrap();
        let of = |name: &str, block| {
            let few = table.of_block(name, block, 10)?;
            Some(few.iter().map(|(text, rows)| format!("{text}={rows}")).collect::<Vec<_>>().join(","))
        };
        assert_eq!(of("level", 0).unwrap(), "info=7,error=1");
        assert_eq!(of("level", 1).unwrap(), "", "no row has it");
        assert_eq!(of("level", 2).unwrap(), "error=9,warn=1");
        assert_eq!(table.of_block("level", 2, 9), None, "the manifest says that there are fewer rows");
        assert_eq!([0, 1, 2].map(|block| of("user", block)), [None, Some("=1".into()), None]);
        assert_eq!(of("app", 0), None, "a label");
        assert_eq!((of("app", 1).unwrap(), of("app", 2).unwrap()), ("shop=2".into(), String::new()));
        assert_eq!((of("other", 0).unwrap(), of("other", 3)), (String::new(), None));
    }

    #[test]
    fn a_table_of_too_many_fields_does_not_tell_them() {
        let of = |count: usize| (0..count).map(|n| field(&format!("{n:0100}"), None)).collect::<Vec<_>>();
        assert!(property(&[(of(2_000), &[]), (of(2_000), &[])]).is_some());
        assert!(property(&[(of(3_000), &[]), (of(3_000), &[])]).is_none());
    }

    #[test]
    fn a_table_of_few_lines_tells_less() {
        let values: Vec<_> = (0..9).map(|n| format!("a value of some length, number {n}")).collect();
        let values: Vec<_> = values.iter().map(|value| (value.as_str(), 1)).collect();
        let level = || field("level", Some(&[("info", 7), ("error", 1)]));
        let fields = (0..9).map(|n| field(&format!("field {n}"), Some(&values))).chain([level()]);
        let block = [(fields.collect(), &[][..])];
        let told = |raw_bytes: u64| {
            let table = TableFields::decode(&property_of(&block, raw_bytes).unwrap()).unwrap();
            let is_told = |name: &str| table.of_block(name, 0, 10).is_some();
            let others = (0..9).filter(|n| is_told(&format!("field {n}"))).count();
            (is_told("level"), others)
        };
        let bytes = |bytes: usize| bytes as u64 * RAW_BYTES_A_BYTE;
        assert_eq!([told(0), told(bytes(2048)), told(bytes(4096))], [(true, 2), (true, 5), (true, 9)]);
        let names = || (0..20).map(|n| field(&format!("{n:0100}"), None)).collect::<Vec<_>>();
        assert!(property_of(&[(names(), &[])], 0).is_none());
        assert!(property_of(&[(names(), &[])], bytes(4096)).is_some());
    }

    #[test]
    fn what_takes_most_is_forgotten_first() {
        let block = |number: usize| {
            let many = |n: usize| (format!("value {n} of block {number}, and so on and so on"), 1);
            let many: Vec<_> = (0..9).map(many).collect();
            let many: Vec<_> = many.iter().map(|(text, rows)| (text.as_str(), *rows)).collect();
            let level = field("level", Some(&[("info", 7), ("error", 1)]));
            let even = number.is_multiple_of(2).then(|| field("path", Some(&many)));
            (even.into_iter().chain([level, field("user", Some(&many))]).collect(), &[][..])
        };
        let blocks: Vec<_> = (0..1000).map(block).collect();
        let table = TableFields::decode(&property(&blocks).unwrap()).unwrap();
        for number in [0, 1, 998, 999] {
            assert_eq!(table.of_block("level", number, 10).unwrap().len(), 2);
            assert_eq!(table.of_block("user", number, 10), None);
            let path = table.of_block("path", number, 10).unwrap();
            assert_eq!(
                path.len(),
                if number % 2 == 0 { 9 } else { 0 },
                "there is room for it without the users"
            );
        }
        let few = TableFields::decode(&property(&blocks[..50]).unwrap()).unwrap();
        assert!([0, 49].iter().all(|&number| few.of_block("user", number, 10).unwrap().len() == 9));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(0u8..5, 0..60), flip: (usize, u8),
        ) {
            let mut plain = vec![0];
            put_bytes(&mut plain, &bytes);
            let mut whole = some();
            let at = flip.0 % whole.len();
            whole[at] ^= flip.1;
            for property in [plain, whole] {
                look_at_all(&property);
            }
        }
    }
}
