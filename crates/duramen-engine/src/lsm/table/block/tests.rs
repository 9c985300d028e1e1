use super::*;
use crate::kv::{Run, shared_len};
use proptest::prelude::*;

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Whatever the bytes are, nothing panics, and what is found lies in the block.
fn look_at(bytes: &[u8], key: &[u8], seq: u64) {
    let Ok(block) = Block::parse(bytes.into(), 0..bytes.len()) else { return };
    if let Ok(Some(found)) = block.find(key, seq) {
        assert!(block.bytes().get(found.position.value).is_some());
        assert!(block.bytes().get(found.unshared).is_some());
        assert!(found.shared <= key.len());
    }
    for restart in 0..block.restarts().min(50) {
        run_from(&block, restart, seq, Some(key));
        run_from(&block, restart, u64::MAX, None);
        let mut key = Vec::new();
        let Ok(mut row) = block.read_restart(restart, &mut key) else { continue };
        while row.n + 1 < block.count() {
            let Ok(next) = block.read_row(row.n + 1, row.next_row, row.value.end, &mut key) else { break };
            assert!(next.next_row > row.next_row);
            row = next;
        }
    }
}

/// A run from each row on, under this limit: no panic, and what it says lies in the block.
fn run_from(block: &Block, restart: usize, seq: u64, below: Option<&[u8]>) -> Entries {
    let mut key = Vec::new();
    let Ok(mut row) = block.read_restart(restart, &mut key) else { return Vec::new() };
    let mut run = Run::default();
    block.take_run(&mut row, &mut key, seq, below, &mut run);
    let mut entries = Vec::new();
    while let Some(nth) = run.step() {
        let (key, value) = run.entry(nth);
        entries.push((key.to_vec(), value.to_vec()));
    }
    if let Some((last, value)) = entries.last() {
        assert_eq!((&key, &block.bytes()[row.value.clone()]), (last, &value[..]));
    }
    entries
}

/// Keys that differ before, at and after their eighth byte, or end there, or with zeros.
fn near_eight_bytes() -> impl Strategy<Value = Vec<u8>> {
    (0usize..12, prop::collection::vec(0u8..3, 0..4)).prop_map(|(len, end)| [vec![1; len], end].concat())
}

