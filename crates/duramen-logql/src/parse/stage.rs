//! The stages of a pipeline.

use super::json_path::json_path;
use super::log::Ranged;
use super::{Parsed, Parser};
use crate::ast::{
    Conversion, IpSet, LabelChoice, LabelValue, LineFilter, LineTest, Logfmt, Rx, Stage, Unwrap,
};
use crate::labels::sanitize;
use crate::lexer::Kind;
use crate::pattern::Pattern;
use crate::stage::is_about_errors;
use crate::template::Template;
use duramen_query::ParseError;

impl Parser<'_> {
    /// A stage, if one comes next.
    pub(super) fn stage(&mut self, into: &mut Ranged, wants_unwrap: bool) -> Parsed<bool> {
        if let Some(filter) = self.line_filter()? {
            self.no_unwrap_before(into)?;
            into.log.stages.push(Stage::Line(filter));
            return Ok(true);
        }
        if self.at_word("unwrap") || (self.at_op("|") && self.word_behind() == Some("unwrap")) {
            self.eat_op("|");
            if !wants_unwrap {
                return Err(self.error(
                    "unwrap belongs inside a function",
                    "such as sum_over_time({app=\"web\"} | unwrap took [5m])",
                ));
            }
            self.no_unwrap_before(into)?;
            self.advance();
            into.unwrap = Some(self.unwrap()?);
            return Ok(true);
        }
        if !self.eat_op("|") {
            return Ok(false);
        }
        let Some(name) = self.stage_name() else {
            let filter = self.label_filter()?;
            match &mut into.unwrap {
                Some(unwrap) => unwrap.filters.push(filter),
                None => into.log.stages.push(Stage::Label(filter)),
            }
            return Ok(true);
        };
        self.no_unwrap_before(into)?;
        self.advance();
        let stage = match &*name {
            "json" => Stage::Json(self.json_fields()?),
            "logfmt" => Stage::Logfmt(self.logfmt()?),
            "regexp" => {
                let place = self.peek_at(0).start;
                let rx = self.regex(false)?;
                if rx.regex.capture_names().flatten().next().is_none() {
                    let message = "the regular expression names no group";
                    let hint = "such as (?P<status>\\d+)";
                    return Err(ParseError::new(self.text, place, message, hint));
                }
                Stage::Regexp(rx)
            }
            "pattern" => Stage::Pattern(self.text_as("a pattern", Pattern::parser)?),
            "unpack" => Stage::Unpack,
            "decolorize" => Stage::Decolorize,
            "line_format" => Stage::LineFormat(self.text_as("a template", Template::parse)?),
            "label_format" => Stage::LabelFormat(self.label_format()?),
            "drop" => Stage::Drop(self.label_choices()?),
            _ => Stage::Keep(self.label_choices()?),
        };
        into.log.stages.push(stage);
        Ok(true)
    }

    fn no_unwrap_before(&self, into: &Ranged) -> Parsed<()> {
        match into.unwrap {
            Some(_) => Err(self.error("only label filters may follow unwrap", "")),
            None => Ok(()),
        }
    }

    fn word_behind(&self) -> Option<&str> {
        match &self.peek_at(1).kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// The name of a stage, unless it is a label that is compared.
    fn stage_name(&self) -> Option<String> {
        const NAMES: &[&str] = &[
            "json",
            "logfmt",
            "regexp",
            "pattern",
            "unpack",
            "decolorize",
            "line_format",
            "label_format",
            "drop",
            "keep",
        ];
        let Kind::Word(word) = self.kind() else { return None };
        let compared = matches!(
            self.peek_at(1).kind,
            Kind::Op("=" | "==" | "!=" | "=~" | "!~" | ">" | ">=" | "<" | "<=")
        );
        // `| json != "x"` is the stage and a line filter: nothing is compared with a label that is called so.
        let filter = matches!(self.peek_at(1).kind, Kind::Op("!=" | "!~"))
            && matches!(&**word, "json" | "logfmt" | "unpack" | "decolorize");
        (NAMES.contains(&&**word) && (!compared || filter)).then(|| word.clone())
    }

    fn line_filter(&mut self) -> Parsed<Option<LineFilter>> {
        let Kind::Op(op) = *self.kind() else { return Ok(None) };
        let negated = op.starts_with('!');
        if !matches!(op, "|=" | "!=" | "|~" | "!~" | "|>" | "!>") {
            return Ok(None);
        }
        // Behind a function's range, `!=` compares.
        if matches!(op, "!=")
            && !matches!(&self.peek_at(1).kind, Kind::Text(_))
            && !matches!(&self.peek_at(1).kind, Kind::Word(word) if word == "ip")
        {
            return Ok(None);
        }
        self.advance();
        let mut tests = vec![self.line_test(op)?];
        while self.eat_word("or") {
            tests.push(self.line_test(op)?);
        }
        Ok(Some(LineFilter { negated, tests }))
    }

    fn line_test(&mut self, op: &str) -> Parsed<LineTest> {
        if self.at_word("ip") && matches!(op, "|=" | "!=") {
            return Ok(LineTest::Ip(self.ip_set()?));
        }
        Ok(match op {
            "|=" | "!=" => LineTest::Contains(self.text("a text between \"…\"")?.into()),
            "|~" | "!~" => LineTest::Regex(self.text_as("a regular expression", Rx::anywhere)?),
            _ => LineTest::Pattern(self.text_as("a pattern", Pattern::filter)?),
        })
    }

    /// `ip("10.0.0.0/8")`
    pub(super) fn ip_set(&mut self) -> Parsed<IpSet> {
        self.advance();
        self.expect_op("(")?;
        let ips = self.text_as("an address, a range or a network", IpSet::parse)?;
        self.expect_op(")")?;
        Ok(ips)
    }

    /// `a="x.y", b`: labels, each with a text of its own or its own name.
    fn named_texts<T>(&mut self, read: impl Fn(&str) -> Result<T, String>) -> Parsed<Vec<(Box<str>, T)>> {
        let mut fields = Vec::new();
        while matches!(self.kind(), Kind::Word(_)) {
            let place = self.peek_at(0).clone();
            let label = self.label()?;
            let value = if self.eat_op("=") {
                self.text_as("the path of a field", &read)?
            } else {
                let written = &self.text[place.start..place.end];
                read(written).map_err(|e| ParseError::new(self.text, place.start, e, ""))?
            };
            fields.push((label, value));
            if !self.eat_op(",") {
                break;
            }
        }
        Ok(fields)
    }

    fn json_fields(&mut self) -> Parsed<Vec<(Box<str>, crate::ast::JsonPath)>> {
        self.named_texts(json_path)
    }

    fn logfmt(&mut self) -> Parsed<Logfmt> {
        let mut logfmt = Logfmt::default();
        while let Kind::Flag(flag) = *self.kind() {
            match flag {
                "--strict" => logfmt.strict = true,
                _ => logfmt.keep_empty = true,
            }
            self.advance();
        }
        logfmt.fields = self.named_texts(|key| Ok(key.trim_matches('"').into()))?;
        Ok(logfmt)
    }

    fn label_format(&mut self) -> Parsed<Vec<(Box<str>, LabelValue)>> {
        let mut formats: Vec<(Box<str>, LabelValue)> = Vec::new();
        loop {
            if let Kind::Word(name) = self.kind()
                && formats.iter().any(|(label, _)| **label == *sanitize(name))
            {
                return Err(self.error("a label can be given a value only once in a stage", ""));
            }
            let place = self.peek_at(0).start;
            let label = self.label()?;
            if is_about_errors(&label) {
                let message = format!("`{label}` is told by stages, and cannot be given a value");
                return Err(ParseError::new(self.text, place, message, "| drop takes it away"));
            }
            self.expect_op("=")?;
            let value = match self.kind() {
                Kind::Word(_) => LabelValue::Rename(self.label()?),
                _ => LabelValue::Template(self.text_as("a label or a template", Template::parse)?),
            };
            formats.push((label, value));
            if !self.eat_op(",") {
                return Ok(formats);
            }
        }
    }

    fn label_choices(&mut self) -> Parsed<Vec<LabelChoice>> {
        let mut choices = Vec::new();
        loop {
            let label = self.label()?;
            // `!=` with no text belongs to what stands around.
            let compared = matches!(self.kind(), Kind::Op("=" | "==" | "!=" | "=~" | "!~"));
            choices.push(if compared && matches!(self.peek_at(1).kind, Kind::Text(_)) {
                LabelChoice::Matcher(self.matcher(label)?)
            } else {
                LabelChoice::Name(label)
            });
            if !self.eat_op(",") {
                return Ok(choices);
            }
        }
    }

    fn unwrap(&mut self) -> Parsed<Unwrap> {
        let filters = Vec::new();
        if matches!(self.peek_at(1).kind, Kind::Op("(")) {
            let conversion = match self.kind() {
                Kind::Word(word) if word == "duration" => Conversion::Duration,
                Kind::Word(word) if word == "duration_seconds" => Conversion::DurationSeconds,
                Kind::Word(word) if word == "bytes" => Conversion::Bytes,
                _ => return Err(self.expected("duration(), duration_seconds() or bytes()")),
            };
            self.advance();
            self.advance();
            let label = self.label()?;
            self.expect_op(")")?;
            return Ok(Unwrap { label, conversion, filters });
        }
        Ok(Unwrap { label: self.label()?, conversion: Conversion::Number, filters })
    }
}
