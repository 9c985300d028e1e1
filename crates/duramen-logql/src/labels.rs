//! An entry as LogQL sees it: a line, and labels.
//!
//! The labels of an entry are its fields: those of its stream are *stream labels*, the others *structured metadata*, and
//! what a stage reads out of the line is *parsed*. Two more are made of what is there, as Loki makes them when logs
//! come in: `service_name` (of the stream) and `detected_level` (of the metadata).

use crate::levels::level_name;
use crate::metric::LabelSet;
use duramen::block::names;
use duramen::label_text::Labels;
use duramen_query::ResultRow;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The label that names what an entry comes from.
pub(crate) const SERVICE_NAME: &str = "service_name";
/// The label that has an entry's level.
pub(crate) const DETECTED_LEVEL: &str = "detected_level";
/// The label that says which stage failed.
pub(crate) const ERROR: &str = "__error__";
/// The label that says why.
pub(crate) const ERROR_DETAILS: &str = "__error_details__";

/// The labels of which the first that is there is the service's name.
pub(crate) const SERVICE_NAME_SOURCES: &[&str] = &[
    "service",
    "app",
    "application",
    "name",
    "app_kubernetes_io_name",
    "container",
    "container_name",
    "k8s_container_name",
    "component",
    "workload",
    "job",
    "k8s_job_name",
];

/// What an entry's service is called when no label tells.
pub(crate) const UNKNOWN_SERVICE: &str = "unknown_service";

/// Where a label comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A field of the entry's stream.
    Stream,
    /// Any other field of the entry.
    Metadata,
    /// The line, or another label, by a stage of the query.
    Parsed,
}

/// A label of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// Its name: letters, digits and `_`.
    pub name: Cow<'a, str>,
    /// Its value; not empty.
    pub value: Cow<'a, str>,
    /// Where it comes from.
    pub origin: Origin,
}

/// An entry on its way through a pipeline.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its time stamp, ns since the epoch.
    pub time_ns: i64,
    /// Its line.
    pub line: Cow<'a, str>,
    /// Its labels, no name twice, in no order.
    pub labels: Vec<Label<'a>>,
    pub(crate) error: Option<&'static str>,
    pub(crate) error_details: String,
    /// If only some labels matter, which.
    wanted: Option<&'a BTreeSet<Box<str>>>,
    /// The fields and labels of its stream, also those that a stage has taken away.
    stream_names: &'a [(String, String)],
}

/// A field's name as a label: what may not be in one becomes `_`.
pub(crate) fn sanitize(name: &str) -> Cow<'_, str> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_label = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if starts_well && name.chars().all(is_label) {
        return name.into();
    }
    let mut out = String::with_capacity(name.len() + 1);
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        out.push('_');
    }
    out.extend(name.chars().map(|c| if is_label(c) { c } else { '_' }));
    out.into()
}

/// The labels of a stream's text, as in `{app="x",host="y"}`, sorted, with `service_name`.
///
/// ```
/// let labels = duramen_logql::stream_labels("{app=\"web\",k8s.pod=\"p1\"}");
/// let names: Vec<_> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
/// assert_eq!(names, ["app=web", "k8s_pod=p1", "service_name=web"]);
/// let labels = duramen_logql::stream_labels(r#"{"my host"="y"}"#);
/// assert_eq!(labels[0], ("my_host".into(), "y".into()));
/// ```
pub fn stream_labels(stream: &str) -> LabelSet {
    let mut labels = LabelSet::new();
    for (name, value) in Labels::of(stream) {
        let name = sanitize(&name);
        if !value.is_empty() && !labels.iter().any(|(n, _)| **n == *name) {
            labels.push((name.into(), value.into()));
        }
    }
    let find =
        |wanted: &str| labels.iter().find(|(name, _)| **name == *wanted).map(|(_, value)| value.clone());
    if find(SERVICE_NAME).is_none() {
        let service = SERVICE_NAME_SOURCES.iter().find_map(|source| find(source));
        labels.push((SERVICE_NAME.into(), service.unwrap_or_else(|| UNKNOWN_SERVICE.into())));
    }
    labels.sort_unstable();
    labels
}

/// Makes entries of rows. Remembers which labels are of the stream that the last row had.
#[derive(Debug, Default)]
pub(crate) struct EntryReader {
    stream: String,
    /// Fields, and the labels that they are.
    stream_names: Vec<(String, String)>,
}

impl EntryReader {
    /// The entry that a row is; if only some labels matter, with those alone, and those that the others are made of.
    pub fn read<'r>(&'r mut self, row: &'r ResultRow, wanted: Option<&'r BTreeSet<Box<str>>>) -> Entry<'r> {
        let stream = row.get(names::STREAM).unwrap_or("");
        if stream != self.stream {
            self.stream.clear();
            self.stream.push_str(stream);
            let names = Labels::of(stream).map(|(name, _)| (name.to_string(), sanitize(&name).into_owned()));
            self.stream_names = names.collect();
        }
        let mut entry = Entry {
            time_ns: row.time_ns().unwrap_or(0),
            line: Cow::Borrowed(""),
            labels: Vec::with_capacity(row.len() + 2),
            error: None,
            error_details: String::new(),
            wanted,
            stream_names: &self.stream_names,
        };
        for (name, text, _) in row.iter() {
            match name {
                names::MESSAGE => entry.line = text.into(),
                names::TIME | names::STREAM => {}
                _ if text.is_empty() => {}
                _ => {
                    let of_stream = self.stream_names.iter().any(|(field, _)| field == name);
                    let origin = if of_stream { Origin::Stream } else { Origin::Metadata };
                    let name = sanitize(name);
                    if entry.get(&name).is_none() {
                        entry.labels.push(Label { name, value: text.into(), origin });
                    }
                }
            }
        }
        entry.derive();
        entry
    }
}

