//! The files, and what is known about each.

use crate::stamp::{Stamp, civil_ns};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Of a larger file only so much is taken, up to a line's end.
const CUT_BYTES: u64 = 20 << 20;

/// What is known about a file.
pub struct Known {
    name: &'static str,
    /// Where its time stamps are.
    pub stamp: Stamp,
    /// The fields of JSON that hold the message; the first that is a string with something in it does.
    pub message: &'static [&'static str],
    /// When it was last written, in civil time: what gives lines without a year theirs.
    modified: (i16, i8, i8),
}

const fn json(name: &'static str, stamp: Stamp, message: &'static [&'static str]) -> Known {
    Known { name, stamp, message, modified: (2024, 1, 1) }
}

const fn text(name: &'static str, stamp: Stamp) -> Known {
    Known { name, stamp, message: &[], modified: (2024, 1, 1) }
}

const fn text_of(name: &'static str, stamp: Stamp, modified: (i16, i8, i8)) -> Known {
    Known { name, stamp, message: &[], modified }
}

const BSD: &str = "%b %e %H:%M:%S";
const COMMON_LOG: &str = "%d/%b/%Y:%H:%M:%S %z";

const KNOWN: &[Known] = &[
    json("json-cloudtrail-ec2-proxy.ndjson", Stamp::Rfc3339Field("@timestamp"), &[]),
    json("json-k8s-trainticket-0129.ndjson", Stamp::Rfc3339Field("Timestamp"), &["Log.log"]),
    json("json-nginxplus-status.ndjson", Stamp::MillisField("timestamp"), &[]),
    json("json-postgres-cnpg.ndjson", Stamp::SecondsField("ts"), &["record.message", "msg"]),
    json("json-windows-events-dcom.ndjson", Stamp::Rfc3339Field("@timestamp"), &["Message"]),
    json("json-windows-events-wevtutil.ndjson", Stamp::Rfc3339Field("@timestamp"), &["Message"]),
    json("json-zeek-apt29-day1.ndjson", Stamp::SecondsField("ts"), &["message", "msg"]),
    json("json-zeek-dns.ndjson", Stamp::Rfc3339Field("ts"), &[]),
    text("multiline-java-bboxdb.log", Stamp::None),
    text("multiline-java-license-plugin.log", Stamp::None),
    text("multiline-kafka0-controller.log", Stamp::behind("[", "%Y-%m-%d %H:%M:%S,%3f", 0)),
    text("multiline-kafka0-state-change.log", Stamp::behind("[", "%Y-%m-%d %H:%M:%S,%3f", 0)),
    text("multiline-postgres-vacuum.log", Stamp::behind("", "%Y-%m-%d %H:%M:%S CEST", 2)),
    text_of("text-loghub-android-2k.log", Stamp::behind("", "%m-%d %H:%M:%S.%3f", 0), (2017, 12, 31)),
    text("text-loghub-bgl-2k.log", Stamp::SecondWordSeconds),
    text("text-loghub-hdfs-2k.log", Stamp::behind("", "%y%m%d %H%M%S", 0)),
    text_of("text-loghub-linux-2k.log", Stamp::behind("", BSD, 0), (2005, 7, 27)),
    text_of("text-loghub-openssh-2k.log", Stamp::behind("", BSD, 0), (2016, 3, 1)),
    text("text-loghub-spark-2k.log", Stamp::behind("", "%y/%m/%d %H:%M:%S", 0)),
    text("text-loghub-thunderbird-2k.log", Stamp::SecondWordSeconds),
    text("text-loghub-zookeeper-2k.log", Stamp::behind("", "%Y-%m-%d %H:%M:%S,%3f", 0)),
    text("text-pgbouncer-1.21.log", Stamp::behind("", "%Y-%m-%d %H:%M:%S.%3f CET", 1)),
    text_of("text-syslog-postgres.log", Stamp::behind("", BSD, 0), (2019, 2, 11)),
    text_of("text-syslog-sshd-rootly.log", Stamp::behind("", BSD, 0), (2025, 1, 30)),
    text("web-apache-access-rootly.log", Stamp::behind(" [", COMMON_LOG, 0)),
    text("web-nginx-zanbil-100k.log", Stamp::behind(" [", COMMON_LOG, 0)),
];

/// A compressed log file.
pub struct DataFile {
    path: PathBuf,
    packed_bytes: u64,
    pub known: &'static Known,
}

/// All files there are; `None`, with a word about it, where there is no such directory.
pub fn all() -> Option<Vec<DataFile>> {
    let dir = std::env::var_os("DURAMEN_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    if !dir.is_dir() {
        eprintln!("skipped: no real logs at {} (set DURAMEN_TEST_DATA)", dir.display());
        return None;
    }
    let entries = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap());
    let packed = entries.filter(|entry| entry.path().extension().is_some_and(|e| e == "zst"));
    let files: Vec<_> = packed
        .map(|entry| {
            let name = entry.path().file_stem().unwrap().to_str().unwrap().to_owned();
            let known = KNOWN.iter().find(|known| known.name == name);
            let known = known.unwrap_or_else(|| panic!("{name} is new: say in files.rs where its time is"));
            DataFile { path: entry.path(), packed_bytes: entry.metadata().unwrap().len(), known }
        })
        .collect();
    assert!(!files.is_empty(), "no *.zst in {}", dir.display());
    Some(files)
}

impl DataFile {
    pub fn name(&self) -> &'static str {
        self.known.name
    }

    pub fn packed_bytes(&self) -> u64 {
        self.packed_bytes
    }

    pub fn is_ndjson(&self) -> bool {
        self.name().ends_with(".ndjson")
    }

    /// Whether it has events of several lines.
    pub fn joins_lines(&self) -> bool {
        self.name().starts_with("multiline-")
    }

    /// Its bytes, or the first of them, up to a line's end.
    pub fn load(&self) -> Vec<u8> {
        let unpacked = zstd::Decoder::new(std::fs::File::open(&self.path).unwrap()).unwrap();
        let most = if std::env::var_os("DURAMEN_TEST_WHOLE").is_some() { u64::MAX } else { CUT_BYTES };
        let mut bytes = Vec::new();
        let mut rest = unpacked.take(most);
        rest.read_to_end(&mut bytes).unwrap();
        if rest.limit() == 0 {
            bytes.truncate(memchr::memrchr(b'\n', &bytes).unwrap() + 1);
        }
        bytes
    }

    /// When it was last written, ns since the epoch.
    pub fn modified_ns(&self) -> i64 {
        let (year, month, day) = self.known.modified;
        civil_ns(jiff::civil::date(year, month, day).at(12, 0, 0, 0), 0)
    }

    /// Gives a copy its time of last change.
    pub fn set_modified(&self, path: &Path) {
        let at = UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.modified_ns()).unwrap());
        std::fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
    }
}
