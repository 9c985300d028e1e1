//! Which fields there are, of which kinds, in how many rows: what `stats` shows, kept with each table.

use crate::columnar;
use crate::entry::MAX_FIELD_NAME_BYTES;
use crate::error::{Error, Result};
use crate::value::ValueKind;
use std::collections::BTreeMap;

/// The most fields a table remembers; what is beyond is still found by queries, only not listed.
pub const MAX_COUNTED_FIELDS: usize = 10_000;

/// The most bytes that the names of so many fields have, and what is told of each.
const MAX_PROPERTY_BYTES: usize = MAX_COUNTED_FIELDS * (MAX_FIELD_NAME_BYTES + 16);

/// How often a field occurs, and as what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldCount {
    /// Rows that have the field.
    pub rows: u64,
    /// The kinds of its values: bit `k` is set if some value has the [`ValueKind`] number `k`.
    pub kinds: u8,
}

impl FieldCount {
    /// The kinds of its values.
    pub fn value_kinds(&self) -> impl Iterator<Item = ValueKind> + use<> {
        let kinds = self.kinds;
        (0..8).filter(move |k| kinds >> k & 1 == 1).filter_map(ValueKind::from_u8)
    }
}

/// Fields by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldCounts {
    /// How often each occurs.
    pub fields: BTreeMap<String, FieldCount>,
}

impl FieldCounts {
    /// Adds another's counts.
    pub fn add(&mut self, other: &FieldCounts) {
        for (name, count) in &other.fields {
            self.add_field(name, *count);
        }
    }

    /// Adds the fields of a block.
    pub(crate) fn add_block(&mut self, fields: &[columnar::FieldSummary]) {
        for field in fields {
            let count = FieldCount { rows: field.rows as u64, kinds: 1 << field.kind as u8 };
            self.add_field(&field.name, count);
        }
    }

    fn add_field(&mut self, name: &str, count: FieldCount) {
        if let Some(mine) = self.fields.get_mut(name) {
            mine.rows += count.rows;
            mine.kinds |= count.kinds;
        } else if self.fields.len() < MAX_COUNTED_FIELDS {
            self.fields.insert(name.to_owned(), count);
        }
    }

    /// CBOR: an array of arrays `[name, rows, kinds]`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let flat: Vec<(&str, u64, u8)> =
            self.fields.iter().map(|(name, count)| (name.as_str(), count.rows, count.kinds)).collect();
        let mut out = Vec::new();
        // Writing to a Vec cannot fail.
        let _infallible = minicbor::encode(flat, &mut out);
        out
    }

    /// Reads a table's property: [`FieldCounts::encode`], packed; tables of older versions have it as it is.
    pub(crate) fn of_property(property: &[u8]) -> Result<Self> {
        const CBOR_ARRAY: u8 = 0x80;
        if property.first().is_some_and(|&first| first >= CBOR_ARRAY) {
            return Self::decode(property);
        }
        Self::decode(&columnar::unpacked(property, MAX_PROPERTY_BYTES)?)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let flat: Vec<(String, u64, u8)> =
            minicbor::decode(bytes).map_err(|e| Error::decode("a table's field counts", e))?;
        Ok(Self {
            fields: flat.into_iter().map(|(name, rows, kinds)| (name, FieldCount { rows, kinds })).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::{BlockEncoder, EncodeOptions};

    #[test]
    fn summaries_add_up_and_come_back() {
        let one = |rows, kinds| FieldCounts { fields: [("a".into(), FieldCount { rows, kinds })].into() };
        let mut sum = one(2, 1);
        sum.add(&one(3, 2));
        assert_eq!(sum, one(5, 3));
        assert_eq!(FieldCounts::decode(&sum.encode()).unwrap(), sum);
        assert_eq!(FieldCounts::of_property(&sum.encode()).unwrap(), sum, "as older versions have it");
        let packed = BlockEncoder::new(EncodeOptions::default()).unwrap().packed(&sum.encode()).unwrap();
        assert_eq!(FieldCounts::of_property(&packed).unwrap(), sum);
        for wrong in [&[][..], &[0], &[0, 9, 1], &[1, 9, 1, 2, 3], &[2, 1, 0], &[0x9f]] {
            assert!(FieldCounts::of_property(wrong).is_err(), "{wrong:?}");
        }
        let kinds: Vec<_> = sum.fields["a"].value_kinds().collect();
        assert_eq!(kinds, [ValueKind::String, ValueKind::Number]);
    }
}
