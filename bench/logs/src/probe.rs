//! Chooses what to search for in a log, so that the queries ask something of every file.

use crate::Result;
use crate::input::Size;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

/// As many words are tried at most.
const CANDIDATES: usize = 40;
/// Longer lines are cut, to keep this process small.
const LINE_BYTES_MAX: usize = 1 << 16;

/// The word on the fewest lines among those of a line two thirds down the file, and on how many lines it is.
pub(crate) fn rare_word(path: &Path, size: Size) -> Result<Option<(String, u64)>> {
    let mut file = BufReader::new(File::open(path)?);
    file.seek(SeekFrom::Start(size.bytes / 3 * 2))?;
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line)?; // the rest of a line
    line.clear();
    file.read_until(b'\n', &mut line)?;
    let mut words: Vec<(String, u64)> = Vec::new();
    for word in words_of(&line) {
        if words.len() < CANDIDATES && word.len() >= 5 && !words.iter().any(|(w, _)| w.as_bytes() == word) {
            words.push((String::from_utf8_lossy(word).into_owned(), 0));
        }
    }
    let finders: Vec<_> = words.iter().map(|(w, _)| memchr::memmem::Finder::new(w).into_owned()).collect();
    let mut file = BufReader::new(File::open(path)?);
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        line.truncate(LINE_BYTES_MAX);
        for ((word, count), finder) in words.iter_mut().zip(&finders) {
            let hit = finder.find_iter(&line).any(|at| is_whole(&line, at, word.len()));
            *count += u64::from(hit);
        }
    }
    words.retain(|(_, count)| *count > 0);
    Ok(words.into_iter().min_by_key(|(_, count)| *count))
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

/// The words of a line that are plain ASCII and begin with a letter: those need no quotes anywhere.
fn words_of(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&b| !is_word_byte(b))
        .filter(|w| w.first().is_some_and(u8::is_ascii_alphabetic) && w.is_ascii())
}

fn is_whole(line: &[u8], at: usize, len: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| line.get(i));
    let after = line.get(at + len);
    !before.is_some_and(|&b| is_word_byte(b)) && !after.is_some_and(|&b| is_word_byte(b))
}

/// A filter `field:"value"` for a short field of an entry, given as the JSON that a query returns.
pub(crate) fn field_filter(entry: &str) -> Option<String> {
    let entry: Value = serde_json::from_str(entry).ok()?;
    let text = |value: &Value| match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        _ => None,
    };
    let usable = |name: &str| {
        let value = text(entry.get(name)?)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let fits = !value.is_empty() && value.len() <= 40 && value.chars().all(plain);
        fits.then(|| format!("{name}:\"{value}\""))
    };
    let likely = ["status", "app", "program", "logger", "host", "level"];
    likely.into_iter().find_map(usable).or_else(|| {
        let names = entry.as_object()?.keys().filter(|n| !n.starts_with('_'));
        names
            .filter(|n| n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .find_map(|n| usable(n))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_word_is_found_and_counted_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let text = "alpha other seldomly\n".repeat(10) + &"alpha other seldom\n".repeat(20);
        std::fs::write(&path, &text).unwrap();
        let size = Size { bytes: text.len() as u64, lines: 30 };
        assert_eq!(rare_word(&path, size).unwrap(), Some(("seldom".to_owned(), 20)));
        assert!(is_whole(b"a seldom b", 2, 6) && !is_whole(b"seldomly", 0, 6));
    }

    #[test]
    fn a_filter_is_made_of_a_short_field() {
        let filter = field_filter(r#"{"_time":"x","a b":1,"user.id":"u-1","_msg":"m"}"#);
        assert_eq!(filter.as_deref(), Some(r#"user.id:"u-1""#));
        assert_eq!(field_filter(r#"{"x":"y","status":404}"#).as_deref(), Some(r#"status:"404""#));
        assert_eq!(field_filter(r#"{"_msg":"m","x":"has \"quotes\""}"#), None);
        assert_eq!(field_filter("no json"), None);
    }
}
