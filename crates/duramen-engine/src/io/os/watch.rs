//! Being told by the system what has changed, for those who would look each time.
//!
//! Linux puts an event into a queue before the call returns that made the change, so whoever reads the queue knows of everything
//! that was over before. There are few queues (`fs.inotify.max_user_instances`, 128 for a user's processes together), so this
//! process has one for all that it watches, and only counts what comes out of it: who is told of too much looks once more.

use super::fork::{NotInherited, fork_generation};
use crate::io::Watch;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::{Errno, read, retry_on_intr};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// ext2 to ext4, XFS, tmpfs, btrfs, F2FS, ZFS and bcachefs, which change by this machine's calls only. Of what others change (NFS,
/// FUSE), or what is changed below (an overlay), the system does not tell.
const LOCAL: [i128; 7] =
    [0xef53, 0x5846_5342, 0x0102_1994, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e];

/// Nobody waits for it: whoever finds it locked looks as if something had changed. So does a forked child in which it is for ever.
static QUEUE: Mutex<Option<Queue>> = Mutex::new(None);

#[derive(Debug)]
struct Queue {
    /// Not the children's: they would take its events from their parent.
    events: NotInherited,
    /// How often something was found in it, and in those before it.
    changes: u64,
    /// The process that made it, in its line of forks.
    generation: u64,
}

impl Queue {
    /// Counts what has come, if anything.
    fn drain(&mut self) -> io::Result<u64> {
        let mut room = [MaybeUninit::<u8>::uninit(); 4096];
        loop {
            match retry_on_intr(|| read(self.events.file(), &mut room).map(|_| ())) {
                Ok(()) => self.changes += 1,
                Err(Errno::AGAIN) => return Ok(self.changes),
                Err(e) => return Err(e.into()),
            }
        }
    }
}

