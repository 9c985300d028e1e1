//! What a request asks for beside its body: the parameters of VictoriaLogs, which every HTTP protocol here takes.

use crate::error::{Error, Result};
use crate::treatment::Treatment;
use duramen::{EntryBuf, EntryRef};
use duramen_formats::{FieldRules, NameFilter};

/// What a request asks for beside its body. As VictoriaLogs has it, each can be a parameter of the query or a header.
///
/// | parameter | header | what it holds |
/// |---|---|---|
/// | `_time_field` | `VL-Time-Field` | names, separated by commas: the first that reads as a time is the entry's |
/// | `_msg_field` | `VL-Msg-Field` | names: the first that is not empty is the entry's message |
/// | `_stream_fields` | `VL-Stream-Fields` | names of the fields that make the stream |
/// | `ignore_fields` | `VL-Ignore-Fields` | names, `prefix*` among them: left out |
/// | `extra_fields` | `VL-Extra-Fields` | `name=value,…`: added to each entry, in place of its own |
/// | `decolorize_fields` | `VL-Decolorize-Fields` | names, `prefix*` among them: their texts lose the colours of terminals |
/// | `debug` | `VL-Debug` | whether entries are shown in the server's log, and not stored |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// `_time_field`, `_msg_field`, `ignore_fields` and `extra_fields`.
    pub rules: FieldRules,
    /// `_stream_fields`; `None` if not given: then the protocol says what makes the stream (labels, resources),
    /// or nothing does.
    pub stream_fields: Option<Vec<String>>,
    /// `decolorize_fields`.
    pub decolorize_fields: Vec<String>,
    /// `debug`.
    pub debug: bool,
}

/// The headers and the parameters that they stand for.
pub const HEADERS: [(&str, &str); 7] = [
    ("VL-Time-Field", "_time_field"),
    ("VL-Msg-Field", "_msg_field"),
    ("VL-Stream-Fields", "_stream_fields"),
    ("VL-Ignore-Fields", "ignore_fields"),
    ("VL-Extra-Fields", "extra_fields"),
    ("VL-Decolorize-Fields", "decolorize_fields"),
    ("VL-Debug", "debug"),
];

/// The most fields that make a stream. Each field of each entry is compared with all of them.
pub const MAX_STREAM_FIELDS: usize = 64;

impl Params {
    /// Sets a parameter; says whether there is one of this name. An empty value is as none.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `extra_fields` are not pairs, `debug` is neither true nor false, or there are over
    /// [`MAX_STREAM_FIELDS`] stream fields.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let names = || value.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned);
        match name {
            "_time_field" => self.rules.time_fields = names().collect(),
            "_msg_field" => self.rules.message_fields = names().collect(),
            "_stream_fields" => {
                self.stream_fields = Some(names().collect()).filter(|n: &Vec<_>| !n.is_empty())
            }
            "ignore_fields" => self.rules.ignore_fields = names().collect(),
            "extra_fields" => {
                self.rules.extra_fields = names().map(|pair| pair_of(name, &pair)).collect::<Result<_>>()?;
            }
            "decolorize_fields" => self.decolorize_fields = names().collect(),
            "debug" => self.debug = is_true(name, value)?,
            _ => return Ok(false),
        }
        if self.stream_fields().len() > MAX_STREAM_FIELDS {
            let detail = format!(
                "{} names; at most {MAX_STREAM_FIELDS} fields make a stream",
                self.stream_fields().len()
            );
            return Err(Error::Parameter { name: name.to_owned(), detail });
        }
        Ok(true)
    }

    /// Where entries are built, whose stream is made of these fields, unless others are asked for.
    pub(crate) fn new_entry(&self, streams: &[&str]) -> EntryBuf {
        match &self.stream_fields {
            Some(names) => EntryBuf::new(names.iter().map(String::as_str)),
            None => EntryBuf::new(streams.iter().copied()),
        }
    }

    /// What is done with each entry; with `debug`, it is shown to `show`.
    pub fn treatment(&self, show: fn(&EntryRef<'_>)) -> Treatment {
        let mut decolorized = NameFilter::default();
        for name in &self.decolorize_fields {
            decolorized.add(name);
        }
        Treatment { decolorized, shown_to: self.debug.then_some(show) }
    }

    /// The fields that do not go into entries.
    pub(crate) fn left_out(&self) -> NameFilter {
        self.rules.left_out()
    }

    /// The stream fields that were asked for; none if they were not.
    pub(crate) fn stream_fields(&self) -> &[String] {
        self.stream_fields.as_deref().unwrap_or_default()
    }
}

fn pair_of(parameter: &str, pair: &str) -> Result<(String, String)> {
    match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Error::Parameter {
            name: parameter.to_owned(),
            detail: format!("{pair:?} is not name=value"),
        }),
    }
}

fn is_true(parameter: &str, value: &str) -> Result<bool> {
    match value {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Ok(true),
        "" | "0" | "f" | "F" | "false" | "False" | "FALSE" => Ok(false),
        _ => Err(Error::Parameter {
            name: parameter.to_owned(),
            detail: format!("{value:?} is neither true nor false"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read() {
        let mut params = Params::default();
        for (name, value) in [
            ("_time_field", "a, b"),
            ("_msg_field", "m"),
            ("_stream_fields", "app,,host"),
            ("ignore_fields", "x*"),
            ("extra_fields", "k=v=w,e="),
        ] {
            assert_eq!(params.set(name, value), Ok(true));
        }
        assert_eq!(params.rules.time_fields, ["a", "b"]);
        assert_eq!(params.rules.message_fields, ["m"]);
        assert_eq!(params.stream_fields(), ["app", "host"]);
        assert!(params.left_out().has("xy") && params.left_out().has("k") && !params.left_out().has("v"));
        assert_eq!(params.rules.extra_fields, [("k".into(), "v=w".into()), ("e".into(), String::new())]);
        assert_eq!(params.set("_stream_fields", ""), Ok(true));
        assert_eq!(params.stream_fields, None);
        assert_eq!(params.set("limit", "1"), Ok(false));
        assert_eq!((params.set("debug", "true"), params.debug), (Ok(true), true));
        assert!(params.set("debug", "maybe").unwrap_err().to_string().contains("debug"));
        assert!(
            params.set("_stream_fields", &"a,".repeat(65)).unwrap_err().to_string().contains("at most 64")
        );
        assert!(params.set("extra_fields", "x").unwrap_err().to_string().contains("extra_fields"));
    }
}
