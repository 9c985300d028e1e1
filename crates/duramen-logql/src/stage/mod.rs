//! The stages of a pipeline at work: each changes an entry, or says that it goes no further.

mod json;
pub(crate) mod json_paths;
mod label_filter;
mod logfmt;
mod unwrap;

use crate::ast::{LabelChoice, LabelValue, LineFilter, LineTest, Logfmt, Stage};
use crate::labels::{ERROR, ERROR_DETAILS, Entry};
use duramen_query::filter::re2::group_name;
use duramen_query::pipe::decolorize::decolorize;

/// What a stage that fails says in the label `__error__`.
pub(crate) mod errors {
    pub const JSON: &str = "JSONParserErr";
    pub const LOGFMT: &str = "LogfmtParserErr";
    pub const TEMPLATE: &str = "TemplateFormatErr";
    pub const LABEL_FILTER: &str = "LabelFilterErr";
    pub const UNWRAP: &str = "SampleExtractionErr";

    /// Whether it says that a line could not be read.
    pub fn is_of_parser(error: &str) -> bool {
        matches!(error, JSON | LOGFMT)
    }
}

impl Stage {
    /// Puts an entry through the stage; whether it goes on.
    pub fn apply(&self, entry: &mut Entry<'_>) -> bool {
        match self {
            Self::Line(filter) => return filter.passes(&entry.line),
            Self::Label(filter) => return filter.passes(entry),
            Self::Json(fields) if fields.is_empty() => json::all(entry),
            Self::Json(fields) => json::some(fields, entry),
            Self::Logfmt(logfmt) => logfmt::read(logfmt, entry),
            Self::Regexp(rx) => {
                let line = std::mem::take(&mut entry.line);
                if let Some(captures) = rx.regex.captures(&line) {
                    for name in rx.regex.capture_names().flatten() {
                        if let Some(found) = captures.name(name) {
                            entry.set_parsed(group_name(name), found.as_str());
                        }
                    }
                }
                entry.line = line;
            }
            Self::Pattern(pattern) => {
                let line = std::mem::take(&mut entry.line);
                pattern.each_place(&line, &mut |name, value| entry.set_parsed(name, value));
                entry.line = line;
            }
            Self::Unpack => json::unpack(entry),
            Self::Decolorize => {
                if entry.line.contains('\u{1b}') {
                    let mut plain = String::new();
                    decolorize(&entry.line, &mut plain);
                    entry.line = plain.into();
                }
            }
            Self::LineFormat(template) => match template.apply(entry) {
                Ok(line) => entry.line = line.into(),
                Err(e) => entry.fail(errors::TEMPLATE, e),
            },
            Self::LabelFormat(formats) => label_format(formats, entry),
            Self::Drop(choices) => {
                for choice in choices {
                    let label = match choice {
                        LabelChoice::Name(label) => label,
                        LabelChoice::Matcher(m) if m.matches(entry.get(&m.label).unwrap_or("")) => &m.label,
                        LabelChoice::Matcher(_) => continue,
                    };
                    entry.remove(label);
                }
            }
            Self::Keep(choices) => entry.labels.retain(|label| {
                choices.iter().any(|choice| match choice {
                    LabelChoice::Name(name) => **name == *label.name,
                    LabelChoice::Matcher(m) => *m.label == *label.name && m.matches(&label.value),
                })
            }),
        }
        true
    }

    /// Calls `see` with every label that it looks at, but for those that it may set; `None` stands for the line.
    pub fn for_each_input(&self, see: &mut dyn FnMut(Option<&str>)) {
        match self {
            Self::Line(_) | Self::Json(_) | Self::Logfmt(_) | Self::Regexp(_) | Self::Pattern(_) => see(None),
            Self::Unpack | Self::Decolorize => see(None),
            Self::Label(filter) => filter.for_each_label(&mut |label| see(Some(label))),
            Self::LineFormat(template) => {
                see(None);
                template.for_each_label(&mut |label| see(Some(label)));
            }
            Self::LabelFormat(formats) => {
                see(None);
                for (_, value) in formats {
                    match value {
                        LabelValue::Rename(from) => see(Some(from)),
                        LabelValue::Template(template) => {
                            template.for_each_label(&mut |label| see(Some(label)))
                        }
                    }
                }
            }
            Self::Drop(choices) | Self::Keep(choices) => {
                for choice in choices {
                    if let LabelChoice::Matcher(m) = choice {
                        see(Some(&m.label));
                    }
                }
            }
        }
    }

