//! Splunk's HTTP event collector: objects one after another, or lines as they are.
//!
//! ```text
//! {"time":1719446407.123,"host":"web-1","source":"app","sourcetype":"json","event":{"message":"…","level":"warn"},
//!  "fields":{"region":"eu"}}{"event":"a line"}
//! ```
//!
//! An event that is an object has its members as fields, as a JSON line has; any other is the message. `host`, `source`
//! and `sourcetype` make the stream; `index` and what is in `fields` are fields. `time` is in seconds.

use crate::decoded::Decoded;
use crate::error::Result;
use crate::json::{ObjectRows, each_value, lines, skipped, text_of};
use crate::level;
use crate::params::Params;
use duramen_formats::{StampParser, plain};
use jiff::tz::TimeZone;
use jiter::{Jiter, JiterResult, Peek};
use std::ops::Range;

/// The stream fields, unless others are asked for.
pub const STREAM_FIELDS: [&str; 3] = ["host", "source", "sourcetype"];

/// Reads requests, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Events {
    rows: ObjectRows,
    stamps: StampParser,
    envelope: Envelope,
    message: String,
}

/// What lies around an event.
#[derive(Debug, Default)]
struct Envelope {
    event: Option<Range<usize>>,
    time: Option<Range<usize>>,
    fields: Option<Range<usize>>,
    /// `host`, `source`, `sourcetype`, `index`.
    texts: Vec<(&'static str, String)>,
    /// All other members, as an object of JSON without its last bracket.
    others: String,
}

/// What the query of a raw request says of all its lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source<'a> {
    /// `host`.
    pub host: Option<&'a str>,
    /// `source`.
    pub source: Option<&'a str>,
    /// `sourcetype`.
    pub sourcetype: Option<&'a str>,
    /// `index`.
    pub index: Option<&'a str>,
}

impl Events {
    /// As the parameters say. `now_ns` (since the epoch) tells the year of time stamps that have none.
    pub fn new(params: &Params, now_ns: i64) -> Self {
        Self {
            rows: ObjectRows::with_streams(params, now_ns, &STREAM_FIELDS, None).of_events(),
            stamps: StampParser::new(TimeZone::UTC, now_ns, None),
            envelope: Envelope::default(),
            message: String::new(),
        }
    }

    /// Takes events (`/services/collector/event`). Rejected rows are counted by event, from 0.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if it is not JSON; [`crate::Error::Limit`] over
    /// [`crate::Limits::max_entries_bytes`].
    pub fn events(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        each_value("events for Splunk's collector", body, |row| match self.event(row, now_ns, out) {
            Ok(()) => {
                let _counted_in_out = out.take(&mut self.rows.entry)?;
                Ok(())
            }
            Err(reason) => {
                out.reject(|| reason);
                Ok(())
            }
        })
    }

    fn event(&mut self, row: &[u8], now_ns: i64, out: &Decoded) -> Result<(), String> {
        out.check_line(row.len()).map_err(|e| e.to_string())?;
        let text = text_of(row)?;
        self.envelope.read(text).map_err(|e| format!("not a JSON object: {}", e.error_type))?;
        let part =
            |range: &Option<Range<usize>>| range.clone().and_then(|range| text.get(range)).map(str::trim);
        let event = part(&self.envelope.event).ok_or("Event field is required")?;
        let stamp = part(&self.envelope.time);
        let time = stamp.and_then(|time| self.stamps.parse_value(time.trim_matches('"')));
        let Self { rows, envelope, message, .. } = self;
        let object = if event.starts_with('{') {
            let texts: Vec<_> = envelope.texts.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let object = rows.read(event.as_bytes(), &texts, now_ns, out)?;
            if let Some(time) = time {
                rows.entry.time(time);
            }
            object
        } else {
            message.clear();
            match event.starts_with('"').then(|| Jiter::new(event.as_bytes()).next_str().map(str::to_owned)) {
                Some(Ok(text)) => message.push_str(&text),
                _ => message.push_str(event),
            }
            if message.is_empty() || event == "null" {
                return Err("Event field cannot be blank".to_owned());
            }
            let level = level::of_line(message).unwrap_or_default();
            rows.start(time.unwrap_or(now_ns)).level(level).message(message);
            for (name, value) in &envelope.texts {
                rows.add("", name, value.as_str());
            }
            rows.add_extra_fields();
            ""
        };
        // What does not read as a time is kept, as a JSON line's is.
        if let (Some(stamp), None) = (stamp, time)
            && !matches!(stamp.trim_matches('"'), "" | "0" | "null")
        {
            rows.add(object, "time", stamp.trim_matches('"'));
        }
        if let Some(fields) = part(&envelope.fields).filter(|fields| *fields != "null") {
            rows.add_fields(object, fields)?;
        }
        if !envelope.others.is_empty() {
            envelope.others.push('}');
            rows.add_fields(object, &envelope.others)?;
        }
        rows.entry.raw_len(row.len());
        Ok(())
    }