fn some_block(rows: &[(Vec<u8>, u64, Vec<u8>)], interval: u16) -> Vec<u8> {
    let mut encoder = BlockEncoder::new(interval);
    let mut before = Vec::new();
    for (key, seq, value) in rows {
        encoder.add((key, shared_len(&before, key)), (*seq, OpKind::Put), value);
        before.clone_from(key);
    }
    let (mut out, expected) = (Vec::new(), encoder.len());
    encoder.finish(&mut out);
    assert_eq!(out.len(), expected);
    assert!(encoder.is_empty());
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_can_be_looked_at(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200), key in prop::collection::vec(any::<u8>(), 0..4),
        count in 0u32..9, interval in 0u16..4, width in 0u8..9, rows in 0u32..60,
    ) {
        look_at(&bytes, &key, 7);
        let mut header = 7u64.to_le_bytes().to_vec();
        header.extend(count.to_le_bytes());
        header.extend(rows.to_le_bytes());
        header.extend(interval.to_le_bytes());
        header.push(width);
        header.append(&mut bytes);
        look_at(&header, &key, 7);
    }

    #[test]
    fn a_damaged_block_can_be_looked_at(
        keys in prop::collection::btree_set(prop::collection::vec(0u8..4, 0..5), 1..40), interval in 1u16..9,
        at in any::<prop::sample::Index>(), flip in 1u8.., seq in any::<u64>(),
    ) {
        let rows: Vec<_> = keys.iter().map(|key| (key.clone(), u64::from(key.first().copied().unwrap_or(9)), key.repeat(9))).collect();
        let mut bytes = some_block(&rows, interval);
        for key in &keys {
            look_at(&bytes, key, seq);
        }
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        for key in &keys {
            look_at(&bytes, key, seq);
        }
    }

    #[test]
    fn a_run_is_what_a_reader_sees(
        keys in prop::collection::btree_set(
            (prop_oneof![prop::collection::vec(0u8..3, 0..4), prop::collection::vec(0u8..2, 14..19)], 1u64..6), 1..40,
        ),
        deleted in prop::collection::vec(any::<bool>(), 40), interval in 1u16..6, seq in 1u64..7,
        below in prop::option::of(prop::collection::vec(0u8..3, 0..18)),
    ) {
        let mut rows: Vec<_> = keys.into_iter().zip(deleted).collect();
        rows.sort_by(|a, b| order((&a.0.0, a.0.1), (&b.0.0, b.0.1)));
        let mut encoder = BlockEncoder::new(interval);
        let (mut before, mut expected) = (Vec::new(), Entries::new());
        let mut dealt = None;
        let (mut n, mut starts) = (0, Vec::new());
        for ((key, own), deleted) in &rows {
            let kind = if *deleted { OpKind::Delete } else { OpKind::Put };
            let value = [key.as_slice(), b"=", &own.to_le_bytes()].concat();
            encoder.add((key, shared_len(&before, key)), (*own, kind), &value);
            before.clone_from(key);
            let seen = *own <= seq && dealt.as_ref() != Some(key);
            if seen {
                dealt = Some(key.clone());
            }
            if seen && kind == OpKind::Put {
                if n % usize::from(interval) == 0 {
                    starts.push((n / usize::from(interval), expected.len()));
                }
                expected.push((key.clone(), value));
            }
            n += 1;
        }
        let mut bytes = Vec::new();
        encoder.finish(&mut bytes);
        let block = Block::parse(bytes.as_slice().into(), 0..bytes.len()).unwrap();
        for (restart, at) in starts {
            let within = expected[at..].iter().take_while(|(key, _)| below.as_ref().is_none_or(|below| key < below));
            let within: Vec<_> = within.cloned().collect();
            prop_assert_eq!(run_from(&block, restart, seq, below.as_deref()), within);
        }
    }

    #[test]
    fn the_first_row_not_before_is_found(
        versions in prop::collection::btree_set((near_eight_bytes(), 1u64..5), 1..40),
        others in prop::collection::vec((near_eight_bytes(), 0u64..6), 20), interval in 1u16..9,
    ) {
        let mut rows: Vec<_> = versions.into_iter().map(|(key, seq)| (key, seq, b"value".to_vec())).collect();
        rows.sort_by(|a, b| order((&a.0, a.1), (&b.0, b.1)));
        let bytes = some_block(&rows, interval);
        let block = Block::parse(bytes.as_slice().into(), 0..bytes.len()).unwrap();
        for (key, seq) in others.iter().chain(&rows.iter().map(|row| (row.0.clone(), row.1)).collect::<Vec<_>>()) {
            let expected = rows.iter().position(|row| !order((&row.0, row.1), (key, *seq)).is_lt());
            let found = block.find(key, *seq).unwrap();
            prop_assert_eq!(found.as_ref().map(|found| found.position.n), expected);
            let Some(found) = found else { continue };
            let row = &rows[found.position.n];
            prop_assert_eq!((found.position.seq, found.same_key), (row.1, row.0 == *key));
            prop_assert_eq!([&key[..found.shared], &block.bytes()[found.unshared]].concat(), row.0.clone());
        }
    }
}

#[test]
fn tags_take_what_the_largest_needs() {
    for (seqs, width) in
        [(vec![5, 5, 5], 1), (vec![MAX_SEQ, 0], 8), (vec![1000, 1000 + 127], 1), (vec![1000, 1128], 2)]
    {
        let rows: Vec<_> = seqs.iter().zip(b'a'..).map(|(&seq, key)| (vec![key], seq, vec![])).collect();
        let bytes = some_block(&rows, 16);
        assert_eq!(usize::from(bytes[HEADER_BYTES - 1]), width, "{seqs:?}");
        let block = Block::parse(bytes.as_slice().into(), 0..bytes.len()).unwrap();
        for (n, &seq) in seqs.iter().enumerate() {
            assert_eq!(block.tag(n), (seq, OpKind::Put));
        }
    }
}
