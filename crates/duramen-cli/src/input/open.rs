//! A path, or `-` for stdin, to a stream of plain bytes.
//!
//! This is the one place of the command that opens files by itself: they are the user's, not the store's,
//! and may be pipes, devices, compressed or cut short.
#![allow(clippy::disallowed_methods)] // the user's own files are not behind io::Fs

use crate::input::gzip::Members;
use crate::input::peek::Peek;
use crate::input::sniff::{self, Compression};
use crate::input::utf16::Utf16;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// What stands for stdin.
pub(crate) const STDIN: &str = "-";
/// How much of a file is looked at before it is taken for text.
pub(crate) const LOOK_BYTES: usize = 64 << 10;

/// How often to look whether opening is still wanted.
const LOOK_UP: Duration = Duration::from_millis(100);

/// An opened input.
pub(crate) struct Source {
    /// What to call it to people.
    pub(crate) name: String,
    /// What kind of thing it is.
    pub(crate) kind: SourceKind,
    /// Its first bytes, decompressed, in UTF-8 if they were in UTF-16: up to [`LOOK_BYTES`] of a file, what is there of a stream.
    pub(crate) head: Vec<u8>,
    /// How it was compressed.
    pub(crate) compression: Compression,
    /// All its bytes, decompressed, in UTF-8 if they were in UTF-16.
    pub(crate) reader: Box<dyn Read + Send>,
    /// How many bytes have been read of it as it is, compressed or not.
    pub(crate) read_bytes: Arc<AtomicU64>,
}

/// A file, which can be read again, or a stream, which cannot.
#[derive(Clone, Debug)]
pub(crate) enum SourceKind {
    /// A regular file.
    File {
        /// Its path, absolute, links followed.
        path: PathBuf,
        /// Its length in bytes, as it is.
        len: u64,
        /// When it was last written to, ns since the epoch.
        modified_ns: i64,
    },
    /// stdin, a named pipe, a device.
    Stream,
}

/// Opens an input.
///
/// # Errors
/// What is wrong with it, as a sentence for the user.
pub(crate) fn open(path: &Path) -> Result<Source, String> {
    let name = display_name(path);
    if path == Path::new(STDIN) {
        return assemble(name, SourceKind::Stream, io::stdin());
    }
    let failed = |e: io::Error| format!("cannot read {name}: {}", plain_words(&e));
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(format!("{name} is a directory: `-r` takes the files in it"));
    }
    let file = File::open(path).map_err(failed)?;
    let kind = if metadata.is_file() {
        let path = std::fs::canonicalize(path).map_err(failed)?;
        SourceKind::File { path, len: metadata.len(), modified_ns: modified_ns(&metadata) }
    } else {
        SourceKind::Stream
    };
    assemble(name, kind, file)
}

/// As [`open`], but gives up, with `None`, once `stop` says so: a named pipe opens only when somebody writes
/// to it, and the first byte of stdin may never come. Asks every tenth of a second.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_unless(path: &Path, stop: &dyn Fn() -> bool) -> Result<Option<Source>, String> {
    if input_len(path).is_some() {
        return open(path).map(Some);
    }
    let (send, opened) = channel();
    let owned = path.to_owned();
    std::thread::Builder::new()
        .name("open".into())
        .spawn(move || {
            // Whoever gave up needs it no more.
            let _gave_up = send.send(open(&owned));
        })
        .map_err(|e| format!("cannot start a thread: {e}"))?;
    loop {
        match opened.recv_timeout(LOOK_UP) {
            Ok(source) => return source.map(Some),
            Err(RecvTimeoutError::Timeout) if stop() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("{}: the opening thread stopped unexpectedly", display_name(path)));
            }
        }
    }
}

/// What to call an input to people: its path, on one line, whatever characters its name has.
pub(crate) fn display_name(path: &Path) -> String {
    if path == Path::new(STDIN) {
        return "stdin".into();
    }
    let mut name = String::new();
    crate::render::escape::push_safe_line(&mut name, &path.display().to_string());
    name
}

fn assemble(name: String, kind: SourceKind, raw: impl Read + Send + 'static) -> Result<Source, String> {
    let read_bytes = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: raw, read_bytes: Arc::clone(&read_bytes) };
    let mut raw = Peek::new(counted);
    // A pipe's first bytes may be all there is for an hour: look no further than the question needs.
    let compression = sniff::compression(raw.fill_while(sniff::MAGIC_BYTES, sniff::undecided));
    let plain: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(raw),
        Compression::Gzip => Box::new(Members::new(BufReader::with_capacity(128 << 10, raw))),
        Compression::Zstd => {
            Box::new(zstd::stream::read::Decoder::new(raw).map_err(|e| format!("cannot read {name}: {e}"))?)
        }
        Compression::Foreign { name: format, decompress } => {
            return Err(format!(
                "{name} is compressed with {format}, which is not read here: \
                 `{decompress} FILE | duramen ingest -` does it"
            ));
        }
    };
    let mut plain = Peek::new(plain);
    let mark = plain.fill_while(2, |seen| matches!(seen, [0xfe | 0xff]) || seen.is_empty());
    if let Some(order) = sniff::utf16(mark) {
        plain = Peek::new(Box::new(Utf16::new(plain, order)));
    }
    let head = match kind {
        SourceKind::File { .. } => plain.fill(LOOK_BYTES).to_vec(),
        SourceKind::Stream => plain.fill_while(LOOK_BYTES, |seen| seen.is_empty()).to_vec(),
    };
    Ok(Source { name, kind, head, compression, reader: Box::new(plain), read_bytes })
}

