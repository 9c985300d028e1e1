//! Segments on a btrfs, and on an overlay over one: made, filled and read where the disk is full. Needs root, and says so.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code
#![allow(clippy::disallowed_methods)] // the image of a file system is no file of a store

use duramen_engine::io::os::CopiesOnWrite;
use duramen_engine::io::{Env, Segment};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

/// Places that are mounted, while it lives.
#[derive(Default)]
struct Mounted(Vec<PathBuf>);

impl Mounted {
    fn mount(&mut self, at: PathBuf, options: &[&str]) -> bool {
        std::fs::create_dir(&at).unwrap();
        let done = run(Command::new("mount").args(options).arg(&at));
        if done {
            self.0.push(at);
        }
        done
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for place in self.0.iter().rev() {
            let _it_may_have_gone = run(Command::new("umount").arg(place));
        }
    }
}

fn run(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Writes until nothing goes in any more.
fn fill(at: &Path) {
    let mut file = std::fs::File::create(at.join("fill")).unwrap();
    let block = vec![7; 1 << 20];
    for _ in 0..3 {
        for len in [1 << 20, 4096] {
            while file.write_all(&block[..len]).is_ok() {}
        }
        let _what_it_has = file.sync_all();
    }
}

/// How much memory of its own the process has.
fn anonymous_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    own.trim().trim_end_matches(" kB").parse().unwrap()
}

fn holds_its_room_when_the_disk_is_full(at: &Path, disk: &Path) {
    const LEN: usize = 8 << 20;
    // No multiple of a page.
    const STEP: usize = 99_999;
    let fs = Env::os().fs;
    let path = at.join("segment");
    let refused = fs.create_segment(&path, LEN).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    assert!(refused.get_ref().is_some_and(|why| why.is::<CopiesOnWrite>()), "{refused}");
    assert!(!path.exists());
    let segment = fs.create_unmapped_segment(&path, LEN).unwrap();
    assert!(segment.may_publish_again());
    fill(disk);
    let full = fs.create_unmapped_segment(&at.join("another"), LEN).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull, "{full}");
    assert!(!at.join("another").exists());
    // Each call takes some milliseconds, for btrfs looks for new room first. Little by little, with a counter in front that is written again each time, and syncs.
    let bytes: Vec<u8> = (0..LEN).map(|i| (i * 7 % 251) as u8).collect();
    for (nth, range) in (4096..LEN - STEP).step_by(STEP).map(|start| start..start + STEP).enumerate() {
        // In order, as a writer does.
        write(&*segment, range.start, &bytes[range.clone()]);
        segment.publish(range.start, range.len()).unwrap();
        segment.memory().counter(128).store(range.end as u64, Ordering::Release);
        segment.publish(128, 8).unwrap();
        if nth % 20 == 0 {
            segment.sync(0, LEN).unwrap();
        }
    }
    let end = segment.memory().counter(128).load(Ordering::Acquire) as usize;
    let before = anonymous_kib();
    segment.unload(4096, end - 4096);
    let after = anonymous_kib();
    assert!(before - after > 7 << 10, "{before} kB, then {after}");
    let read = std::fs::read(&path).unwrap();
    assert!(read[4096..end] == bytes[4096..end]);
    assert!(slice(&*segment, 4096, end - 4096) == &bytes[4096..end]);
    segment.truncate(end).unwrap();
    assert!(slice(&*segment, 4096, end - 4096) == &bytes[4096..end]);
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(disk.join("fill")).unwrap();
}

#[allow(unsafe_code)]
fn write(segment: &dyn Segment, at: usize, bytes: &[u8]) {
    // SAFETY: this thread alone knows the segment.
    unsafe { segment.memory().write(at, bytes) }
}

#[allow(unsafe_code)]
fn slice(segment: &dyn Segment, at: usize, len: usize) -> &[u8] {
    // SAFETY: written before, and never again.
    unsafe { segment.memory().slice(at, len) }
}

#[test]
fn what_is_reserved_where_nothing_is_mapped_can_be_written_on_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(128 << 20).unwrap();
    let disk = dir.path().join("disk");
    let mut mounted = Mounted::default();
    if !run(Command::new("mkfs.btrfs").arg(&image))
        || !mounted.mount(disk.clone(), &["-o", "loop", image.to_str().unwrap()])
    {
        return eprintln!("skipped: no btrfs can be mounted");
    }
    holds_its_room_when_the_disk_is_full(&disk, &disk);

    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| disk.join(name));
    for dir in [&lower, &upper, &work] {
        std::fs::create_dir(dir).unwrap();
    }
    let layers =
        format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
    let layer = dir.path().join("layer");
    if !mounted.mount(layer.clone(), &["-t", "overlay", "overlay", "-o", &layers]) {
        return eprintln!("skipped: no overlay can be mounted");
    }
    holds_its_room_when_the_disk_is_full(&layer, &disk);
}

/// Containers on other file systems have what there is without a container.
#[test]
fn an_overlay_on_anything_else_is_mapped() {
    for place in [std::env::temp_dir(), PathBuf::from("/dev/shm")] {
        let Ok(dir) = tempfile::tempdir_in(&place) else { continue };
        if Env::os().fs.create_segment(&dir.path().join("segment"), 1 << 20).is_err() {
            eprintln!("skipped: {} copies on write itself", place.display());
            continue;
        }
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| dir.path().join(name));
        for dir in [&lower, &upper, &work] {
            std::fs::create_dir(dir).unwrap();
        }
        let layers =
            format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        let mut mounted = Mounted::default();
        let layer = dir.path().join("layer");
        if !mounted.mount(layer.clone(), &["-t", "overlay", "overlay", "-o", &layers]) {
            eprintln!("skipped: no overlay can be mounted on {}", place.display());
            continue;
        }
        assert!(Env::os().fs.create_segment(&layer.join("segment"), 1 << 20).unwrap().is_mapped());
    }
}
