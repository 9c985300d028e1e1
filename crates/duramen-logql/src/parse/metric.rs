//! Functions over ranges, aggregations, and arithmetic.

use super::{Parsed, Parser};
use crate::ast::{
    Aggregation, Binary, Comparison, Group, Grouping, LabelReplace, Matching, MetricExpr, Operation,
    Operator, RangeAggregation, RangeFunction, Rx,
};
use crate::lexer::Kind;
use duramen_query::ParseError;

/// The operator of the next token, how strongly it binds, and whether it does so from the right.
fn operator(kind: &Kind) -> Option<(Operator, u8, bool)> {
    use Operator as O;
    Some(match kind {
        Kind::Word(word) if word.eq_ignore_ascii_case("or") => (O::Or, 1, false),
        Kind::Word(word) if word.eq_ignore_ascii_case("and") => (O::And, 2, false),
        Kind::Word(word) if word.eq_ignore_ascii_case("unless") => (O::Unless, 2, false),
        Kind::Op("==") => (O::Compare(Comparison::Eq), 3, false),
        Kind::Op("!=") => (O::Compare(Comparison::Ne), 3, false),
        Kind::Op(">") => (O::Compare(Comparison::Gt), 3, false),
        Kind::Op(">=") => (O::Compare(Comparison::Ge), 3, false),
        Kind::Op("<") => (O::Compare(Comparison::Lt), 3, false),
        Kind::Op("<=") => (O::Compare(Comparison::Le), 3, false),
        Kind::Op("+") => (O::Add, 4, false),
        Kind::Op("-") => (O::Sub, 4, false),
        Kind::Op("*") => (O::Mul, 5, false),
        Kind::Op("/") => (O::Div, 5, false),
        Kind::Op("%") => (O::Mod, 5, false),
        Kind::Op("^") => (O::Pow, 6, true),
        _ => return None,
    })
}

