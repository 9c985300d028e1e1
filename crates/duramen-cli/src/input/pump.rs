//! Reads ahead in a thread of its own: so that decompression and parsing share the work, and so that the
//! caller can stop waiting for a pipe that has nothing to say.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// The most bytes of a chunk.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;
/// How many chunks may wait to be taken.
const CHUNKS_AHEAD: usize = 3;

/// What came out of the stream.
#[derive(Debug)]
pub(crate) enum Chunk {
    /// Its next bytes, at least one. Give the buffer back with [`Pump::recycle`].
    Bytes(Vec<u8>),
    /// It has ended.
    End,
    /// It cannot be read further.
    Failed(io::Error),
    /// Nothing came in the time given.
    Idle,
}

/// How a pump fills its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filling {
    /// To the brim: for files.
    Whole,
    /// With what one read gives: for streams, whose bytes must not wait for others.
    AsTheyCome,
}

/// A stream being read ahead.
pub(crate) struct Pump {
    chunks: Receiver<Chunk>,
    spare: Sender<Vec<u8>>,
}

impl Pump {
    /// Starts reading.
    ///
    /// # Errors
    /// The operating system's, if it gives no thread.
    pub(crate) fn start(reader: Box<dyn Read + Send>, filling: Filling) -> io::Result<Self> {
        let (send, chunks) = sync_channel(CHUNKS_AHEAD);
        let (spare, spares) = channel();
        std::thread::Builder::new()
            .name("read-ahead".into())
            .spawn(move || read_ahead(reader, filling, &send, &spares))?;
        Ok(Self { chunks, spare })
    }

    /// The next chunk; [`Chunk::Idle`] if none comes within `wait`.
    pub(crate) fn next(&self, wait: Duration) -> Chunk {
        match self.chunks.recv_timeout(wait) {
            Ok(chunk) => chunk,
            Err(RecvTimeoutError::Timeout) => Chunk::Idle,
            Err(RecvTimeoutError::Disconnected) => {
                Chunk::Failed(io::Error::other("the reading thread stopped unexpectedly"))
            }
        }
    }

    /// Gives a chunk's memory back to be filled again.
    pub(crate) fn recycle(&self, buffer: Vec<u8>) {
        // A reader that has ended needs none.
        let _ended = self.spare.send(buffer);
    }
}

fn read_ahead(
    mut reader: Box<dyn Read + Send>,
    filling: Filling,
    send: &SyncSender<Chunk>,
    spares: &Receiver<Vec<u8>>,
) {
    loop {
        let mut buffer = spares.try_recv().unwrap_or_default();
        buffer.resize(CHUNK_BYTES, 0);
        let (filled, last) = fill(&mut reader, &mut buffer, filling);
        buffer.truncate(filled);
        // A receiver that is gone wants no more: the verb has failed or was interrupted.
        if filled > 0 && send.send(Chunk::Bytes(buffer)).is_err() {
            return;
        }
        if let Some(last) = last {
            let _nobody_waits = send.send(last);
            return;
        }
    }
}

/// How many bytes were read, and how the stream ended if it did.
fn fill(reader: &mut dyn Read, buffer: &mut [u8], filling: Filling) -> (usize, Option<Chunk>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => return (filled, Some(Chunk::End)),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return (filled, Some(Chunk::Failed(e))),
        }
        if filling == Filling::AsTheyCome {
            break;
        }
    }
    (filled, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_file_comes_in_whole_chunks() {
        let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        let pump = Pump::start(Box::new(io::Cursor::new(text.clone())), Filling::Whole).unwrap();
        let (mut read, mut sizes) = (Vec::new(), Vec::new());
        loop {
            match pump.next(LONG) {
                Chunk::Bytes(bytes) => {
                    sizes.push(bytes.len());
                    read.extend_from_slice(&bytes);
                    pump.recycle(bytes);
                }
                Chunk::End => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(read == text);
        assert_eq!(sizes, [CHUNK_BYTES, CHUNK_BYTES, CHUNK_BYTES, 800_000 - 3 * CHUNK_BYTES]);
    }

    #[test]
    fn a_stream_comes_as_it_is_written() {
        let (reader, mut writer) = io::pipe().unwrap();
        let pump = Pump::start(Box::new(reader), Filling::AsTheyCome).unwrap();
        assert!(matches!(pump.next(Duration::from_millis(1)), Chunk::Idle));
        for text in ["one\n", "two"] {
            io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
            assert!(matches!(pump.next(LONG), Chunk::Bytes(bytes) if bytes == text.as_bytes()));
        }
        drop(writer);
        assert!(matches!(pump.next(LONG), Chunk::End));
    }
}
