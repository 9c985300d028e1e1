//! What the device can do: appending a record to a preallocated file, and `fdatasync`. No engine that makes
//! each write durable can be faster than the first thread of these; eight threads can share a sync.

use super::{POWER, Side, System};
use crate::Result;
use crate::case::Study;
use crate::data::{ENTRY_BYTES, Entries, Fold, KEY_BYTES};
use crate::store::{Reader, Session, Store};
use rustix::fs::FallocateFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Room for some ten seconds.
const FILE_BYTES: u64 = 96 << 20;

pub(super) fn systems() -> Vec<System> {
    let system = |name, settings, open| System {
        name,
        side: Side::Baseline,
        durability: POWER,
        settings,
        studies: &[Study::Durable],
        goals: &[Study::Durable],
        open,
    };
    vec![
        system(
            "raw-fallocate",
            "pwrite and fdatasync in a file that was made with fallocate; each thread its own",
            |dir| open(dir, Zeros::Reserved, None),
        ),
        system("raw-zeroed", "the same in a file filled with zeros, 4 KiB at a time", |dir| {
            open(dir, Zeros::Written, None)
        }),
        system(
            "raw-group",
            "as raw-fallocate; threads that wait at the same time share one pwrite and one fdatasync",
            |dir| open(dir, Zeros::Reserved, Some(Group::default())),
        ),
    ]
}

fn open(dir: &Path, zeros: Zeros, group: Option<Group>) -> Result<Box<dyn Store>> {
    Ok(Box::new(Device { file: preallocated(dir, zeros)?, group }))
}

#[derive(Clone, Copy)]
enum Zeros {
    Reserved,
    Written,
}

struct Preallocated {
    file: File,
    end: AtomicU64,
}

fn preallocated(dir: &Path, zeros: Zeros) -> Result<Preallocated> {
    let path = dir.join("records");
    let existed = path.exists();
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if !existed {
        match zeros {
            Zeros::Reserved => rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, FILE_BYTES)?,
            Zeros::Written => {
                for page in 0..FILE_BYTES / 4096 {
                    file.write_all_at(&[0; 4096], page * 4096)?;
                }
            }
        }
        file.sync_all()?;
    }
    Ok(Preallocated { file, end: AtomicU64::new(0) })
}

impl Preallocated {
    fn append(&self, record: &[u8]) -> Result<()> {
        let at = self.end.fetch_add(record.len() as u64, Ordering::Relaxed);
        if at + record.len() as u64 > FILE_BYTES {
            return Err("the preallocated file is full: measure for a shorter time".into());
        }
        self.file.write_all_at(record, at)?;
        Ok(self.file.sync_data()?)
    }

    /// What was written, up to the first zeros.
    fn scan(&self) -> Result<Fold> {
        let mut fold = Fold::default();
        let mut record = [0; ENTRY_BYTES];
        for at in (0..FILE_BYTES - ENTRY_BYTES as u64).step_by(ENTRY_BYTES) {
            self.file.read_exact_at(&mut record, at)?;
            if record == [0; ENTRY_BYTES] {
                break;
            }
            fold.add(&record[..KEY_BYTES], &record[KEY_BYTES..]);
        }
        Ok(fold)
    }
}

fn record(key: &[u8], value: &[u8]) -> Result<[u8; ENTRY_BYTES]> {
    let mut record = [0; ENTRY_BYTES];
    if key.len() != KEY_BYTES || key.len() + value.len() != ENTRY_BYTES {
        return Err("it knows entries of one size only".into());
    }
    record[..KEY_BYTES].copy_from_slice(key);
    record[KEY_BYTES..].copy_from_slice(value);
    Ok(record)
}

/// Appends records, each with a sync of its own, or together with others.
struct Device {
    file: Preallocated,
    group: Option<Group>,
}

/// Threads share syncs: one leads, and takes what has gathered.
#[derive(Default)]
struct Group {
    queue: Mutex<Queue>,
    synced: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<u8>,
    /// How many records were ever queued, and how many of them are durable.
    queued: u64,
    durable: u64,
    led: bool,
    failed: bool,
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, file: &Preallocated, record: &[u8]) -> Result<()> {
        let mut queue = self.lock();
        queue.waiting.extend_from_slice(record);
        queue.queued += 1;
        let mine = queue.queued;
        while queue.durable < mine {
            if queue.failed {
                return Err("another thread's sync has failed".into());
            }
            if queue.led {
                queue = self.synced.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            queue.led = true;
            let (records, last) = (std::mem::take(&mut queue.waiting), queue.queued);
            drop(queue);
            let written = file.append(&records);
            queue = self.lock();
            queue.led = false;
            match &written {
                Ok(()) => queue.durable = last,
                Err(_) => queue.failed = true,
            }
            self.synced.notify_all();
            written?;
        }
        Ok(())
    }
}

impl Store for Device {
    fn load(&self, entries: &mut Entries) -> Result<()> {
        let mut session = self.session()?;
        while let Some((key, value)) = entries.next() {
            session.put(key, value)?;
        }
        Ok(())
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn read(&self, with: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        with(&mut Records(&self.file))
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Appending(self)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct Appending<'a>(&'a Device);

impl Session for Appending<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let record = record(key, value)?;
        match &self.0.group {
            None => self.0.file.append(&record),
            Some(group) => group.append(&self.0.file, &record),
        }
    }

    fn get(&mut self, _: &[u8]) -> Result<Option<u64>> {
        Err("it finds nothing again".into())
    }
}

struct Records<'a>(&'a Preallocated);

impl Reader for Records<'_> {
    fn get(&mut self, _: &[u8]) -> Result<Option<u64>> {
        Err("it finds nothing again".into())
    }

    fn get_value(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>> {
        Err("it finds nothing again".into())
    }

    fn scan(&mut self) -> Result<Fold> {
        self.0.scan()
    }
}
