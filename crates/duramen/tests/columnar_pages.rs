//! Long texts that lie on pages: they come back, and a few of them cost the pages that they lie on.
#![allow(clippy::unwrap_used)] // helpers of tests may

mod columnar_common;

use columnar_common::{Chunks, Field, Rows, check};
use duramen::Level;
use duramen::block::{Block, LengthUnit, Place};
use duramen::column::IntText;
use duramen::columnar::{BlockEncoder, EncodeOptions, EncodedBlock, TableBlock};
use std::sync::Arc;

const ROWS: u64 = 500;

/// What pages are written as: which is smaller depends on how many of the words are no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Compressed,
    AsSymbols,
}

/// Words and numbers in no order.
fn free_text(seed: u64, bytes: usize, written: Written) -> String {
    const WORDS: [&str; 8] = ["käse", "bread", "wine", "öl", "nuts", "figs", "日本", "apple"];
    const MORE: &str = "accepted account after cache client closed connection customer database delivered error failed \
        from index item message missing order payment queue received refused request response retry server session \
        started überlastet update user waiting";
    let more: Vec<&str> = MORE.split(' ').collect();
    let mut n = seed;
    let mut below = |most: u64| {
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (n >> 33) % most
    };
    let mut text = String::new();
    while text.len() < bytes {
        match below(if written == Written::Compressed { 3 } else { 6 }) {
            0 => text += &format!("{:08x} ", below(1 << 31)),
            1 => text += &format!("{} ", below(100_000)),
            2.. if written == Written::AsSymbols => text = text + more[below(32) as usize] + " ",
            _ => text = text + WORDS[below(8) as usize] + " ",
        }
    }
    text
}

/// About 5 KiB a row in the message and as much in `mixed`, but for some that have none, or an empty text.
fn rows(written: Written) -> Rows {
    let mut rows = Rows::new(&["app"]);
    for i in 0..ROWS {
        let mixed = match i % 5 {
            0 => Field::None,
            1 => Field::Json(format!("\"{}\"", free_text(i + 1_000, 7_000, written))),
            _ => Field::Str(free_text(i + 2_000, 5_000 + i as usize, written)),
        };
        let message = if i % 97 == 3 { String::new() } else { free_text(i, 4_900, written) };
        let app = Field::Int((i / 7 % 3) as i64);
        rows.add(
            i as i64,
            Level::Info,
            &message,
            vec![("app", app), ("mixed", mixed), ("same", Field::SameAsMessage)],
        );
    }
    rows
}

fn encoded(rows: &Rows) -> (Chunks, EncodedBlock) {
    let mut chunks = Chunks::default();
    let encoded =
        BlockEncoder::new(EncodeOptions::default()).unwrap().encode(&rows.rows(), &mut chunks).unwrap();
    (chunks, encoded)
}

#[test]
fn texts_on_pages_come_back() {
    for written in [Written::Compressed, Written::AsSymbols] {
        let rows = rows(written);
        check(&rows);
        let codes = pages_of_method(&encoded(&rows).0, 4);
        assert_eq!(codes > 20, written == Written::AsSymbols, "{codes}");
    }
}

