//! Messages in a stream of bytes: the framing of syslog over TCP (RFC 6587), and of whatever ends its messages with a
//! byte.
//!
//! ```text
//! octet counting   LENGTH SP so many bytes          as in  11 <34>1 - - -  or  15 {"message":"a"}
//! delimited        bytes, then LF or NUL
//! ```
//!
//! Of syslog each message may be framed either way; `11 <` tells, because messages begin with `<`. `15 {` does not: a line may
//! begin with a number and go on with JSON. It is a length if the object ends where the length says. Python's `SysLogHandler` puts
//! a NUL alone behind each, Perl's `Sys::Syslog` a line feed and a NUL.

mod object;

use object::Object;

/// What is kept for messages to come when it rests.
const KEPT_BYTES: usize = 4 << 10;

/// A message of a stream, or what stands for one that is over the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A message, without its framing; never empty.
    Message(&'a [u8]),
    /// One of so many bytes was passed over: it is longer than allowed.
    TooLong(usize),
    /// What came of one that told its length before the stream ended; never empty. It would have had so many bytes.
    Cut(&'a [u8], usize),
}

/// Cuts a stream of bytes into messages, whatever pieces it comes in. Keeps at most one message of the limit's size,
/// and can be sent to another thread, not shared.
///
/// ```
/// use duramen_wire::framing::{Frame, Framer};
/// let mut framer = Framer::syslog(1 << 10);
/// let mut got = Vec::new();
/// for piece in [&b"5 <1>a\nb"[..], b"<2>c\n<3>", b"d"] {
///     framer.feed(piece, |frame| got.push(format!("{frame:?}")));
/// }
/// framer.finish(|frame| got.push(format!("{frame:?}")));
/// assert_eq!(got.len(), 3);
/// ```
#[derive(Debug)]
pub struct Framer {
    /// The message so far.
    buffer: Vec<u8>,
    state: State,
    /// Whether messages are syslog's: they may be counted, and a NUL ends one, too.
    syslog: bool,
    end: u8,
    max_bytes: usize,
    /// Whether bytes are looked at again that were taken for an object of some length.
    again: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Between messages.
    Start,
    /// In the digits of a length, with what they say so far.
    Length(usize),
    /// Behind a length and its blank.
    AfterLength(usize),
    /// In what may be an object of `len` bytes, of which so many are to come. It lies behind `at` bytes for its length.
    Object { at: usize, left: usize, len: usize, object: Object },
    /// In what may be an object that is over the limit, and is passed over.
    LongObject { at: usize, left: usize, len: usize, object: Object },
    /// In a message of `len` bytes, of which so many are to come.
    Counted { left: usize, len: usize },
    /// In a message that ends with a byte, of which so many have come.
    Delimited(usize),
}

impl Framer {
    /// For syslog: octet counting, and messages that end with a line feed or a NUL. Those over `max_bytes` are passed over.
    pub fn syslog(max_bytes: usize) -> Self {
        Self { buffer: Vec::new(), state: State::Start, syslog: true, end: b'\n', max_bytes, again: false }
    }

    /// For messages that end with the byte `end` each.
    pub fn delimited(end: u8, max_bytes: usize) -> Self {
        Self { buffer: Vec::new(), state: State::Start, syslog: false, end, max_bytes, again: false }
    }

    /// Takes the next bytes and calls `f` with every message that ends among them.
    pub fn feed(&mut self, bytes: &[u8], mut f: impl FnMut(Frame<'_>)) {
        self.take(bytes, &mut f);
    }

    fn take(&mut self, mut bytes: &[u8], f: &mut impl FnMut(Frame<'_>)) {
        while let Some(first) = bytes.first() {
            match self.state {
                State::Start => {
                    if *first == self.end || *first == b'\n' || self.syslog && *first == 0 {
                        bytes = &bytes[1..];
                    } else if self.syslog && matches!(first, b'1'..=b'9') {
                        self.state = State::Length(0);
                    } else {
                        self.state = State::Delimited(0);
                    }
                }
                State::Length(n) => {
                    let digit = first.is_ascii_digit() && n < 100_000_000;
                    if digit || *first == b' ' && n > 0 {
                        self.buffer.push(*first);
                        bytes = &bytes[1..];
                        self.state = match digit {
                            true => State::Length(n * 10 + usize::from(first - b'0')),
                            false => State::AfterLength(n),
                        };
                    } else {
                        self.no_length();
                    }
                }
                State::AfterLength(n) => {
                    if *first == b'<' {
                        self.buffer.clear();
                        self.state = State::Counted { left: n, len: n };
                    } else if *first == b'{' && !self.again {
                        let at = self.buffer.len();
                        self.state = State::Object { at, left: n, len: n, object: Object::default() };
                    } else {
                        self.no_length();
                    }
                }
                State::Object { at, left, len, mut object } => {
                    // Up to one byte over the limit.
                    let limit = self.max_bytes.saturating_add(at);
                    let room = limit.saturating_add(1).saturating_sub(self.buffer.len());
                    let piece = &bytes[..bytes.len().min(left).min(room)];
                    let told = object.tells_none(piece, left);
                    let (piece, rest) = bytes.split_at(told.map_or(piece.len(), |told| told + 1));
                    bytes = rest;
                    self.buffer.extend_from_slice(piece);
                    let left = left - piece.len();
                    self.state = State::Object { at, left, len, object };
                    if told.is_some() {
                        self.take_again(f);
                    } else if self.buffer.len() > limit {
                        self.buffer = Vec::new();
                        self.state = State::LongObject { at, left, len, object };
                    } else if left == 0 {
                        _ = self.buffer.drain(..at);
                        self.give(len, f);
                    }
                }
                State::LongObject { at, left, len, mut object } => {
                    let piece = &bytes[..bytes.len().min(left)];
                    let told = object.tells_none(piece, left);
                    let (piece, rest) = bytes.split_at(told.unwrap_or(piece.len()));
                    bytes = rest;
                    let left = left - piece.len();
                    self.state = match told {
                        // A long line that begins with digits, and ends where lines do.
                        Some(_) => State::Delimited(at + (len - left)),
                        None => State::LongObject { at, left, len, object },
                    };
                    if told.is_none() && left == 0 {
                        self.give(len, f);
                    }
                }
                State::Counted { left, len } => {
                    let (piece, rest) = bytes.split_at(bytes.len().min(left));
                    bytes = rest;
                    if len <= self.max_bytes {
                        self.buffer.extend_from_slice(piece);
                    }
                    self.state = State::Counted { left: left - piece.len(), len };
                    if left == piece.len() {
                        self.give(len, f);
                    }
                }
                State::Delimited(len) => {
                    let end = match self.syslog {
                        true => memchr::memchr2(self.end, 0, bytes),
                        false => memchr::memchr(self.end, bytes),
                    };
                    let piece = &bytes[..end.unwrap_or(bytes.len())];
                    bytes = &bytes[end.map_or(bytes.len(), |end| end + 1)..];
                    let len = len.saturating_add(piece.len());
                    if len <= self.max_bytes {
                        self.buffer.extend_from_slice(piece);
                    } else {
                        self.buffer = Vec::new();
                    }
                    self.state = State::Delimited(len);
                    if end.is_some() {
                        self.give(len, f);
                    }
                }
            }
        }
    }

    /// How many bytes of memory it has for a message that is not whole yet.
    pub fn held_bytes(&self) -> usize {
        if self.is_between() { 0 } else { self.buffer.capacity() }
    }

    /// Gives memory back that it only keeps for longer messages to come.
    pub fn rest(&mut self) {
        self.buffer.shrink_to(KEPT_BYTES);
    }

    /// Whether all that has come are whole messages.
    pub fn is_between(&self) -> bool {
        matches!(self.state, State::Start)
    }

    /// Ends the stream: what came of a last message is one, too, and where it is known that more of it was to come, that is told.
    pub fn finish(&mut self, mut f: impl FnMut(Frame<'_>)) {
        match self.state {
            State::Start => {}
            State::Object { .. } if memchr::memchr(self.end, &self.buffer).is_some() => {
                self.take_again(&mut f);
                self.finish(f)
            }
            State::Object { at, len, object, .. } if len <= self.max_bytes => {
                _ = self.buffer.drain(..at);
                // Of a whole one only the line's end is missing that was counted with it.
                match object.is_whole() {
                    true => f(Frame::Message(without_end(&self.buffer))),
                    false => f(Frame::Cut(&self.buffer, len)),
                }
                self.buffer.clear();
                self.state = State::Start;
            }
            State::Object { len, .. } | State::LongObject { len, .. } => self.give(len, &mut f),
            State::Counted { len, .. } if len > self.max_bytes => self.give(len, &mut f),
            State::Counted { len, .. } => {
                let message = without_end(&self.buffer);
                if !message.trim_ascii().is_empty() {
                    f(Frame::Cut(message, len));
                }
                self.buffer.clear();
                self.state = State::Start;
            }
            State::Length(_) | State::AfterLength(_) => self.give(self.buffer.len(), &mut f),
            State::Delimited(len) => self.give(len, &mut f),
        }
    }

    /// It is no object of the length that stood before it: these are lines, of which the first begins with digits.
    fn take_again(&mut self, f: &mut impl FnMut(Frame<'_>)) {
        let bytes = std::mem::take(&mut self.buffer);
        // Not a third time, whatever stands in them.
        (self.state, self.again) = (State::Delimited(0), true);
        self.take(&bytes, f);
        self.again = false;
    }

    /// It is no length after all: a message that begins with digits.
    fn no_length(&mut self) {
        self.state = State::Delimited(self.buffer.len());
    }

    fn give(&mut self, len: usize, f: &mut impl FnMut(Frame<'_>)) {
        if len > self.max_bytes {
            f(Frame::TooLong(len));
        } else {
            let message = without_end(&self.buffer);
            if !message.trim_ascii().is_empty() {
                f(Frame::Message(message));
            }
        }
        self.buffer.clear();
        self.state = State::Start;
    }
}

/// A message without what ends it: line feeds, as some put them even where the length is told, and a NUL. Blanks at its
/// end are its own.
pub fn without_end(message: &[u8]) -> &[u8] {
    let line_end = |b: &u8| matches!(b, b'\n' | b'\r');
    let end = |message: &[u8]| message.iter().rposition(|b| !line_end(b)).map_or(0, |last| last + 1);
    let message = &message[..end(message)];
    message.strip_suffix(b"\0").unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(mut framer: Framer, stream: &[u8], piece: usize) -> Vec<String> {
        let mut got = Vec::new();
        let mut take = |frame: Frame<'_>| {
            got.push(match frame {
                Frame::Message(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Frame::TooLong(len) => format!("over: {len}"),
                Frame::Cut(bytes, len) => format!("{} of {len}", String::from_utf8_lossy(bytes)),
            });
        };
        for piece in stream.chunks(piece) {
            framer.feed(piece, &mut take);
        }
        framer.finish(&mut take);
        got
    }

    #[test]
    fn syslog_is_cut_whatever_pieces_it_comes_in() {
        for (stream, expected) in [
            (&b"<1>a\n<2>b\r\n\n<3>c"[..], &["<1>a", "<2>b", "<3>c"][..]),
            (b"4 <1>a5 <2>bc", &["<1>a", "<2>bc"]),
            (b"7 <1>a\nbc\n<2>d\n5 <3>e\n", &["<1>a\nbc", "<2>d", "<3>e"]),
            (b"2024 was\n20 <1>cut", &["2024 was", "over: 20"]),
            (b"12x <1>a\n99", &["12x <1>a", "99"]),
            (b"12 \n0 zero\n<1>a\0\n \t\n", &["12 ", "0 zero", "<1>a"]),
            (b"<1>a \t\r\n9 <1>b  \t\r\n", &["<1>a \t", "<1>b  \t"]),
            (b"9999999999999999 <1>a\n<1>a\n", &["over: 21", "<1>a"]),
            (
                b"20 <1>34567890123456789<1>a\n<2>01234567890123456\n<3>b\n",
                &["over: 20", "<1>a", "over: 20", "<3>b"],
            ),
            (b"16 <1>3456789", &["<1>3456789 of 16"]),
            (b"<1>a\0<2>b\0\x005 <3>c\0<4>d\0", &["<1>a", "<2>b", "<3>c", "<4>d"]),
            (b"<1>a\n\0<2>b\n\0", &["<1>a", "<2>b"]),
            (b"5 <\0>a12\0<1>34567890123456\0<2>b", &["<\0>a1", "2", "over: 17", "<2>b"]),
            (b"", &[]),
            // Objects with their lengths, and lines that begin with a number and go on with an object.
            (b"7 {\"a\":1}9 {\"a\":\"}\"}5 <1>bc2 {}", &["{\"a\":1}", "{\"a\":\"}\"}", "<1>bc", "{}"]),
            (
                b"8 {\"a\":1}\n9 {\"a\":1}\r\n8 {\"a\":1}\0<1>b",
                &["{\"a\":1}", "{\"a\":1}", "{\"a\":1}", "<1>b"],
            ),
            (b"12 {\"a\":[\n{}\n]}9 {\"\\\"}\":1}", &["{\"a\":[\n{}\n]}", "{\"\\\"}\":1}"]),
            (b"6 {\"a\":1}\n4 {\"a\":1}\n", &["6 {\"a\":1}", "4 {\"a\":1}"]),
            (
                b"16 {\"a\":1}\n15 {\"a\":1}\n9 {\"a\":1}x\n",
                &["16 {\"a\":1}", "15 {\"a\":1}", "9 {\"a\":1}x"],
            ),
            (b"12 {a}\n12 {\"a\n12 {\"a\0<1>b\n", &["12 {a}", "12 {\"a", "12 {\"a", "<1>b"]),
            (
                b"14 {\"\":[\n14 {\"\":[\n14 {\"\":[\n<1>b\n",
                &["14 {\"\":[", "14 {\"\":[", "14 {\"\":[", "<1>b"],
            ),
            (b"9 {\"a\"", &["{\"a\" of 9"]),
            (b"9 {\"a\":1}", &["{\"a\":1}"]),
            (b"9 {\"a\":1}\r", &["{\"a\":1}"]),
            (b"15 {\"a\":\n<1>b", &["15 {\"a\":", "<1>b"]),
            (b"18 {\"a\":\"6789012345\"}7 {\"a\":1}", &["over: 18", "{\"a\":1}"]),
            (b"40 {\"a\":1}\n40 {\"a\":\"67890\n<1>b\n", &["40 {\"a\":1}", "40 {\"a\":\"67890", "<1>b"]),
            (b"30 {\"a\":\"67890", &["over: 30"]),
            // Ordinary messages behind what is none tell that at once, and nothing of them is lost, however long it would be.
            (b"999 {\"a\":[\n<1>b\n<1>c\n", &["999 {\"a\":[", "<1>b", "<1>c"]),
            (
                b"14 {\"a\":[-1.5E3]}10 {\"a\":true}9 {\"a\":NaN}",
                &["{\"a\":[-1.5E3]}", "{\"a\":true}", "{\"a\":NaN}"],
            ),
            (b"99 {\"\":[1,\n<1>b", &["99 {\"\":[1,", "<1>b"]),
            (b"99 {\"\":[1,\n2", &["99 {\"\":[1,", "2"]),
            (b"99 {\"a\":\"6789012345\"}\n<1>b\n", &["over: 21", "<1>b"]),
            (b"99 {\"a\":\"678901234567890\n<1>b\n", &["over: 24", "<1>b"]),
        ] {
            for piece in [1, 2, 3, 7, 100] {
                let got = frames(Framer::syslog(16), stream, piece);
                assert_eq!(got, expected, "{}", String::from_utf8_lossy(stream));
            }
        }
    }

    #[test]
    fn delimited_messages_are_cut() {
        for piece in [1, 3, 100] {
            assert_eq!(
                frames(Framer::delimited(0, 9), b"{\"a\":1}\0\n{}\0\0tail", piece),
                ["{\"a\":1}", "{}", "tail"]
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn pieces_do_not_matter(stream in "([0-9]{1,2} |[0-9] \\{\"|<1>|[ab\n\u{0}é{\"}\\[\\]:\\\\]){0,20}", piece in 1usize..8) {
            let whole = frames(Framer::syslog(16), stream.as_bytes(), 1_000);
            proptest::prop_assert_eq!(frames(Framer::syslog(16), stream.as_bytes(), piece), whole);
        }
    }
}
