//! What of a log expression the store can do: its selector, and the filters before anything changes, become a
//! [`Filter`], so that blocks without the words are passed over; what is left is done row by row.
//!
//! A label's name says which fields may be meant: a field `k8s.pod` is the label `k8s_pod`.

use crate::ast::{LabelChoice, LabelFilter, LineFilter, LineTest, LogExpr, Matcher, Stage, TextTest};
use crate::labels::{DETECTED_LEVEL, Entry, SERVICE_NAME, SERVICE_NAME_SOURCES, UNKNOWN_SERVICE};
use crate::levels;
use crate::spellings::{dotted, spellings};
use crate::stage::is_about_errors;
use duramen::block::names;
use duramen_query::Query;
use duramen_query::filter::exact::Exact;
use duramen_query::filter::phrase::Phrase;
use duramen_query::filter::regex::Pattern;
use duramen_query::filter::time::TimeRange;
use duramen_query::filter::{Filter, Test};
use duramen_query::pipe::Pipe;
use duramen_query::pipe::fields::{Fields, NamePattern};
use std::collections::BTreeSet;

/// A log expression, divided.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    /// What the store does.
    pub filter: Filter,
    /// What each row must pass besides.
    selector: Vec<&'a Matcher>,
    stages: Vec<&'a Stage>,
}

impl<'a> Plan<'a> {
    pub fn new(log: &'a LogExpr) -> Self {
        let mut plan = Self { filter: Filter::All, selector: Vec::new(), stages: Vec::new() };
        for matcher in &log.selector {
            let (filter, exact) = of_matcher(matcher);
            plan.add(filter);
            if !exact {
                plan.selector.push(matcher);
            }
        }
        let (mut same_line, mut same_labels) = (true, true);
        for stage in &log.stages {
            let done = match stage {
                Stage::Line(filter) if same_line => {
                    let (filter, exact) = of_line(filter);
                    plan.add(filter);
                    exact
                }
                Stage::Label(filter) if same_labels => {
                    let (filter, exact) = of_label_filter(filter);
                    plan.add(filter);
                    exact
                }
                _ => false,
            };
            if !done {
                plan.stages.push(stage);
            }
            same_line &= !stage.changes_line();
            same_labels &= !stage.changes_labels();
        }
        plan
    }

    /// Leaves out stages whose labels and lines nobody behind them looks at, where the answer needs labels or not, and
    /// lines or not. As in Loki, a parser or a `line_format` that is left out fails no line.
    pub fn leave_out_unseen(&mut self, mut labels: bool, mut line: bool) {
        let mut kept = Vec::with_capacity(self.stages.len());
        for stage in self.stages.drain(..).rev() {
            if !(labels && stage.changes_labels() || line && stage.changes_line()) && stage.can_be_left_out()
            {
                continue;
            }
            stage.for_each_input(&mut |input| match input {
                Some(_) => labels = true,
                None => line = true,
            });
            kept.push(stage);
        }
        kept.reverse();
        self.stages = kept;
    }

    fn add(&mut self, filter: Filter) {
        self.filter = std::mem::replace(&mut self.filter, Filter::All).and(filter);
    }

    /// Whether nothing is left but stages that change nothing.
    pub fn is_done_by_store(&self) -> bool {
        let changes_nothing = |stage: &&Stage| match stage {
            Stage::Drop(choices) => {
                choices.iter().all(|c| matches!(c, LabelChoice::Name(label) if is_about_errors(label)))
            }
            _ => false,
        };
        self.selector.is_empty() && self.stages.iter().all(changes_nothing)
    }

    /// Puts an entry through what is left; whether it is one of the answer.
    pub fn apply(&self, entry: &mut Entry<'_>) -> bool {
        self.selector.iter().all(|m| m.matches(entry.get(&m.label).unwrap_or("")))
            && self.stages.iter().all(|stage| stage.apply(entry))
    }

    /// The labels that what is left looks at.
    pub fn for_each_input(&self, see: &mut dyn FnMut(Option<&str>)) {
        self.selector.iter().for_each(|m| see(Some(&m.label)));
        self.stages.iter().for_each(|stage| stage.for_each_input(see));
    }

    /// The query for the rows from one time to another, both included; with the fields of some labels only, if others do
    /// not matter, and with or without the line.
    pub fn query(&self, range: TimeRange, wanted: Option<(&BTreeSet<Box<str>>, bool)>) -> Query {
        let filter = Filter::Time(range).and(self.filter.clone());
        let pipes = match wanted {
            None => Vec::new(),
            Some((labels, line)) => {
                let mut fields: BTreeSet<String> = [names::STREAM.to_string()].into();
                fields.extend(line.then(|| names::MESSAGE.to_string()));
                fields.extend(labels.iter().flat_map(|label| sources(label)));
                let patterns = fields.iter().map(|name| NamePattern::exact(name)).collect();
                vec![Pipe::Fields(Fields { patterns, delete: false })]
            }
        };
        Query::new(filter, pipes, None)
    }
}

