//! Whether, and how far, the store has a file already.
//!
//! A file is known by its content, so that it is recognised when it has been renamed, or compressed, or has
//! grown. The store remembers of each source a hash of its head (its first bytes, at most [`HEAD_BYTES`])
//! and of everything that was read of it. A source with the same head is a candidate; one whose hash the
//! file's first `read_bytes` bytes have is the file, with one exception: if it has another name, and under
//! that name there still is another file that begins so, then these are two files, and the second is new.

use crate::input::open::{Source, SourceKind, is_same_file, open};
use crate::input::tracker::Tracker;
use duramen::SourcePosition;
use duramen_formats::ReaderOptions;
use duramen_formats::columns::{Header, HeaderScan};
use std::io::{self, Read};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// How much of a file the hash of its head covers, if it is that long.
pub(crate) const HEAD_BYTES: usize = 4096;

/// Where to go on reading a file, and how its position is written from there.
pub(crate) struct Start {
    /// The stream, its first `position.read_bytes` taken.
    pub(crate) source: Source,
    /// The hash of what is taken.
    pub(crate) tracker: Tracker,
    /// What the store will know of the file: so far, what it knows already.
    pub(crate) position: SourcePosition,
    /// How many lines are in the part that is taken.
    pub(crate) known_lines: u64,
    /// What its header lines say.
    pub(crate) header: Header,
}

/// Finds out where to go on reading a file whose head is known, against the positions in the store.
///
/// # Errors
/// What could not be read, as a sentence for the user.
pub(crate) fn start(
    source: Source,
    argument: &Path,
    path: &Path,
    known: &[SourcePosition],
    options: &ReaderOptions,
) -> Result<Start, String> {
    let name = path.to_string_lossy().into_owned();
    let candidates = candidates(known, &source.head, &name);
    if candidates.is_empty() {
        return Ok(fresh(source, name));
    }
    // One pass compares the file with every candidate; the furthest is looked at first.
    let mut source = source;
    let ends: Vec<u64> = candidates.iter().map(|c| c.read_bytes).collect();
    let prefixes = hash_prefixes(&mut source.reader, &ends, options);
    let stands_at = ends.last().copied().filter(|_| prefixes.last().is_some_and(Option::is_some));
    let matching = candidates.iter().zip(prefixes).rev().filter_map(|(candidate, prefix)| {
        prefix.filter(|p| p.tracker.digest() == candidate.read_hash).map(|p| (*candidate, p))
    });
    for (candidate, prefix) in matching {
        if candidate.name != name && is_another_copy(candidate, path, options) {
            continue;
        }
        if stands_at != Some(candidate.read_bytes) {
            source = open(argument)?;
            skip(&mut source.reader, candidate.read_bytes)
                .map_err(|e| format!("cannot read {}: {e}", source.name))?;
        }
        let position = SourcePosition { name, ..candidate.clone() };
        let Prefix { tracker, lines: known_lines, header } = prefix;
        return Ok(Start { source, tracker, position, known_lines, header });
    }
    // None of them: read it from its beginning.
    Ok(fresh(open(argument)?, name))
}

/// Reads a file from its beginning, whatever the store has of it.
pub(crate) fn fresh(source: Source, name: String) -> Start {
    let head = &source.head[..source.head.len().min(HEAD_BYTES)];
    let position = SourcePosition {
        name,
        // At most HEAD_BYTES.
        head_bytes: head.len() as u32,
        head_hash: xxh3_64(head),
        read_bytes: 0,
        read_hash: xxh3_64(&[]),
        entries: 0,
    };
    Start { source, tracker: Tracker::new(), position, known_lines: 0, header: Header::default() }
}

/// The positions that may be of the file with this head, by how far they are, its own name last among
/// equals (the list is looked at from its end).
fn candidates<'a>(known: &'a [SourcePosition], head: &[u8], name: &str) -> Vec<&'a SourcePosition> {
    let mut found: Vec<_> = known
        .iter()
        .filter(|position| {
            head.get(..position.head_bytes as usize).is_some_and(|head| {
                position.read_bytes > 0 && !head.is_empty() && xxh3_64(head) == position.head_hash
            })
        })
        .collect();
    found.sort_by_key(|position| (position.read_bytes, position.name == name));
    found
}