impl Parser<'_> {
    /// Operands, and the operators between them that bind at least so strongly.
    pub(super) fn metric(&mut self, least: u8) -> Parsed<MetricExpr> {
        self.nested(|p| {
            let mut left = p.operand()?;
            while let Some((operator, strength, from_right)) = operator(p.kind()).filter(|o| o.1 >= least) {
                let place = p.peek_at(0).start;
                p.operate()?;
                p.advance();
                let bool_result = p.eat_word("bool");
                if bool_result && !matches!(operator, Operator::Compare(_)) {
                    return Err(ParseError::new(p.text, place, "bool belongs behind a comparison", ""));
                }
                let matching = p.matching()?;
                let right = p.metric(strength + u8::from(!from_right))?;
                let sets = matches!(operator, Operator::And | Operator::Or | Operator::Unless);
                let number = |e: &MetricExpr| matches!(e, MetricExpr::Number(_));
                if sets && (number(&left) || number(&right)) {
                    return Err(ParseError::new(p.text, place, "sets are of series, not of numbers", ""));
                }
                if sets && matching.as_ref().is_some_and(|m| m.group.is_some()) {
                    return Err(ParseError::new(p.text, place, "sets know no group_left or group_right", ""));
                }
                left = MetricExpr::Binary(Box::new(Binary { operator, left, right, bool_result, matching }));
            }
            Ok(left)
        })
    }

    /// `on (a) group_left (b)`
    fn matching(&mut self) -> Parsed<Option<Matching>> {
        let on = self.at_word("on");
        if !on && !self.at_word("ignoring") {
            return Ok(None);
        }
        self.advance();
        let labels = self.labels()?;
        let left = self.at_word("group_left");
        let mut group = None;
        if left || self.at_word("group_right") {
            self.advance();
            let include = if self.at_op("(") { self.labels()? } else { Vec::new() };
            group = Some(Group { left, include });
        }
        Ok(Some(Matching { on, labels, group }))
    }

    fn operand(&mut self) -> Parsed<MetricExpr> {
        match self.kind().clone() {
            Kind::Number(_) | Kind::Op("-" | "+") => Ok(MetricExpr::Number(self.number()?)),
            Kind::Op("(") => {
                self.advance();
                let inner = self.metric(0)?;
                self.expect_op(")")?;
                Ok(inner)
            }
            Kind::Op("{") => Err(self.error(
                "log lines are no number",
                "a function over a range, such as count_over_time({app=\"web\"} [5m])",
            )),
            Kind::Word(word) => self.call(&word.to_ascii_lowercase()),
            _ => Err(self.expected("a selector such as {app=\"web\"}, a function or a number")),
        }
    }

    fn call(&mut self, name: &str) -> Parsed<MetricExpr> {
        if let Some((_, function)) = RangeFunction::NAMES.iter().find(|(n, _)| *n == name) {
            let place = self.peek_at(0).start;
            self.advance();
            return self.range_aggregation(*function, place);
        }
        if let Some((_, operation)) = Operation::NAMES.iter().find(|(n, _)| *n == name) {
            self.advance();
            return self.aggregation(*operation);
        }
        match name {
            "vector" => {
                self.advance();
                self.expect_op("(")?;
                let value = self.number()?;
                self.expect_op(")")?;
                Ok(MetricExpr::Vector(value))
            }
            "label_replace" => {
                self.advance();
                self.label_replace()
            }
            _ => Err(self.error(
                format!("no function is called `{name}`"),
                "such as rate, count_over_time, sum, topk, vector or label_replace",
            )),
        }
    }

    fn range_aggregation(&mut self, function: RangeFunction, place: usize) -> Parsed<MetricExpr> {
        let (log, parameter, unwrap, range_ns, offset_ns);
        self.expect_op("(")?;
        if function == RangeFunction::Quantile {
            parameter = Some(self.number()?);
            self.expect_op(",")?;
        } else {
            parameter = None;
        }
        if !self.begins_log() {
            return Err(self.expected("a selector such as {app=\"web\"}"));
        }
        let ranged = self.ranged(true)?;
        match ranged.range_ns {
            Some(ns) => range_ns = ns,
            None => return Err(self.expected("a range such as [5m]")),
        }
        (log, unwrap, offset_ns) = (ranged.log, ranged.unwrap, ranged.offset_ns);
        if function.needs_unwrap() && unwrap.is_none() {
            let message = format!("{} needs numbers", function.name());
            let hint = "| unwrap and a label, before the range";
            return Err(ParseError::new(self.text, place, message, hint));
        }
        if unwrap.is_some() && !function.takes_unwrap() {
            let message = format!("{} counts lines, not unwrapped numbers", function.name());
            return Err(ParseError::new(self.text, place, message, "sum_over_time"));
        }
        self.expect_op(")")?;
        if function == RangeFunction::Absent && (self.at_word("by") || self.at_word("without")) {
            return Err(self.error("absent_over_time has one series, and no groups", ""));
        }
        let grouping = self.grouping()?;
        let range = RangeAggregation { function, parameter, log, unwrap, range_ns, offset_ns, grouping };
        Ok(MetricExpr::Range(Box::new(range)))
    }

    fn aggregation(&mut self, operation: Operation) -> Parsed<MetricExpr> {
        let before = self.grouping()?;
        self.expect_op("(")?;
        let mut count = 0;
        if matches!(operation, Operation::TopK | Operation::BottomK) {
            match *self.kind() {
                Kind::Number(n) if n >= 1.0 && n.fract() == 0.0 && n < 1e9 => count = n as usize,
                _ => return Err(self.expected("how many, as a number from 1 on")),
            }
            self.advance();
            self.expect_op(",")?;
        }
        let place = self.peek_at(0).start;
        let inner = self.metric(0)?;
        if matches!(inner, MetricExpr::Number(_)) {
            return Err(ParseError::new(self.text, place, "a number is no series to aggregate", ""));
        }
        self.expect_op(")")?;
        let grouping = match before {
            Some(before) => Some(before),
            None => self.grouping()?,
        };
        if grouping.is_some() && matches!(operation, Operation::Sort | Operation::SortDesc) {
            let message = format!("{} has no groups", operation.name());
            return Err(ParseError::new(self.text, place, message, "sum by (…) inside it"));
        }
        Ok(MetricExpr::Aggregate(Box::new(Aggregation { operation, count, grouping, inner })))
    }

    fn grouping(&mut self) -> Parsed<Option<Grouping>> {
        let without = self.at_word("without");
        if !without && !self.at_word("by") {
            return Ok(None);
        }
        self.advance();
        Ok(Some(Grouping { without, labels: self.labels()? }))
    }

    /// `label_replace(inner, "target", "$1", "source", "(.*)")`
    fn label_replace(&mut self) -> Parsed<MetricExpr> {
        self.expect_op("(")?;
        let inner = self.metric(0)?;
        let mut next = |what: &str| -> Parsed<Box<str>> {
            self.expect_op(",")?;
            Ok(self.text(what)?.into())
        };
        let target = next("the label to set, as a text")?;
        let replacement = next("its value, as a text")?;
        let source = next("the label to look at, as a text")?;
        self.expect_op(",")?;
        let regex = self.text_as("a regular expression", Rx::whole)?;
        self.expect_op(")")?;
        let replace = LabelReplace { inner, target, replacement, source, regex };
        Ok(MetricExpr::LabelReplace(Box::new(replace)))
    }
}
