//! Sealed segments into tables: a manifest edit says that they are in them, and then they are removed.

use super::Keeper;
use crate::error::Result;
use crate::store::retention;
use crate::store::rows::RowSet;
use crate::store::source::{SourcePosition, keep_furthest};
use duramen_engine::manifest::Edit;
use duramen_engine::wal::{self, SegmentReader, WriterDir};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many bytes of segments are flushed together, so that many small ones make one table. All of them are mapped
/// meanwhile.
pub(super) const FLUSH_GROUP_BYTES: u64 = 16 << 20;

/// A segment to flush, whose it is, and whether damage was found in it.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) writer: u64,
    pub(super) reader: Arc<SegmentReader>,
    pub(super) damaged: bool,
    /// Up to which of its writer's segments all count as flushed when it is.
    pub(super) through: u64,
}

impl Keeper {
    /// Flushes the sealed segments of a writer that goes on writing: all together, or as many as there are descriptors for.
    pub(super) fn flush_living(&mut self, writer: &WriterDir) -> Result<()> {
        let mut most = usize::MAX;
        loop {
            let mut jobs = Vec::new();
            let found = self.find_sealed(writer, most, &mut jobs);
            let (count, are_all) = (jobs.len(), found.is_ok());
            match found.and_then(|()| self.flush(jobs, Vec::new())) {
                Ok(()) if count < most => return Ok(()),
                Ok(()) => {}
                Err(e) if e.is_out_of_descriptors() && !self.manifest.is_poisoned() => {
                    let closed = self.tables.close_all();
                    if !closed && (count == 0 || count == 1 && are_all) {
                        return Err(e);
                    }
                    // A table may have been written, but for what makes it durable: its number is needed again.
                    self.find_unflushed()?;
                    most = (count / 2).max(1);
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Finds the first segments that such a writer has sealed, so many at most.
    fn find_sealed(&mut self, writer: &WriterDir, most: usize, jobs: &mut Vec<Job>) -> Result<()> {
        let flushed = self.flushed_through(writer.writer_id);
        let files = wal::segments(&self.shared.env, &writer.path)?;
        // One that was never used goes without having been sealed.
        let there: BTreeSet<u64> = files.iter().map(|file| file.number).collect();
        self.watched.retain(|(id, number), _| *id != writer.writer_id || there.contains(number));
        for file in files {
            if file.number <= flushed {
                self.remove(&file.path)?;
                continue;
            }
            if jobs.len() >= most {
                break;
            }
            let key = (writer.writer_id, file.number);
            let reader = match self.watched.get(&key) {
                Some(reader) => reader.clone(),
                None => match SegmentReader::open(&self.shared.env, &file.path) {
                    Ok(Some(reader)) => Arc::new(reader),
                    Ok(None) => break,
                    // Once its writer is gone, its records are looked for. Nobody else is to wait for that.
                    // But this process's own writers would wait for its buffers: they are told.
                    Err(e) if e.is_corruption() && self.shared.living_writer() != Some(writer.writer_id) => {
                        if self.told_damaged.insert(key) {
                            self.shared.incident(format!("a segment waits for its writer's end: {e}"));
                        }
                        break;
                    }
                    Err(e) => return Err(e.into()),
                },
            };
            // One from before the machine was started, whose writer nevertheless lives, is another machine's: it
            // is not ours to tell where it ends.
            if !reader.is_sealed() || reader.is_from_another_boot() {
                self.watched.insert(key, reader);
                break;
            }
            self.watched.remove(&key);
            jobs.push(Job { writer: writer.writer_id, reader, damaged: false, through: file.number });
        }
        Ok(())
    }

    /// Puts segments into tables, in groups, and removes them. With the last group, of the writers in `passed_over`, who have
    /// none among them, those up to such a number count as flushed.
    pub(super) fn flush(&mut self, jobs: Vec<Job>, passed_over: Vec<(u64, u64)>) -> Result<()> {
        let mut group: Vec<Job> = Vec::new();
        let mut bytes = 0;
        for job in jobs {
            let len = job.reader.committed();
            if bytes > 0 && bytes + len > FLUSH_GROUP_BYTES {
                self.flush_group(std::mem::take(&mut group), Vec::new())?;
                bytes = 0;
            }
            bytes += len;
            group.push(job);
        }
        self.flush_group(group, passed_over)
    }

    fn flush_group(&mut self, mut jobs: Vec<Job>, passed_over: Vec<(u64, u64)>) -> Result<()> {
        let mut flushed = BTreeMap::new();
        for (writer, through) in jobs.iter().map(|job| (job.writer, job.through)).chain(passed_over) {
            let furthest = flushed.entry(writer).or_insert(through);
            *furthest = through.max(*furthest);
        }
        if flushed.is_empty() {
            return Ok(());
        }
        let mut rows = self.rows_of(&mut jobs);
        let mut set_values = self.news_of_sources(&rows);
        for job in jobs.iter().filter(|job| job.damaged) {
            if let Some(path) = job.reader.path() {
                self.preserve(job.writer, path)?;
            }
        }
        let arenas = rows.arenas();
        let frozen = rows.take();
        let policy = self.policy();
        let now_ns = self.shared.env.clock.now_unix_ns();
        let sorted = retention::sort(policy.as_ref(), now_ns, &arenas, frozen.entries())?;
        let add_tables = self.flusher.write(&arenas, &sorted, self.manifest.state().next_table)?;
        self.count_late(sorted.late, &mut set_values);
        self.apply(Edit {
            add_tables,
            flushed: flushed.clone().into_iter().collect(),
            set_values,
            ..Edit::default()
        })?;
        for job in &jobs {
            if let Some(path) = job.reader.path() {
                self.remove(path)?;
            }
        }
        if let Some(wal) = self.shared.wal.newest()
            && let Some(&through) = flushed.get(&wal.writer_id())
        {
            wal.release(through);
        }
        Ok(())
    }

    /// The rows of segments. What cannot be read of them is told, and they are marked as damaged.
    fn rows_of(&self, jobs: &mut [Job]) -> RowSet {
        let mut rows = RowSet::default();
        for job in jobs {
            let undecodable_before = rows.undecodable();
            if let Err(damage) = rows.add(job.reader.clone()) {
                self.shared.incident(format!("{damage}; the segment was moved to quarantine"));
                job.damaged = true;
            }
            if rows.undecodable() > undecodable_before {
                self.shared.incident(format!(
                    "{} entries of segment {} of writer {:016x} could not be decoded; the segment was moved to quarantine",
                    rows.undecodable() - undecodable_before,
                    job.reader.number(),
                    job.writer
                ));
                job.damaged = true;
            }
        }
        rows
    }

    /// How far each source was read that these rows tell of, where the manifest does not know of as much.
    fn news_of_sources(&self, rows: &RowSet) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut furthest = BTreeMap::new();
        rows.sources().iter().for_each(|source| keep_furthest(&mut furthest, source));
        let known = &self.manifest.state().values;
        let is_news = |key: &[u8], source: &SourcePosition| {
            let known = known.get(key).and_then(|value| SourcePosition::decode(value).ok());
            known.is_none_or(|known| source.read_bytes > known.read_bytes)
        };
        furthest
            .into_iter()
            .filter(|(key, source)| is_news(key, source))
            .map(|(key, source)| (key, source.to_bytes()))
            .collect()
    }
}
