//! Logs of columns, whose names a header says: the W3C's extended log format (IIS, CloudFront), Zeek's tables, and VPC flow logs
//! whose file begins with the names of its columns.
//!
//! ```text
//! #Fields: date time c-ip cs-method cs-uri-stem sc-status          columns parted by spaces or tabs
//! 2024-06-01 10:00:00 192.0.2.1 GET /a 200
//!
//! #path<tab>conn
//! #fields<tab>ts<tab>uid<tab>id.orig_h                             columns parted by tabs
//! 1717236000.123456<tab>CXWv6p3arKYeMETxOg<tab>192.0.2.1
//!
//! version account-id interface-id srcaddr dstaddr start end action   the file's first line
//! 5 123456789010 eni-1235b8ca 172.31.16.139 172.31.16.21 1717236000 1717236060 ACCEPT
//! ```
//!
//! [The W3C's extended log file format](https://www.w3.org/TR/WD-logfile.html); its times are UTC, unless `#Time Format: Local`
//! stands before, as Windows' firewall writes it. Between blanks a value may stand in quotes.

use crate::lines::{Line, LineSplitter};
use crate::time::StampParser;
use crate::words::typed;
use crate::{ReaderOptions, level};
use duramen::{EntryBuf, Level};
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;

/// What the header lines so far say of the columns of the lines that follow. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Header {
    columns: Option<Arc<Columns>>,
    /// What Zeek calls the table.
    path: Option<Arc<str>>,
    /// Whether times are local: Windows' firewall says so.
    is_local: bool,
}

/// A header of fewer names says too little to tell lines by their number of words.
const MIN_COLUMNS: usize = 3;
/// The longest header line, in bytes: every entry has its names. Of a longer one, and until the next, no names are known.
pub const MAX_HEADER_BYTES: usize = 16 << 10;
/// The most columns of a header; one with more is none. An entry has room for some names besides.
pub const MAX_COLUMNS: usize = 4096;
/// The longest name that Zeek may call a table, in bytes; a longer one is left out.
pub const MAX_PATH_BYTES: usize = 256;

impl Header {
    /// Takes a line of an input.
    pub(crate) fn saw_line(&mut self, text: &str, line: &Line<'_>) {
        if line.is_first && line.is_last {
            let is_first = line.end_offset == line.raw_len as u64;
            self.saw(if is_first { text.trim_start_matches('\u{feff}') } else { text }, is_first);
        }
    }

    /// Takes a line, if it is one of a header. Only an input's first line can be one that does not begin with `#`.
    pub(crate) fn saw(&mut self, line: &str, is_first: bool) {
        if !line.starts_with('#') && !is_first {
            return;
        }
        if line.len() > MAX_HEADER_BYTES {
            if line.starts_with("#Fields:") || line.starts_with("#fields\t") {
                self.columns = None;
            }
            return;
        }
        if let Some(names) = line.strip_prefix("#Fields:") {
            let kind = Kind::Extended { is_local: self.is_local };
            self.columns = Columns::new(kind, names.split_ascii_whitespace(), None);
        } else if let Some(format) = line.strip_prefix("#Time Format:") {
            self.is_local = format.trim().eq_ignore_ascii_case("local");
        } else if let Some(path) = line.strip_prefix("#path\t") {
            self.path = (path.len() <= MAX_PATH_BYTES).then(|| path.into());
        } else if let Some(names) = line.strip_prefix("#fields\t") {
            self.columns = Columns::new(Kind::Zeek, names.split('\t'), self.path.take());
        } else if is_first && is_of_flows(line) {
            self.columns = Columns::new(Kind::Flows, line.split(' '), None);
        }
    }

    /// Whether the times of the lines that follow are UTC.
    pub(crate) fn is_utc(&self) -> bool {
        self.columns.as_ref().is_some_and(|columns| columns.kind == Kind::Extended { is_local: false })
    }

    /// Whether lines of columns follow.
    pub(crate) fn has_columns(&self) -> bool {
        self.columns.is_some()
    }

    /// Reads a line of the columns that the header says; `None` if it has none, or others.
    pub(crate) fn parse<'a>(&'a self, line: &'a str, stamps: &StampParser) -> Option<ColumnsLine<'a>> {
        self.columns.as_ref()?.parse(line, stamps)
    }
}

/// Finds the header lines in what stands before the place where a reader goes on ([`EntryReader::after`](crate::EntryReader::after)).
#[derive(Debug)]
pub struct HeaderScan {
    lines: LineSplitter,
    header: Header,
}