/// What the first bytes of a stream are.
struct Prefix {
    tracker: Tracker,
    lines: u64,
    header: Header,
}

/// Reads a stream to the last of `ends` (ascending) and gives its hash at each; `None` from where it ends
/// early or cannot be read further.
fn hash_prefixes(reader: &mut dyn Read, ends: &[u64], options: &ReaderOptions) -> Vec<Option<Prefix>> {
    let mut tracker = Tracker::new();
    let mut headers = HeaderScan::new(options);
    let mut lines = 0;
    let mut ended = false;
    let mut buffer = vec![0; 256 << 10];
    ends.iter()
        .map(|&end| {
            while tracker.consumed_bytes() < end && !ended {
                let left = end - tracker.consumed_bytes();
                let want = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                match reader.read(&mut buffer[..want]) {
                    Ok(0) => ended = true,
                    Ok(n) => {
                        lines += memchr::memchr_iter(b'\n', &buffer[..n]).count() as u64;
                        headers.feed(&buffer[..n]);
                        tracker.push(&buffer[..n]);
                        tracker.consume_to(u64::MAX);
                    }
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => ended = true,
                }
            }
            (!ended).then(|| Prefix { tracker: tracker.clone(), lines, header: headers.header() })
        })
        .collect()
}

/// Whether the candidate's own path still leads to another file that begins with what was read then.
fn is_another_copy(candidate: &SourcePosition, path: &Path, options: &ReaderOptions) -> bool {
    let other = Path::new(&candidate.name);
    if is_same_file(other, path) {
        return false;
    }
    let Ok(mut source) = open(other) else { return false };
    if !matches!(source.kind, SourceKind::File { .. }) {
        return false;
    }
    let prefix = hash_prefixes(&mut source.reader, &[candidate.read_bytes], options).pop().flatten();
    prefix.is_some_and(|p| p.tracker.digest() == candidate.read_hash)
}