#[test]
fn texts_on_pages_are_looked_through() {
    let rows = rows(Written::AsSymbols);
    let (chunks, encoded) = encoded(&rows);
    let chunks = Arc::new(chunks);
    let open = || TableBlock::open(chunks.clone(), encoded.directory, &[]).unwrap();
    let all = vec![u64::MAX; ROWS.div_ceil(64) as usize];
    let mut some = vec![0; all.len()];
    some[1] = 0x5000_0000_0000_0a0f;
    for (wanted, reads_all) in [(all, true), (some, false), (vec![], false)] {
        for name in ["same", "mixed"] {
            let block = open();
            let column = open().column(name).unwrap().unwrap();
            let mut expected = Vec::new();
            for row in (0..block.rows()).filter(|&row| duramen::column::bit(&wanted, row)) {
                let text = column.text(row, &mut IntText::default()).map(str::to_owned);
                expected.extend(text.map(|text| (column.slot(row), text)));
            }
            expected.sort_unstable();
            // What leads to slots is read for other fields, too.
            block.times().unwrap();
            chunks.reads.lock().unwrap().clear();
            let mut seen = Vec::new();
            let order = block.look_through(name, &wanted, "", &mut |slot, text| {
                seen.push((slot, text.to_owned()));
            });
            let order = order.unwrap().unwrap();
            assert!((0..block.rows()).all(|row| order.slot(row) == column.slot(row)));
            assert!(seen == expected, "{name}");
            let reads = chunks.reads.lock().unwrap().len();
            assert!(if reads_all { reads > 10 } else { reads < 6 }, "{reads} of {name}");
            // Who comes again gets them all, to keep.
            assert!(block.look_through(name, &wanted, "", &mut |_, _| ()).unwrap().is_none());
        }
    }
}

#[test]
fn the_start_of_a_page_is_read_alone() {
    for written in [Written::Compressed, Written::AsSymbols] {
        let (chunks, encoded) = encoded(&rows(written));
        let block = TableBlock::open(Arc::new(chunks), encoded.directory, &[]).unwrap();
        let column = block.column_on_pages("same", false).unwrap().unwrap();
        let read = |page, bytes| column.read(page, bytes, vec![7; 300_000]).unwrap();
        let mut starts = 0;
        for row in (0..block.rows()).step_by(3) {
            let Some(Place::On(page, bytes)) = column.place(column.order().slot(row)) else { continue };
            let (start, all) = (read(page, Some(bytes.end)), read(page, None));
            assert_eq!(start, all[..bytes.end], "row {row}");
            starts += usize::from(start.len() < all.len());
            assert_eq!(read(page, Some(usize::MAX)), all);
        }
        assert!(starts > 100, "{starts}");
    }
}

#[test]
fn how_long_texts_are_is_told_without_their_pages() {
    let rows = rows(Written::AsSymbols);
    let (chunks, encoded) = encoded(&rows);
    let chunks = Arc::new(chunks);
    let block = TableBlock::open(chunks.clone(), encoded.directory, &[]).unwrap();
    for name in ["same", "mixed"] {
        assert!(block.lengths(name, LengthUnit::Chars).unwrap().is_none());
        let lengths = block.lengths(name, LengthUnit::Bytes).unwrap().unwrap();
        assert!(chunks.reads.lock().unwrap().len() < 8, "{:?}", chunks.reads);
        let column = TableBlock::open(chunks.clone(), encoded.directory, &[]).unwrap();
        let column = column.column(name).unwrap().unwrap();
        chunks.reads.lock().unwrap().clear();
        for row in 0..block.rows() {
            let (mut of_length, mut of_text) = (IntText::default(), IntText::default());
            let bytes = column.text(row, &mut of_text).unwrap_or_default().len();
            assert_eq!(lengths.text(row, &mut of_length), Some(&*bytes.to_string()), "{name}, row {row}");
        }
    }
}

#[test]
fn pages_are_read_one_by_one() {
    for written in [Written::Compressed, Written::AsSymbols] {
        let rows = rows(written);
        let (chunks, encoded) = encoded(&rows);
        let chunks = Arc::new(chunks);
        let open = || TableBlock::open(chunks.clone(), encoded.directory, &[]).unwrap();
        for block in [open(), open().unordered()] {
            for name in ["same", "mixed"] {
                let on_pages = columnar_common::read_pages(&block, name).unwrap().unwrap();
                let column = block.column(name).unwrap().unwrap();
                for (row, on_page) in on_pages.iter().enumerate() {
                    let mut digits = IntText::default();
                    let slot = column.slot(row);
                    let text = column.text_at(slot, &mut digits).map(|text| (text, column.kind_at(slot)));
                    let on_page = on_page.as_ref().map(|(text, kind)| (&**text, *kind));
                    assert!(on_page == text, "{name}, row {row}");
                }
                assert!(block.column_on_pages(name, true).unwrap().is_none(), "it is there now");
            }
            for name in ["app", "_msg", "_stream", "nowhere"] {
                assert!(block.column_on_pages(name, true).unwrap().is_none(), "{name}");
            }
        }
    }
}

