#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use crate::block::Block;
use crate::columnar::{MemoryBlock, Row};
use crate::store::live::LiveCache;
use crate::store::live::parts::Room;
use crate::{EntryBuf, EntryRef, Level, Store, StoreOptions, Value, token};
use duramen_engine::io::sim::Sim;

/// Numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Two letters for `_msg` and the like, which an [`EntryBuf`] gives nobody.
const FORGED: [(&str, &str); 2] = [("Xmsg", "_msg"), ("Xtime", "_time")];

/// An entry with fields of all kinds, some twice, some as labels in some rows and as plain ones in others.
fn entry(dice: &mut Dice, with_streams: bool) -> Vec<u8> {
    let labels: &[&str] = match dice.below(4) {
        0 if with_streams => &["app", "level"],
        1 if with_streams => &["app", "host"],
        2 if with_streams => &["app", "same"],
        _ => &[],
    };
    let mut entry = EntryBuf::new(labels.iter().copied());
    let message = match dice.below(6) {
        0 => String::new(),
        1 => "often the same".into(),
        n => format!("line {} ünlike {n}", dice.below(1 << 40)),
    };
    entry.start(dice.below(5_000) as i64).message(&message);
    if dice.below(3) > 0 {
        entry.level(Level::from_u8(dice.below(7) as u8).unwrap());
    }
    // What is the same as the message is not told from it, if another is forged.
    let is_forged = dice.below(3) == 0;
    for _ in 0..dice.below(7) {
        let name = ["app", "host", "level", "n", "mixed", "Xmsg", "Xtime", "rare", "line"];
        let name = name[dice.below(name.len() as u64) as usize];
        let text = format!("{name}{}", dice.below(30));
        match dice.below(9) {
            0 => entry.field(name, Value::Null),
            1 => entry.field(name, dice.below(2) == 0),
            2 => entry.field(name, 0.5 + dice.below(9) as f64),
            3 => entry.field(name, Value::Number("1e400")),
            4 => entry.field(name, Value::Json("[1,2]")),
            5 if with_streams && !is_forged => entry.field_same_as_message("same"),
            5 if !is_forged => entry.field_same_as_message(name),
            6 | 7 => entry.field(name, dice.below(1000) as i64 - 500),
            _ => entry.field(name, text.as_str()),
        };
    }
    let mut bytes = entry.finish().unwrap().to_vec();
    for (written, meant) in FORGED.into_iter().filter(|_| is_forged) {
        let at: Vec<_> = memchr::memmem::find_iter(&bytes, written).collect();
        at.into_iter().for_each(|at| bytes[at..at + meant.len()].copy_from_slice(meant.as_bytes()));
    }
    bytes
}

const NAMES: [&str; 14] = [
    "_msg", "_stream", "_time", "app", "host", "level", "n", "mixed", "rare", "line", "same", "none", "",
    "lin",
];

fn bits(rows: impl Iterator<Item = usize>, count: usize) -> Vec<u64> {
    let mut bits = vec![0; count.div_ceil(64)];
    rows.for_each(|row| bits[row / 64] |= 1 << (row % 64));
    bits
}

/// Asks both for the same, in an order of chance.
fn compare(dice: &mut Dice, live: &dyn Block, whole: &dyn Block) {
    assert_eq!(live.rows(), whole.rows());
    let count = live.rows();
    let value = |block: &dyn Block, column: &crate::column::Column, row: usize| {
        assert_eq!(column.rows, block.rows());
        let text = column.text(row, &mut Default::default()).map(str::to_owned);
        text.map(|text| (text, column.kind_at(column.slot(row))))
    };
    for _ in 0..1 + dice.below(25) {
        let name = NAMES[dice.below(NAMES.len() as u64) as usize];
        match dice.below(9) {
            0 => assert_eq!(live.field_names().unwrap(), whole.field_names().unwrap()),
            1 => assert_eq!(live.times().unwrap(), whole.times().unwrap()),
            2 => {
                let is_label = whole.is_label(name);
                assert_eq!(live.is_label(name), is_label, "{name}");
                let wanted = |value: &str| value.ends_with('1') || value.is_empty();
                assert_eq!(
                    live.rows_of_label(name, &wanted).unwrap(),
                    whole.rows_of_label(name, &wanted).unwrap(),
                    "{name}"
                );
            }
            3 => {
                let test = |labels: &crate::block::StreamLabels<'_>| labels.iter().any(|(n, _)| *n == name);
                assert_eq!(live.rows_of_streams(&test).unwrap(), whole.rows_of_streams(&test).unwrap());
            }
            4 => {
                let words = [token::hash("line")];
                let may = live.may_contain_words(name, &words).unwrap();
                assert!(may || !whole.may_contain_words(name, &words).unwrap(), "{name}");
            }
            5 => {
                let row = dice.below(count as u64) as usize;
                assert_eq!(live.identity(row).unwrap(), whole.identity(row).unwrap());
                assert!(live.identity(count).is_err());
            }
            6 => {
                let some: Vec<usize> = (0..dice.below(count as u64 / 6 + 1))
                    .map(|_| dice.below(count as u64) as usize)
                    .collect();
                let asked = bits(some.iter().copied(), count);
                let (of_live, of_whole) =
                    (live.column_at(name, &asked).unwrap(), whole.column(name).unwrap());
                for &row in &some {
                    let of_live = of_live.as_ref().and_then(|column| value(live, column, row));
                    let of_whole = of_whole.as_ref().and_then(|column| value(whole, column, row));
                    assert_eq!(of_live, of_whole, "{name} in row {row}");
                }
            }
            _ => {
                let (of_live, of_whole) = (live.column(name).unwrap(), whole.column(name).unwrap());
                assert_eq!(of_live.is_some(), of_whole.is_some(), "{name}");
                if let (Some(of_live), Some(of_whole)) = (of_live, of_whole) {
                    for row in 0..count {
                        let of_live = value(live, &of_live, row);
                        assert_eq!(of_live, value(whole, &of_whole, row), "{name} in row {row}");
                    }
                }
            }
        }
    }
    assert!(live.held_bytes() < 100_000_000, "what is given back was taken before");
}

