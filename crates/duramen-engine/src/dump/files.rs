//! Which files there are, and what a file is.

use super::{Line, Out, Stop};
use crate::io::{Env, File, OpenMode};
use crate::kv::marker;
use crate::manifest::{self, ManifestReader};
use crate::wal::{self, format as segment};
use crate::{Error, log, lsm, sstable};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Marker,
    Manifest,
    Segment,
    Table,
    Log,
}

impl FileKind {
    const ALL: [(Self, &'static str, &'static [u8]); 5] = [
        (Self::Marker, "engine marker", marker::MAGIC),
        (Self::Manifest, "manifest", manifest::MAGIC),
        (Self::Segment, "WAL segment", &segment::MAGIC),
        (Self::Table, "table", sstable::HEADER_MAGIC),
        (Self::Log, "log", log::MAGIC),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// By its first bytes. Else by its name: the bytes may be damaged, or not written yet.
    fn of(path: &Path, head: &[u8]) -> Option<Self> {
        if let Some((kind, ..)) = Self::ALL.iter().find(|(.., magic)| head.starts_with(magic)) {
            return Some(*kind);
        }
        let name = path.file_name()?.to_str()?;
        match name {
            marker::FILE_NAME => Some(Self::Marker),
            manifest::FILE_NAME => Some(Self::Manifest),
            log::FILE_NAME => Some(Self::Log),
            _ if name.ends_with(".wal") => Some(Self::Segment),
            _ if name.ends_with(".sst") => Some(Self::Table),
            _ => None,
        }
    }
}

/// A file or a directory.
pub(super) fn path(env: &Env, path: &Path, out: &mut Out<'_>) -> Result<(), Stop> {
    match env.fs.read_dir(path) {
        Ok(_) => directory(env, path, out),
        Err(e) if e.kind() == ErrorKind::NotADirectory => file(env, path, out),
        Err(e) => Err(Error::io("open", path)(e).into()),
    }
}

fn directory(env: &Env, dir: &Path, out: &mut Out<'_>) -> Result<(), Stop> {
    let mut found = 0;
    for path in files(env, dir)? {
        match file(env, &path, out) {
            // The store may be in use.
            Err(Stop::Failed(error)) if error.is_not_found() => {}
            Ok(()) | Err(Stop::Enough) => found += 1,
            Err(stop) => return Err(stop),
        }
    }
    if found == 0 {
        let detail = format!("{} holds no store: there is none of an engine's files in it", dir.display());
        return Err(Stop::Failed(Error::InvalidArgument(detail)));
    }
    Ok(())
}

/// The files of a store, in the order in which they are best read.
fn files(env: &Env, dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files: Vec<PathBuf> =
        [marker::FILE_NAME, manifest::FILE_NAME, log::FILE_NAME].map(|name| dir.join(name)).to_vec();
    // What the manifest names, in whatever directories, and what a key-value store has besides.
    let mut tables: BTreeSet<PathBuf> = lsm::table_files(env, dir)?.into_iter().collect();
    if let Ok(reader) = ManifestReader::open(env, dir) {
        tables.extend(reader.state().tables.values().map(|table| dir.join(&table.path)));
    }
    files.extend(tables);
    for writer in wal::writers(env, &dir.join(lsm::WAL_DIR))? {
        files.extend(wal::segments(env, &writer.path)?.into_iter().map(|segment| segment.path));
    }
    Ok(files)
}

fn file(env: &Env, path: &Path, out: &mut Out<'_>) -> Result<(), Stop> {
    let file = env.fs.open(path, OpenMode::Read).map_err(Error::io("open", path))?;
    let bytes = file.len().map_err(Error::io("measure", path))?;
    let mut head = [0; 8];
    let head = &mut head[..bytes.min(8) as usize];
    file.read_exact_at(head, 0).map_err(Error::io("read", path))?;
    let Some(kind) = FileKind::of(path, head) else {
        let detail =
            format!("{} is none of an engine's files, by its first bytes and its name", path.display());
        return Err(Stop::Failed(Error::InvalidArgument(detail)));
    };
    out.file(path, kind.name(), bytes)?;
    let told = match kind {
        FileKind::Marker => engine(env, path, out),
        FileKind::Manifest => manifest::dump(path, &read_whole(&*file, path)?, out),
        FileKind::Segment => wal::dump(path, &read_whole(&*file, path)?, out),
        FileKind::Table => lsm::dump_table(env, path, out),
        FileKind::Log => log::dump(&*file, path, out),
    };
    match told {
        Err(Stop::Failed(error)) if !error.is_not_found() => out.failure(error),
        told => told,
    }
}

fn engine(env: &Env, path: &Path, out: &mut Out<'_>) -> Result<(), Stop> {
    match marker::read(env, path)? {
        Some(kind) => out.line(Line::new("engine", 1).text("kind", format!("{kind:?}"))),
        None => Ok(()),
    }
}

/// All bytes of a file that may grow or be cut meanwhile.
fn read_whole(file: &dyn File, path: &Path) -> Result<Vec<u8>, Error> {
    const STEP: usize = 1 << 20;
    let mut bytes = Vec::new();
    loop {
        let at = bytes.len();
        bytes.resize(at + STEP, 0);
        let read = match file.read_at(&mut bytes[at..], at as u64) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {
                bytes.truncate(at);
                continue;
            }
            other => other.map_err(Error::io("read", path))?,
        };
        bytes.truncate(at + read);
        if read == 0 {
            return Ok(bytes);
        }
    }
}
