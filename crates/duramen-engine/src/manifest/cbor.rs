//! State and edit as CBOR (RFC 8949).
//!
//! Each is a map with small integers as keys; an empty list or absent value is left out. A reader skips
//! keys it does not know: they were added, within the same format version, as facts one may ignore.
//!
//! ```text
//! state  {0: store_id, 1: [table...], 2: {writer: through...}, 3: {key: value...}, 4: next_table, 5: version}
//! table  {0: number, 1: path, 2: file_bytes, 3: entries, 4: blocks, 5: min_key, 6: max_key, 7: user}
//! edit   {0: [added table...], 1: [removed number...], 2: [writer, through, ...], 3: [forgotten writer...],
//!         4: [key, value, ...] to set, 5: [key...] to remove, 6: next_table,
//!         7: [live table's number, its new user, ...]}
//! ```
//!
//! Keys, values and `user` are byte strings, the path is a text string, all else unsigned integers.

use super::state::{Edit, State, TableMeta};
use minicbor::decode::{Decoder, Error};
use minicbor::encode::Encoder;

type Encoded = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

/// Encodes a state.
pub(super) fn encode_state(state: &State) -> Vec<u8> {
    to_vec(|e| {
        e.begin_map()?.u8(0)?.u64(state.store_id)?;
        e.u8(1)?;
        encode_tables(e, state.tables.values())?;
        e.u8(2)?.map(state.writers.len() as u64)?;
        for (&writer, &through) in &state.writers {
            e.u64(writer)?.u64(through)?;
        }
        e.u8(3)?.map(state.values.len() as u64)?;
        for (key, value) in &state.values {
            e.bytes(key)?.bytes(value)?;
        }
        e.u8(4)?.u64(state.next_table)?.u8(5)?.u64(state.version)?.end()?;
        Ok(())
    })
}

/// Encodes an edit.
pub(super) fn encode_edit(edit: &Edit) -> Vec<u8> {
    to_vec(|e| {
        e.begin_map()?;
        if !edit.add_tables.is_empty() {
            e.u8(0)?;
            encode_tables(e, edit.add_tables.iter())?;
        }
        encode_list(e, 1, &edit.remove_tables, |e, &number| e.u64(number).map(|_| ()))?;
        encode_list(e, 2, &edit.flushed, |e, &(writer, through)| e.u64(writer)?.u64(through).map(|_| ()))?;
        encode_list(e, 3, &edit.forget_writers, |e, &writer| e.u64(writer).map(|_| ()))?;
        encode_list(e, 4, &edit.set_values, |e, (key, value)| e.bytes(key)?.bytes(value).map(|_| ()))?;
        encode_list(e, 5, &edit.remove_values, |e, key| e.bytes(key).map(|_| ()))?;
        if let Some(next_table) = edit.next_table {
            e.u8(6)?.u64(next_table)?;
        }
        encode_list(e, 7, &edit.set_table_user, |e, (number, user)| e.u64(*number)?.bytes(user).map(|_| ()))?;
        e.end()?;
        Ok(())
    })
}

fn to_vec(write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Encoded) -> Vec<u8> {
    let mut out = Vec::new();
    match write(&mut Encoder::new(&mut out)) {
        Ok(()) => out,
        // Writing to memory does not fail; were it to, the decoder would refuse what came of it.
        Err(_) => Vec::new(),
    }
}

fn encode_list<T>(
    e: &mut Encoder<&mut Vec<u8>>,
    key: u8,
    list: &[T],
    each: impl Fn(&mut Encoder<&mut Vec<u8>>, &T) -> Encoded,
) -> Encoded {
    if list.is_empty() {
        return Ok(());
    }
    e.u8(key)?.begin_array()?;
    for item in list {
        each(e, item)?;
    }
    e.end()?;
    Ok(())
}

fn encode_tables<'a>(e: &mut Encoder<&mut Vec<u8>>, tables: impl Iterator<Item = &'a TableMeta>) -> Encoded {
    e.begin_array()?;
    for table in tables {
        e.map(8)?.u8(0)?.u64(table.number)?.u8(1)?.str(&table.path)?;
        e.u8(2)?.u64(table.file_bytes)?.u8(3)?.u64(table.entries)?.u8(4)?.u64(table.blocks)?;
        e.u8(5)?.bytes(&table.min_key)?.u8(6)?.bytes(&table.max_key)?.u8(7)?.bytes(&table.user)?;
    }
    e.end()?;
    Ok(())
}

