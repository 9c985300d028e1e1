//! `set_stream_fields host, app`: the stream of a row made of other fields.

use super::fields::NamePattern;
use super::row_pipe::{RowPipe, Worker};
use crate::error::ParseError;
use crate::parse::Parser;
use crate::row::write_json_string;
use duramen::ValueKind;
use duramen::block::names;

/// The fields that are labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetStreamFields {
    labels: Vec<NamePattern>,
}

impl SetStreamFields {
    pub(super) fn parse(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let mut labels = vec![NamePattern::parse(p)?];
        while p.eat_punct(',')? {
            labels.push(NamePattern::parse(p)?);
        }
        Ok(Self { labels })
    }
}

impl RowPipe for SetStreamFields {
    fn name(&self) -> &'static str {
        "set_stream_fields"
    }

    fn arguments(&self) -> String {
        format!(" {}", self.labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    fn reads(&self, see: &mut dyn FnMut(NamePattern)) {
        self.labels.iter().cloned().for_each(see);
    }

    fn worker(&self) -> Worker<'_> {
        Box::new(|row| {
            let is_label =
                |name: &str| name != names::STREAM && self.labels.iter().any(|pattern| pattern.matches(name));
            let mut labels: Vec<(&str, &str)> = row
                .iter()
                .filter(|(name, text, _)| is_label(name) && !text.is_empty())
                .map(|(name, text, _)| (name, text))
                .collect();
            labels.sort_unstable();
            let mut stream = vec![b'{'];
            for (i, (name, text)) in labels.iter().enumerate() {
                if i > 0 {
                    stream.push(b',');
                }
                stream.extend_from_slice(name.as_bytes());
                stream.push(b'=');
                write_json_string(text, &mut stream);
            }
            stream.push(b'}');
            // A row of no stream has none.
            if labels.is_empty() {
                stream.clear();
            }
            row.set(names::STREAM, std::str::from_utf8(&stream).unwrap_or(""), ValueKind::String);
        })
    }
}