/// The files in a directory and those below it, in order of their paths, but for those of the store; links to directories
/// are not followed, and what is neither file nor directory is left out. What cannot be listed is an error among
/// the files, as a sentence for the user, and keeps nothing else from being found.
pub(crate) fn files_below(directory: &Path, store: &Path) -> Vec<Result<PathBuf, String>> {
    if is_same_file(directory, store) {
        return Vec::new();
    }
    let failed = |e: io::Error| format!("cannot list {}: {}", directory.display(), plain_words(&e));
    let entries: Vec<_> = match std::fs::read_dir(directory) {
        Ok(entries) => entries.collect(),
        Err(e) => return vec![Err(failed(e))],
    };
    let mut found = Vec::new();
    let mut paths = Vec::new();
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok(entry) => paths.push(entry),
            Err(e) => found.push(Err(failed(e))),
        }
    }
    paths.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (path, kind) in paths {
        if kind.is_dir() {
            found.extend(files_below(&path, store));
        } else if std::fs::metadata(&path).is_ok_and(|m| m.is_file()) {
            found.push(Ok(path));
        }
    }
    found
}

/// How many bytes an input has, compressed or not; `None` of a stream, 0 of what cannot be read.
pub(crate) fn input_len(path: &Path) -> Option<u64> {
    if path == Path::new(STDIN) {
        return None;
    }
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Some(metadata.len()),
        Ok(metadata) if !metadata.is_dir() => None,
        _ => Some(0),
    }
}

/// A hash of which file a path leads to, by whatever name; `None` of what is no file.
pub(crate) fn file_hash(path: &Path) -> Option<u64> {
    let file = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    Some(xxh3_64(&[file.dev().to_le_bytes(), file.ino().to_le_bytes()].concat()))
}

/// Whether the path is a directory.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.is_dir()
}

/// Whether two paths lead to one file or directory: equal, or hard links of each other.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b
        || match (std::fs::metadata(a), std::fs::metadata(b)) {
            (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
            _ => false,
        }
}

/// What a failed read means to the user.
pub(crate) fn read_failure(name: &str, compression: Compression, error: &io::Error) -> String {
    let format = match compression {
        Compression::Gzip => "gzip",
        Compression::Zstd => "zstd",
        Compression::None | Compression::Foreign { .. } => {
            return format!("cannot read {name} to its end: {}", plain_words(error));
        }
    };
    if ends_too_early(error) {
        format!(
            "{name} is a {format} file that ends too early: what could be read of it is in the store, but for what is behind \
             the last whole entry; run it again when the rest is there"
        )
    } else if error.raw_os_error().is_some() {
        format!("cannot read {name} to its end: {}", plain_words(error))
    } else {
        format!("{name} is a damaged {format} file ({error}): what could be read before that is in the store")
    }
}

/// Whether a compressed file was cut, or is still being written.
pub(crate) fn ends_too_early(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof || error.to_string().contains("incomplete frame")
}

/// The operating system's message without its number.
fn plain_words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

fn modified_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

/// Counts what is read through it.
struct Counted<R> {
    inner: R,
    read_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.read_bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_with(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read_all(path: &Path) -> (Vec<u8>, Option<String>) {
        let mut source = open(path).unwrap();
        let mut out = Vec::new();
        let error = source.reader.read_to_end(&mut out).err();
        (out, error.map(|e| read_failure("x", source.compression, &e)))
    }

    #[test]
    fn every_member_and_frame_is_read() {
        let text = "one line of it\n".repeat(10_000).into_bytes();
        let gz = [gzip(&text), gzip(b"and another\n")].concat();
        let zst =
            [zstd::encode_all(&text[..], 3).unwrap(), zstd::encode_all(&b"and another\n"[..], 3).unwrap()]
                .concat();
        let expected = [&text[..], b"and another\n"].concat();
        for bytes in [gz, zst, expected.clone()] {
            let file = file_with(&bytes);
            assert_eq!(read_all(file.path()), (expected.clone(), None));
        }
    }

    #[test]
    fn what_can_be_read_of_a_cut_file_is_read() {
        let text: Vec<u8> = (0..200_000u32)
            .flat_map(|n| format!("{}\n", n.wrapping_mul(2_654_435_761)).into_bytes())
            .collect();
        for bytes in [gzip(&text), zstd::encode_all(&text[..], 3).unwrap()] {
            let file = file_with(&bytes[..bytes.len() / 2]);
            let (read, error) = read_all(file.path());
            assert!(read.len() > text.len() / 4, "{}", read.len());
            assert!(text.starts_with(&read));
            let error = error.unwrap();
            assert!(error.contains("ends too early"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_with_what_to_do() {
        let says = |path: &Path| open(path).err().unwrap();
        assert!(
            says(Path::new("/nowhere/at all")).contains("no such file"),
            "{}",
            says(Path::new("/nowhere/x"))
        );
        let dir = tempfile::tempdir().unwrap();
        assert!(says(dir.path()).contains("is a directory: `-r`"));
        let xz = file_with(b"\xfd7zXZ\0rest");
        assert!(says(xz.path()).contains("xz -dc FILE | duramen ingest -"));
    }

    #[test]
    fn the_files_of_a_directory_are_found_in_order() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("b")).unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        for name in ["b/x", "a", "c", "d/of the store"] {
            std::fs::write(dir.path().join(name), b"").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
        let found: Vec<_> =
            files_below(dir.path(), &dir.path().join("d")).into_iter().map(Result::unwrap).collect();
        let names: Vec<_> =
            found.iter().map(|p| p.strip_prefix(dir.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a", "b/x", "c"]);
        let missing = files_below(&dir.path().join("no such"), Path::new("store"));
        assert!(missing[0].as_ref().unwrap_err().contains("no such file"), "{missing:?}");
    }
}