    /// Takes lines (`/services/collector/raw`): each is a message, with the time and the level it shows.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] over [`crate::Limits::max_entries_bytes`].
    pub fn raw(&mut self, body: &[u8], source: Source<'_>, now_ns: i64, out: &mut Decoded) -> Result<()> {
        for line in lines(body) {
            if let Err(e) = out.check_line(line.len()) {
                out.reject(|| e.to_string());
                continue;
            }
            let text = duramen_formats::text_of(line);
            let text = text.trim_end_matches('\r');
            let lead = plain::lead(text, &self.stamps);
            let rows = &mut self.rows;
            let level = lead.level.or_else(|| level::of_line(text)).unwrap_or_default();
            rows.start(lead.time_ns.unwrap_or(now_ns)).level(level).message(text).raw_len(line.len() + 1);
            let Source { host, source, sourcetype, index } = source;
            for (name, value) in
                [("host", host), ("source", source), ("sourcetype", sourcetype), ("index", index)]
            {
                if let Some(value) = value {
                    rows.add("", name, value);
                }
            }
            rows.add_extra_fields();
            let _counted_in_out = out.take(&mut rows.entry)?;
        }
        Ok(())
    }
}

impl Envelope {
    fn read(&mut self, text: &str) -> JiterResult<()> {
        (self.event, self.time, self.fields) = (None, None, None);
        self.texts.clear();
        self.others.clear();
        let mut jiter = Jiter::new(text.as_bytes());
        let mut key = jiter.next_object()?;
        while let Some(name) = key {
            let known = ["event", "time", "fields", "host", "source", "sourcetype", "index"]
                .into_iter()
                .find(|known| *known == name);
            if known.is_none() {
                self.others.push(if self.others.is_empty() { '{' } else { ',' });
                self.others.push_str(&serde_json::Value::from(name).to_string());
                self.others.push(':');
            }
            match (known, jiter.peek()?) {
                (Some(name @ ("host" | "source" | "sourcetype" | "index")), Peek::String) => {
                    self.texts.push((name, jiter.known_str()?.to_owned()));
                }
                (name, peek) => {
                    let range = skipped(&mut jiter, peek)?;
                    let raw = text.get(range.clone()).unwrap_or_default().trim();
                    match name {
                        Some("event") => self.event = Some(range),
                        Some("time") => self.time = Some(range),
                        Some("fields") => self.fields = Some(range),
                        Some(name) if peek != Peek::Null => self.texts.push((name, raw.to_owned())),
                        Some(_) => {}
                        None => self.others.push_str(raw),
                    }
                }
            }
            key = jiter.next_key()?;
        }
        jiter.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, show};

    #[test]
    fn events_become_entries() {
        let mut out = Decoded::default();
        let body = br#"{"time":1719446407.123,"host":"web-1","source":"app","sourcetype":"json","index":"main","event":{"message":"hello","level":"warn","time":5},"fields":{"region":"eu","n":{"a":1}}}
            {"event":"ERROR: a \"line\"","time":"1719446408"} {"event":7}{"event":[1]}{"host":"x"}{"event":""}{"event":null}"#;
        Events::new(&Params::default(), NOW).events(body, NOW, &mut out).unwrap();
        assert_eq!(
            out.rejected().to_string(),
            "row 4: Event field is required; row 5: Event field cannot be blank; row 6: Event field cannot be blank"
        );
        assert_eq!(
            show(&mut out),
            "1719446407123000000 Warn hello {host=web-1 source=app sourcetype=json} message=hello level=warn time=5 index=main region=eu n.a=1\n\
             1719446408000000000 Error ERROR: a \"line\" {}\n\
             NOW Unknown 7 {}\n\
             NOW Unknown [1] {}\n"
        );
        assert!(Events::new(&Params::default(), NOW).events(b"{\"event\":1} x", NOW, &mut out).is_err());
        out.clear();
        let docker =
            br#"{"event":{"line":"WARN: disk","source":"stdout","tag":"0f"},"time":"1719446408","host":"h"}"#;
        Events::new(&Params::default(), NOW).events(docker, NOW, &mut out).unwrap();
        assert_eq!(
            show(&mut out),
            "1719446408000000000 Warn WARN: disk {source=stdout host=h} line=WARN: disk tag=0f\n",
            "a container's line, as Docker's driver sends it"
        );
    }

