//! Rows that hold words are found, and others ruled out, before texts are put together.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod columnar_common;

use columnar_common::{Field, Rows, check, encode};
use duramen::block::{Block, Found, Needle, Run, Word};
use duramen::columnar::TableBlock;
use duramen::{Level, gram};

const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (Linux; Android 9; Model E6533) Chrome/71.0 Safari",
    "Mozilla/5.0 (Linux; Android 9; Model X1) Chrome/71.0 Mobile Safari",
    "Mozilla/5.0 (Windows NT 10.0) Gecko Firefox/64.0",
    "crawler/2.1",
];

/// Lines of a web server; the browser is a field, too, and the message refers to it.
fn access_log() -> Rows {
    let mut rows = Rows::new(&[]);
    for i in 0..400i64 {
        let agent = AGENTS[if i == 77 { 0 } else { 1 + i as usize % 3 }];
        let (minute, second) = (i / 60, i % 60);
        let message = format!(
            "10.0.0.{} [05/Jan/2026:10:{minute:02}:{second:02}] \"GET /a\" {} \"{agent}\"",
            i % 9,
            i * 7919
        );
        rows.add(
            (1_767_607_200 + i) * 1_000_000_000,
            Level::Info,
            &message,
            vec![("agent", Field::Str(agent.into()))],
        );
    }
    rows
}

fn find(block: &TableBlock, words: &[&str], phrase: &str) -> Found {
    let certain = |text: &str| text.contains(phrase);
    let reaches = |part: &str| {
        phrase.contains(part)
            || (1..phrase.len()).any(|at| part.ends_with(&phrase[..at]) || part.starts_with(&phrase[at..]))
    };
    let words: Vec<Word<'_>> = words.iter().map(|&word| word.into()).collect();
    let run = Some(Run { text: phrase, starts_word: false, ends_word: false });
    block
        .search("_msg", &Needle { words: &words, certain: &certain, reaches: &reaches, run })
        .unwrap()
        .unwrap()
}

fn count(bits: &[u64]) -> u32 {
    bits.iter().map(|word| word.count_ones()).sum()
}

#[test]
fn a_word_with_digits_that_no_time_has_rules_out_all_other_rows() {
    let block = encode(&access_log());
    let found = find(&block, &["E6533"], "E6533");
    assert_eq!((count(&found.certain), count(&found.possible)), (1, 0));
}

#[test]
fn what_another_field_says_makes_a_row_certain() {
    let block = encode(&access_log());
    let mobile = (0..400).filter(|i| *i != 77 && i % 3 == 0).count() as u32;
    let found = find(&block, &["Mobile"], "Mobile");
    assert_eq!((count(&found.certain), count(&found.possible)), (mobile, 0));
}

#[test]
fn a_phrase_whose_words_are_all_in_a_field_but_elsewhere_is_ruled_out() {
    let block = encode(&access_log());
    let found = find(&block, &["Chrome", "71", "0", "Safari"], "Chrome/71.0 Safari");
    assert_eq!((count(&found.certain), count(&found.possible)), (1, 0));
}

#[test]
fn a_phrase_across_pieces_is_found_without_putting_texts_together() {
    let block = encode(&access_log());
    // From what stays the same into a field, and from a variable into it.
    let found = find(&block, &["crawler"], " \"crawler/2");
    assert_eq!((count(&found.certain), count(&found.possible)), (132, 0));
    let found = find(&block, &["7919", "crawler"], "7919 \"crawler/2.1\"");
    assert_eq!((count(&found.certain), count(&found.possible)), (0, 0));
    let found = find(&block, &["15838", "crawler"], "15838 \"crawler/2.1\"");
    assert_eq!((count(&found.certain), count(&found.possible)), (1, 0));
    let found = find(&block, &["05", "GET"], "05] \"GET");
    assert_eq!((count(&found.certain), count(&found.possible)), (7, 0));
}

/// Devices, of which every one is called mobile in a longer word, and some in one of its own; some lines are like no other.
fn devices() -> Rows {
    let mut rows = Rows::new(&[]);
    for i in 0..400i64 {
        let device = ["Mobile", "Desktop", "IEMobile", "Mobile_7"][i as usize % 4];
        let message = match i % 40 {
            39 => format!("{} NokiaMobile{i}", "~".repeat(i as usize % 7)),
            _ => format!("seen by MobileSafari {} times, on {device} {}", i * 7919, i * 31 % 1009),
        };
        rows.add((1_767_607_200 + i) * 1_000_000_000, Level::Info, &message, vec![]);
    }
    rows
}

#[test]
fn a_word_that_is_only_a_part_of_longer_ones_leaves_nothing_open() {
    let block = encode(&devices());
    let needle = Needle {
        words: &["Mobile".into()],
        certain: &|text| text.split([' ', ',']).any(|word| word == "Mobile"),
        reaches: &|_| false,
        run: None,
    };
    let found = block.search("_msg", &needle).unwrap().unwrap();
    assert_eq!((count(&found.certain), count(&found.possible)), (100, 0));
    check(&devices());
}

#[test]
fn what_is_in_no_text_of_a_field_with_grams_is_known() {
    let block = encode(&access_log());
    let may = |name: &str, part: &str| block.may_contain_grams(name, &gram::hashes(part)).unwrap();
    assert!(may("_msg", "OBILE sAF"));
    assert!(!may("_msg", "xylophone") && !may("no such field", "Mobile"));
    assert!(may("agent", "xylophone"), "a dictionary is soon looked through");
}

#[test]
fn all_words_and_phrases_are_found() {
    check(&access_log());
}
