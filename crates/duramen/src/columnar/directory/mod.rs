//! The directory of a block: everything a reader needs to find the rest.
//!
//! ```text
//! chunk:      method u8 (0 stored, 1 zstd), plain_len varint, bytes
//! plain:
//!   version u8 = 9
//!   rows varint, min_time zigzag, max_time - min_time varint, raw_bytes varint
//!   bundles     count varint, then each: offset zigzag (from the end of the one before), len varint
//!   filter      0: the table's index leads to the filter. Earlier versions: count varint of parts, then each: offset zigzag
//!               (from the end of the chunk before, the first from that of the last bundle), len varint
//!   grams       0 varint: none; else len varint, offset zigzag (from the end of the last bundle)
//!   structure   location
//!   labels      count varint, then each name (counted), ascending; location of the label sets
//!   maps        count varint, then each: location
//!   columns     count varint, then each:
//!     name (counted)
//!     form u8     0 constant, 1 alias, 2 integers, 3 texts, 4 texts whose grams are in the block's;
//!                 5 and 6: as 3 and 4, and none of the texts is empty;
//!                 7 to 10: as 3 to 6, and the bytes of the texts lie on pages
//!     kind u8     a ValueKind; 128: one byte a value at the start of the part's `bytes`
//!     map varint  0: every slot has a value; n: those of map n-1, and then: values varint
//!     constant    text (counted)
//!     alias       nothing: every value is the message
//!     integers    min zigzag, max - min varint, location
//!     texts       location (3 to 10); then of 7 to 10: pages: count varint, then each: location
//!   needs       count varint, then each: bundle varint, ascending; its base varint, its key varint: 0 none, else 1 more than
//!               the bundle, one before it that needs none. Who decompresses streams of the bundle has those of the base
//!               before (`encode::alone`), and the integers of the key tell most of its own (`keyed`)
//!
//! location = bundle varint, then how long the part is in each of the bundle's four streams: 4 varints.
//! Parts of one bundle follow one another in the order of their locations here.
//! ```
//!
//! A later version may change everything behind its number, but neither the number's place nor the chunk's
//! first two fields: so an older reader can tell that it is too old.
//!
//! What the structure's part holds is drawn in `structure`, what a map's does in `presence`, and what a
//! column's does in `ints`, `leaf` and `template`.
//!
//! | module | one idea |
//! |---|---|
//! | `chunks` | where chunks lie |
//! | `location` | where the parts lie that they hold |
//! | `column` | the entry of a column |
//! | `needs` | which bundles are read before others |

mod chunks;
mod column;
mod location;
mod needs;

pub(crate) use column::{ColumnEntry, Form};
pub(crate) use location::Location;
pub(crate) use needs::Needs;

use super::MAX_ROWS;
use super::bytes::{Reader, bad, put_bytes, put_varint, put_zigzag};
use super::compress::{Zstd, expand};
use super::filter::MAX_PARTS;
use super::streams::{MAX_STREAM_BYTES, STREAMS};
use crate::error::Result;
use chunks::{chunk_after, put_chunks, read_chunks};
use duramen_engine::sstable::ChunkHandle;
use location::{Locations, put_location};
use needs::{put_needs, read_needs};
use std::collections::BTreeMap;
use std::path::Path;

const VERSION: u8 = 9;
/// Where a filter has one part, written as that of grams.
const VERSION_BEFORE_PARTS: u8 = 8;
/// Where no page is written in symbols, and all else is as it is now.
const VERSION_BEFORE_SYMBOLS: u8 = 7;
/// Where no bundle needs another, and all else is as it is now.
const VERSION_BEFORE_NEEDS: u8 = 6;
/// Where decimal fractions of different lengths are texts as any others, and all else is as it is now.
const VERSION_BEFORE_DECIMALS: u8 = 5;
/// Where no texts have pages.
const VERSION_BEFORE_PAGES: u8 = 4;
/// Where it is not known whether a text is empty, and all else is as it is now.
const VERSION_BEFORE_EMPTY: u8 = 3;
/// What has no grams either.
const VERSION_BEFORE_GRAMS: u8 = 2;

