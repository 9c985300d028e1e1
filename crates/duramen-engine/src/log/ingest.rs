//! Many sorted entries at once: prepared in a file of their own, then appended as parts of one write.

use super::Inner;
use super::append::{Draft, State};
use super::format::{HEADER_BYTES, Identity, Kind};
use super::frames::Frames;
use super::new_file::NewFile;
use super::open::ingest_path;
use crate::kv::{OpKind, SortedRun, check_key, check_value, put_op};
use crate::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Parts are about so long.
const PART_BYTES: usize = 1 << 20;

/// What is to be appended: the last part, and those before it in a file, if there are any.
struct Prepared<'a> {
    path: PathBuf,
    identity: Identity,
    parts: Option<NewFile<'a>>,
    last: Vec<u8>,
    last_ops: u64,
    ops: u64,
}

impl<'a> Prepared<'a> {
    fn add(&mut self, inner: &'a Inner, key: &[u8], value: &[u8]) -> Result<()> {
        if self.last.len() >= PART_BYTES {
            // Once the log is closed, the file's name is the next opening's.
            inner.writable(&inner.state())?;
            let parts = match &mut self.parts {
                Some(parts) => parts,
                None => self.parts.insert(NewFile::create(&inner.env, self.path.clone(), self.identity)?),
            };
            // The number of ops, for want of a sequence number.
            parts.frame(Kind::Part, self.last_ops, &self.last)?;
            self.last.clear();
            self.last_ops = 0;
        }
        put_op(&mut self.last, OpKind::Put, key, value);
        self.last_ops += 1;
        self.ops += 1;
        Ok(())
    }

    /// Appends it all, visible together.
    fn append(mut self, inner: &Inner, state: &mut State) -> Result<()> {
        let (mut at, mut seq) = (state.end, state.next_seq);
        let mut put = |kind, payload: &[u8], ops| {
            let mut draft = Draft::of(payload, ops);
            inner.put_frame(state, kind, &mut draft, crc32c::crc32c(payload), at, seq)?;
            at += draft.len();
            seq += ops;
            Ok::<(), Error>(())
        };
        if let Some(parts) = &mut self.parts {
            let end = parts.end();
            parts.write_buffer()?;
            let first = HEADER_BYTES as u64;
            let mut frames = Frames::new(&**parts.file(), &self.path, self.identity, first, end);
            while let Some(frame) = frames.next()? {
                put(Kind::Part, frame.payload, frame.header.seq)?;
            }
        }
        put(Kind::Batch, &self.last, self.last_ops)?;
        inner.advance(state, at, seq);
        Ok(())
    }
}

impl Inner {
    pub(super) fn ingest(&self, run: SortedRun<'_>) -> Result<u64> {
        self.writable(&self.state())?;
        let number = self.ingests.fetch_add(1, Ordering::Relaxed);
        let mut prepared = Prepared {
            path: ingest_path(&self.dir, number),
            identity: Identity { store_id: self.engine_id, generation: number },
            parts: None,
            last: Vec::new(),
            last_ops: 0,
            ops: 0,
        };
        let mut before: Option<Vec<u8>> = None;
        for entry in run {
            let (key, value) = entry?;
            check_key(&key)?;
            check_value(&value)?;
            if let Some(before) = before.filter(|before| *before >= key) {
                let (before, key) = (before.escape_ascii(), key.escape_ascii());
                return Err(Error::InvalidArgument(format!(
                    "ingest: keys must ascend, and \"{key:.64}\" does not follow \"{before:.64}\""
                )));
            }
            prepared.add(self, &key, &value)?;
            before = Some(key);
        }
        let count = prepared.ops;
        if count == 0 {
            return Ok(0);
        }
        let mut state = self.state();
        self.writable(&state)?;
        prepared.append(self, &mut state)?;
        let position = state.position();
        drop(state);
        self.sync_through(position)?;
        Ok(count)
    }
}