/// Does something with this process's queue; nothing while another thread does.
fn with_queue<T>(make: bool, run: impl FnOnce(&mut Queue) -> io::Result<T>) -> io::Result<T> {
    let mut slot = QUEUE.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
    let generation = fork_generation();
    let before = slot.as_ref().map(|queue| (queue.generation, queue.changes));
    let queue = match &mut *slot {
        Some(queue) if queue.generation == generation => queue,
        slot if make => {
            let flags = CreateFlags::NONBLOCK | CreateFlags::CLOEXEC;
            let events = NotInherited::open(|| Ok(File::from(inotify::init(flags)?)))?;
            let changes = before.map_or(0, |(_, changes)| changes) + 1;
            slot.insert(Queue { events, changes, generation })
        }
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    run(queue)
}

/// What is watched for one who asks.
#[derive(Debug, Default)]
pub(super) struct OsWatch {
    watched: Mutex<Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    /// The system's numbers for it.
    numbers: BTreeSet<i32>,
    /// The files, and which they are: of a directory above that is moved, or a link in the way that leads elsewhere now, nobody tells.
    files: Vec<(PathBuf, (u64, u64))>,
}

impl Watched {
    /// Whether the files' names still lead to them.
    fn are_in_place(&self) -> bool {
        self.files.iter().all(|(path, file)| which(path).is_ok_and(|found| found == *file))
    }
}

/// Which file it is.
fn which(path: &Path) -> io::Result<(u64, u64)> {
    let found = rustix::fs::stat(path)?;
    Ok((found.st_dev, found.st_ino))
}

impl Watch for OsWatch {
    fn only(&self, dirs: &[&Path], files: &[&Path]) -> io::Result<u64> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        with_queue(true, |queue| {
            let names = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            let known = files.iter().map(|path| Ok((path.to_path_buf(), which(path)?)));
            let known = known.collect::<io::Result<_>>()?;
            // What was seen of others before is not to pass for what these are.
            if std::mem::replace(&mut watched.files, known) != watched.files {
                queue.changes += 1;
            }
            let bytes = WatchFlags::MODIFY | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
            let of_dirs = dirs.iter().map(|path| (path, names));
            let all = of_dirs.chain(files.iter().map(|path| (path, bytes)));
            let add = |(path, flags): (&&Path, WatchFlags)| {
                if !LOCAL.contains(&(i128::from(rustix::fs::statfs(*path)?.f_type) & 0xffff_ffff)) {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                Ok(inotify::add_watch(queue.events.file(), *path, flags)?)
            };
            let mut now = BTreeSet::new();
            for one in all {
                match add(one) {
                    Ok(number) => now.insert(number),
                    Err(e) => {
                        // What there is of them goes with the others.
                        watched.numbers.append(&mut now);
                        return Err(e);
                    }
                };
            }
            let before = std::mem::replace(&mut watched.numbers, now);
            // Another may have watched the same: it is told, and does so again.
            for number in before.difference(&watched.numbers) {
                let _gone_by_itself = inotify::remove_watch(queue.events.file(), *number);
            }
            queue.drain()
        })
    }

    fn changes(&self) -> Option<u64> {
        let watched = self.watched.try_lock().ok()?;
        with_queue(false, Queue::drain).ok().filter(|_| watched.are_in_place())
    }
}

impl Drop for OsWatch {
    fn drop(&mut self) {
        let watched = std::mem::take(self.watched.get_mut().unwrap_or_else(PoisonError::into_inner));
        // Where another thread is at the queue, it stays with this process, and only tells of too much.
        let _left_as_it_is = with_queue(false, |queue| {
            for number in watched.numbers {
                let _gone_by_itself = inotify::remove_watch(queue.events.file(), number);
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    #[allow(clippy::disallowed_methods)] // the io layer is where files are touched
    fn what_is_watched_is_told_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| root.path().join(name));
        std::fs::create_dir(&a).unwrap();
        std::fs::create_dir(&b).unwrap();
        let mut file = File::create(b.join("file")).unwrap();
        let watch = OsWatch::default();
        assert_eq!(watch.changes(), None, "nothing is watched");
        let mut last = match watch.only(&[&a], &[&b.join("file")]) {
            Err(e) if e.kind() == io::ErrorKind::Unsupported => return,
            other => other.unwrap(),
        };
        let mut has_changed = |watch: &OsWatch| {
            let now = watch.changes().unwrap();
            std::mem::replace(&mut last, now) != now
        };
        assert!(!has_changed(&watch));
        File::create(b.join("other")).unwrap();
        assert!(!has_changed(&watch), "that is in another directory");
        let mut new = File::create(a.join("new")).unwrap();
        assert!(has_changed(&watch) && !has_changed(&watch));
        new.write_all(b"bytes").unwrap();
        assert!(!has_changed(&watch), "no name has changed");
        file.write_all(b"bytes").unwrap();
        assert!(has_changed(&watch));
        std::fs::rename(a.join("new"), b.join("new")).unwrap();
        assert!(has_changed(&watch));
        // Another store of this process may watch the same: it is told when one lets go of it, and asks again.
        let another = OsWatch::default();
        another.only(&[&a], &[]).unwrap();
        drop(another);
        assert!(has_changed(&watch));
        last = watch.only(&[&a, &b], &[]).unwrap();
        std::fs::create_dir(b.join("dir")).unwrap();
        assert_ne!(watch.changes(), Some(last));
        assert!(watch.only(&[&a.join("none")], &[]).is_err());
        // What an attempt that failed has begun to watch ends with the others.
        drop(watch);
        let watch = OsWatch::default();
        assert!(watch.only(&[&a, &a.join("none")], &[]).is_err());
        drop(watch);
        let watch = OsWatch::default();
        last = watch.only(&[&b], &[]).unwrap();
        File::create(a.join("nobody looks")).unwrap();
        assert_eq!(watch.changes(), Some(last));
        // No directory that is watched moves where one above is another now.
        let (link, file) = (root.path().join("link"), Path::new("link/file"));
        std::os::unix::fs::symlink(&b, &link).unwrap();
        last = watch.only(&[&b], &[&root.path().join(file)]).unwrap();
        assert_eq!(watch.changes(), Some(last));
        File::create(a.join("file")).unwrap();
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&a, &link).unwrap();
        assert_eq!(watch.changes(), None);
    }
}
