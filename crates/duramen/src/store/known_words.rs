//! Which words values of a block may have, told without what else it has: its filter lies in the table, and is kept when it was
//! read, by the block if that is open.

use crate::block::{ValueWords, names};
use crate::columnar::{WordFilter, filter_part};
use crate::store::flush::has_words_of_messages;
use crate::store::reading::Reading;
use crate::store::tables::OpenTable;
use duramen_engine::sstable::{BlockMeta, ChunkSource};
use std::cell::LazyCell;

/// Whether values of a block, which is that of its table's number and of its own in there, may have the words, as [`crate::block::BlockHandle::may_have_words`] says.
pub(super) fn may_have_words(
    open: &OpenTable,
    (number, index): (u64, usize),
    words: &ValueWords<'_>,
    reading: &Reading,
    reads: bool,
) -> bool {
    let Some(meta) = open.table.blocks().get(index).filter(|meta| has_all_words(open, meta, words)) else {
        return true;
    };
    let kept = reading.word_filters();
    let opened = LazyCell::new(|| reading.blocks().opened(number, index));
    words.hashes.iter().all(|&hash| {
        let part = filter_part(hash, meta.filters.len());
        // Without a filter, there is no word.
        let Some(&handle) = meta.filters.get(part) else { return false };
        let place = (number, index, part);
        if let Some(filter) = kept.get(place) {
            return filter.may_contain(hash);
        }
        // What cannot be read is told when the block is opened, or read for an answer.
        if let Some(block) = &*opened {
            return block.may_have(&[hash]).unwrap_or(true);
        }
        let read = || Ok(WordFilter::read(open.table.read_chunk(handle)?));
        !reads || kept.get_or_read(place, read).map_or(true, |filter| filter.may_contain(hash))
    })
}

/// Whether the filter of a block, as the index knows it, has all words of the values that are meant. It has those of all fields,
/// but for integers and labels of streams. A level is told otherwise, too, and so are times and streams, of which it has none.
fn has_all_words(open: &OpenTable, meta: &BlockMeta, words: &ValueWords<'_>) -> bool {
    let of_messages = has_words_of_messages(&meta.user);
    let is_filter_known = of_messages || !meta.filters.is_empty();
    let is_label = || open.streams().is_none_or(|streams| streams.has_label(words.field));
    match words.field {
        names::MESSAGE if of_messages => true,
        names::TIME | names::LEVEL | names::STREAM | names::STREAM_ID => false,
        _ => is_filter_known && !words.may_be_integer && !is_label(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntryBuf, Level, StoreOptions, Value};

    /// Whether the field of lines of a stream of `labels` may have the words, as is told before their block is opened.
    fn may_have(
        labels: &[&str],
        fill: &dyn Fn(i64, &mut EntryBuf),
        field: &str,
        words: &[&str],
        may_be_integer: bool,
    ) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let store = StoreOptions::new().background(false).open(dir.path().join("logs")).unwrap();
        for i in 0..100 {
            let mut entry = EntryBuf::new(labels.iter().copied());
            entry.start(i);
            fill(i, &mut entry);
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let handles = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
        let [handle] = &handles[..] else { panic!("{} blocks", handles.len()) };
        let hashes: Vec<_> = words.iter().map(|word| crate::token::hash(word)).collect();
        let words = ValueWords { field, hashes: &hashes, may_be_integer };
        let before = handle.may_have_words(&words, false);
        let told = handle.may_have_words(&words, true);
        assert!(before && handle.may_have_words(&words, false) == told, "what was read is kept");
        assert!(!handle.is_open());
        let _open = handle.open().unwrap();
        assert!(
            handle.is_open() && handle.may_have_words(&words, false) == told,
            "its own filter tells the same"
        );
        told
    }

    #[test]
    fn which_words_messages_have_is_told_without_opening_blocks() {
        let may_have = |message: &dyn Fn(i64) -> String, words: &[&str], may_be_integer| {
            let fill = |i: i64, entry: &mut EntryBuf| {
                entry.message(&message(i)).field("user", "nobody").field("app", "shop");
            };
            may_have(&["app"], &fill, "_msg", words, may_be_integer)
        };
        let texts = |i: i64| format!("cart {i} was lost");
        let words: [&[&str]; 4] = [&["cart"], &["cart", "57"], &["cart", "1000"], &["nowhere"]];
        assert_eq!(words.map(|words| may_have(&texts, words, false)), [true, true, false, false]);
        assert!(may_have(&texts, &["57"], true) && !may_have(&texts, &["1000"], true), "all are texts");
        // Of messages that are no texts, the filter does not have all words.
        let (constant, integers) = (|_| "always the same".to_owned(), |i: i64| i.to_string());
        assert!(may_have(&constant, &["same"], false) && !may_have(&constant, &["nowhere"], false));
        assert!(may_have(&integers, &["1000"], true) && !may_have(&integers, &["nowhere"], false));
        let no_message = |i: i64, entry: &mut EntryBuf| {
            entry.field("user", format!("somebody {i}").as_str()).field("path", "/");
        };
        let of_messages = |word| self::may_have(&["app"], &no_message, "_msg", &[word], false);
        assert!(!of_messages("nowhere") && of_messages("somebody"), "in which field, nobody knows");
    }

    #[test]
    fn which_words_fields_have_is_told_without_opening_blocks_if_the_filter_has_all() {
        let fill = |i: i64, entry: &mut EntryBuf| {
            entry.message("line").level(Level::Warn).field("app", "shop").field("path", "/cart/7");
            entry.field("user", format!("user-{i}").as_str()).field("n", Value::Int(i));
        };
        let may_have = |labels: &[&str], field, words: &[&str]| may_have(labels, &fill, field, words, false);
        for (labels, field, words, expected) in [
            (&["app"][..], "user", &["user", "57"][..], true),
            (&["app"], "user", &["user", "157"], false),
            (&["app"], "none", &["nowhere"], false),
            (&["app"], "path", &["cart", "7"], true),
            (&["app"], "path", &["cart", "8"], true),
            (&["app"], "path", &["cart", "108"], false),
            // Of levels, times and streams it does not tell.
            (&["app"], "level", &["warn"], true),
            (&["app"], "_time", &["1970"], true),
            (&["app"], "_stream", &["shop"], true),
            (&["app"], "_stream_id", &["0"], true),
            // Nor are labels.
            (&["app"], "app", &["shop"], true),
            (&[], "app", &["nowhere"], false),
        ] {
            assert_eq!(may_have(labels, field, words), expected, "{field} of {labels:?}");
        }
    }
}
