//! A plain file of JSON lines. Threads share its buffer behind a mutex, as loggers to files do.

use super::{BATCH, Found, Session, Target};
use crate::Result;
use crate::sample::Line;
use serde::Deserialize;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

struct Plain {
    path: PathBuf,
    writer: Mutex<Writer>,
}

struct Writer {
    file: File,
    waiting: Vec<u8>,
    lines: u32,
}

pub(super) fn open(dir: &Path) -> Result<Box<dyn Target>> {
    let path = dir.join("lines.json");
    let file = OpenOptions::new().create(true).append(true).open(&path)?;
    Ok(Box::new(Plain { path, writer: Mutex::new(Writer { file, waiting: Vec::new(), lines: 0 }) }))
}

#[derive(Deserialize)]
struct Seq {
    seq: i64,
}

impl Target for Plain {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(&self.writer))
    }

    fn close(self: Box<Self>) -> Result<Found> {
        let mut found = Found::default();
        for line in BufReader::new(File::open(&self.path)?).lines() {
            found.lines += 1;
            found.seq_sum += serde_json::from_str::<Seq>(&line?)?.seq;
        }
        Ok(found)
    }
}

impl Writer {
    fn flush(&mut self) -> Result<()> {
        self.file.write_all(&self.waiting)?;
        self.waiting.clear();
        self.lines = 0;
        Ok(())
    }
}

impl Session for &Mutex<Writer> {
    fn log(&mut self, line: &Line, seq: i64) -> Result<()> {
        let mut writer = self.lock().unwrap_or_else(PoisonError::into_inner);
        serde_json::to_writer(&mut writer.waiting, &line.json(seq))?;
        writer.waiting.push(b'\n');
        writer.lines += 1;
        if writer.lines == BATCH {
            writer.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}
