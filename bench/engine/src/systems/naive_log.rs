//! The log engine of the study that the read and mixed studies reproduce: one file that is appended to, and read
//! from its start to its end by every get, because the newest entry of a key is the one that counts.

use super::{POWER, PROCESS, Side, System};
use crate::Result;
use crate::case::Study;
use crate::data::{Entries, Fold, tag_of};
use crate::store::{Reader, Session, Store};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(super) fn systems() -> Vec<System> {
    vec![
        System {
            name: "naive-log",
            side: Side::Baseline,
            durability: PROCESS,
            settings: "study 000: a get reads the whole file",
            studies: &[Study::Read, Study::Mixed, Study::Disk],
            goals: &[],
            open: |dir| Ok(Box::new(NaiveLog::open(dir, false)?)),
        },
        System {
            name: "naive-log-sync",
            side: Side::Baseline,
            durability: POWER,
            settings: "study 000: fdatasync after each write",
            studies: &[Study::Mixed],
            goals: &[],
            open: |dir| Ok(Box::new(NaiveLog::open(dir, true)?)),
        },
    ]
}

struct NaiveLog {
    file: File,
    sync: bool,
}

impl NaiveLog {
    fn open(dir: &Path, sync: bool) -> Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(dir.join("log"))?;
        Ok(Self { file, sync })
    }

    /// Goes through all entries, the oldest first.
    fn each(&self, buffer: &mut Vec<u8>, mut seen: impl FnMut(&[u8], &[u8])) -> Result<()> {
        buffer.resize(usize::try_from(self.file.metadata()?.len())?, 0);
        self.file.read_exact_at(buffer, 0)?;
        let mut rest = &buffer[..];
        while let Some((key_len, after)) = rest.split_first_chunk() {
            let (value_len, after) = after.split_first_chunk().ok_or("the log is torn")?;
            let (key, after) =
                after.split_at_checked(u32::from_le_bytes(*key_len) as usize).ok_or("the log is torn")?;
            let (value, after) =
                after.split_at_checked(u32::from_le_bytes(*value_len) as usize).ok_or("the log is torn")?;
            seen(key, value);
            rest = after;
        }
        Ok(())
    }
}

fn encode(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.extend_from_slice(&(key.len() as u32).to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

impl Store for NaiveLog {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        let mut file = BufWriter::new(&self.file);
        let mut record = Vec::new();
        while let Some((key, value)) = entries.next() {
            record.clear();
            encode(&mut record, key, value);
            file.write_all(&record)?;
        }
        Ok(file.flush()?)
    }

    /// Every entry is written once in the studies that read: there is nothing to compact.
    fn settle(&self) -> Result<()> {
        Ok(self.file.sync_data()?)
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        with(&mut Log { log: self, buffer: Vec::new(), record: Vec::new() })
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Log { log: self, buffer: Vec::new(), record: Vec::new() }))
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.file.rewind()?;
        Ok(self.file.sync_data()?)
    }
}

struct Log<'a> {
    log: &'a NaiveLog,
    buffer: Vec<u8>,
    record: Vec<u8>,
}

impl Log<'_> {
    fn find<T>(&mut self, wanted: &[u8], take: impl Fn(&[u8]) -> T) -> Result<Option<T>> {
        let mut found = None;
        self.log.each(&mut self.buffer, |key, value| {
            if key == wanted {
                found = Some(take(value));
            }
        })?;
        Ok(found)
    }
}

impl Reader for Log<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        self.find(key, tag_of)
    }

    fn get_value(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.find(key, <[u8]>::to_vec)
    }

    /// In the order of writing: it has no other.
    fn scan(&mut self) -> Result<Fold> {
        let mut fold = Fold::default();
        self.log.each(&mut self.buffer, |key, value| fold.add(key, value))?;
        Ok(fold)
    }
}

impl Session for Log<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.record.clear();
        encode(&mut self.record, key, value);
        (&self.log.file).write_all(&self.record)?;
        if self.log.sync {
            self.log.file.sync_data()?;
        }
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<u64>> {
        self.find(key, tag_of)
    }
}
