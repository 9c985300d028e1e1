//! From text to tree: a recursive-descent parser.
//!
//! ```text
//! query    = log | metric
//! log      = selector { stage }                 selector = "{" [ matcher { "," matcher } ] "}"
//! metric   = operand { operator operand }       by precedence: ^, * / %, + -, comparisons, and unless, or
//! operand  = number | "vector" "(" number ")" | "label_replace" "(" … ")" | "(" metric ")"
//!          | range-function "(" [ number "," ] log "[" duration "]" [ "offset" duration ] { stage } ")" [ grouping ]
//!          | aggregation [ grouping ] "(" [ number "," ] metric ")" [ grouping ]
//! grouping = ( "by" | "without" ) "(" [ label { "," label } ] ")"
//! ```
//!
//! Stages are read in `stage`, label filters in `label_filter`, metrics in `metric`.

mod json_path;
mod label_filter;
mod log;
mod metric;
mod stage;

use crate::ast::{Expr, Rx};
use crate::labels::sanitize;
use crate::lexer::{Kind, Token, tokens};
use duramen_query::ParseError;

/// How deep a query may be nested; more would risk the stack.
const MAX_DEPTH: usize = 100;

/// How many filters may be joined in a query.
const MAX_JOINED: usize = 2_000;
/// How many operators there may be between numbers: each makes the tree deeper by one, and what walks it must fit on a stack.
const MAX_OPERATORS: usize = 500;

pub(super) type Parsed<T> = Result<T, ParseError>;

/// Reads a query.
pub(crate) fn parse(text: &str) -> Parsed<Expr> {
    let mut p = Parser::new(text)?;
    if p.at_end() {
        return Err(p.error("the query is empty", "such as {app=\"web\"}"));
    }
    let expr = if p.begins_log() { Expr::Log(p.log_expr()?) } else { Expr::Metric(p.metric(0)?) };
    if !p.at_end() {
        return Err(p.expected(match expr {
            Expr::Log(_) => "`|` and a stage, a line filter, or the end of the query",
            Expr::Metric(_) => "an operator, or the end of the query",
        }));
    }
    Ok(expr)
}

/// Reads a selector alone: `{app="x"}`.
pub(crate) fn parse_selector(text: &str) -> Parsed<crate::ast::LogExpr> {
    let mut p = Parser::new(text)?;
    let selector = p.selector()?;
    if !p.at_end() {
        return Err(p.expected("the end of the selector"));
    }
    Ok(crate::ast::LogExpr { selector, stages: Vec::new() })
}

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    joined: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parsed<Self> {
        Ok(Self { text, tokens: tokens(text)?, at: 0, depth: 0, joined: 0, operators: 0 })
    }

    /// The token so many after the next one. There is always one: the last is the end.
    fn peek_at(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)]
    }

    fn kind(&self) -> &Kind {
        &self.peek_at(0).kind
    }

    fn advance(&mut self) -> Token {
        let token = self.peek_at(0).clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn at_end(&self) -> bool {
        *self.kind() == Kind::End
    }

    fn at_op(&self, op: &str) -> bool {
        matches!(self.kind(), Kind::Op(found) if *found == op)
    }

    /// Whether the next token is this word, in any case.
    fn at_word(&self, word: &str) -> bool {
        matches!(self.kind(), Kind::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn eat_op(&mut self, op: &str) -> bool {
        let found = self.at_op(op);
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect_op(&mut self, op: &str) -> Parsed<()> {
        if self.eat_op(op) { Ok(()) } else { Err(self.expected(&format!("`{op}`"))) }
    }

    /// An error at the next token.
    fn error(&self, message: impl Into<String>, hint: &str) -> ParseError {
        ParseError::new(self.text, self.peek_at(0).start, message, hint)
    }

    /// The error that something else should stand here.
    fn expected(&self, what: &str) -> ParseError {
        let found = self.peek_at(0).describe(self.text);
        self.error(format!("expected {what}, found {found}"), &format!("expected {what}"))
    }

    fn text(&mut self, what: &str) -> Parsed<String> {
        match self.kind() {
            Kind::Text(text) => {
                let text = text.clone();
                self.advance();
                Ok(text)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// A text, read further; what is wrong with it is told at its place.
    fn text_as<T>(&mut self, what: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Parsed<T> {
        let place = self.peek_at(0).start;
        let text = self.text(what)?;
        read(&text).map_err(|e| ParseError::new(self.text, place, format!("this is not {what}: {e}"), ""))
    }

    fn regex(&mut self, whole: bool) -> Parsed<Rx> {
        self.text_as("a regular expression", if whole { Rx::whole } else { Rx::anywhere })
    }

    /// A label's name. Names that are no labels (`k8s.pod`) become such (`k8s_pod`), as fields do.
    fn label(&mut self) -> Parsed<Box<str>> {
        match self.kind() {
            Kind::Word(name) => {
                let name = sanitize(name).into();
                self.advance();
                Ok(name)
            }
            _ => Err(self.expected("a label's name")),
        }
    }

    /// `( [ label { "," label } ] )`
    fn labels(&mut self) -> Parsed<Vec<Box<str>>> {
        self.expect_op("(")?;
        let mut labels = Vec::new();
        while !self.eat_op(")") {
            labels.push(self.label()?);
            if !self.at_op(")") && !self.eat_op(",") {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(labels)
    }

    fn duration(&mut self) -> Parsed<i64> {
        match *self.kind() {
            Kind::Duration(ns) => {
                self.advance();
                Ok(ns)
            }
            _ => Err(self.expected("a duration such as 5m")),
        }
    }

    /// A number, with a sign or without.
    fn number(&mut self) -> Parsed<f64> {
        let start = self.at;
        let negative = self.eat_op("-");
        if !negative {
            self.eat_op("+");
        }
        match *self.kind() {
            Kind::Number(n) => {
                self.advance();
                Ok(if negative { -n } else { n })
            }
            _ => {
                self.at = start;
                Err(self.expected("a number"))
            }
        }
    }

    /// Takes note that one more filter is joined to those before it.
    fn join(&mut self) -> Parsed<()> {
        self.joined += 1;
        match self.joined > MAX_JOINED {
            true => Err(self.error(format!("more than {MAX_JOINED} filters are joined"), "")),
            false => Ok(()),
        }
    }

    /// Takes note of one more operator.
    fn operate(&mut self) -> Parsed<()> {
        self.operators += 1;
        match self.operators > MAX_OPERATORS {
            true => Err(self.error(format!("more than {MAX_OPERATORS} numbers are joined by operators"), "")),
            false => Ok(()),
        }
    }

    /// Runs a parser one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("the query is nested more than {MAX_DEPTH} deep"), ""));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}
