//! One table: every chunk, every row, and what the manifest says of it.

use crate::Result;
use crate::io::Env;
use crate::kv::{Damage, KeySpan, OpKind};
use crate::lsm::cursor::RangeTombstone;
use crate::lsm::table::{DamagedPart, Item, Role, TableWalk, id_of};
use crate::lsm::version::TableFacts;
use crate::manifest::TableMeta;
use crate::sstable::{self, Table};
use std::ops::Range;
use std::path::Path;

/// What was found in a table.
#[derive(Debug, Default)]
pub(in crate::lsm) struct TableFindings {
    pub(in crate::lsm) file_bytes: u64,
    /// How many versions could be read.
    pub(in crate::lsm) entries: u64,
    pub(in crate::lsm) deletes: u64,
    pub(in crate::lsm) min_seq: u64,
    pub(in crate::lsm) max_seq: u64,
    /// The smallest and largest key of all that could be read, deleted ranges included.
    pub(in crate::lsm) keys: Option<KeySpan>,
    pub(in crate::lsm) range_deletes: Vec<RangeTombstone>,
    pub(in crate::lsm) damage: Vec<Damage>,
    /// Which table it says it is; 0 if it does not.
    pub(in crate::lsm) id: u64,
    /// It is not the one that the manifest names: none of that is here.
    pub(in crate::lsm) is_another: bool,
}

/// Reads a table's file whole, and compares it with what the manifest says, if that is given.
///
/// # Errors
/// [`Error::TooNew`](crate::Error::TooNew); [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a table of
/// something else; [`Error::Io`](crate::Error::Io) if it cannot be opened.
pub(in crate::lsm) fn check_table(env: &Env, path: &Path, meta: Option<&TableMeta>) -> Result<TableFindings> {
    let walk = TableWalk::open(env, path)?;
    let mut findings =
        TableFindings { file_bytes: walk.file_bytes(), min_seq: u64::MAX, ..Default::default() };
    let mut damaged: Vec<Range<u64>> = Vec::new();
    collect(&walk, meta, &mut findings, &mut damaged, &mut |_, _, _, _| Ok(()))?;
    // The walk reads what is needed; this reads every byte.
    for found in Table::verify(env, path)?.damage {
        let range = found.offset..found.offset + found.bytes;
        let container = matches!(
            found.part,
            sstable::Part::Header | sstable::Part::Index | sstable::Part::Properties | sstable::Part::Footer
        );
        let known = damaged.iter().any(|known| known.start < range.end && range.start < known.end);
        if container || !known {
            let keys = found.block.and_then(|i| partition_keys(&walk, i));
            let entries = container.then_some(0);
            let (offset, bytes) = (Some(found.offset), Some(found.bytes));
            let detail = found.detail;
            findings.damage.push(Damage { path: path.to_path_buf(), offset, bytes, keys, entries, detail });
        }
    }
    findings.id = walk.parts().map_or(0, |parts| id_of(&parts.properties));
    match meta {
        Some(meta) if is_another(&walk, meta, &mut findings) => {}
        Some(meta) if findings.damage.is_empty() => compare(&walk, meta, &mut findings),
        Some(meta) => missing_ranges(&walk, meta, &mut findings),
        None => {}
    }
    findings.damage.sort_by_key(|damage| damage.offset);
    Ok(findings)
}

/// What the loss of deleted ranges means.
const RANGES: &str = "the deleted ranges: what they hid is seen again";

/// What a row is given to: key, sequence number, kind, value.
pub(in crate::lsm) type RowSink<'a> = &'a mut dyn FnMut(&[u8], u64, OpKind, &[u8]) -> Result<()>;