/// How many chunks are three empty streams, and text of this method.
fn pages_of_method(chunks: &Chunks, method: u8) -> usize {
    chunks.chunks.iter().filter(|chunk| chunk.starts_with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, method])).count()
}

#[test]
fn pages_of_another_kind_than_the_sample_are_compressed() {
    let mut rows = Rows::new(&[]);
    for i in 0..ROWS {
        // Between the places that samples are taken from, and of letters that they do not have.
        let message = match i {
            30..70 => {
                free_text(i, 4_900, Written::AsSymbols).replace(|c: char| c.is_ascii_alphanumeric(), "ы")
            }
            _ => free_text(i, 4_900, Written::AsSymbols),
        };
        rows.add(i as i64, Level::Info, &message, vec![]);
    }
    let (chunks, _) = encoded(&rows);
    let (codes, compressed) = (pages_of_method(&chunks, 4), pages_of_method(&chunks, 1));
    assert!(codes > 10 && compressed > 2, "{codes} and {compressed}");
    check(&rows);
}

#[test]
fn a_few_rows_cost_the_pages_they_lie_on() {
    [Written::Compressed, Written::AsSymbols].into_iter().for_each(check_cost);
}

fn check_cost(written: Written) {
    let rows = rows(written);
    let (chunks, encoded) = encoded(&rows);
    let lens: Vec<usize> = chunks.chunks.iter().map(Vec::len).collect();
    let chunks = Arc::new(chunks);
    let messages: Vec<&str> = rows.rows().iter().map(|row| row.entry.message).collect();
    for name in ["_msg", "same"] {
        let block = TableBlock::open(chunks.clone(), encoded.directory, &[]).unwrap();
        for row in [0, 250, 3, 499] {
            chunks.reads.lock().unwrap().clear();
            let mut wanted = vec![0u64; ROWS.div_ceil(64) as usize];
            wanted[row / 64] |= 1 << (row % 64);
            let column = block.column_at(name, &wanted).unwrap().unwrap();
            let mut digits = IntText::default();
            assert_eq!(column.text(row, &mut digits).unwrap_or_default(), messages[row]);
            let read: usize = chunks.reads.lock().unwrap().iter().map(|&chunk| lens[chunk as usize]).sum();
            assert!(read < lens.iter().sum::<usize>() / 10, "{read} bytes of {lens:?} for row {row}");
        }
        // What was read of it is not read again, but the rest is.
        chunks.reads.lock().unwrap().clear();
        let column = block.column(name).unwrap().unwrap();
        let mut digits = IntText::default();
        assert!(
            (0..messages.len()).all(|row| column.text(row, &mut digits).unwrap_or_default() == messages[row])
        );
        let mut read = std::mem::take(&mut *chunks.reads.lock().unwrap());
        let count = read.len();
        read.sort_unstable();
        read.dedup();
        assert!(count > 8 && read.len() == count, "{read:?}");
    }
}

