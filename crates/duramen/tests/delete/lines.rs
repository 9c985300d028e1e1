//! Numbered lines, and deletions by their numbers.

use duramen::block::Block;
use duramen::column::IntText;
use duramen::{DeleteReport, EntryBuf, Level, Store, StoreOptions};
use duramen_engine::io::Env;
use std::ops::ControlFlow;
use std::sync::Arc;

/// So far apart that no table holds lines of two periods.
pub const PERIOD_NS: i64 = 4000 * 86_400_000_000_000;

pub fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10).flush_threads(1)
}

/// Appends line `number`, of one of three periods, with a text that names it.
pub fn append(store: &Store, number: u64) -> duramen::Result<()> {
    let mut entry = EntryBuf::new(["app"]);
    entry.start((number % 3) as i64 * PERIOD_NS + number as i64).level(Level::Info);
    entry.message(&text(number)).field("app", "x").field("user", text(number).as_str());
    store.append(entry.finish()?).map(drop)
}

/// A text that is in no other line and does not compress to anything else.
pub fn text(number: u64) -> String {
    format!("{number} {:016x}", (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

pub fn number(message: &str) -> u64 {
    message.split(' ').next().unwrap().parse().unwrap()
}

/// Says which rows have a number for which `test` holds.
pub fn rows(block: &Arc<dyn Block>, test: &dyn Fn(u64) -> bool) -> duramen::Result<Vec<bool>> {
    let column = block.column("_msg")?.unwrap();
    let mut digits = IntText::default();
    Ok((0..block.rows()).map(|row| test(number(column.text(row, &mut digits).unwrap()))).collect())
}

pub fn delete(store: &Store, test: &dyn Fn(u64) -> bool) -> duramen::Result<DeleteReport> {
    let all = i64::MIN..=i64::MAX;
    Ok(store.delete(all, &mut |block| rows(block, test), &|| false)?.unwrap())
}

pub fn numbers(store: &Store) -> Vec<u64> {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let number = number(row.message());
            assert_eq!(row.message(), text(number));
            assert_eq!(row.field("user").unwrap(), text(number));
            assert_eq!(row.field("_stream").unwrap(), r#"{app="x"}"#);
            found.push(number);
            ControlFlow::Continue(())
        })
        .unwrap();
    found.sort_unstable();
    found
}