/// The fields that a label may be, or may be made of.
pub(crate) fn sources(label: &str) -> Vec<String> {
    match label {
        SERVICE_NAME => {
            [SERVICE_NAME].iter().chain(SERVICE_NAME_SOURCES).flat_map(|name| dotted(name)).collect()
        }
        DETECTED_LEVEL => dotted(label).into_iter().chain([names::LEVEL.into()]).collect(),
        _ => spellings(label),
    }
}

fn any(parts: Vec<Filter>) -> Filter {
    let mut parts = parts;
    if parts.len() > 1 { Filter::Or(parts) } else { parts.pop().unwrap_or(Filter::All) }
}

fn all(parts: impl IntoIterator<Item = Filter>) -> Filter {
    parts.into_iter().fold(Filter::All, Filter::and)
}

/// What the store can do for a matcher, and whether that is all of it.
fn of_matcher(matcher: &Matcher) -> (Filter, bool) {
    match &*matcher.label {
        label if label.starts_with("__") => (Filter::All, false),
        DETECTED_LEVEL => (of_detected_level(matcher), true),
        SERVICE_NAME => (of_service_name(matcher), true),
        label => {
            let fields = spellings(label).into_iter();
            let filters = fields.map(|field| of_field(&field, matcher));
            // A label that is not there is empty: where that will do, all must do.
            (if matcher.matches("") { all(filters) } else { any(filters.collect()) }, true)
        }
    }
}

/// The first of the fields that is there, or the name for none.
fn of_service_name(matcher: &Matcher) -> Filter {
    let mut parts = Vec::new();
    let mut none_before = Filter::All;
    for field in sources(SERVICE_NAME) {
        let is = |test| Filter::Field { field: field.as_str().into(), test };
        let present = if matcher.matches("") { is(Test::Any) } else { Filter::All };
        parts.push(none_before.clone().and(present).and(of_field(&field, matcher)));
        none_before = none_before.and(is(Test::Exact(Exact::new("", false))));
    }
    if matcher.matches(UNKNOWN_SERVICE) {
        parts.push(none_before);
    }
    any(parts)
}

/// A field that is called so, or else what the entry's level is called.
fn of_detected_level(matcher: &Matcher) -> Filter {
    let mut parts = Vec::new();
    let mut none_before = Filter::All;
    for field in dotted(DETECTED_LEVEL) {
        let is = |test| Filter::Field { field: field.as_str().into(), test };
        let present = if matcher.matches("") { is(Test::Any) } else { Filter::All };
        parts.push(none_before.clone().and(present).and(of_field(&field, matcher)));
        none_before = none_before.and(is(Test::Exact(Exact::new("", false))));
    }
    let level = |names: &[&str]| match Pattern::new(&levels::expression(names)) {
        Ok(pattern) => Filter::Field { field: names::LEVEL.into(), test: Test::Regex(pattern) },
        Err(_) => Filter::All,
    };
    let known: Vec<&str> = levels::SPELLINGS.iter().map(|(name, _)| *name).collect();
    let wanted: Vec<&str> = known.iter().copied().filter(|name| matcher.matches(name)).collect();
    let mut of_level = Vec::new();
    if !wanted.is_empty() {
        of_level.push(level(&wanted));
    }
    if matcher.matches(levels::UNKNOWN) {
        of_level.push(Filter::Not(Box::new(level(&known))));
    }
    if !of_level.is_empty() {
        parts.push(none_before.and(any(of_level)));
    }
    any(parts)
}

fn of_field(field: &str, matcher: &Matcher) -> Filter {
    let test = match &matcher.test {
        TextTest::Is(text) => Test::Exact(Exact::new(text, false)),
        TextTest::Regex(rx) => match alternatives(&rx.source) {
            Some(texts) => Test::In(duramen_query::filter::set::In::new(texts.into_iter().map(Into::into))),
            None => match Pattern::whole(&rx.source) {
                Ok(pattern) => Test::Regex(pattern),
                Err(_) => return Filter::All,
            },
        },
    };
    let filter = Filter::Field { field: field.into(), test };
    if matcher.negated { Filter::Not(Box::new(filter)) } else { filter }
}

