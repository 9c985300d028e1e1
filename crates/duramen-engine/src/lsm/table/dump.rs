//! A table, line by line: the container, then the blocks and what is in them.

use super::{CODEC_ID, DamagedPart, Item, Role, TableWalk};
use crate::dump::{Line, Out, Stop, op_name, put};
use crate::io::Env;
use crate::kv::OpKind;
use crate::sstable::{self, Table};
use crate::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// Tells what is in a table's file, whatever wrote its blocks.
///
/// # Errors
/// [`Stop`]; [`Error::TooNew`]; [`Error::Io`].
pub(crate) fn dump(env: &Env, path: &Path, out: &mut Out<'_>) -> Result<(), Stop> {
    let (codec, mut told) = sstable::dump(env, path, out)?;
    if codec.is_none_or(|codec| codec == CODEC_ID) {
        let walk = TableWalk::open(env, path)?;
        let mut stop = None;
        let walked = walk.run(&mut |item| {
            tell(item, &mut told, out).map_err(|why| {
                stop = Some(why);
                Error::InvalidArgument("the dump ends".into())
            })
        });
        match stop {
            Some(stop) => return Err(stop),
            None => walked?,
        }
    } else {
        let detail = "the blocks are another store's: what is in them, it can tell itself";
        out.line(Line::new("note", 1).text("detail", detail))?;
    }
    // The walk reads what is needed; this reads every byte.
    for found in Table::verify(env, path)?.damage {
        let range = found.offset..found.offset.saturating_add(found.bytes);
        if !told.iter().any(|told| told.start < range.end && range.start < told.end) {
            out.damage(Some(range), &found.detail)?;
        }
    }
    Ok(())
}

fn tell(item: Item<'_>, told: &mut Vec<Range<u64>>, out: &mut Out<'_>) -> Result<(), Stop> {
    match item {
        Item::Block(block) => {
            let line = Line::new("block", 1);
            let line = match block.partition {
                Some(partition) => line.number("partition", partition),
                None => line,
            };
            let range = &block.range;
            let line = line.number("offset", range.start).number("bytes", range.end - range.start);
            let line = line.number("entries", block.rows);
            out.item(line.bytes("first_key", block.first_key).bytes("last_key", block.last_key))?;
            if !out.options().keys {
                return Ok(());
            }
            let mut stop = None;
            let given = block.each_row(|key, seq, kind, value| {
                row(key, seq, kind, value, out).map_err(|why| {
                    stop = Some(why);
                    Error::InvalidArgument("the dump ends".into())
                })
            });
            stop.map_or_else(|| Ok(given?), Err)
        }
        Item::Ranges(ranges) => ranges.iter().try_for_each(|range| {
            let line = Line::new(op_name(OpKind::DeleteRange), 1).number("seq", range.seq);
            out.item(line.bytes("from", &range.start).bytes("to", &range.end))
        }),
        // What is wrong with the container was told.
        Item::Damaged(DamagedPart { role: Role::Container, .. }) => Ok(()),
        Item::Damaged(DamagedPart { role, range, detail, .. }) => {
            let what = match role {
                Role::Container | Role::Block => "a block",
                Role::Filter => "a filter",
                Role::Directory => "the directory of a partition",
                Role::Ranges => "the deleted ranges",
            };
            told.push(range.clone());
            out.damage(Some(range), &format!("{what}: {detail}"))
        }
    }
}

fn row(key: &[u8], seq: u64, kind: OpKind, value: &[u8], out: &mut Out<'_>) -> Result<(), Stop> {
    let line = Line::new(op_name(kind), 2).number("seq", seq);
    let line = if kind == OpKind::Put { put(line, key, value, out) } else { line.bytes("key", key) };
    out.item(line)
}
