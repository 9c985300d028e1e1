//! The directory: whose it is, what its file system can do, how much room it has.

use super::Findings;
use crate::render::units::{bytes, count, duration};
use duramen_engine::io::os::CopiesOnWrite;
use duramen_engine::io::{Env, OpenMode};
use rustix::fs::{Access, access, statfs, statvfs};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// Less room than this is a warning, and than [`NO_ROOM_BYTES`] an error: a segment of the WAL may not fit.
const LITTLE_ROOM_BYTES: u64 = 1 << 30;
const NO_ROOM_BYTES: u64 = 64 << 20;
/// Fewer names than this may be made: a warning.
const FEW_INODES: u64 = 1_000;
/// A sync that takes longer is slow even for a disk that turns.
const SLOW_SYNC: Duration = Duration::from_millis(50);
/// How many syncs are timed; the median counts.
const SYNCS: usize = 9;
/// The file that is made to see what the file system can do; a store takes no notice of it.
const PROBE: &str = "doctor.tmp";

/// File systems that share a directory with another kernel, or keep nothing, by the number that Linux gives them.
const OTHERS: &[(u64, &str, bool)] = &[
    (0x6969, "NFS", true),
    (0x517b, "SMB", true),
    (0xff53_4d42, "CIFS", true),
    (0xfe53_4d42, "SMB2", true),
    (0x0102_1997, "9p", true),
    (0x6573_5546, "FUSE (or virtiofs)", true),
    (0x5346_544e, "NTFS", true),
    (0x0102_1994, "tmpfs", false),
    (0x8584_58f6, "ramfs", false),
];

/// Says whether there is a directory that can be looked into.
pub(super) fn directory(findings: &mut Findings, dir: &Path) -> bool {
    let name = dir.display();
    let meta = match std::fs::metadata(dir) {
        Ok(meta) => meta,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let advice = "give the store's directory, or make one: `duramen ingest`, `duramen serve`";
            findings.error("directory", format!("{name} is not there"), advice);
            return false;
        }
        Err(e) => {
            findings.error("directory", format!("{name}: {e}"), "see who may read the directories above it");
            return false;
        }
    };
    if !meta.is_dir() {
        findings.error("directory", format!("{name} is a file"), "give the store's directory");
        return false;
    }
    if let Err(e) = access(dir, Access::READ_OK | Access::EXEC_OK) {
        let advice = "run it as the user whose store it is";
        findings.error("directory", format!("{name} cannot be read: {e}"), advice);
        return false;
    }
    let told =
        format!("{name}, of user {} and group {}, mode {:o}", meta.uid(), meta.gid(), meta.mode() & 0o7777);
    let shut = unusable(dir);
    if !shut.is_empty() {
        let advice = "run every writer as one user, or give them a group with read and write for all files";
        let some = shut.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let told = format!("{told}; {} of its files cannot be written by this user: {some}", shut.len());
        findings.warn("directory", told, advice);
    } else if meta.mode() & 0o002 != 0 {
        findings.warn("directory", format!("{told}: everybody may change it"), format!("chmod o-w {name}"));
    } else {
        findings.ok("directory", told);
    }
    true
}

/// What of a store this user may not write: reading alone does not need it.
fn unusable(dir: &Path) -> Vec<String> {
    let mut shut = Vec::new();
    for part in ["", "wal", "tables", "MANIFEST", "KEEPER", "READERS", "READERS.odd"] {
        let path = dir.join(part);
        let missing = Access::READ_OK | Access::WRITE_OK;
        if path.exists() && access(&path, missing).is_err() {
            shut.push(if part.is_empty() { "the directory itself".to_owned() } else { part.to_owned() });
        }
    }
    shut
}

