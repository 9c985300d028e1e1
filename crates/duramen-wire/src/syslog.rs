//! Syslog messages, of RFC 5424 and RFC 3164, as they come over UDP or out of a [`Framer`](crate::framing::Framer).
//!
//! The message is what the program said; `host`, `app`, `pid`, `msgid`, `facility`, `severity`, `priority` and the
//! parameters of structured data (`sd.ID.PARAM`) are fields, and `host` and `app` make the stream. A message that is
//! a JSON object, as many loggers send it over TCP and call it Logstash's, is read as a JSON line. One in no such form is kept whole.

use crate::decoded::Decoded;
use crate::error::Result;
use crate::framing::Frame;
use crate::json::{ObjectRows, is_empty};
use crate::params::Params;
use duramen::EntryBuf;
use duramen::logger::TRUNCATED_FIELD;
use duramen_formats::{Names, ReaderOptions, StampParser, syslog, text_of};
use jiff::tz::TimeZone;

/// The stream fields, unless others are asked for.
pub const STREAM_FIELDS: [&str; 2] = ["host", "app"];

/// Makes entries of messages, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Messages {
    entry: EntryBuf,
    timezone: TimeZone,
    stamps: StampParser,
    /// When `stamps` were made: they tell the year by it.
    stamps_ns: i64,
    names: Names,
    extra_fields: Vec<(String, String)>,
    params: Params,
    /// Reads messages that are JSON objects; made when the first comes, for most senders send none.
    objects: Option<Box<ObjectRows>>,
}

/// The memory of messages over so many bytes is given back: their fields can take hundreds of times as much, and connections stay for days.
const KEPT_BYTES: usize = 4 << 10;
/// How long a guess at the year holds: an hour.
const STAMPS_NS: i64 = 3_600_000_000_000;

impl Messages {
    /// `timezone` is that of time stamps which name none, as RFC 3164's. Of the parameters, `_stream_fields` and
    /// `extra_fields` count.
    pub fn new(params: &Params, timezone: TimeZone, now_ns: i64) -> Self {
        Self {
            entry: params.new_entry(&STREAM_FIELDS),
            stamps: StampParser::new(timezone.clone(), now_ns, None),
            stamps_ns: now_ns,
            names: Names::new(),
            timezone,
            extra_fields: params.rules.extra_fields.clone(),
            params: params.clone(),
            objects: None,
        }
    }