impl HeaderScan {
    /// At the start of an input that is read with these options.
    pub fn new(options: &ReaderOptions) -> Self {
        Self { lines: options.lines_from(0), header: Header::default() }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let header = &mut self.header;
        let Ok(()) = self.lines.feed(bytes, |line| {
            if let Ok(text) = std::str::from_utf8(line.bytes) {
                header.saw_line(text, &line);
            }
            Ok::<(), Infallible>(())
        });
    }

    /// What the lines so far say, the last of them as it is, if it has not ended.
    pub fn header(&self) -> Header {
        let mut header = self.header.clone();
        if let Some(line) = self.lines.unfinished()
            && let Ok(text) = std::str::from_utf8(line.bytes)
        {
            header.saw_line(text, &line);
        }
        header
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Extended { is_local: bool },
    Zeek,
    Flows,
}

#[derive(Debug)]
struct Columns {
    kind: Kind,
    /// What the fields are called; nothing for those that the entry has otherwise.
    names: Vec<Box<str>>,
    /// Which say the time, one or two.
    times: (usize, usize),
    /// Which says the level.
    level: Option<usize>,
    path: Option<Arc<str>>,
}

/// What access logs have, too, has its name there, so that one question finds both.
const USUAL: [(&str, &str); 11] = [
    ("c-ip", "ip"),
    ("cs-username", "user"),
    ("cs-method", "method"),
    ("cs-uri-stem", "path"),
    ("cs-uri-query", "query"),
    ("cs-version", "protocol"),
    ("cs-protocol-version", "protocol"),
    ("sc-status", "status"),
    ("sc-bytes", "bytes"),
    ("cs(User-Agent)", "agent"),
    ("cs(Referer)", "referer"),
];

impl Columns {
    fn new<'n>(
        kind: Kind,
        names: impl Iterator<Item = &'n str>,
        path: Option<Arc<str>>,
    ) -> Option<Arc<Self>> {
        let names: Vec<&str> = names.take(MAX_COLUMNS + 1).collect();
        let times = match kind {
            Kind::Extended { .. } => ("date", "time"),
            Kind::Zeek => ("ts", "ts"),
            Kind::Flows if names.contains(&"start") => ("start", "start"),
            Kind::Flows => ("end", "end"),
        };
        let at = |wanted: &str| names.iter().position(|name| *name == wanted);
        let times = (at(times.0)?, at(times.1)?);
        let level = at("level").or(at("severity"));
        let is_name = |name: &&str| !name.is_empty() && name.len() <= duramen::entry::MAX_FIELD_NAME_BYTES;
        if !(MIN_COLUMNS..=MAX_COLUMNS).contains(&names.len()) || !names.iter().all(is_name) {
            return None;
        }
        let mut said = HashSet::new();
        if !names.iter().all(|name| said.insert(*name)) {
            return None;
        }
        // A usual name is given once, and not where another column has it.
        let mut usual = |w3c: &str| {
            let (_, name) = USUAL.iter().find(|(known, _)| *known == w3c)?;
            said.insert(name).then_some(*name)
        };
        let called = names.iter().map(|name| match kind {
            Kind::Extended { .. } if matches!(*name, "date" | "time") => "".into(),
            Kind::Extended { .. } => usual(name).unwrap_or(name).into(),
            Kind::Zeek => (*name).into(),
            Kind::Flows => name.replace('-', "_").into(),
        });
        Some(Arc::new(Self { kind, names: called.collect(), times, level, path }))
    }

    fn parse<'a>(&'a self, line: &'a str, stamps: &StampParser) -> Option<ColumnsLine<'a>> {
        if line.starts_with('#') {
            return None;
        }
        let is_w3c = matches!(self.kind, Kind::Extended { .. });
        let separator = if self.kind == Kind::Zeek || (is_w3c && line.contains('\t')) { '\t' } else { ' ' };
        let parsed = ColumnsLine { columns: self, line, separator, time_ns: None, level: None };
        if parsed.words().take(self.names.len() + 1).count() != self.names.len() {
            return None;
        }
        let word = |at: usize| parsed.words().nth(at);
        let (first, second) = (word(self.times.0)?, word(self.times.1)?);
        let time_ns = match self.kind {
            Kind::Extended { is_local } => {
                let zone = if is_local { "" } else { "Z" };
                Some(stamps.parse_value(&format!("{first} {second}{zone}"))?)
            }
            // So many words between tabs are a row, whatever its time is.
            Kind::Zeek => stamps.parse_number(first).or_else(|| stamps.parse_value(first)),
            Kind::Flows => Some(stamps.parse_number(first)?),
        };
        let level = self.level.and_then(word).and_then(|word| level::of_field("level", word, false));
        Some(ColumnsLine { time_ns, level, ..parsed })
    }
}