/// Decodes a state. Total: fails on anything else than a state, allocates no more than the input holds.
pub(super) fn decode_state(bytes: &[u8]) -> Result<State, Error> {
    let mut d = Decoder::new(bytes);
    let mut state = State::default();
    each_field(&mut d, |d, key| {
        match key {
            0 => state.store_id = d.u64()?,
            1 => each_item(d, |d| {
                let table = decode_table(d)?;
                state.tables.insert(table.number, table);
                Ok(())
            })?,
            2 => {
                for pair in d.map_iter::<u64, u64>()? {
                    let (writer, through) = pair?;
                    state.writers.insert(writer, through);
                }
            }
            3 => {
                for _ in 0..d.map()?.ok_or(Error::message("values of unknown number"))? {
                    let (key, value) = (d.bytes()?.to_vec(), d.bytes()?.to_vec());
                    state.values.insert(key, value);
                }
            }
            4 => state.next_table = d.u64()?,
            5 => state.version = d.u64()?,
            _ => d.skip()?,
        }
        Ok(())
    })?;
    at_end(&d, bytes)?;
    Ok(state)
}

/// Decodes an edit, as totally.
pub(super) fn decode_edit(bytes: &[u8]) -> Result<Edit, Error> {
    let mut d = Decoder::new(bytes);
    let mut edit = Edit::default();
    each_field(&mut d, |d, key| {
        match key {
            0 => each_item(d, |d| {
                edit.add_tables.push(decode_table(d)?);
                Ok(())
            })?,
            1 => each_item(d, |d| {
                edit.remove_tables.push(d.u64()?);
                Ok(())
            })?,
            2 => each_item(d, |d| {
                edit.flushed.push((d.u64()?, d.u64()?));
                Ok(())
            })?,
            3 => each_item(d, |d| {
                edit.forget_writers.push(d.u64()?);
                Ok(())
            })?,
            4 => each_item(d, |d| {
                edit.set_values.push((d.bytes()?.to_vec(), d.bytes()?.to_vec()));
                Ok(())
            })?,
            5 => each_item(d, |d| {
                edit.remove_values.push(d.bytes()?.to_vec());
                Ok(())
            })?,
            6 => edit.next_table = Some(d.u64()?),
            7 => each_item(d, |d| {
                edit.set_table_user.push((d.u64()?, d.bytes()?.to_vec()));
                Ok(())
            })?,
            _ => d.skip()?,
        }
        Ok(())
    })?;
    at_end(&d, bytes)?;
    Ok(edit)
}

fn decode_table(d: &mut Decoder<'_>) -> Result<TableMeta, Error> {
    let mut table = TableMeta::default();
    each_field(d, |d, key| {
        match key {
            0 => table.number = d.u64()?,
            1 => table.path = d.str()?.to_owned(),
            2 => table.file_bytes = d.u64()?,
            3 => table.entries = d.u64()?,
            4 => table.blocks = d.u64()?,
            5 => table.min_key = d.bytes()?.to_vec(),
            6 => table.max_key = d.bytes()?.to_vec(),
            7 => table.user = d.bytes()?.to_vec(),
            _ => d.skip()?,
        }
        Ok(())
    })?;
    Ok(table)
}

/// Calls `field` with the key of each pair of a map; it reads the value.
fn each_field<'b>(
    d: &mut Decoder<'b>,
    mut field: impl FnMut(&mut Decoder<'b>, u64) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut left = d.map()?;
    while more(d, &mut left)? {
        let key = d.u64()?;
        field(d, key)?;
    }
    Ok(())
}

/// Calls `item` until an array is read.
fn each_item<'b>(
    d: &mut Decoder<'b>,
    mut item: impl FnMut(&mut Decoder<'b>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut left = d.array()?;
    while more(d, &mut left)? {
        item(d)?;
    }
    Ok(())
}

/// Whether a map or array goes on: by its count, or up to the break where it has none.
fn more(d: &mut Decoder<'_>, left: &mut Option<u64>) -> Result<bool, Error> {
    match left {
        Some(0) => Ok(false),
        Some(n) => {
            *n -= 1;
            Ok(true)
        }
        None if d.datatype()? == minicbor::data::Type::Break => {
            d.skip()?;
            Ok(false)
        }
        None => Ok(true),
    }
}

fn at_end(d: &Decoder<'_>, bytes: &[u8]) -> Result<(), Error> {
    if d.position() == bytes.len() { Ok(()) } else { Err(Error::message("bytes after the end")) }
}