/// Goes through a table, gives every row that can be read to `row`, and says of every damaged place which keys it may
/// hold.
///
/// # Errors
/// What `row` says.
pub(in crate::lsm) fn collect(
    walk: &TableWalk,
    meta: Option<&TableMeta>,
    findings: &mut TableFindings,
    damaged: &mut Vec<Range<u64>>,
    row: RowSink<'_>,
) -> Result<()> {
    let mut last: Option<(Option<usize>, Vec<u8>)> = None;
    // Damaged blocks of which it is not known yet what comes behind them.
    let mut open: Vec<usize> = Vec::new();
    let mut read_of = vec![0; walk.parts().map_or(0, |parts| parts.blocks.len())];
    walk.run(&mut |item| {
        match item {
            Item::Block(block) => {
                for at in open.drain(..) {
                    close(&mut findings.damage[at], block.first_key);
                }
                block.each_row(|key, seq, kind, value| {
                    findings.deletes += u64::from(kind == OpKind::Delete);
                    findings.min_seq = findings.min_seq.min(seq);
                    findings.max_seq = findings.max_seq.max(seq);
                    row(key, seq, kind, value)
                })?;
                findings.entries += block.rows as u64;
                if let Some(read) = block.partition.and_then(|i| read_of.get_mut(i)) {
                    *read += block.rows as u64;
                }
                widen(&mut findings.keys, block.first_key, block.last_key);
                last = Some((block.partition, block.last_key.to_vec()));
            }
            Item::Ranges(ranges) => {
                for range in &ranges {
                    findings.min_seq = findings.min_seq.min(range.seq);
                    findings.max_seq = findings.max_seq.max(range.seq);
                    widen(&mut findings.keys, &range.start, &range.end);
                }
                findings.range_deletes = ranges;
            }
            Item::Damaged(part) => {
                damaged.push(part.range.clone());
                let own = part.partition.and_then(|i| partition_keys(walk, i));
                let first = match &last {
                    Some((partition, key)) if *partition == part.partition => Some(key.clone()),
                    _ => own.as_ref().map(|keys| keys.0.clone()),
                };
                let to = own.map(|keys| keys.1).or_else(|| meta.map(|meta| meta.max_key.clone()));
                let from = first.or_else(|| meta.map(|meta| meta.min_key.clone()));
                if part.role == Role::Block {
                    open.push(findings.damage.len());
                }
                findings.damage.push(describe(walk, part, from.zip(to), meta));
            }
        }
        Ok(())
    })?;
    if let Ok(parts) = walk.parts() {
        count_lost(walk, findings, &parts.blocks, &read_of);
    }
    Ok(())
}

/// What a damaged part is for, and what it holds.
fn describe(walk: &TableWalk, part: DamagedPart, keys: Option<KeySpan>, meta: Option<&TableMeta>) -> Damage {
    let DamagedPart { role, range, detail, .. } = part;
    let (what, keys, entries) = match role {
        // What it costs is told place by place.
        Role::Container => ("the table cannot be opened", None, Some(0)),
        Role::Block => ("a block of rows", keys, None),
        Role::Filter => ("a filter, which only makes reading faster", None, Some(0)),
        Role::Directory => ("the directory of a partition", keys, Some(0)),
        Role::Ranges => {
            let all = meta.map(|meta| (meta.min_key.clone(), meta.max_key.clone()));
            (RANGES, all, None)
        }
    };
    Damage {
        path: walk.path().to_path_buf(),
        offset: Some(range.start),
        bytes: Some(range.end - range.start),
        keys,
        entries,
        detail: format!("{what}: {detail}"),
    }
}

/// Nothing at or behind the next block's first key can be missing. Versions of that key itself can.
fn close(damage: &mut Damage, next_key: &[u8]) {
    if let Some((from, to)) = &mut damage.keys
        && next_key < to.as_slice()
        && from.as_slice() <= next_key
    {
        *to = next_key.to_vec();
    }
}

fn widen(keys: &mut Option<KeySpan>, first: &[u8], last: &[u8]) {
    match keys {
        None => *keys = Some((first.to_vec(), last.to_vec())),
        Some((from, to)) => {
            if first < from.as_slice() {
                *from = first.to_vec();
            }
            if last > to.as_slice() {
                *to = last.to_vec();
            }
        }
    }
}

fn partition_keys(walk: &TableWalk, i: usize) -> Option<KeySpan> {
    let block = walk.parts().ok()?.blocks.get(i)?;
    Some((block.min_key.clone(), block.max_key.clone()))
}

/// The index says how many rows each partition has: where one block of it is damaged, that tells how many it held.
fn count_lost(
    walk: &TableWalk,
    findings: &mut TableFindings,
    blocks: &[sstable::BlockMeta],
    read_of: &[u64],
) {
    let Ok(parts) = walk.parts() else { return };
    for ((meta, range), read) in blocks.iter().zip(&parts.ranges).zip(read_of) {
        let lost = meta.entries.saturating_sub(*read);
        let mut of_rows = findings
            .damage
            .iter_mut()
            .filter(|damage| damage.entries.is_none() && damage.offset.is_some_and(|at| range.contains(&at)));
        if let (Some(only), None) = (of_rows.next(), of_rows.next()) {
            only.entries = Some(lost);
        }
    }
}

