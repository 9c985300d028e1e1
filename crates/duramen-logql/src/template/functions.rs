//! The functions of templates, by name.

use super::value::Value;
use super::{Term, format, numbers, texts};
use crate::labels::Entry;
use regex::Regex;

/// What a function makes of its values; the error is told in `__error_details__`.
pub(super) type Run = fn(&[Value], &Entry<'_>) -> Result<Value, String>;

/// A function.
#[derive(Debug)]
pub(super) struct Function {
    pub name: &'static str,
    /// How many arguments it takes, at least and at most.
    pub arguments: (usize, usize),
    pub run: Run,
}

/// A function of as many arguments as are said.
pub(super) const fn function(name: &'static str, least: usize, most: usize, run: Run) -> Function {
    Function { name, arguments: (least, most), run }
}

pub(super) const MANY: usize = usize::MAX;

static LOGIC: &[Function] = &[
    // What they do is in [`Term::value`], because they need not look at all arguments.
    function("and", 1, MANY, |v, _| Ok(v[0].clone())),
    function("or", 1, MANY, |v, _| Ok(v[0].clone())),
    function("not", 1, 1, |v, _| Ok(Value::Bool(!v[0].is_true()))),
    function("eq", 2, MANY, |v, _| {
        Ok(Value::Bool(v[1..].iter().any(|b| order(&v[0], b).is_some_and(|o| o.is_eq()))))
    }),
    function("ne", 2, 2, |v, _| Ok(Value::Bool(order(&v[0], &v[1]).is_none_or(|o| o.is_ne())))),
    function("lt", 2, 2, |v, _| Ok(Value::Bool(order(&v[0], &v[1]).is_some_and(|o| o.is_lt())))),
    function("le", 2, 2, |v, _| Ok(Value::Bool(order(&v[0], &v[1]).is_some_and(|o| o.is_le())))),
    function("gt", 2, 2, |v, _| Ok(Value::Bool(order(&v[0], &v[1]).is_some_and(|o| o.is_gt())))),
    function("ge", 2, 2, |v, _| Ok(Value::Bool(order(&v[0], &v[1]).is_some_and(|o| o.is_ge())))),
    function("default", 2, 2, |v, _| Ok(if v[1].is_true() { v[1].clone() } else { v[0].clone() })),
    function("__line__", 0, 0, |_, entry| Ok(Value::Text(entry.line.to_string()))),
    function("print", 1, MANY, |v, _| Ok(Value::Text(print(v)))),
    function("println", 0, MANY, |v, _| {
        let texts: Vec<String> = v.iter().map(Value::text).collect();
        Ok(Value::Text(format!("{}\n", texts.join(" "))))
    }),
    function("html", 1, MANY, |v, _| Ok(Value::Text(texts::html(&print(v))))),
    function("urlquery", 1, MANY, |v, _| Ok(Value::Text(texts::url_encode(&print(v))))),
    function("printf", 1, MANY, |v, _| Ok(Value::Text(format::printf(&v[0].text(), &v[1..])))),
];

/// One behind another, with a blank between two of which neither is a text.
fn print(values: &[Value]) -> String {
    let mut out = String::new();
    for (i, value) in values.iter().enumerate() {
        let is_text = |value: &Value| matches!(value, Value::Text(_));
        if i > 0 && !is_text(value) && !is_text(&values[i - 1]) {
            out.push(' ');
        }
        out.push_str(&value.text());
    }
    out
}

/// Numbers as such; anything else by its text.
fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        _ if a.is_number() && b.is_number() => a.float().partial_cmp(&b.float()),
        _ => Some(a.text().cmp(&b.text())),
    }
}

/// The function of a name.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    let all = LOGIC.iter().chain(texts::FUNCTIONS).chain(numbers::FUNCTIONS);
    let mut all = all.filter(|function| function.name == name);
    all.next()
}

/// That constant regular expressions are such, so that a query with a bad one is refused.
pub(super) fn check(function: &Function, arguments: &[Term]) -> Result<(), String> {
    let regex = match function.name {
        "regexReplaceAll" | "regexReplaceAllLiteral" | "count" => arguments.first(),
        _ => None,
    };
    match regex {
        Some(Term::Constant(value)) => compile(&value.text()).map(|_| ()),
        _ => Ok(()),
    }
}

/// Compiles an expression that came as a value.
pub(super) fn compile(expression: &str) -> Result<Regex, String> {
    crate::ast::Rx::anywhere(expression).map(|rx| rx.regex)
}
