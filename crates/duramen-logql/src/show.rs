//! Trees as LogQL again: on one line, with one blank where there may be any.

use crate::ast::*;
use crate::lexer::quote;
use crate::units::format_value;
use std::fmt::{Display, Formatter, Result};

/// Writes things with something between them.
fn join<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    mut show: impl FnMut(&mut Formatter<'_>, &T) -> Result,
) -> Result {
    for (i, item) in items.iter().enumerate() {
        f.write_str(if i > 0 { ", " } else { "" })?;
        show(f, item)?;
    }
    Ok(())
}

/// A duration that is read back as the same, in one unit.
struct Duration(i64);

impl Display for Duration {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        const UNITS: [(i64, &str); 7] = [
            (86_400_000_000_000, "d"),
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        let (by, unit) = UNITS.iter().find(|(by, _)| self.0 % by == 0).copied().unwrap_or((1, "ns"));
        write!(f, "{}{unit}", self.0 / by)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Log(e) => e.fmt(f),
            Self::Metric(e) => e.fmt(f),
        }
    }
}

impl Display for LogExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("{")?;
        join(f, &self.selector, |f, m| m.fmt(f))?;
        f.write_str("}")?;
        self.stages.iter().try_for_each(|stage| write!(f, " {stage}"))
    }
}

impl Display for Matcher {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (op, text) = match (&self.test, self.negated) {
            (TextTest::Is(text), false) => ("=", text),
            (TextTest::Is(text), true) => ("!=", text),
            (TextTest::Regex(rx), false) => ("=~", &rx.source),
            (TextTest::Regex(rx), true) => ("!~", &rx.source),
        };
        write!(f, "{}{op}{}", self.label, quote(text))
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Line(filter) => filter.fmt(f),
            Self::Label(filter) => write!(f, "| {filter}"),
            Self::Json(fields) => {
                f.write_str("| json")?;
                f.write_str(if fields.is_empty() { "" } else { " " })?;
                join(f, fields, |f, (label, path)| write!(f, "{label}={}", quote(&path.source)))
            }
            Self::Logfmt(logfmt) => {
                f.write_str("| logfmt")?;
                f.write_str(if logfmt.strict { " --strict" } else { "" })?;
                f.write_str(if logfmt.keep_empty { " --keep-empty" } else { "" })?;
                f.write_str(if logfmt.fields.is_empty() { "" } else { " " })?;
                join(f, &logfmt.fields, |f, (label, key)| write!(f, "{label}={}", quote(key)))
            }
            Self::Regexp(rx) => write!(f, "| regexp {}", quote(&rx.source)),
            Self::Pattern(pattern) => write!(f, "| pattern {}", quote(&pattern.source)),
            Self::Unpack => f.write_str("| unpack"),
            Self::Decolorize => f.write_str("| decolorize"),
            Self::LineFormat(template) => write!(f, "| line_format {}", quote(&template.source)),
            Self::LabelFormat(formats) => {
                f.write_str("| label_format ")?;
                join(f, formats, |f, (label, value)| match value {
                    LabelValue::Rename(from) => write!(f, "{label}={from}"),
                    LabelValue::Template(template) => write!(f, "{label}={}", quote(&template.source)),
                })
            }
            Self::Drop(choices) | Self::Keep(choices) => {
                f.write_str(if matches!(self, Self::Drop(_)) { "| drop " } else { "| keep " })?;
                join(f, choices, |f, choice| match choice {
                    LabelChoice::Name(name) => f.write_str(name),
                    LabelChoice::Matcher(matcher) => matcher.fmt(f),
                })
            }
        }
    }
}

impl Display for LineFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let op = match (self.tests.first(), self.negated) {
            (Some(LineTest::Regex(_)), false) => "|~",
            (Some(LineTest::Regex(_)), true) => "!~",
            (Some(LineTest::Pattern(_)), false) => "|>",
            (Some(LineTest::Pattern(_)), true) => "!>",
            (_, false) => "|=",
            (_, true) => "!=",
        };
        f.write_str(op)?;
        for (i, test) in self.tests.iter().enumerate() {
            f.write_str(if i > 0 { " or " } else { " " })?;
            match test {
                LineTest::Contains(text) => f.write_str(&quote(text))?,
                LineTest::Regex(rx) => f.write_str(&quote(&rx.source))?,
                LineTest::Pattern(pattern) => f.write_str(&quote(&pattern.source))?,
                LineTest::Ip(ips) => write!(f, "ip({})", quote(&ips.source))?,
            }
        }
        Ok(())
    }
}