/// The texts of an expression that is only texts with `|` between them.
fn alternatives(expression: &str) -> Option<Vec<&str>> {
    let is_plain =
        |c: char| !matches!(c, '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '^' | '$');
    expression.chars().all(is_plain).then(|| expression.split('|').collect())
}

fn of_line(filter: &LineFilter) -> (Filter, bool) {
    let line = |test| Filter::Field { field: names::MESSAGE.into(), test };
    let substring = |text: &str| match text {
        "" => Filter::All,
        _ => line(Test::Phrase(Phrase::substring(text))),
    };
    let (mut parts, mut exact) = (Vec::new(), true);
    for test in &filter.tests {
        parts.push(match test {
            LineTest::Contains(text) => substring(text),
            LineTest::Regex(rx) => match (alternatives(&rx.source), Pattern::new(&rx.source)) {
                (Some(texts), _) => any(texts.into_iter().map(substring).collect()),
                (None, Ok(pattern)) => line(Test::Regex(pattern)),
                (None, Err(_)) => {
                    exact = false;
                    Filter::All
                }
            },
            LineTest::Pattern(pattern) => {
                exact = false;
                all(pattern.texts().map(substring))
            }
            LineTest::Ip(_) => {
                exact = false;
                Filter::All
            }
        });
    }
    if parts.contains(&Filter::All) && !filter.negated {
        return (Filter::All, exact);
    }
    match (filter.negated, exact) {
        (false, _) => (any(parts), exact),
        (true, true) => (Filter::Not(Box::new(any(parts))), true),
        // What only might match cannot be taken away.
        (true, false) => (Filter::All, false),
    }
}

fn of_label_filter(filter: &LabelFilter) -> (Filter, bool) {
    match filter {
        LabelFilter::Text(matcher) if !is_about_errors(&matcher.label) => of_matcher(matcher),
        LabelFilter::And(parts) => parts
            .iter()
            .map(of_label_filter)
            .fold((Filter::All, true), |(all, all_exact), (part, exact)| (all.and(part), all_exact && exact)),
        LabelFilter::Or(parts) => {
            let (parts, exact): (Vec<_>, Vec<_>) = parts.iter().map(of_label_filter).unzip();
            let filter = if parts.contains(&Filter::All) { Filter::All } else { any(parts) };
            (filter, exact.into_iter().all(|exact| exact))
        }
        // Of the others, what is of the wrong kind goes on.
        _ => (Filter::All, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::Expr;

    fn plan(text: &str) -> (String, usize) {
        let Ok(Expr::Log(log)) = crate::parse::parse(text) else { panic!("{text}") };
        let plan = Plan::new(&log);
        (plan.filter.to_string(), plan.selector.len() + plan.stages.len())
    }

    #[test]
    fn the_store_does_what_it_can() {
        for (text, filter, left) in [
            ("{app=\"web\"} |= `a b`", "app:=web *\"a b\"*", 0),
            ("{app=\"web\"} |= `a` or `b` != `c`", "app:=web (*a* or *b*) !*c*", 0),
            ("{app=~\"a|b\", host!=\"x\"}", "app:in(a, b) !host:=x", 0),
            ("{app=\"web\"} | json |= `x` | a=\"b\"", "app:=web *x*", 2),
            ("{app=\"web\"} | a=\"b\" | json", "app:=web a:=b", 1),
            ("{app=\"web\"} | line_format \"{{.a}}\" |= `x`", "app:=web", 2),
            ("{app=\"web\"} |~ `warn|error`", "app:=web (*warn* or *error*)", 0),
            ("{app=\"web\"} |> `<_> took <_>ms`", "app:=web *\" took \"* *ms*", 1),
            ("{app=\"web\"} | n > 5", "app:=web", 1),
            ("{a_b=\"x\"}", "a_b:=x or a.b:=x or a-b:=x or a/b:=x", 0),
            ("{a_b!=\"x\"}", "!a_b:=x !a.b:=x !a-b:=x !a/b:=x", 0),
            ("{detected_level=\"x\"}", "detected_level:=x or (detected_level:\"\" detected.level:=x)", 0),
            ("{_msg=\"x\"}", "_msg#1:=x", 0),
            ("{} |= ``", "*", 0),
        ] {
            assert_eq!(plan(text), (filter.to_string(), left), "{text}");
        }
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        for (stages, labels, line, left) in [
            ("| json", false, false, ""),
            ("| json", false, true, ""),
            ("| json", true, false, " | json"),
            ("| logfmt | drop a | keep b, c=`d` | label_format x=y | pattern `<z> w`", false, false, ""),
            ("| regexp `(?P<x>.)` | json |= `x`", false, false, ""),
            ("| json | x=`y` | logfmt", false, false, " | json | x=\"y\""),
            ("| unpack | decolorize", false, false, ""),
            ("| unpack |= `x`", false, false, " | unpack |= \"x\""),
            ("| unpack", false, true, " | unpack"),
            ("| json | line_format `{{.x}}`", false, false, ""),
            ("| json | line_format `{{.x}}`", true, false, " | json"),
            ("| json | line_format `{{.x}}`", false, true, " | json | line_format \"{{.x}}\""),
            ("| line_format `{{div 1 0}}` | x=`y`", false, false, ""),
            (
                "| json | line_format `{{.x}}` |= `y`",
                false,
                false,
                " | json | line_format \"{{.x}}\" |= \"y\"",
            ),
            ("| line_format `{{.x}}` | logfmt", true, false, " | line_format \"{{.x}}\" | logfmt"),
            ("| json | drop __error__", false, false, " | drop __error__"),
            ("| json | __error__=``", false, false, " | json | __error__=\"\""),
        ] {
            let Ok(Expr::Log(log)) = crate::parse::parse(&format!("{{}} {stages}")) else {
                panic!("{stages}")
            };
            let mut plan = Plan::new(&log);
            plan.leave_out_unseen(labels, line);
            let shown: String = plan.stages.iter().map(|stage| format!(" {stage}")).collect();
            assert_eq!(shown, left, "{stages}");
        }
    }
}