    /// Takes a message. `peer` is who sent it, and the host of a message that names none.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn message(
        &mut self,
        frame: Frame<'_>,
        peer: Option<&str>,
        now_ns: i64,
        out: &mut Decoded,
    ) -> Result<()> {
        let (bytes, cut_from) = match frame {
            Frame::Message(bytes) => (bytes, None),
            Frame::Cut(bytes, len) => (bytes, Some(len)),
            Frame::TooLong(len) => {
                out.reject_too_long(len);
                return Ok(());
            }
        };
        if let Err(e) = out.check_line(bytes.len()) {
            out.reject(|| e.to_string());
            return Ok(());
        }
        let taken = self.take(bytes, cut_from, peer, now_ns, out);
        if bytes.len() > KEPT_BYTES {
            (self.entry, self.names, self.objects) =
                (self.params.new_entry(&STREAM_FIELDS), Names::new(), None);
        }
        taken
    }

    fn take(
        &mut self,
        bytes: &[u8],
        cut_from: Option<usize>,
        peer: Option<&str>,
        now_ns: i64,
        out: &mut Decoded,
    ) -> Result<()> {
        if now_ns.saturating_sub(self.stamps_ns) > STAMPS_NS {
            self.stamps = StampParser::new(self.timezone.clone(), now_ns, None);
            self.stamps_ns = now_ns;
            self.objects = None;
        }
        let text = text_of(bytes);
        let text = text.trim_end_matches(['\n', '\r', '\0']);
        // A writer of .NET's marks its stream as UTF-8.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_ascii_start().starts_with('{') && self.object(text, peer, now_ns, out)? {
            return Ok(());
        }
        let entry = &mut self.entry;
        match syslog::parse(text, &self.stamps) {
            Some(line) => {
                entry.start(line.time_ns.unwrap_or(now_ns)).message(line.message);
                entry.level(line.level().unwrap_or_default());
                line.add_to(entry, &mut self.names);
                if let (None, Some(peer)) = (line.host, peer) {
                    entry.field("host", peer);
                }
            }
            None => {
                entry.start(now_ns).message(text).level(crate::level::of_line(text).unwrap_or_default());
                if let Some(peer) = peer {
                    entry.field("host", peer);
                }
            }
        }
        for (name, value) in &self.extra_fields {
            entry.field(name, value.as_str());
        }
        // Perhaps the last words of who sent it.
        if let Some(len) = cut_from {
            entry.field(TRUNCATED_FIELD, len as i64);
        }
        entry.raw_len(bytes.len() + 1);
        let _counted_in_out = out.take(entry)?;
        Ok(())
    }

    /// Takes a message that may be a JSON object; says whether it is one.
    fn object(&mut self, text: &str, peer: Option<&str>, now_ns: i64, out: &mut Decoded) -> Result<bool> {
        let rows = self.objects.get_or_insert_with(|| {
            let mut options = ReaderOptions::new(now_ns);
            options.timezone = self.timezone.clone();
            Box::new(ObjectRows::with_options(&self.params, &options, &STREAM_FIELDS))
        });
        let read = match peer {
            Some(peer) => rows.read_or(text.as_bytes(), ("host", peer), now_ns, out),
            None => rows.read(text.as_bytes(), &[], now_ns, out),
        };
        match read {
            Err(_) => return Ok(false),
            Ok(_) if is_empty(text.trim_ascii().as_bytes()) => {
                out.reject(|| "an object without members".to_owned());
                return Ok(true);
            }
            Ok(_) => {}
        }
        let _counted_in_out = out.take(&mut rows.entry)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::testing::{NOW, show};

    #[test]
    fn messages_become_entries() {
        let mut out = Decoded::new(Limits { max_line_bytes: 200, ..Limits::default() });
        let mut params = Params::default();
        params.set("extra_fields", "dc=a").unwrap();
        let mut messages = Messages::new(&params, TimeZone::UTC, NOW);
        for (frame, peer) in [
            (&br#"<165>1 2003-10-11T22:14:15.003Z web-1 app 77 ID47 [ex@1 k="v"] hello"#[..], None),
            (b"<34>Jun 14 15:16:01 web-2 su[5]: failed\n", Some("10.0.0.9")),
            (b"<13>just text\0", Some("10.0.0.9")),
            (b"level=error no syslog \xff", Some("10.0.0.9")),
        ] {
            messages.message(Frame::Message(frame), peer, NOW, &mut out).unwrap();
        }
        messages.message(Frame::TooLong(201), None, NOW, &mut out).unwrap();
        assert_eq!(out.rejected().to_string(), "row 4: it has 201 bytes; max_line_bytes is 200");
        assert_eq!(
            show(&mut out),
            "1065910455003000000 Info hello {host=web-1 app=app} msgid=ID47 pid=77 priority=165 facility=local4 severity=notice sd.ex@1.k=v dc=a\n\
             1718378161000000000 Fatal failed {host=web-2 app=su} pid=5 priority=34 facility=auth severity=crit dc=a\n\
             NOW Info just text {host=10.0.0.9} priority=13 facility=user severity=notice dc=a\n\
             NOW Error level=error no syslog \\xFF {host=10.0.0.9} dc=a\n"
        );
    }

    #[test]
    fn json_objects_without_a_header_are_json_lines() {
        let mut out = Decoded::default();
        let mut params = Params::default();
        params.set("extra_fields", "dc=a").unwrap();
        let mut messages = Messages::new(&params, TimeZone::UTC, NOW);
        for frame in [
            // logstash-logback-encoder, python-logstash, Monolog's JsonFormatter.
            &br#"{"@timestamp":"2024-06-15T10:00:00.123+02:00","@version":"1","message":"paid","logger_name":"shop.Pay","level":"WARN","level_value":30000}"#[..],
            br#"{"@timestamp":"2024-06-15T08:00:00.5Z","message":"a\nb","host":"web-1","app":"shop","level":"ERROR"}"#,
            b"{\"message\":\"refused\",\"context\":{\"user\":3},\"level\":400,\"level_name\":\"ERROR\",\"datetime\":\"2024-06-15T08:00:00+00:00\"}\r",
            br#"{"msg":"no time","host":{"name":"web-2"}} "#,
            // None, though they begin so: they are kept whole.
            br#"{"message":"cut"#,
            br#"{"a":1} and more: error"#,
            b"{\"message\":\"\xff\"}",
            br#"<14>Jun 15 08:00:00 h app: {"message":"a header"}"#,
        ] {
            messages.message(Frame::Message(frame), Some("10.0.0.9"), NOW, &mut out).unwrap();
        }
        assert_eq!(
            show(&mut out),
            "1718438400123000000 Warn paid {host=10.0.0.9} @timestamp=2024-06-15T10:00:00.123+02:00 @version=1 message=paid logger_name=shop.Pay level=WARN level_value=30000 dc=a\n\
             1718438400500000000 Error a\nb {host=web-1 app=shop} @timestamp=2024-06-15T08:00:00.5Z message=a\nb level=ERROR dc=a\n\
             1718438400000000000 Error refused {host=10.0.0.9} message=refused context.user=3 level#1=400 level_name=ERROR datetime=2024-06-15T08:00:00+00:00 dc=a\n\
             NOW Unknown no time {host=10.0.0.9} msg=no time host.name=web-2 dc=a\n\
             NOW Unknown {\"message\":\"cut {host=10.0.0.9} dc=a\n\
             NOW Unknown {\"a\":1} and more: error {host=10.0.0.9} dc=a\n\
             NOW Unknown {\"message\":\"\\xFF\"} {host=10.0.0.9} dc=a\n\
             1718438400000000000 Info {\"message\":\"a header\"} {host=h app=app} priority=14 facility=user severity=info dc=a\n"
        );
    }

    #[test]
    fn an_object_without_members_is_none_to_keep() {
        let mut out = Decoded::default();
        let mut messages = Messages::new(&Params::default(), TimeZone::UTC, NOW);
        for text in ["{}", " { \t} ", "\u{feff}{}\r", "{\"\":\"\"}"] {
            messages.message(Frame::Message(text.as_bytes()), Some("10.0.0.9"), NOW, &mut out).unwrap();
        }
        let told = [0, 1, 2].map(|row| format!("row {row}: an object without members")).join("; ");
        assert_eq!(
            (out.rejected().to_string(), show(&mut out)),
            (told, "NOW Unknown  {host=10.0.0.9}\n".to_owned())
        );
    }

    #[test]
    fn an_object_whose_host_says_nothing_is_of_its_sender_and_one_with_no_room_for_that_is_kept_whole() {
        let mut out = Decoded::default();
        let mut messages = Messages::new(&Params::default(), TimeZone::UTC, NOW);
        let members: Vec<String> = (0..duramen::entry::MAX_FIELDS).map(|i| format!("\"k{i}\":{i}")).collect();
        let full = format!("{{{}}}", members.join(","));
        for text in [r#"{"message":"a","host":null}"#, r#"{"message":"b","host":""}"#, &full] {
            messages.message(Frame::Message(text.as_bytes()), Some("10.0.0.9"), NOW, &mut out).unwrap();
        }
        assert_eq!(
            show(&mut out),
            format!(
                "NOW Unknown a {{host=10.0.0.9}} message=a host#1=null\n\
                 NOW Unknown b {{host=10.0.0.9}} message=b host#1=\n\
                 NOW Unknown {full} {{host=10.0.0.9}}\n"
            )
        );
    }

    #[test]
    fn an_objects_time_without_a_zone_is_of_the_listeners_as_a_headers_is() {
        let mut out = Decoded::default();
        let mut messages = Messages::new(&Params::default(), TimeZone::get("Europe/Berlin").unwrap(), NOW);
        for text in [
            r#"{"message":"a","time":"2024-06-15 10:00:00"}"#,
            r#"{"message":"b","time":"2024-06-15T08:00:00Z"}"#,
            "<14>Jun 15 10:00:00 h app: c",
        ] {
            messages.message(Frame::Message(text.as_bytes()), None, NOW, &mut out).unwrap();
        }
        let shown = show(&mut out);
        let times: Vec<&str> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(times, ["1718438400000000000"; 3], "{shown}");
    }

    #[test]
    fn a_mark_of_utf_8_and_blanks_hide_neither_an_object_nor_a_header() {
        let mut out = Decoded::default();
        let mut messages = Messages::new(&Params::default(), TimeZone::UTC, NOW);
        for text in
            ["\u{feff}{\"message\":\"a\"}", " \n{\"message\":\"b\"}", "\u{feff}<14>Jun 15 08:00:00 h app: c"]
        {
            messages.message(Frame::Message(text.as_bytes()), None, NOW, &mut out).unwrap();
        }
        assert_eq!(
            show(&mut out),
            "NOW Unknown a {} message=a\n\
             NOW Unknown b {} message=b\n\
             1718438400000000000 Info c {host=h app=app} priority=14 facility=user severity=info\n"
        );
    }

    #[test]
    fn what_a_long_message_has_taken_is_given_back() {
        let mut messages = Messages::new(&Params::default(), TimeZone::UTC, NOW);
        let members: Vec<String> = (0..10_000).map(|i| format!("\"{i}\":1")).collect();
        for (text, is_kept) in [
            (r#"{"a":1}"#.to_owned(), true),
            (format!("{{\"{}\":{{{}}}}}", "p".repeat(900), members.join(",")), false),
        ] {
            messages.message(Frame::Message(text.as_bytes()), None, NOW, &mut Decoded::default()).unwrap();
            assert_eq!(messages.objects.is_some(), is_kept, "{}", text.len());
        }
    }

    #[test]
    fn the_year_is_told_by_the_time_that_is_now() {
        let mut out = Decoded::default();
        let mut messages = Messages::new(&Params::default(), TimeZone::UTC, NOW);
        let a_year_on = NOW + 366 * 86_400 * 1_000_000_000;
        for now in [NOW, a_year_on] {
            messages.message(Frame::Message(b"<34>Jun 14 15:16:01 h a: x"), None, now, &mut out).unwrap();
        }
        let shown = show(&mut out);
        let times: Vec<&str> = shown.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(times, ["1718378161000000000", "1749914161000000000"]);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let mut out = Decoded::default();
            let mut messages = Messages::new(&Params::default(), TimeZone::UTC, NOW);
            messages.message(Frame::Message(&bytes), None, NOW, &mut out).unwrap();
            show(&mut out);
        }
    }
}