/// The directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) rows: usize,
    pub(crate) min_time: i64,
    pub(crate) max_time: i64,
    pub(crate) raw_bytes: u64,
    pub(crate) bundles: Vec<ChunkHandle>,
    /// Of words, in parts, where an earlier version wrote it.
    pub(crate) filter: Vec<ChunkHandle>,
    pub(crate) grams: Option<ChunkHandle>,
    pub(crate) structure: Location,
    /// The names of all stream fields, ascending.
    pub(crate) label_names: Vec<String>,
    pub(crate) label_sets: Location,
    pub(crate) maps: Vec<Location>,
    pub(crate) columns: Vec<ColumnEntry>,
    /// Bundles that need others.
    pub(crate) needs: BTreeMap<usize, Needs>,
}

impl Directory {
    /// Which bundles several parts lie in.
    pub(crate) fn shared_bundles(&self) -> Vec<bool> {
        let mut parts = vec![0u32; self.bundles.len()];
        let of_columns = self.columns.iter().flat_map(|column| column.form.locations());
        for at in [&self.structure, &self.label_sets].into_iter().chain(&self.maps).chain(of_columns) {
            if let Some(parts) = parts.get_mut(at.bundle) {
                *parts += 1;
            }
        }
        parts.into_iter().map(|parts| parts > 1).collect()
    }

    /// Writes the chunk into `out`, which is cleared first.
    pub(crate) fn write(&self, zstd: &mut Zstd, out: &mut Vec<u8>) -> Result<()> {
        let mut p = vec![VERSION];
        put_varint(&mut p, self.rows as u64);
        put_zigzag(&mut p, self.min_time);
        put_varint(&mut p, self.max_time.wrapping_sub(self.min_time) as u64);
        put_varint(&mut p, self.raw_bytes);
        let end = put_chunks(&mut p, 0, &self.bundles);
        put_chunks(&mut p, end, &self.filter);
        put_varint(&mut p, self.grams.map_or(0, |grams| u64::from(grams.len)));
        if let Some(grams) = self.grams {
            put_zigzag(&mut p, grams.offset.wrapping_sub(end) as i64);
        }
        put_location(&mut p, &self.structure);
        put_varint(&mut p, self.label_names.len() as u64);
        self.label_names.iter().for_each(|name| put_bytes(&mut p, name.as_bytes()));
        put_location(&mut p, &self.label_sets);
        put_varint(&mut p, self.maps.len() as u64);
        self.maps.iter().for_each(|at| put_location(&mut p, at));
        put_varint(&mut p, self.columns.len() as u64);
        for column in &self.columns {
            column.write(&mut p);
        }
        put_needs(&mut p, &self.needs);
        out.clear();
        let mut body = Vec::new();
        let method = zstd.append(&p, &mut body)?;
        out.push(method);
        put_varint(out, p.len() as u64);
        out.extend_from_slice(if method == 0 { &p } else { &body });
        Ok(())
    }