    #[test]
    fn a_line_is_the_message_only_of_a_container_and_an_objects_text_is() {
        let body = br#"{"event":{"file":"x","line":"12"}}
            {"event":{"line":"12","source":"a.go"}}
            {"event":{"line":{"msg":"from json","level":"error","n":1},"source":"stderr","tag":"0f"}}
            {"event":{"message":{"message":"paid","event":"no","n":1},"severity":"warn"}}
            {"event":{"message":{"event":"up","level":"info"}}}
            {"event":{"message":{"temperature":"70F"},"line":"x","source":"stdout"}}
            {"event":{"message":"own","line":"x","source":"stdout","":"unnamed"}}"#;
        let mut out = Decoded::default();
        Events::new(&Params::default(), NOW).events(body, NOW, &mut out).unwrap();
        assert_eq!(
            show(&mut out),
            "NOW Unknown  {} file=x line=12\n\
             NOW Unknown  {source=a.go} line=12\n\
             NOW Error from json {source=stderr} line.msg=from json line.level=error line.n=1 tag=0f\n\
             NOW Warn paid {} message.message=paid message.event=no message.n=1 severity=warn\n\
             NOW Info up {} message.event=up message.level=info\n\
             NOW Unknown x {source=stdout} message.temperature=70F line=x\n\
             NOW Unknown unnamed {source=stdout} message=own line=x\n"
        );
        out.clear();
        let mut params = Params::default();
        params.set("_msg_field", "line").unwrap();
        Events::new(&params, NOW).events(br#"{"event":{"line":"12"}}"#, NOW, &mut out).unwrap();
        assert_eq!(show(&mut out), "NOW Unknown 12 {}\n", "as it was asked for");
    }

    #[test]
    fn nothing_around_an_event_is_lost() {
        let mut out = Decoded::default();
        let body = br#"{"event":"x","host":5,"source":true,"sourcetype":null,"time":"abc","foo":"b\"r","o":{"p":1}}
            {"event":{"host":"in","message":"m","source":"o","time":1},"host":"out","source":"o","time":"soon","fields":{"host":"f","_msg":"q"},"message":"y"}
            {"event":"cut \ud83d"}{"event":"y","fields":null,"time":0}
            {"event":"z","host":"h","fields":{"host":"h","n":1,"n":1},"n":1,"o":{"p":1}}"#;
        Events::new(&Params::default(), NOW).events(body, NOW, &mut out).unwrap();
        assert_eq!(
            show(&mut out),
            "NOW Unknown x {host=5 source=true} time=abc foo=b\"r o.p=1\n\
             NOW Unknown m {source=o host=out} host#1=in message=m time=1 time#1=soon host#2=f _msg#1=q message#1=y\n\
             NOW Unknown cut \\ud83d {}\nNOW Unknown y {}\n\
             NOW Unknown z {host=h} n#1=1 n=1 o.p=1\n"
        );
        let mut params = Params::default();
        params.set("ignore_fields", "source").unwrap();
        params.set("extra_fields", "host=mine").unwrap();
        out.clear();
        let body = br#"{"event":"x","host":"a","source":"b"}{"event":{"n":1},"host":"a","source":"b"}"#;
        Events::new(&params, NOW).events(body, NOW, &mut out).unwrap();
        assert_eq!(show(&mut out), "NOW Unknown x {host=mine}\nNOW Unknown  {host=mine} n=1\n");
    }

    #[test]
    fn raw_lines_become_entries() {
        let mut out = Decoded::default();
        let source = Source { host: Some("h"), sourcetype: Some("syslog"), ..Source::default() };
        let body = b"2024-06-27 00:00:07 WARN a\r\n\npl\xe4in";
        Events::new(&Params::default(), NOW).raw(body, source, NOW, &mut out).unwrap();
        assert_eq!(
            show(&mut out),
            "1719446407000000000 Warn 2024-06-27 00:00:07 WARN a {host=h sourcetype=syslog}\n\
             NOW Unknown pl\\xE4in {host=h sourcetype=syslog}\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(any: Vec<u8>, text in "\\{\"event\":[{}\\[\\]\":,a0]{0,20}") {
            for body in [&any[..], text.as_bytes()] {
                let mut out = Decoded::default();
                let mut events = Events::new(&Params::default(), NOW);
                let _refused_or_not = events.events(body, NOW, &mut out);
                events.raw(body, Source::default(), NOW, &mut out).unwrap();
                show(&mut out);
            }
        }
    }
}