fn skip(reader: &mut dyn Read, bytes: u64) -> io::Result<()> {
    let skipped = io::copy(&mut reader.take(bytes), &mut io::sink())?;
    if skipped == bytes { Ok(()) } else { Err(io::Error::other("it became shorter meanwhile")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use duramen::EntryRef;
    use duramen_formats::EntryReader;
    use std::convert::Infallible;
    use std::path::PathBuf;

    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            std::fs::canonicalize(self.0.path()).unwrap().join(name)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            std::fs::write(self.path(name), text).unwrap();
            self.path(name)
        }

        /// Where reading the file would go on, and with what.
        fn goes_on(&self, name: &str, known: &[SourcePosition]) -> (u64, u64, String) {
            let path = self.path(name);
            let mut start = start(open(&path).unwrap(), &path, &path, known, &ReaderOptions::new(0)).unwrap();
            assert_eq!(start.position.name, path.to_str().unwrap());
            assert_eq!(start.tracker.consumed_bytes(), start.position.read_bytes);
            assert_eq!(start.tracker.digest(), start.position.read_hash);
            let mut rest = String::new();
            start.source.reader.read_to_string(&mut rest).unwrap();
            (start.position.read_bytes, start.known_lines, rest)
        }
    }

    fn position(path: &Path, text: &str) -> SourcePosition {
        let head = &text.as_bytes()[..text.len().min(HEAD_BYTES)];
        SourcePosition {
            name: path.to_str().unwrap().into(),
            head_bytes: head.len() as u32,
            head_hash: xxh3_64(head),
            read_bytes: text.len() as u64,
            read_hash: xxh3_64(text.as_bytes()),
            entries: 1,
        }
    }

    #[test]
    fn a_file_goes_on_where_it_was_left() {
        let files = Files::new();
        let path = files.write("a", "one\ntwo\nthree\n");
        assert_eq!(files.goes_on("a", &[]), (0, 0, "one\ntwo\nthree\n".into()));
        let known = [position(&path, "one\n"), position(&path, "one\ntwo\n"), position(&path, "one\nTWO\n")];
        assert_eq!(files.goes_on("a", &known), (8, 2, "three\n".into()));
        assert_eq!(files.goes_on("a", &known[..1]), (4, 1, "two\nthree\n".into()));
        assert_eq!(files.goes_on("a", &known[2..]).0, 0);
    }

    #[test]
    fn what_header_lines_of_the_known_part_say_is_known() {
        let files = Files::new();
        let text = "#Fields: date time status\n2024-06-01 10:00:00 200\n#Fields: date time sc-status\n";
        let path = files.write("a", &format!("{text}2024-06-01 10:00:01 404\n"));
        let options = ReaderOptions::new(0);
        for (read, expected) in [
            (0, None),
            (26, Some("200")),
            (50, Some("200")),
            (text.len() - 1, Some("404")),
            (text.len(), Some("404")),
        ] {
            let known = [position(&path, &text[..read])];
            let start = start(open(&path).unwrap(), &path, &path, &known, &options).unwrap();
            let detected = EntryReader::detect(&options, b"");
            let mut reader = EntryReader::resume(options.clone(), 0, detected, None).after(start.header);
            let (mut got, line) = (Vec::new(), format!("2024-06-01 10:00:00 {}\n", expected.unwrap_or("7")));
            let mut sink = |entry: &[u8], _, _| {
                let entry = EntryRef::decode(entry).unwrap();
                got.extend(entry.fields().map(|(name, value)| format!("{name}={value:?}")));
                Ok::<_, Infallible>(())
            };
            reader.feed(line.as_bytes(), &mut sink).unwrap();
            reader.finish(&mut sink).unwrap();
            let expected: Vec<_> = expected.iter().map(|status| format!("status=Int({status})")).collect();
            assert_eq!(got, expected, "{read}");
        }
    }

    #[test]
    fn a_file_that_changed_or_shrank_is_new() {
        let files = Files::new();
        let path = files.write("a", "one\n");
        assert_eq!(files.goes_on("a", &[position(&path, "one\ntwo\n")]), (0, 0, "one\n".into()));
        // The same head, another text behind it.
        let head = "h".repeat(HEAD_BYTES);
        let path = files.write("a", &format!("{head}new\n"));
        assert_eq!(files.goes_on("a", &[position(&path, &format!("{head}old\n"))]).0, 0);
        assert_eq!(files.goes_on("a", &[position(&path, &format!("{head}n"))]).0, HEAD_BYTES as u64 + 1);
    }

    #[test]
    fn a_renamed_file_is_known_and_a_copy_is_not() {
        let files = Files::new();
        let old = files.path("old");
        files.write("new", "one\ntwo\n");
        let known = [position(&old, "one\n")];
        assert_eq!(files.goes_on("new", &known).0, 4, "renamed");
        files.write("old", "one\nand on\n");
        assert_eq!(files.goes_on("new", &known).0, 0, "both are there: two files");
        files.write("old", "rotated: another file by now\n");
        assert_eq!(files.goes_on("new", &known).0, 4, "renamed, and the old name used again");
        // The copy's own position counts, although the original's is further.
        files.write("old", "one\ntwo\n");
        let both = [position(&old, "one\ntwo\n"), position(&files.path("new"), "one\n")];
        assert_eq!(files.goes_on("new", &both), (4, 1, "two\n".into()));
    }

    #[test]
    fn a_hard_link_is_the_same_file_and_a_compressed_one_too() {
        let files = Files::new();
        let old = files.write("old", "one\ntwo\n");
        std::fs::hard_link(&old, files.path("link")).unwrap();
        let known = [position(&old, "one\n")];
        assert_eq!(files.goes_on("link", &known).0, 4);
        let packed = zstd::encode_all(&b"one\ntwo\n"[..], 1).unwrap();
        std::fs::write(files.path("old.zst"), packed).unwrap();
        std::fs::write(&old, "another by now\n").unwrap();
        assert_eq!(files.goes_on("old.zst", &known), (4, 1, "two\n".into()));
    }
}