#[test]
fn a_page_with_wrong_bytes_is_refused() {
    let rows = rows(Written::Compressed);
    let (chunks, encoded) = encoded(&rows);
    let all = vec![u64::MAX; ROWS.div_ceil(64) as usize];
    let last_message = rows.rows()[ROWS as usize - 1].entry.message.as_bytes();
    let last = &last_message[..64];
    // The last page of the messages, not compressed.
    let is_it = |chunk: &[u8]| chunk.windows(last.len()).any(|part| part == last);
    let plain = |chunk: &Vec<u8>| columnar_common::plainly(chunk).filter(|plain| is_it(plain));
    let (at, page) =
        chunks.chunks.iter().enumerate().find_map(|(at, chunk)| Some((at, plain(chunk)?))).unwrap();
    let open = |page: Vec<u8>| {
        let mut chunks = Chunks { chunks: chunks.chunks.clone(), ..Chunks::default() };
        chunks.chunks[at] = page;
        TableBlock::open(Arc::new(chunks), encoded.directory, &[]).unwrap()
    };
    let is_refused = |page: Vec<u8>| {
        let is_corruption = |error: duramen::Error| error.is_corruption();
        let whole = open(page.clone()).column("_msg").err().is_some_and(is_corruption);
        let some = open(page.clone()).column_at("_msg", &all).err().is_some_and(is_corruption);
        let one_by_one = columnar_common::read_pages(&open(page), "same").err().is_some_and(is_corruption);
        assert_eq!((whole, whole), (some, one_by_one));
        whole
    };
    assert!(!is_refused(page.clone()), "what is not compressed is read, too");
    let mut no_utf8 = page.clone();
    *no_utf8.last_mut().unwrap() = 0xff;
    assert!(is_refused(no_utf8), "no UTF-8");
    let mut cut = page.clone();
    let end = cut.len() - last_message.len();
    cut[end - 1..=end].copy_from_slice("ö".as_bytes());
    assert!(is_refused(cut), "a character that is half of one text, half of the next");
    assert!(is_refused(page[..page.len() - 1].to_vec()), "cut off");
    assert!(is_refused(chunks.chunks[at - 1].clone()), "another page");
    let mut unknown = page;
    unknown[9] = 7;
    assert!(is_refused(unknown), "an unknown method");
}

#[test]
fn damaged_pages_do_not_panic() {
    [Written::Compressed, Written::AsSymbols].into_iter().for_each(check_damaged);
}

fn check_damaged(written: Written) {
    let (chunks, encoded) = encoded(&rows(written));
    let plain: Vec<Vec<u8>> =
        chunks.chunks.iter().map(|chunk| columnar_common::plainly(chunk).unwrap_or(chunk.clone())).collect();
    // What tells how long all is: the heads of bundles, and what comes next in those that are small.
    for n in 0..60usize {
        let mut damaged = if n % 2 == 0 { plain.clone() } else { chunks.chunks.clone() };
        let step = n / 2 + 1;
        for (i, chunk) in damaged.iter_mut().enumerate().filter(|(i, _)| i % step == n % step) {
            let at = (n * 7 + i) % chunk.len().min(if n % 3 == 0 { 400 } else { 12 });
            chunk[at] = [0, 1, 127, 128, 255][(n + i) % 5];
        }
        let damaged = Arc::new(Chunks { chunks: damaged, ..Chunks::default() });
        if let Ok(block) = TableBlock::open(damaged, encoded.directory, &[]) {
            columnar_common::read_all(&block);
        }
    }
}

/// 60 documents without repetition, of which each row has one, and an id.
#[test]
fn texts_that_come_again_from_afar_lie_on_no_pages() {
    let documents: Vec<String> = (0..60).map(|i| free_text(i, 20_000, Written::Compressed)).collect();
    let mut rows = Rows::new(&[]);
    for i in 0..180u64 {
        let message =
            format!("{:016x} {}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15), documents[i as usize % 60]);
        rows.add(i as i64, Level::Info, &message, vec![]);
    }
    let (chunks, _) = encoded(&rows);
    let pages: usize = (0..=4).map(|method| pages_of_method(&chunks, method)).sum();
    assert!(pages < 2, "{pages} pages");
    let bytes: usize = chunks.chunks.iter().map(Vec::len).sum();
    let distinct: usize = documents.iter().map(String::len).sum();
    assert!(bytes < distinct, "{bytes} bytes for three times {distinct}");
}