#[test]
fn it_is_the_same_block_as_one_of_which_all_is_made() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let options = StoreOptions::new().env(Sim::new(1).env()).background(false);
        let store = Store::open_with("/logs".as_ref(), options).unwrap();
        let with_streams = seed % 3 > 0;
        let entries: Vec<_> = (0..1 + dice.below(400)).map(|_| entry(&mut dice, with_streams)).collect();
        for entry in &entries {
            store.append(entry).unwrap();
        }
        let room = Room::new([0, 20_000, 1 << 30][seed as usize % 3]);
        let cache = LiveCache { room: room.clone(), ..LiveCache::default() };
        let shared = store.snapshots.shared();
        let handle = cache.blocks(shared, &cache.list(shared).unwrap()).pop().unwrap();
        let (writer, _) = handle.open().unwrap().identity(0).unwrap();
        let mut rows: Vec<_> = (1..)
            .zip(&entries)
            .map(|(seq, entry)| Row { entry: EntryRef::decode(entry).unwrap(), writer, seq })
            .collect();
        rows.sort_by_key(|row| (row.entry.time, row.seq));
        let whole = MemoryBlock::build(&rows).unwrap();
        for _ in 0..12 {
            compare(&mut dice, &*handle.open().unwrap(), &whole);
        }
        std::thread::scope(|scope| {
            for n in 0..3 {
                let (handle, whole) = (&handle, &whole);
                scope.spawn(move || compare(&mut Dice(seed * 7 + n), &*handle.open().unwrap(), whole));
            }
        });
        assert!(room.taken() <= room.capacity(), "as much as there is");
        drop((handle, cache));
        assert_eq!(room.taken(), 0, "all of it is given back");
    }
}

/// Of a block that many fields are asked of, all are made together; of few rows, only these.
#[test]
fn what_is_not_asked_for_is_not_made() {
    let options = StoreOptions::new().env(Sim::new(1).env()).background(false);
    let store = Store::open_with("/logs".as_ref(), options).unwrap();
    let long = "long ".repeat(100);
    let mut buf = EntryBuf::default();
    for n in 0..1000 {
        buf.start(n).message(&format!("line {n}")).field("long", format!("{long}{n}").as_str());
        for name in ["a", "b", "c", "d", "e"] {
            buf.field(name, n);
        }
        store.append(buf.finish().unwrap()).unwrap();
    }
    let handle = || store.snapshot().unwrap().blocks(i64::MIN, i64::MAX).pop().unwrap();
    let open = || handle().open().unwrap();
    let one = open();
    one.column("_msg").unwrap().unwrap();
    let of_one = one.held_bytes();
    assert!((1000..100_000).contains(&of_one), "{of_one}");
    let few = open();
    few.column_at("long", &bits([3, 700].into_iter(), 1000)).unwrap().unwrap();
    let of_few = few.held_bytes() - of_one.min(few.held_bytes());
    assert!(of_few < 20_000, "{of_few}");
    for name in ["a", "b", "c", "d"] {
        one.column(name).unwrap().unwrap();
    }
    assert!(one.held_bytes() > 500_000, "with the long ones: {}", one.held_bytes());
}