impl<'a> Entry<'a> {
    /// Adds the labels that are made of others.
    fn derive(&mut self) {
        let wants = |name: &str| self.wanted.is_none_or(|wanted| wanted.contains(name));
        let (service, level) = (wants(SERVICE_NAME), wants(DETECTED_LEVEL));
        if service && self.get(SERVICE_NAME).is_none() {
            let value = SERVICE_NAME_SOURCES.iter().find_map(|source| self.find(source));
            let value = value.map_or(Cow::Borrowed(UNKNOWN_SERVICE), |i| self.labels[i].value.clone());
            self.labels.push(Label { name: SERVICE_NAME.into(), value, origin: Origin::Stream });
        }
        if level && self.get(DETECTED_LEVEL).is_none() {
            let value = level_name(self.get(names::LEVEL).unwrap_or("")).into();
            self.labels.push(Label { name: DETECTED_LEVEL.into(), value, origin: Origin::Metadata });
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.labels.iter().position(|label| label.name == name)
    }

    /// The value of a label; none is never the empty text.
    pub fn get(&self, name: &str) -> Option<&str> {
        match name {
            ERROR => self.error,
            ERROR_DETAILS => Some(&*self.error_details).filter(|details| !details.is_empty()),
            _ => self.find(name).map(|i| &*self.labels[i].value),
        }
    }

    /// Gives a label a value; the empty text takes it away.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        let found = self.find(name);
        match found {
            Some(i) if value.is_empty() => drop(self.labels.swap_remove(i)),
            Some(i) => {
                let label = &mut self.labels[i];
                (label.value, label.origin) = (value.into(), Origin::Parsed);
            }
            None if value.is_empty() => {}
            None => {
                let name = name.to_string().into();
                self.labels.push(Label { name, value: value.into(), origin: Origin::Parsed });
            }
        }
    }

    /// Gives a label a value that was read out of the line: under another name if a field has that one. As in Loki, a
    /// value that was made before stays.
    pub(crate) fn set_parsed(&mut self, name: &str, value: &str) {
        self.parsed(name, value, false);
    }

    /// The same, for a label that a query names: it takes the place of a value that was made before.
    pub(crate) fn set_named(&mut self, name: &str, value: &str) {
        self.parsed(name, value, true);
    }

    fn parsed(&mut self, name: &str, value: &str, anew: bool) {
        let mut name = sanitize(name);
        let mut found = self.find(&name);
        // The entry's level is mostly what the store has read out of the line: what the query reads there takes its place.
        // `detected_level` tells it all the same.
        if let Some(i) = found
            && name == names::LEVEL
            && !value.is_empty()
            && self.labels[i].origin == Origin::Metadata
        {
            self.labels.swap_remove(i);
            found = None;
        }
        let is_made =
            |found: Option<usize>, e: &Self| found.is_some_and(|i| e.labels[i].origin == Origin::Parsed);
        if found.is_some() && !is_made(found, self)
            || self.stream_names.iter().any(|(_, label)| *label == name)
        {
            name = format!("{name}_extracted").into();
            found = self.find(&name);
        }
        let is_wanted = self.wanted.is_none_or(|wanted| wanted.contains(&*name)) && !name.is_empty();
        if is_wanted && (anew || !is_made(found, self)) {
            self.set(&name, value.to_string());
        }
    }

    /// Takes a label away, and gives its value.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Cow<'a, str>> {
        match name {
            ERROR => {
                self.error = None;
                self.error_details.clear();
                None
            }
            ERROR_DETAILS => {
                self.error_details.clear();
                None
            }
            _ => self.find(name).map(|i| self.labels.swap_remove(i).value),
        }
    }

    /// Says that a stage failed. As in Loki, of several the last is told of.
    pub(crate) fn fail(&mut self, error: &'static str, details: impl Into<String>) {
        self.error = Some(error);
        self.error_details = details.into();
    }

    /// All labels, those about errors included: names, values, origins.
    pub fn all_labels(&self) -> impl Iterator<Item = (&str, &str, Origin)> {
        let error = self.error.map(|error| (ERROR, error, Origin::Parsed));
        let details = Some(&*self.error_details).filter(|details| !details.is_empty());
        let details = details.map(|details| (ERROR_DETAILS, details, Origin::Parsed));
        self.labels.iter().map(|l| (&*l.name, &*l.value, l.origin)).chain(error).chain(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_labels() {
        for (name, label) in [
            ("app", "app"),
            ("k8s.pod-name", "k8s_pod_name"),
            ("1st", "_1st"),
            ("é", "_"),
            ("", ""),
            ("a b", "a_b"),
        ] {
            assert_eq!(sanitize(name), label, "{name}");
        }
    }
}