/// Whether these are names of columns of a VPC flow log.
fn is_of_flows(line: &str) -> bool {
    const USUAL: [&str; 4] = ["version", "start", "end", "action"];
    const OWN: [&str; 6] = ["account-id", "interface-id", "srcaddr", "dstaddr", "pkt-srcaddr", "log-status"];
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let own = line.split(' ').filter(|word| OWN.contains(word)).count();
    let usual = line.split(' ').filter(|word| USUAL.contains(word)).count();
    own >= 1 && own + usual >= 3 && line.split(' ').all(is_name)
}

/// A line of columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnsLine<'a> {
    columns: &'a Columns,
    line: &'a str,
    separator: char,
    /// Nanoseconds since the epoch, if it has a time.
    pub time_ns: Option<i64>,
    pub level: Option<Level>,
}

impl<'a> ColumnsLine<'a> {
    fn words(&self) -> Words<'a> {
        let is_parted_by_blanks = self.separator == ' ' && self.columns.kind != Kind::Flows;
        let line = if is_parted_by_blanks { self.line.trim_ascii() } else { self.line };
        let rest = (!line.is_empty()).then_some(line);
        Words { rest, separator: self.separator, is_parted_by_blanks }
    }

    /// Adds the columns as fields, but for those without a value (`-`), and what Zeek calls the table as `_path`.
    pub fn add_to(&self, entry: &mut EntryBuf) {
        if let Some(path) = &self.columns.path {
            entry.field("_path", &**path);
        }
        for (name, word) in self.columns.names.iter().zip(self.words()) {
            if name.is_empty()
                || matches!(word, "-" | "")
                || (self.columns.kind == Kind::Zeek && word == "(empty)")
            {
                continue;
            }
            entry.field(name, typed(word));
        }
    }
}

