//! SQLite, a JSON file, and the device alone.

use super::configs::{Place, Read};
use super::ours::encode;
use crate::Result;
use crate::sample::Entry;
use duramen::{EntryBuf, Level};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How many fields an entry has, its level included: what [`super::ours::scan`] counts.
const FIELDS: u64 = 4;

struct Sqlite {
    connection: Connection,
}

/// What an entry has beside its time, level and message.
#[derive(Serialize, Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    service: Cow<'a, str>,
    request: i64,
    ok: bool,
}

impl Entry<'_> {
    fn fields(&self) -> Fields<'static> {
        Fields { service: Cow::Borrowed(self.service), request: self.request, ok: self.ok }
    }
}

pub(super) fn sqlite(dir: &Path, synchronous: &str) -> Result<Box<dyn Place>> {
    let connection = Connection::open(dir.join("sqlite"))?;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous};
         CREATE TABLE IF NOT EXISTS logs (id INTEGER PRIMARY KEY, time INTEGER, level INTEGER, message TEXT, fields TEXT);
         CREATE INDEX IF NOT EXISTS by_time ON logs (time)"
    ))?;
    Ok(Box::new(Sqlite { connection }))
}

impl Place for Sqlite {
    fn put(&mut self, entry: &Entry<'_>) -> Result<()> {
        let insert = "INSERT INTO logs (time, level, message, fields) VALUES (?1, ?2, ?3, ?4)";
        let fields = serde_json::to_string(&entry.fields())?;
        let row = params![entry.time_ns, Level::Info as u8, entry.message, fields];
        self.connection.prepare_cached(insert)?.execute(row)?;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(self.connection.close().map_err(|(_, error)| error)?)
    }
}

pub(super) fn sqlite_read(dir: &Path, min_time: i64, max_time: i64) -> Result<Read> {
    let connection = Connection::open(dir.join("sqlite"))?;
    let mut read = Read::default();
    let select = "SELECT time, level, message, fields FROM logs WHERE time BETWEEN ?1 AND ?2 ORDER BY time";
    let mut statement = connection.prepare(select)?;
    let mut rows = statement.query([min_time, max_time])?;
    while let Some(row) = rows.next()? {
        let _time: i64 = row.get(0)?;
        let _level: u8 = row.get(1)?;
        let fields: Fields<'_> = serde_json::from_str(row.get_ref(3)?.as_str()?)?;
        read.add(row.get_ref(2)?.as_str()?, &fields);
    }
    Ok(read)
}

impl Read {
    fn add(&mut self, message: &str, fields: &Fields<'_>) {
        self.entries += 1;
        self.message_bytes += message.len() as u64;
        self.requests += fields.request;
        self.fields += FIELDS;
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct JsonEntry<'a> {
    time: i64,
    level: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow)]
    fields: Fields<'a>,
}

impl<'a> From<&Entry<'a>> for JsonEntry<'a> {
    fn from(entry: &Entry<'a>) -> Self {
        JsonEntry {
            time: entry.time_ns,
            level: Cow::Borrowed(Level::Info.name()),
            message: Cow::Borrowed(entry.message),
            fields: entry.fields(),
        }
    }
}

struct JsonFile {
    writer: BufWriter<File>,
}

pub(super) fn json_file(dir: &Path) -> Result<Box<dyn Place>> {
    let file = File::create(dir.join("entries.json"))?;
    Ok(Box::new(JsonFile { writer: BufWriter::with_capacity(64 << 10, file) }))
}

impl Place for JsonFile {
    fn put(&mut self, entry: &Entry<'_>) -> Result<()> {
        serde_json::to_writer(&mut self.writer, &JsonEntry::from(entry))?;
        Ok(self.writer.write_all(b"\n")?)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.writer.flush()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

pub(super) fn json_read(dir: &Path, min_time: i64, max_time: i64) -> Result<Read> {
    let mut read = Read::default();
    let mut reader = BufReader::with_capacity(64 << 10, File::open(dir.join("entries.json"))?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(read);
        }
        let entry: JsonEntry<'_> = serde_json::from_slice(&line)?;
        if (min_time..=max_time).contains(&entry.time) {
            read.add(&entry.message, &entry.fields);
        }
    }
}

struct Device {
    file: File,
    at: u64,
    entry: EntryBuf,
}

/// The file has as many zeros beforehand, written and synced.
pub(super) fn device(dir: &Path, zeros: u64) -> Result<Box<dyn Place>> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(dir.join("bytes"))?;
    let chunk = vec![0; 1 << 20];
    for i in 0..zeros >> 20 {
        file.write_all_at(&chunk, i << 20)?;
    }
    file.sync_all()?;
    Ok(Box::new(Device { file, at: 0, entry: EntryBuf::new(["service"]) }))
}

impl Place for Device {
    fn put(&mut self, entry: &Entry<'_>) -> Result<()> {
        let bytes = encode(&mut self.entry, entry)?;
        self.file.write_all_at(bytes, self.at)?;
        self.file.sync_data()?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