    /// Whether labels may be others behind it.
    pub fn changes_labels(&self) -> bool {
        !matches!(self, Self::Line(_) | Self::Label(_) | Self::Decolorize | Self::LineFormat(_))
    }

    /// Whether nothing but other labels and lines comes of it, and errors of parsers and of `line_format`, of which Loki does not
    /// tell, either; but what a template of a label does wrong must be told, and an error that is dropped must go.
    pub fn can_be_left_out(&self) -> bool {
        match self {
            Self::Line(_) | Self::Label(_) => false,
            Self::LabelFormat(formats) => {
                formats.iter().all(|(_, value)| matches!(value, LabelValue::Rename(_)))
            }
            Self::Drop(choices) => !choices.iter().any(|choice| match choice {
                LabelChoice::Name(label) => is_about_errors(label),
                LabelChoice::Matcher(m) => is_about_errors(&m.label),
            }),
            _ => true,
        }
    }

    /// Whether the line may be another behind it.
    pub fn changes_line(&self) -> bool {
        matches!(self, Self::Unpack | Self::Decolorize | Self::LineFormat(_))
    }
}

/// Gives labels other names and values. As in Loki, no template of a stage sees what those before it have made.
fn label_format(formats: &[(Box<str>, LabelValue)], entry: &mut Entry<'_>) {
    let is_template = |(_, value): &&(Box<str>, LabelValue)| matches!(value, LabelValue::Template(_));
    let are_several = formats.iter().filter(is_template).count() > 1;
    let mut before = None;
    for (label, value) in formats {
        let made = match value {
            LabelValue::Rename(from) => {
                let Some(value) = entry.get(from).map(str::to_string) else { continue };
                entry.remove(from);
                Ok(value)
            }
            LabelValue::Template(template) if are_several => {
                template.apply(before.get_or_insert_with(|| entry.clone()))
            }
            LabelValue::Template(template) => template.apply(entry),
        };
        match made {
            Ok(value) => entry.set(label, value),
            Err(e) => entry.fail(errors::TEMPLATE, e),
        }
    }
}

impl Entry<'_> {
    /// Reads labels out of the line, if it is a JSON object or has logfmt's pairs; and says which parser did: `json` or
    /// `logfmt`.
    pub fn detect_fields(&mut self) -> Option<&'static str> {
        let before = self.labels.len();
        let parser = if self.line.trim_start().starts_with('{') {
            json::all(self);
            "json"
        } else {
            logfmt::read(&Logfmt { strict: true, ..Logfmt::default() }, self);
            "logfmt"
        };
        let failed = self.error.take().is_some();
        self.error_details.clear();
        if failed {
            self.labels.truncate(before);
        }
        (self.labels.len() > before).then_some(parser)
    }
}

impl LineFilter {
    /// Whether a line goes on.
    pub fn passes(&self, line: &str) -> bool {
        self.negated
            != self.tests.iter().any(|test| match test {
                LineTest::Contains(text) => memchr::memmem::find(line.as_bytes(), text.as_bytes()).is_some(),
                LineTest::Regex(rx) => rx.regex.is_match(line),
                LineTest::Pattern(pattern) => pattern.matches(line),
                LineTest::Ip(ips) => ips.is_in(line),
            })
    }
}

/// Whether a label is made by the pipeline, and no field.
pub(crate) fn is_about_errors(label: &str) -> bool {
    matches!(label, ERROR | ERROR_DETAILS)
}
