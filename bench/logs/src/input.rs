//! The log files: found in a directory, plain or compressed, and one generated.

use crate::Result;
use duramen_generate::{Generator, Options};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// A log to measure with.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A file; compressed if its name ends in `.zst`.
    File(PathBuf),
    /// So many generated lines.
    Generated(u64),
}

/// The logs in a directory, by name, and a generated one.
pub(crate) fn find(data: &Path, generate: u64, only: Option<&str>) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    match std::fs::read_dir(data) {
        Ok(entries) => {
            for entry in entries {
                let path = entry?.path();
                let name = path.to_string_lossy();
                if [".log", ".ndjson", ".log.zst", ".ndjson.zst"].iter().any(|e| name.ends_with(e)) {
                    inputs.push(Input::File(path));
                }
            }
        }
        Err(e) => eprintln!("skipping {}: {e}", data.display()),
    }
    if generate > 0 {
        inputs.push(Input::Generated(generate));
    }
    inputs.retain(|i| only.is_none_or(|o| i.name().contains(o)));
    inputs.sort_by_key(Input::name);
    Ok(inputs)
}

impl Input {
    /// The file's name without `.zst`.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.strip_suffix(".zst").unwrap_or(&name).to_owned()
            }
            Self::Generated(lines) => format!("generated-{lines}.ndjson"),
        }
    }

    /// Writes the plain text to `sink`.
    pub(crate) fn copy_to(&self, sink: &mut impl Write) -> Result<()> {
        match self {
            Self::File(path) => {
                let file = File::open(path)?;
                let mut source: Box<dyn Read> = if path.extension().is_some_and(|e| e == "zst") {
                    Box::new(zstd::Decoder::new(file)?)
                } else {
                    Box::new(BufReader::new(file))
                };
                std::io::copy(&mut source, sink)?;
            }
            Self::Generated(lines) => {
                let mut generator = Generator::new(Options { lines: *lines, ..Options::default() })?;
                let mut line = Vec::new();
                while generator.write_line(&mut line) {
                    sink.write_all(&line)?;
                    line.clear();
                }
            }
        }
        Ok(())
    }

    /// Writes the plain text to a file, and returns how many bytes and line ends it has.
    pub(crate) fn unpack(&self, path: &Path) -> Result<Size> {
        let mut counting = Counting { inner: BufWriter::new(File::create(path)?), size: Size::default() };
        self.copy_to(&mut counting)?;
        counting.inner.flush()?;
        Ok(counting.size)
    }
}

/// How much text there is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

struct Counting<W> {
    inner: W,
    size: Size,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.size.bytes += written as u64;
        self.size.lines += memchr::memchr_iter(b'\n', &bytes[..written]).count() as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
