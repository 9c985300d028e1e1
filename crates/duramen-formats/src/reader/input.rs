//! The bytes of an input to its lines, and what they tell of the rest.

use super::head::Head;
use super::journal::Splitter;
use super::{Builder, stamps};
use crate::columns::Header;
use crate::detect::Detected;
use crate::{ReaderOptions, Report};
use duramen::Level;

/// Takes the entries that an [`EntryReader`] reads. Every `FnMut` of the same shape is one.
pub trait Sink {
    /// Why it takes no more.
    type Error;

    /// Takes an entry: its bytes (see [`duramen::entry`]), its level, and how many bytes of the input there
    /// are up to the end of its last line, line end included. An input read from there on, by
    /// [`EntryReader::resume`] and [`EntryReader::after`], gives exactly the entries after this one.
    ///
    /// Lines that containers' runtimes write in parts may lie among each other. Their entries come one behind the other, all but
    /// the last with the offset that the entry before them had: read from there on, the input gives all of them again. So who
    /// keeps offsets keeps such entries together.
    ///
    /// # Errors
    /// Stops the reader, which cannot go on after that: resume another after the last entry taken.
    fn entry(&mut self, entry: &[u8], level: Level, end_offset: u64) -> Result<(), Self::Error>;
}

impl<E, F: FnMut(&[u8], Level, u64) -> Result<(), E>> Sink for F {
    type Error = E;

    fn entry(&mut self, entry: &[u8], level: Level, end_offset: u64) -> Result<(), E> {
        self(entry, level, end_offset)
    }
}

/// Makes entries of the bytes of one input. Can be sent to another thread, not shared.
///
/// ```
/// use duramen::{EntryRef, Level};
/// use duramen_formats::{EntryReader, ReaderOptions};
///
/// let mut messages = Vec::new();
/// let mut sink = |entry: &[u8], level: Level, end_offset: u64| {
///     messages.push((EntryRef::decode(entry)?.message.to_owned(), level, end_offset));
///     Ok::<(), duramen::Error>(())
/// };
/// let mut reader = EntryReader::new(ReaderOptions::new(1_700_000_000_000_000_000));
/// reader.feed(b"2024-06-27 00:00:07 ERROR refused\n\tat App.main\n{\"msg\":\"hel", &mut sink)?;
/// reader.feed(b"lo\",\"level\":\"info\"}\n", &mut sink)?;
/// reader.finish(&mut sink)?;
/// assert_eq!(messages[0], ("2024-06-27 00:00:07 ERROR refused\n\tat App.main".into(), Level::Error, 47));
/// assert_eq!(messages[1], ("hello".into(), Level::Info, 78));
/// # Ok::<(), duramen::Error>(())
/// ```
#[derive(Debug)]
pub struct EntryReader {
    /// What cuts the input, once there is some, from this offset on.
    splitter: Option<Splitter>,
    offset: u64,
    head: Head,
    builder: Builder,
}

impl EntryReader {
    /// A reader at the start of an input.
    pub fn new(options: ReaderOptions) -> Self {
        Self { splitter: None, offset: 0, head: Head::default(), builder: Builder::new(options) }
    }

    /// A reader that goes on at `offset`, where an entry ended. `detected` is what [`EntryReader::detected`]
    /// said then, or [`EntryReader::detect`] says of the first bytes of the input, and `last_time_ns` the
    /// time of the last entry, for lines that have none. Its report counts from here. Of columns it knows what it is told
    /// by [`EntryReader::after`].
    pub fn resume(
        options: ReaderOptions,
        offset: u64,
        detected: Detected,
        last_time_ns: Option<i64>,
    ) -> Self {
        let mut reader = Self::new(options);
        reader.offset = offset;
        reader.head = Head::passed();
        reader.builder.settle(detected);
        if let Some(time) = last_time_ns {
            reader.builder.last_time = time;
            reader.builder.had_time = true;
        }
        reader
    }

    /// The same, told of the header lines before `offset`: what [`EntryReader::header`] said then, or a
    /// [`HeaderScan`](crate::columns::HeaderScan) of all of the input up to there says.
    #[must_use]
    pub fn after(mut self, header: Header) -> Self {
        self.builder.header = header;
        self
    }

    /// What the header lines so far say of columns.
    pub fn header(&self) -> &Header {
        &self.builder.header
    }

    /// What the first [`DETECT_BYTES`](crate::DETECT_BYTES) of an input tell, or all of it if it is shorter.
    pub fn detect(options: &ReaderOptions, head: &[u8]) -> Detected {
        Detected::of(head, &stamps(options))
    }

    /// What the first bytes told; `None` until there are enough of them, or the input is finished. Of an input that was
    /// finished before there were, and went on, what there is by now tells.
    pub fn detected(&self) -> Option<Detected> {
        self.builder.detected
    }