    /// Reads the chunk, which lies in the file `path`.
    ///
    /// # Errors
    /// [`duramen_engine::Error::TooNew`] if a later version wrote it, [`crate::Error::Decode`] if it makes no sense.
    pub(crate) fn read(chunk: &[u8], path: &Path) -> Result<Self> {
        let mut r = Reader::new(chunk);
        let method = r.u8()?;
        let plain_len = r.count(MAX_STREAM_BYTES)?;
        let plain = expand(method, r.take(r.remaining())?, plain_len)?;
        let mut r = Reader::new(&plain);
        let version = r.u8()?;
        match version {
            VERSION
            | VERSION_BEFORE_PARTS
            | VERSION_BEFORE_SYMBOLS
            | VERSION_BEFORE_NEEDS
            | VERSION_BEFORE_DECIMALS
            | VERSION_BEFORE_PAGES
            | VERSION_BEFORE_EMPTY
            | VERSION_BEFORE_GRAMS => {}
            0 | 1 => return Err(bad("it is of a format version that is no longer read")),
            newer => {
                let (found, supported) = (u32::from(newer), u32::from(VERSION));
                let path = path.to_path_buf();
                return Err(duramen_engine::Error::TooNew { path, found, supported }.into());
            }
        }
        let rows = r.count(MAX_ROWS)?;
        if rows == 0 {
            return Err(bad("it has no rows"));
        }
        let min_time = r.zigzag()?;
        let max_time = min_time.wrapping_add(r.varint()? as i64);
        let raw_bytes = r.varint()?;
        let (bundles, end) = read_chunks(0, plain.len(), &mut r)?;
        let filter = match version {
            VERSION => read_chunks(end, MAX_PARTS, &mut r)?.0,
            _ => chunk_after(end, &mut r)?.into_iter().collect(),
        };
        let grams = if version == VERSION_BEFORE_GRAMS { None } else { chunk_after(end, &mut r)? };
        let mut locations = Locations { ends: vec![[0; STREAMS]; bundles.len()] };
        let structure = locations.next(&mut r)?;
        let count = r.count(plain.len())?;
        let label_names = (0..count).map(|_| r.str().map(str::to_owned)).collect::<Result<Vec<_>>>()?;
        if label_names.windows(2).any(|w| w[0] >= w[1]) {
            return Err(bad("the names of its stream fields are not in order"));
        }
        let label_sets = locations.next(&mut r)?;
        let maps = (0..r.count(plain.len())?).map(|_| locations.next(&mut r)).collect::<Result<Vec<_>>>()?;
        let count = r.count(plain.len())?;
        // A directory may only claim to have many.
        let mut columns = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            columns.push(ColumnEntry::read(&mut r, rows, maps.len(), &mut locations)?);
        }
        let needs = if version <= VERSION_BEFORE_NEEDS {
            BTreeMap::new()
        } else {
            read_needs(&mut r, bundles.len())?
        };
        Ok(Self {
            rows,
            min_time,
            max_time,
            raw_bytes,
            bundles,
            filter,
            grams,
            structure,
            label_names,
            label_sets,
            maps,
            columns,
            needs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_a_later_version_is_not_taken_for_damage() {
        let chunk = |version: u8| [0, 4, version, 0xff, 0xff, 0xff];
        let error = Directory::read(&chunk(VERSION + 1), Path::new("tables/7.sst")).unwrap_err();
        assert!(!error.is_corruption());
        assert!(matches!(
            &error,
            crate::Error::Engine(duramen_engine::Error::TooNew { found: 10, supported: 9, .. })
        ));
        let text = error.to_string();
        assert!(text.contains("tables/7.sst") && text.contains("use a newer duramen"), "{text}");
        for version in [0, VERSION] {
            assert!(Directory::read(&chunk(version), Path::new("x")).unwrap_err().is_corruption());
        }
    }

    #[test]
    fn a_block_from_before_grams_is_read_as_it_is() {
        let column = |name: &str, form, count| {
            let (kind, map) = (Some(0), (count < 9).then_some(0));
            ColumnEntry { name: name.into(), form, kind, map, count }
        };
        let at = |start| Location { bundle: 0, starts: [start; STREAMS], lens: [5; STREAMS] };
        let directory = Directory {
            rows: 9,
            min_time: -3,
            max_time: 8,
            raw_bytes: 7,
            bundles: vec![ChunkHandle { offset: 64, len: 40 }],
            needs: BTreeMap::new(),
            filter: vec![ChunkHandle { offset: 104, len: 8 }],
            grams: None,
            structure: at(0),
            label_names: vec!["app".into()],
            label_sets: at(5),
            maps: vec![at(10)],
            columns: vec![
                column(
                    "_msg",
                    Form::Texts { at: at(15), in_grams: false, has_empty: true, pages: vec![] },
                    9,
                ),
                column("n", Form::Integers { min: -1, max: 4, at: at(20) }, 3),
                column("same", Form::Alias, 2),
                column("x", Form::Constant("y".into()), 9),
            ],
        };
        let mut chunk = Vec::new();
        directory.write(&mut Zstd::of_level(1), &mut chunk).unwrap();
        assert_eq!(Directory::read(&chunk, Path::new("x")).unwrap(), directory);
        let mut r = Reader::new(&chunk);
        let (method, len) = (r.u8().unwrap(), r.count(1 << 20).unwrap());
        let mut plain = expand(method, r.rest(), len).unwrap();
        // Behind the version, four numbers of a byte each, the only bundle, and the filter's only part.
        let filter = 1 + 4 + (1 + 2 + 1);
        let grams = filter + 2;
        assert_eq!(plain[..=grams + 1], [VERSION, 9, 5, 11, 7, 1, 128, 1, 40, 1, 0, 8, 0]);
        // Before there were parts: its length, and then its offset.
        plain.splice(filter..=grams, [8, 0]);
        let before = [&[VERSION_BEFORE_GRAMS], &plain[1..grams], &plain[grams + 1..]].concat();
        let chunk_of = |plain: &[u8]| [&[0, plain.len() as u8], plain].concat();
        assert!(before.len() < 128);
        assert_eq!(Directory::read(&chunk_of(&before), Path::new("x")).unwrap(), directory);
        // What a form does not tell may be.
        let page = |bundle| Location { bundle, starts: [0; STREAMS], lens: [0, 0, 0, 7] };
        for form in 0..8 {
            let (in_grams, has_empty) = (form & 1 != 0, form & 2 != 0);
            let mut directory = directory.clone();
            let mut pages = Vec::new();
            if form & 4 != 0 {
                pages = vec![page(1), page(2)];
                directory.bundles.extend([104, 140].map(|offset| ChunkHandle { offset, len: 9 }));
            }
            directory.columns[0].form = Form::Texts { at: at(15), in_grams, has_empty, pages };
            directory.needs.extend((form & 4 != 0).then_some((1, Needs { base: Some(0), key: None })));
            directory.write(&mut Zstd::of_level(1), &mut chunk).unwrap();
            assert_eq!(Directory::read(&chunk, Path::new("x")).unwrap(), directory);
        }
        for version in [VERSION_BEFORE_PARTS, VERSION_BEFORE_SYMBOLS] {
            plain[0] = version;
            assert_eq!(Directory::read(&chunk_of(&plain), Path::new("x")).unwrap(), directory);
        }
        assert_eq!(plain.pop(), Some(0), "no needs");
        plain[0] = VERSION_BEFORE_NEEDS;
        assert_eq!(Directory::read(&chunk_of(&plain), Path::new("x")).unwrap(), directory);
        plain[0] = VERSION_BEFORE_EMPTY;
        assert_eq!(Directory::read(&chunk_of(&plain), Path::new("x")).unwrap(), directory);
        // It is not read as what it is not.
        plain[0] = VERSION_BEFORE_GRAMS;
        assert_ne!(Directory::read(&chunk_of(&plain), Path::new("x")).ok(), Some(directory));
    }

    proptest::proptest! {
        #[test]
        fn bytes_of_either_version_are_read_or_refused(
            version in 2u8..=VERSION, bytes in proptest::collection::vec(0u8..8, 0..200), more: Vec<u8>,
        ) {
            let plain = [&[version][..], &bytes, &more].concat();
            let mut chunk = vec![0];
            put_varint(&mut chunk, plain.len() as u64);
            chunk.extend_from_slice(&plain);
            if let Ok(directory) = Directory::read(&chunk, Path::new("x")) {
                proptest::prop_assert!(version > VERSION_BEFORE_GRAMS || directory.grams.is_none());
            }
        }
    }
}