/// The words of a line. Between blanks they may stand in quotes, and several blanks are one.
struct Words<'a> {
    rest: Option<&'a str>,
    separator: char,
    is_parted_by_blanks: bool,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest?;
        if self.is_parted_by_blanks
            && let Some((word, rest)) = text.strip_prefix('"').and_then(|text| text.split_once('"'))
            && (rest.is_empty() || rest.starts_with(' '))
        {
            self.rest = (!rest.is_empty()).then(|| rest.trim_start_matches(' '));
            return Some(word);
        }
        let (word, rest) =
            text.split_once(self.separator).map_or((text, None), |(word, rest)| (word, Some(rest)));
        self.rest =
            if self.is_parted_by_blanks { rest.map(|rest| rest.trim_start_matches(' ')) } else { rest };
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shown;

    fn read(header: &str, line: &str) -> Option<String> {
        let mut said = Header::default();
        header.lines().enumerate().for_each(|(i, line)| said.saw(line, i == 0));
        let mut fed = HeaderScan::new(&ReaderOptions::new(0));
        header.as_bytes().chunks(7).for_each(|piece| fed.feed(piece));
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        let stamps = StampParser::new(zone, 0, None);
        let show = |header: &Header| {
            let parsed = header.parse(line, &stamps)?;
            let mut entry = EntryBuf::default();
            parsed.add_to(entry.start(parsed.time_ns.unwrap_or(0)).level(parsed.level.unwrap_or_default()));
            Some(shown(&mut entry))
        };
        assert_eq!(show(&said), show(&fed.header()), "in pieces as in lines");
        show(&said)
    }

    const IIS: &str = "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n\
        #Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port c-ip cs(User-Agent) sc-status time-taken\n";
    const ZEEK: &str = "#separator \\x09\n#unset_field\t-\n#path\tconn\n#fields\tts\tuid\tid.orig_p\tservice\ttunnel\n#types\ttime\tstring\n";

    #[test]
    fn columns_have_the_names_of_the_header() {
        for (header, line, expected) in [
            (
                IIS,
                "2024-06-01 10:00:00 10.0.0.1 TRACE /a - 443 192.0.2.1 Mozilla/5.0+(X11) 200 15",
                r#"1717236000000 s-ip=Str("10.0.0.1") method=Str("TRACE") path=Str("/a") s-port=Int(443) ip=Str("192.0.2.1") agent=Str("Mozilla/5.0+(X11)") status=Int(200) time-taken=Int(15)"#,
            ),
            (
                "#Version: 1.0\r\n#Fields: time date x-edge-location sc-bytes cs-uri-stem x-path path\r\n",
                "10:00:00\t2024-06-01\tFRA2-C1\t0912\t/a b\tx\ty",
                r#"1717236000000 x-edge-location=Str("FRA2-C1") bytes=Str("0912") cs-uri-stem=Str("/a b") x-path=Str("x") path=Str("y")"#,
            ),
            (
                ZEEK,
                "1717236000.123456\tC3E57\t443\t-\t(empty)",
                r#"1717236000123 _path=Str("conn") ts=Number("1717236000.123456") uid=Str("C3E57") id.orig_p=Int(443)"#,
            ),
            (
                IIS,
                "2024-06-01 10:00:00 10.0.0.1  GET \"/a b\" - 443 192.0.2.1 \"Mozilla 5\" 200 15 ",
                r#"1717236000000 s-ip=Str("10.0.0.1") method=Str("GET") path=Str("/a b") s-port=Int(443) ip=Str("192.0.2.1") agent=Str("Mozilla 5") status=Int(200) time-taken=Int(15)"#,
            ),
            (
                "#Time Format: Local\n#Fields: date time action level\n",
                "2024-06-01 10:00:00 DROP error",
                r#"1717228800000 action=Str("DROP") level=Str("error")"#,
            ),
            (ZEEK, "-\tC1\t443\t-\t-", r#"0 _path=Str("conn") uid=Str("C1") id.orig_p=Int(443)"#),
            (
                "#fields\tts\tuid\tx",
                "2024-06-01T10:00:00Z\tC1\t\"a",
                r#"1717236000000 ts=Str("2024-06-01T10:00:00Z") uid=Str("C1") x=Str("\"a")"#,
            ),
            (
                "interface-id end action srcaddr\n",
                "eni-1 1717236000 ACCEPT -",
                r#"1717236000000 interface_id=Str("eni-1") end=Int(1717236000) action=Str("ACCEPT")"#,
            ),
            (
                "version srcaddr dstaddr start end tcp-flags action\n",
                "5 10.0.0.1 10.0.0.2 1717236000 1717236060 2 ACCEPT",
                r#"1717236000000 version=Int(5) srcaddr=Str("10.0.0.1") dstaddr=Str("10.0.0.2") start=Int(1717236000) end=Int(1717236060) tcp_flags=Int(2) action=Str("ACCEPT")"#,
            ),
        ] {
            assert_eq!(read(header, line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        let line = "2024-06-01 10:00:00 10.0.0.1 GET /a - 443 192.0.2.1 x 200 15";
        for (header, line) in [
            ("", line),
            (IIS, "2024-06-01 10:00:00 10.0.0.1"),
            (IIS, &line.replace("10:00:00", "10")),
            (IIS, &format!("{line} 7")),
            (IIS, &line.replacen("2024-06-01", "#", 1)),
            ("#Fields: date time\n", "2024-06-01 10:00:00"),
            ("#Fields: date time a a\n", "2024-06-01 10:00:00 c d"),
            ("#Fields: a b c d\n", "2024-06-01 10:00:00 c d"),
            (ZEEK, "1717236000.123456 C3E57 443 - -"),
            (
                "x\nversion srcaddr dstaddr start end action\n",
                "5 1.1.1.1 2.2.2.2 1717236000 1717236060 ACCEPT",
            ),
            ("version of start end action\n", "5 1.1.1.1 1717236000 1717236060 ACCEPT"),
        ] {
            assert_eq!(read(header, line), None, "{header}{line}");
        }
        let many = format!("#Fields: date time {}\n", "c ".repeat(MAX_COLUMNS));
        assert_eq!(read(&many, &format!("2024-06-01 10:00:00{}", " 1".repeat(MAX_COLUMNS))), None);
        let long = format!("#Fields: date time a\n#Fields: date time {}\n", "c".repeat(MAX_HEADER_BYTES));
        assert_eq!(read(&long, "2024-06-01 10:00:00 7"), None);
        let path = format!("#path\t{}\n#fields\tts\tuid\tx\n", "p".repeat(MAX_PATH_BYTES + 1));
        assert_eq!(
            read(&path, "1717236000\tC1\t-").as_deref(),
            Some(r#"1717236000000 ts=Int(1717236000) uid=Str("C1")"#)
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(header in "(#Fields:|#fields\t|#path\t|version )[a-z \té-]{0,20}\n?", line in "[0-9 \té:-]{0,30}") {
            read(&header, &line);
        }
    }
}
