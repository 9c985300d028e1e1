//! `{{.method}} {{.path | ToLower}}`: texts with labels in them, in the part of Go's template language that log queries
//! use: fields, functions, pipelines, parentheses and `if`.

mod dates;
mod decimal;
mod format;
mod functions;
mod numbers;
mod parse;
mod texts;
mod value;

use crate::labels::Entry;
use functions::Function;
use value::Value;

/// A template, with the text that it was written as.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub source: Box<str>,
    nodes: Vec<Node>,
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

#[derive(Clone, Debug)]
enum Node {
    Text(String),
    Show(Term),
    /// Conditions and what they show, in order; the last may be without a condition.
    If(Vec<(Option<Term>, Vec<Node>)>),
}

#[derive(Clone, Debug)]
enum Term {
    Constant(Value),
    Label(Box<str>),
    Call(&'static Function, Vec<Term>),
}

/// The most bytes that a template may make of one line.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

impl Template {
    /// Reads a template, or says what is wrong with it.
    pub fn parse(source: &str) -> Result<Self, String> {
        Ok(Self { source: source.into(), nodes: parse::nodes(source)? })
    }

    /// The text, of an entry. What goes wrong in a function is the error.
    pub fn apply(&self, entry: &Entry<'_>) -> Result<String, String> {
        let mut out = String::new();
        show(&self.nodes, entry, &mut out)?;
        Ok(out)
    }

    /// Calls `see` with every label that it looks at.
    pub fn for_each_label(&self, see: &mut dyn FnMut(&str)) {
        for_each_label(&self.nodes, see);
    }
}

fn for_each_label(nodes: &[Node], see: &mut dyn FnMut(&str)) {
    fn of_term(term: &Term, see: &mut dyn FnMut(&str)) {
        match term {
            Term::Constant(_) => {}
            Term::Label(name) => see(name),
            Term::Call(_, arguments) => arguments.iter().for_each(|a| of_term(a, see)),
        }
    }
    for node in nodes {
        match node {
            Node::Text(_) => {}
            Node::Show(term) => of_term(term, see),
            Node::If(branches) => {
                for (condition, body) in branches {
                    condition.iter().for_each(|c| of_term(c, see));
                    for_each_label(body, see);
                }
            }
        }
    }
}

fn show(nodes: &[Node], entry: &Entry<'_>, out: &mut String) -> Result<(), String> {
    for node in nodes {
        match node {
            Node::Text(text) => out.push_str(text),
            Node::Show(term) => out.push_str(&term.value(entry)?.text()),
            Node::If(branches) => {
                for (condition, body) in branches {
                    let holds = match condition {
                        Some(condition) => condition.value(entry)?.is_true(),
                        None => true,
                    };
                    if holds {
                        show(body, entry, out)?;
                        break;
                    }
                }
            }
        }
        if out.len() > MAX_OUTPUT_BYTES {
            return Err(format!("it makes more than {MAX_OUTPUT_BYTES} bytes of one line"));
        }
    }
    Ok(())
}

impl Term {
    fn value(&self, entry: &Entry<'_>) -> Result<Value, String> {
        match self {
            Self::Constant(value) => Ok(value.clone()),
            Self::Label(name) => Ok(Value::Text(entry.get(name).unwrap_or("").to_string())),
            Self::Call(function, arguments) => {
                // `and` and `or` give one of their arguments, and do not look at those behind it.
                let stops_at = match function.name {
                    "and" => Some(false),
                    "or" => Some(true),
                    _ => None,
                };
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let value = argument.value(entry)?;
                    if stops_at == Some(value.is_true()) {
                        return Ok(value);
                    }
                    values.push(value);
                }
                match stops_at {
                    Some(_) => Ok(values.pop().unwrap_or(Value::Bool(false))),
                    None => (function.run)(&values, entry).map_err(|e| format!("{}: {e}", function.name)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