impl Display for LabelFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Text(matcher) => matcher.fmt(f),
            Self::Number { label, op, value } => {
                write!(f, "{label}{}", op.name())?;
                match value {
                    NumberIn::Plain(n) => f.write_str(&format_value(*n)),
                    NumberIn::Duration(ns) => Duration(*ns).fmt(f),
                    NumberIn::Bytes(bytes) => write!(f, "{bytes}B"),
                }
            }
            Self::Ip { label, negated, ips } => {
                write!(f, "{label}{}ip({})", if *negated { "!=" } else { "=" }, quote(&ips.source))
            }
            Self::And(parts) => show_pairs(f, parts, "and"),
            Self::Or(parts) => show_pairs(f, parts, "or"),
        }
    }
}

/// Each with all before it, as Loki does: `((a or b) or c)`.
fn show_pairs(f: &mut Formatter<'_>, parts: &[LabelFilter], join: &str) -> Result {
    (1..parts.len()).try_for_each(|_| f.write_str("("))?;
    for (i, part) in parts.iter().enumerate() {
        match i {
            0 => part.fmt(f)?,
            _ => write!(f, " {join} {part})")?,
        }
    }
    Ok(())
}

impl Display for MetricExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Number(n) => f.write_str(&format_value(*n)),
            Self::Vector(n) => write!(f, "vector({})", format_value(*n)),
            Self::Range(range) => range.fmt(f),
            Self::Aggregate(aggregation) => aggregation.fmt(f),
            Self::Binary(binary) => binary.fmt(f),
            Self::LabelReplace(r) => write!(
                f,
                "label_replace({}, {}, {}, {}, {})",
                r.inner,
                quote(&r.target),
                quote(&r.replacement),
                quote(&r.source),
                quote(&r.regex.source)
            ),
        }
    }
}

impl Display for RangeAggregation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}(", self.function.name())?;
        if let Some(parameter) = self.parameter {
            write!(f, "{}, ", format_value(parameter))?;
        }
        self.log.fmt(f)?;
        if let Some(unwrap) = &self.unwrap {
            match unwrap.conversion {
                Conversion::Number => write!(f, " | unwrap {}", unwrap.label)?,
                Conversion::Duration => write!(f, " | unwrap duration({})", unwrap.label)?,
                Conversion::DurationSeconds => write!(f, " | unwrap duration_seconds({})", unwrap.label)?,
                Conversion::Bytes => write!(f, " | unwrap bytes({})", unwrap.label)?,
            }
            unwrap.filters.iter().try_for_each(|filter| write!(f, " | {filter}"))?;
        }
        write!(f, " [{}]", Duration(self.range_ns))?;
        if self.offset_ns != 0 {
            write!(f, " offset {}", Duration(self.offset_ns))?;
        }
        f.write_str(")")?;
        self.grouping.iter().try_for_each(|grouping| write!(f, " {grouping}"))
    }
}

impl Display for Grouping {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(if self.without { "without (" } else { "by (" })?;
        join(f, &self.labels, |f, label| f.write_str(label))?;
        f.write_str(")")
    }
}

impl Display for Aggregation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.operation.name())?;
        self.grouping.iter().try_for_each(|grouping| write!(f, " {grouping} "))?;
        match self.operation {
            Operation::TopK | Operation::BottomK => write!(f, "({}, {})", self.count, self.inner),
            _ => write!(f, "({})", self.inner),
        }
    }
}

impl Display for Binary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "({} {}", self.left, self.operator.name())?;
        f.write_str(if self.bool_result { " bool" } else { "" })?;
        if let Some(matching) = &self.matching {
            f.write_str(if matching.on { " on (" } else { " ignoring (" })?;
            join(f, &matching.labels, |f, label| f.write_str(label))?;
            f.write_str(")")?;
            if let Some(group) = &matching.group {
                f.write_str(if group.left { " group_left (" } else { " group_right (" })?;
                join(f, &group.include, |f, label| f.write_str(label))?;
                f.write_str(")")?;
            }
        }
        write!(f, " {})", self.right)
    }
}
