//! Datadog's logs API, version 2: an array of objects, or one.
//!
//! ```text
//! [{"ddsource":"nginx","ddtags":"env:staging,version:5.1","hostname":"web-1","message":"…","service":"pay","status":"warn"}]
//! ```
//!
//! `message` is the message, `status` the level, `timestamp` (ms) the time. Each tag of `ddtags` becomes a field (`env`,
//! `version`; one without a colon keeps the name `ddtags`). `service`, `hostname` and `ddsource` make the stream. All four may
//! stand in the URL, too, for logs that do not say them; its tags are for all. An object without members is the question whether
//! logs would be taken, and no log.

use crate::decoded::Decoded;
use crate::error::Result;
use crate::json::{ObjectRows, each_value, is_empty};
use crate::params::Params;
use duramen::Value;
use duramen_formats::Names;
use jiter::{Jiter, JiterResult, Peek};
use std::ops::Range;

/// The stream fields, unless others are asked for.
pub const STREAM_FIELDS: [&str; 3] = ["service", "hostname", "ddsource"];
const TAGS: &str = "ddtags";

/// What a request's URL says of all its logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// `service`, `hostname` and `ddsource`, with their values.
    fields: Vec<(&'static str, String)>,
    tags: String,
}

impl Beside {
    /// Of the parameters of a URL. Where one is there twice, the first counts; of tags, all.
    pub fn of(parameters: impl IntoIterator<Item = (impl AsRef<str>, impl Into<String>)>) -> Self {
        let mut beside = Self::default();
        for (name, value) in parameters {
            let (name, value) = (name.as_ref(), value.into());
            match STREAM_FIELDS.into_iter().find(|known| *known == name) {
                _ if value.is_empty() => {}
                Some(name) if beside.fields.iter().all(|(had, _)| *had != name) => {
                    beside.fields.push((name, value));
                }
                None if name == TAGS => beside.tags.extend([&value, ","]),
                _ => {}
            }
        }
        beside
    }
}

/// Reads requests, keeping its buffers. Can be sent to another thread, not shared.
#[derive(Debug)]
pub struct Logs {
    rows: ObjectRows,
    tags: Tags,
    beside: Beside,
    tags_left_out: bool,
    /// For tags without a name.
    names: Names,
}

/// What the member `ddtags` holds.
#[derive(Debug, Default)]
struct Tags {
    /// Tags, each with a comma behind it.
    text: String,
    /// The member as it was written, if it is neither a text nor a list of texts.
    other: Option<Range<usize>>,
    /// Those of [`STREAM_FIELDS`] that the row says.
    says: Vec<&'static str>,
}

impl Logs {
    /// As the parameters say. `now_ns` (since the epoch) tells the year of time stamps that have none.
    pub fn new(params: &Params, now_ns: i64) -> Self {
        let tags_left_out = params.left_out().has("ddtags");
        let mut params = params.clone();
        params.rules.ignore_fields.push("ddtags".to_owned());
        Self {
            rows: ObjectRows::with_streams(&params, now_ns, &STREAM_FIELDS, Some("status")),
            tags: Tags::default(),
            beside: Beside::default(),
            tags_left_out,
            names: Names::new(),
        }
    }

    /// With what the request's URL says.
    pub fn with(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }

    /// Takes a body.
    ///
    /// # Errors
    /// [`crate::Error::Malformed`] if it is not JSON; [`crate::Error::Limit`] over
    /// [`crate::Limits::max_entries_bytes`].
    pub fn read(&mut self, body: &[u8], now_ns: i64, out: &mut Decoded) -> Result<()> {
        each_value("a Datadog logs request", body, |row| {
            if is_empty(row) {
                return Ok(());
            }
            self.tags.look(row);
            let Self { rows, tags, beside, tags_left_out, names } = self;
            let unsaid = beside.fields.iter().filter(|(name, _)| !tags.says.contains(name));
            let unsaid: Vec<_> = unsaid.map(|(name, value)| (*name, value.as_str())).collect();
            let _counted_in_out = rows.take_as(row, &unsaid, now_ns, out, |rows, text| {
                if !*tags_left_out {
                    tags.add_to(rows, text, &beside.tags, names);
                }
            })?;
            Ok(())
        })
    }
}

impl Tags {
    fn clear(&mut self) {
        self.text.clear();
        self.other = None;
    }

    /// Looks at a row; what is wrong with it, its reader says.
    fn look(&mut self, row: &[u8]) {
        self.clear();
        self.says.clear();
        let _wrong_or_not = self.find(row);
    }

    /// Reads the member of a row; if it is there twice, the last counts.
    fn find(&mut self, row: &[u8]) -> JiterResult<()> {
        let mut jiter = Jiter::new(row);
        let mut key = jiter.next_object()?;
        while let Some(name) = key {
            let is_tags = name == TAGS;
            let known = STREAM_FIELDS.into_iter().find(|known| *known == name);
            let peek = jiter.peek()?;
            if is_tags {
                self.clear();
                self.member(&mut jiter, peek)?;
            } else if let Some(known) = known {
                let says = match peek {
                    Peek::String => !jiter.known_str()?.is_empty(),
                    peek => jiter.known_skip(peek).map(|()| peek != Peek::Null)?,
                };
                self.says.extend(says.then_some(known));
            } else {
                jiter.known_skip(peek)?;
            }
            key = jiter.next_key()?;
        }
        Ok(())
    }