/// What the file system is, and whether it can do what the write-ahead log asks of it.
pub(super) fn file_system(findings: &mut Findings, dir: &Path, env: &Env) {
    if let Ok(stat) = statfs(dir) {
        let number = stat.f_type as u64 & 0xffff_ffff;
        match OTHERS.iter().find(|(magic, ..)| *magic == number) {
            Some((_, name, true)) => findings.warn(
                "file system",
                format!("{name}: other machines may see the same directory"),
                "let one machine open the store, never two at once: locks may not reach the other",
            ),
            Some((_, name, false)) => findings.warn(
                "file system",
                format!("{name}: in memory only"),
                "put the store on a disk: a restart loses it",
            ),
            None => {}
        }
    }
    let probe = dir.join(PROBE);
    if access(dir, Access::WRITE_OK).is_err() {
        findings.ok("file system", "not tried: this user may not write there");
        return;
    }
    // What an earlier visit left when it was killed.
    let _nothing_left = env.fs.remove_file(&probe);
    match env.fs.create_segment(&probe, 1 << 20) {
        Ok(_) => findings.ok("file system", "files can be mapped, and their room reserved"),
        Err(e) if e.get_ref().is_some_and(|why| why.is::<CopiesOnWrite>()) => findings.ok(
            "file system",
            "it copies on write, so that the log's files are not mapped but written, by calls for each group of lines",
        ),
        Err(e) if e.kind() == ErrorKind::Unsupported => findings.warn(
            "file system",
            "files cannot be mapped or their room not reserved: lines are safe only once written, which is slower",
            "use ext4 or xfs",
        ),
        Err(e) => findings.error("file system", format!("a segment cannot be made: {e}"), "make room, or see who may write"),
    }
    let _nothing_left = env.fs.remove_file(&probe);
    match sync_time(&probe, env) {
        Ok(took) if took > SLOW_SYNC => findings.warn(
            "sync",
            format!("a sync takes {}", duration(took)),
            "durability `sync` waits so long for each batch; use a faster disk, or `interval:MS`",
        ),
        Ok(took) => findings.ok("sync", format!("a sync takes {:.2} ms", took.as_secs_f64() * 1e3)),
        Err(e) => findings.error(
            "sync",
            format!("a file cannot be synced: {e}"),
            "see what the system's log says of the disk",
        ),
    }
    let _nothing_left = env.fs.remove_file(&probe);
}

/// The median of some syncs of a page each.
fn sync_time(path: &Path, env: &Env) -> std::io::Result<Duration> {
    let file = env.fs.open(path, OpenMode::CreateNew)?;
    let mut took = Vec::with_capacity(SYNCS);
    for i in 0..SYNCS {
        file.write_all_at(&[1; 4096], (i * 4096) as u64)?;
        let began = env.clock.monotonic();
        file.sync_data()?;
        took.push(env.clock.monotonic().saturating_sub(began));
    }
    took.sort();
    Ok(took[SYNCS / 2])
}

/// Bytes and names that are left.
pub(super) fn room(findings: &mut Findings, dir: &Path, env: &Env) {
    match env.fs.available_bytes(dir) {
        Ok(free) => told_of_room(findings, free),
        Err(e) => findings.warn("room", format!("it cannot be told: {e}"), "see `df`"),
    }
    match statvfs(dir) {
        // Some file systems have no fixed number, and say 0 of 0.
        Ok(stat) if stat.f_files > 0 && stat.f_favail < FEW_INODES => findings.warn(
            "inodes",
            format!("{} more files can be made", count(stat.f_favail)),
            "remove files: a store needs one for each table and segment",
        ),
        Ok(stat) if stat.f_files > 0 => {
            findings.ok("inodes", format!("{} more files can be made", count(stat.f_favail)));
        }
        Ok(_) | Err(_) => {}
    }
}

fn told_of_room(findings: &mut Findings, free: u64) {
    let told = format!("{} free", bytes(free));
    let advice = "make room, or let less be kept: `duramen retention --max-bytes …` or `--min-free-bytes …`";
    match free {
        0..NO_ROOM_BYTES => findings.error("room", told, advice),
        NO_ROOM_BYTES..LITTLE_ROOM_BYTES => findings.warn("room", told, advice),
        _ => findings.ok("room", told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn room_gets_scarce_by_degrees() {
        for (free, status) in [(0, Status::Error), (NO_ROOM_BYTES, Status::Warning), (1 << 40, Status::Ok)] {
            let mut findings = Findings::default();
            told_of_room(&mut findings, free);
            assert_eq!(findings.status(), status, "{free}");
        }
    }

    #[test]
    fn what_is_no_directory_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        for (path, told) in [(file.clone(), "is a file"), (dir.path().join("none"), "is not there")] {
            let mut findings = Findings::default();
            assert!(!directory(&mut findings, &path));
            assert!(findings.to_text().contains(told), "{}", findings.to_text());
        }
    }

    #[test]
    fn a_directory_is_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(PROBE), "of one that was killed").unwrap();
        let mut findings = Findings::default();
        assert!(directory(&mut findings, dir.path()));
        file_system(&mut findings, dir.path(), &Env::os());
        assert_ne!(findings.status(), Status::Error, "{}", findings.to_text());
        assert!(findings.to_text().contains("a sync takes"), "{}", findings.to_text());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