/// Deleted ranges that were not come upon, since nothing leads to them any more.
fn missing_ranges(walk: &TableWalk, meta: &TableMeta, findings: &mut TableFindings) {
    let expected = TableFacts::decode(&meta.user).map_or(0, |facts| facts.range_deletes);
    let told = findings.damage.iter().any(|damage| damage.detail.starts_with(RANGES));
    if findings.range_deletes.len() as u64 >= expected || told {
        return;
    }
    findings.damage.push(Damage {
        path: walk.path().to_path_buf(),
        offset: None,
        bytes: None,
        keys: Some((meta.min_key.clone(), meta.max_key.clone())),
        entries: None,
        detail: format!("{RANGES}: nothing leads to them"),
    });
}

/// Whether a table is not the one that the manifest names. By its number; where one of both has none, by its sequence
/// numbers and keys: a part of the right one has no others.
fn is_another(walk: &TableWalk, meta: &TableMeta, findings: &mut TableFindings) -> bool {
    let Some(facts) = TableFacts::decode(&meta.user) else { return false };
    let detail = if facts.id != 0 && findings.id != 0 {
        let (found, named) = (findings.id, facts.id);
        (found != named)
            .then(|| format!("it is table {found:016x}, and the manifest names table {named:016x} here"))
    } else if findings.entries == 0 && findings.range_deletes.is_empty() {
        None
    } else {
        let (found, seqs) = ((findings.min_seq, findings.max_seq), (facts.min_seq, facts.max_seq));
        let seqs = if facts.ingested { (0, 0) } else { seqs };
        let has_keys_outside =
            findings.keys.as_ref().is_some_and(|keys| keys.0 < meta.min_key || keys.1 > meta.max_key);
        if found.0 < seqs.0 || found.1 > seqs.1 {
            Some(format!("it has sequence numbers {} to {}, not {} to {}", found.0, found.1, seqs.0, seqs.1))
        } else {
            has_keys_outside.then(|| "it has keys outside its range".to_owned())
        }
    };
    let Some(detail) = detail else { return false };
    findings.is_another = true;
    findings.damage.push(Damage {
        path: walk.path().to_path_buf(),
        offset: None,
        bytes: None,
        keys: Some((meta.min_key.clone(), meta.max_key.clone())),
        entries: Some(meta.entries),
        detail: format!("{detail}: it is another table, and all of the one that should be here is missing"),
    });
    true
}

/// Holds a whole table against what the manifest says of it.
fn compare(walk: &TableWalk, meta: &TableMeta, findings: &mut TableFindings) {
    let mut wrong = |detail: String| {
        let path = walk.path().to_path_buf();
        findings.damage.push(Damage {
            path,
            offset: None,
            bytes: None,
            keys: None,
            entries: Some(0),
            detail: format!("{detail}: the manifest is of another table, or the table of another manifest"),
        });
    };
    if findings.file_bytes != meta.file_bytes {
        wrong(format!("it has {} bytes, not {}", findings.file_bytes, meta.file_bytes));
    }
    if findings.entries != meta.entries {
        wrong(format!("it has {} entries, not {}", findings.entries, meta.entries));
    }
    let Some(facts) = TableFacts::decode(&meta.user) else { return };
    // With the right number, the manifest may say anything else.
    let found = (findings.min_seq, findings.max_seq);
    let seqs = if facts.ingested { (0, 0) } else { (facts.min_seq, facts.max_seq) };
    if found.0 < seqs.0 || found.1 > seqs.1 {
        wrong(format!("it has sequence numbers {} to {}, not {} to {}", found.0, found.1, seqs.0, seqs.1));
    }
    let keys = (&meta.min_key, &meta.max_key);
    if findings.keys.as_ref().is_some_and(|found| found.0 < *keys.0 || found.1 > *keys.1) {
        wrong("it has keys outside its range".to_owned());
    }
    if findings.range_deletes.len() as u64 != facts.range_deletes {
        let (found, expected) = (findings.range_deletes.len(), facts.range_deletes);
        wrong(format!("it has {found} deleted ranges, not {expected}"));
    }
    if findings.deletes != facts.deletes {
        wrong(format!("it has {} deletions, not {}", findings.deletes, facts.deletes));
    }
}