    fn member(&mut self, jiter: &mut Jiter<'_>, peek: Peek) -> JiterResult<()> {
        let start = jiter.current_index();
        match peek {
            Peek::String => self.text.push_str(jiter.known_str()?),
            Peek::Array => {
                let mut element = jiter.known_array()?;
                while let Some(peek) = element {
                    match peek {
                        Peek::String => self.text.extend([jiter.known_str()?, ","]),
                        peek => {
                            jiter.known_skip(peek)?;
                            self.other = Some(start..start);
                        }
                    }
                    element = jiter.array_step()?;
                }
            }
            // Its members are fields as those of any other object.
            Peek::Object | Peek::Null => jiter.known_skip(peek)?,
            peek => {
                jiter.known_skip(peek)?;
                self.other = Some(start..start);
            }
        }
        if let Some(other) = &mut self.other {
            other.end = jiter.current_index();
        }
        Ok(())
    }

    /// Adds them, and `more` behind them, as fields to the entry of a row with this text. A field of the row's own keeps its name.
    fn add_to(&self, rows: &mut ObjectRows, text: &str, more: &str, names: &mut Names) {
        names.clear();
        if let Some(other) = &self.other {
            let other = text.get(other.clone()).unwrap_or_default().trim();
            let value = if other.starts_with('[') { Value::Json(other) } else { Value::Str(other) };
            rows.entry.field(TAGS, value);
            names.take(TAGS, value);
        }
        let own = if self.other.is_some() { "" } else { &self.text };
        for tag in own.split(',').chain(more.split(',')).map(str::trim).filter(|tag| !tag.is_empty()) {
            match tag.split_once(':') {
                Some((name, value)) if name != TAGS => rows.add(text, name, value),
                _ => {
                    if let Some(name) = names.take(TAGS, Value::Str(tag)) {
                        rows.entry.field(name, tag);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{NOW, show};

    #[test]
    fn requests_become_entries() {
        let mut out = Decoded::default();
        let body = br#"[{"ddsource":"nginx","ddtags":"env:staging, version:5.1,canary","hostname":"web-1","message":"hello","service":"pay","status":"warn"},
            {"message":"at","timestamp":1719446407123,"status":"200","extra":{"a":1}}, 5]"#;
        let mut logs = Logs::new(&Params::default(), NOW);
        logs.read(body, NOW, &mut out).unwrap();
        logs.read(b"{\"message\":\"one\"}", NOW, &mut out).unwrap();
        assert_eq!(out.rejected().count, 1);
        assert_eq!(
            show(&mut out),
            "NOW Warn hello {ddsource=nginx hostname=web-1 service=pay} message=hello status=warn env=staging version=5.1 ddtags=canary\n\
             1719446407123000000 Unknown at {} message=at timestamp=1719446407123 status=200 extra.a=1\n\
             NOW Unknown one {} message=one\n"
        );
        assert!(logs.read(b"[{}", NOW, &mut out).is_err());
    }

    /// As an agent, a forwarder or a browser names for all of a request what its logs do not say.
    #[test]
    fn what_the_url_says_is_of_all_logs_that_do_not_say_it() {
        let mut out = Decoded::default();
        let url = [
            ("ddsource", "nginx"),
            ("service", "pay"),
            ("service", "second"),
            ("hostname", ""),
            ("ddtags", "env:a,team:x"),
            ("ddtags", "lone"),
            ("other", "o"),
        ];
        let body = br#"[{"message":"a"},{"message":"b","service":"own","ddsource":null,"hostname":"h","ddtags":"env:b,v:1,lone"},
            {"message":"c","service":"","ddtags":[5]},{}]"#;
        Logs::new(&Params::default(), NOW).with(Beside::of(url)).read(body, NOW, &mut out).unwrap();
        assert_eq!(
            show(&mut out),
            "NOW Unknown a {ddsource=nginx service=pay} message=a env=a team=x ddtags=lone\n\
             NOW Unknown b {service=own hostname=h ddsource=nginx} message=b ddsource#1=null env=b v=1 ddtags=lone env#1=a team=x\n\
             NOW Unknown c {ddsource=nginx service=pay} message=c service#1= ddtags=[5] env=a team=x ddtags#1=lone\n"
        );
    }

    #[test]
    fn what_asks_whether_logs_are_taken_is_none() {
        let mut out = Decoded::default();
        for body in ["{}", "[{}]", " [ { } , {\n} ] "] {
            Logs::new(&Params::default(), NOW).read(body.as_bytes(), NOW, &mut out).unwrap();
        }
        assert_eq!((show(&mut out), out.rejected().count), (String::new(), 0));
    }

    #[test]
    fn no_tag_is_lost_and_none_hides_a_field() {
        let mut out = Decoded::default();
        let body = br#"[{"message":"a","ddtags":["env:a","b:c","lone"],"service":"s"},{"message":"b","ddtags":["a:1",5]},
            {"message":"c","ddtags":7},{"message":"d","service":"s","hostname":"h","ddtags":"service:s,hostname:other,x,y,e:1,e:2,e:1,e:2,x,y"},
            {"message":"e","ddtags":"a:1","ddtags":"b:2"}]"#;
        Logs::new(&Params::default(), NOW).read(body, NOW, &mut out).unwrap();
        assert_eq!(
            show(&mut out),
            "NOW Unknown a {service=s} message=a env=a b=c ddtags=lone\n\
             NOW Unknown b {} message=b ddtags=[\"a:1\",5]\n\
             NOW Unknown c {} message=c ddtags=7\n\
             NOW Unknown d {service=s hostname=h} message=d hostname#1=other ddtags=x ddtags#1=y e=1 e#1=2\n\
             NOW Unknown e {} message=e ddtags#1=a:1 b=2\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(any: Vec<u8>, text in "\\[\\{\"ddtags\":[{}\\[\\]\":,a0]{0,20}") {
            for body in [&any[..], text.as_bytes()] {
                let _refused_or_not = Logs::new(&Params::default(), NOW).read(body, NOW, &mut Decoded::default());
            }
        }
    }
}