    /// What became of the lines so far.
    pub fn report(&self) -> &Report {
        &self.builder.report
    }

    /// What is fed next arrives now, at `now_ns` since the epoch: for an input that comes as it is written, and for long. In
    /// the place of [`ReaderOptions::reference_time_ns`] it gives the year to stamps without one, and the time to lines before
    /// the first that has one.
    pub fn arrives_at(&mut self, now_ns: i64) {
        self.builder.stamps.refer_to(now_ns);
        if !self.builder.had_time {
            self.builder.last_time = now_ns;
        }
    }

    /// Takes the next bytes and hands over every entry that they complete. The first entry comes only after
    /// [`DETECT_BYTES`](crate::DETECT_BYTES), or at the end.
    ///
    /// # Errors
    /// What the sink returns.
    pub fn feed<S: Sink + ?Sized>(&mut self, mut chunk: &[u8], sink: &mut S) -> Result<(), S::Error> {
        let gathered = self.head.gather(chunk);
        if self.builder.detected.is_none() {
            if !self.head.is_full() {
                return Ok(());
            }
            self.begin(sink)?;
            chunk = &chunk[gathered..];
        } else if gathered > 0 && self.head.tells_more() {
            self.builder.look_at(self.head.bytes());
        }
        self.head.done_if_full();
        self.cut(chunk, sink)
    }

    /// Cuts the next bytes, and takes what they end.
    fn cut<S: Sink + ?Sized>(&mut self, chunk: &[u8], sink: &mut S) -> Result<(), S::Error> {
        if chunk.is_empty() {
            return Ok(());
        }
        let Self { splitter, offset, builder, .. } = self;
        let new = || Splitter::new(builder.said, &builder.options, *offset, builder.detected);
        let splitter = splitter.get_or_insert_with(new);
        match splitter {
            Splitter::Lines(lines) => lines.feed(chunk, |line| builder.line(line, sink)),
            Splitter::Entries(entries) => entries.feed(chunk, |frame| builder.frame(frame, sink)),
            Splitter::Records(records) => {
                let Some(others) = records.feed(chunk, |line| builder.line(line, sink))? else {
                    return Ok(());
                };
                let mut lines = builder.options.lines_from(others.offset);
                let taken = lines.feed(&others.bytes, |line| builder.line(line, sink));
                *splitter = Splitter::Lines(lines);
                taken
            }
        }
    }

    /// Looks at the first bytes though there are not yet [`DETECT_BYTES`](crate::DETECT_BYTES) of them, and hands over the
    /// entries in them, but for the last: who reads what comes slowly need not wait. What comes tells more, as after
    /// [`EntryReader::finish`].
    ///
    /// # Errors
    /// What the sink returns.
    pub fn look<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if self.builder.detected.is_none() { self.begin(sink) } else { Ok(()) }
    }

    /// Nothing has come for a while: hands over what there is of an input of lines, as [`EntryReader::finish`] does, for who reads
    /// lines as they are written. An entry of an export of a journal, or a record of CloudTrail's, tells its end, and waits for it.
    ///
    /// # Errors
    /// What the sink returns.
    pub fn rest<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        match &mut self.splitter {
            Some(Splitter::Entries(_)) => self.builder.flush(sink),
            Some(Splitter::Records(records)) => {
                records.rest(|line| self.builder.line(line, sink))?;
                self.builder.flush(sink)
            }
            _ => self.finish(sink),
        }
    }

    /// Whether a record of CloudTrail's has begun and not ended, so that its document is not whole; not where pieces of it were handed
    /// over already, as of one that is too long.
    pub fn lacks_end(&self) -> bool {
        matches!(&self.splitter, Some(Splitter::Records(records)) if records.lacks_end())
    }

    /// Ends the input and hands over what is left of it. More bytes begin a line and an event of their own.
    ///
    /// # Errors
    /// What the sink returns.
    pub fn finish<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.look(sink)?;
        let builder = &mut self.builder;
        match &mut self.splitter {
            Some(Splitter::Lines(lines)) => lines.finish(|line| builder.line(line, sink))?,
            Some(Splitter::Entries(entries)) => entries.finish(|frame| builder.frame(frame, sink))?,
            Some(Splitter::Records(records)) => records.finish(|line| builder.line(line, sink))?,
            None => {}
        }
        self.builder.give_out_parts(sink)?;
        self.builder.flush(sink)
    }

    /// Looks at the first bytes, and takes their lines.
    fn begin<S: Sink + ?Sized>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        self.builder.look_at(self.head.bytes());
        let head = std::mem::take(&mut self.head);
        let taken = self.cut(head.bytes(), sink);
        self.head = head;
        taken
    }
}
