//! One suite for every memtable.
//!
//! Under Miri, `cargo +nightly miri test -p duramen-engine --lib lsm::memtable::tests`, with `-- vec`, and
//! `MIRIFLAGS=-Zmiri-strict-provenance`; or with `-- skiplist`, and
//! `MIRIFLAGS="-Zmiri-disable-stacked-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks"`, since
//! crossbeam-skiplist frees its nodes through shared references, which Miri's rules of borrowing do not allow.

pub(super) mod arena;
mod history;
mod races;
mod recovered;
mod suite;
mod vec_only;

use super::*;

/// Makes an empty memtable.
type Make = fn(Arc<SegmentReader>) -> Arc<dyn Memtable>;

macro_rules! for_every_memtable {
    ($($suite:ident::$name:ident),+ $(,)?) => {
        mod vec_memtable {
            $(#[test] fn $name() { super::$suite::$name(|segment| super::new_memtable(super::MemtableKind::Vec, segment, 0)) })+
        }
        mod skiplist_memtable {
            $(#[test] fn $name() { super::$suite::$name(|segment| super::new_memtable(super::MemtableKind::Skiplist, segment, 0)) })+
        }
    };
}

for_every_memtable!(
    suite::an_empty_one_has_nothing,
    suite::versions_and_deletions_are_read_at_their_seqs,
    suite::keys_that_share_beginnings_are_in_order,
    suite::keys_in_order_and_in_reverse,
    suite::a_cursor_does_not_see_what_comes_later,
    suite::scans_between_writes_see_everything,
    suite::deleted_ranges_are_listed,
    suite::values_outlive_the_memtable,
    suite::seqs_may_start_anywhere_and_have_gaps,
    suite::the_index_says_how_large_it_is,
    history::any_history_is_as_in_a_map,
    recovered::what_was_recovered_around_damage_is_indexed,
    races::readers_see_what_was_written_before_they_began,
    races::scans_are_whole_while_a_writer_goes_on,
    races::deleted_ranges_are_seen_once_they_are_there,
);

#[test]
fn threads_insert_into_a_skiplist_at_the_same_time() {
    races::threads_insert_at_the_same_time(|segment| new_memtable(MemtableKind::Skiplist, segment, 0));
}
