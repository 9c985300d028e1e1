//! Reading templates.
//!
//! ```text
//! template = { text | "{{" action "}}" }      "{{-" and "-}}" take the blanks beside them away
//! action   = pipeline | "if" pipeline | "else" [ "if" pipeline ] | "end" | comment
//! pipeline = command { "|" command }          what is before is the last argument of what is behind
//! command  = operand | function { operand }
//! operand  = "." name | text | number | "true" | "false" | function | "(" pipeline ")"
//! ```

use super::functions::{self, Function};
use super::value::Value;
use super::{Node, Term};

/// How deep pipelines and conditions may be nested.
const MAX_DEPTH: usize = 50;

/// How many functions may stand behind a `|` in an action: each makes its tree deeper by one.
const MAX_COMMANDS: usize = 500;

type Parsed<T> = Result<T, String>;

/// An open `if`: what was shown around it, its branches so far, and the condition of the one being read.
struct Open {
    outer: Vec<Node>,
    branches: Vec<(Option<Term>, Vec<Node>)>,
    condition: Option<Term>,
}

/// The nodes of a template.
pub(super) fn nodes(source: &str) -> Parsed<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut rest = source;
    let mut trim = false;
    loop {
        let (text, action) = match rest.split_once("{{") {
            Some((text, action)) => (text, Some(action)),
            None => (rest, None),
        };
        let mut text = if trim { text.trim_start() } else { text };
        let Some(action) = action else {
            push_text(&mut nodes, text);
            break;
        };
        let action = match action.strip_prefix("- ") {
            Some(action) => {
                text = text.trim_end();
                action
            }
            None => action,
        };
        push_text(&mut nodes, text);
        let (body, after) = split_action(action)?;
        trim = body.ends_with(" -");
        rest = after;
        let body = body.strip_suffix(" -").unwrap_or(body).trim();
        if body.starts_with("/*") && body.ends_with("*/") {
            continue;
        }
        let word = body.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or("");
        let tail = body[word.len()..].trim();
        match word {
            "if" => {
                if open.len() == MAX_DEPTH {
                    return Err(format!("it is nested more than {MAX_DEPTH} deep"));
                }
                let (outer, condition) = (std::mem::take(&mut nodes), Some(pipeline_of(tail)?));
                open.push(Open { outer, branches: Vec::new(), condition });
            }
            "else" => {
                let Some(last) = open.last_mut().filter(|o| o.condition.is_some()) else {
                    return Err("there is an `else` without an `if`".into());
                };
                last.branches.push((last.condition.take(), std::mem::take(&mut nodes)));
                match tail.strip_prefix("if") {
                    _ if tail.is_empty() => {}
                    Some(condition) => last.condition = Some(pipeline_of(condition)?),
                    None => return Err(format!("behind `else` stands `if` or nothing, not `{tail}`")),
                }
            }
            "end" => {
                let Some(Open { outer, mut branches, condition }) = open.pop() else {
                    return Err("there is an `end` without an `if`".into());
                };
                branches.push((condition, std::mem::replace(&mut nodes, outer)));
                nodes.push(Node::If(branches));
            }
            "range" | "with" | "define" | "template" | "block" | "break" | "continue" => {
                return Err(format!("`{word}` is not supported: only fields, functions and `if` are"));
            }
            _ => nodes.push(Node::Show(pipeline_of(body)?)),
        }
    }
    if open.is_empty() { Ok(nodes) } else { Err("an `if` has no `end`".into()) }
}

fn push_text(nodes: &mut Vec<Node>, text: &str) {
    if !text.is_empty() {
        nodes.push(Node::Text(text.into()));
    }
}

/// The text up to `}}`, but for those inside texts, and what is behind.
fn split_action(action: &str) -> Parsed<(&str, &str)> {
    let mut quote = None;
    let mut escaped = false;
    for (i, c) in action.char_indices() {
        match quote {
            Some(q) => {
                if c == q && !escaped {
                    quote = None;
                }
                escaped = c == '\\' && !escaped && q == '"';
            }
            None if c == '"' || c == '`' => quote = Some(c),
            None if action[i..].starts_with("}}") => return Ok((&action[..i], &action[i + 2..])),
            None => {}
        }
    }
    Err("`}}` is missing in it".into())
}

fn pipeline_of(text: &str) -> Parsed<Term> {
    let mut p = Parser { rest: text, depth: 0, commands: 0 };
    let term = p.pipeline()?;
    p.skip_blank();
    if p.rest.is_empty() { Ok(term) } else { Err(format!("unexpected `{}`", p.rest)) }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    commands: usize,
}

/// What stands in a pipeline: a term, or a function that wants arguments.
enum Operand {
    Term(Term),
    Function(&'static Function),
}

impl Parser<'_> {
    fn skip_blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn pipeline(&mut self) -> Parsed<Term> {
        if self.depth == MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let mut term = self.command(None)?;
        loop {
            self.skip_blank();
            let Some(rest) = self.rest.strip_prefix('|') else { break };
            self.rest = rest;
            self.commands += 1;
            if self.commands > MAX_COMMANDS {
                return Err(format!("it has more than {MAX_COMMANDS} functions behind one another"));
            }
            term = self.command(Some(term))?;
        }
        self.depth -= 1;
        Ok(term)
    }

    fn command(&mut self, last: Option<Term>) -> Parsed<Term> {
        let first = self.operand()?.ok_or("a field or function is missing in it")?;
        let function = match first {
            Operand::Function(function) => function,
            Operand::Term(term) if last.is_none() => {
                self.skip_blank();
                return if self.rest.is_empty() || self.rest.starts_with(['|', ')']) {
                    Ok(term)
                } else {
                    Err(format!("expected `|` before `{}`", self.rest))
                };
            }
            Operand::Term(_) => return Err("behind `|` must stand a function".into()),
        };
        let mut arguments = Vec::new();
        while let Some(operand) = self.operand()? {
            arguments.push(match operand {
                Operand::Term(term) => term,
                Operand::Function(function) => call(function, Vec::new())?,
            });
        }
        arguments.extend(last);
        call(function, arguments)
    }

    fn operand(&mut self) -> Parsed<Option<Operand>> {
        self.skip_blank();
        let rest = self.rest;
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let word_end = |from: usize| {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            rest[from..].find(|c| !is_word(c)).map_or(rest.len(), |n| n + from)
        };
        let (term, len) = match first {
            '|' | ')' => return Ok(None),
            '(' => {
                self.rest = &rest[1..];
                let inner = self.pipeline()?;
                self.skip_blank();
                self.rest = self.rest.strip_prefix(')').ok_or("`)` is missing in it")?;
                return Ok(Some(Operand::Term(inner)));
            }
            '.' if !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                let end = word_end(1);
                if end == 1 {
                    return Err(
                        "`.` alone is not supported: write the label behind it, such as {{.app}}".into()
                    );
                }
                if rest[end..].starts_with('.') {
                    return Err("labels have no parts: `.a.b` is not supported".into());
                }
                (Term::Label(rest[1..end].into()), end)
            }
            '$' => return Err("variables are not supported".into()),
            '`' => {
                let end = rest[1..].find('`').ok_or("a text in it does not end")? + 1;
                (Term::Constant(Value::Text(rest[1..end].into())), end + 1)
            }
            '"' => {
                let (text, len) = quoted(rest)?;
                (Term::Constant(Value::Text(text)), len)
            }
            c if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => {
                let end = rest.find([' ', '\t', '\n', '|', ')']).unwrap_or(rest.len());
                let word = &rest[..end];
                let number = word.parse().map(Value::Int).or_else(|_| word.parse().map(Value::Float));
                (Term::Constant(number.map_err(|_| format!("`{word}` is no number"))?), end)
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = word_end(0);
                let word = &rest[..end];
                match word {
                    "true" | "false" => (Term::Constant(Value::Bool(word == "true")), end),
                    _ => {
                        let function =
                            functions::find(word).ok_or_else(|| format!("no function is called `{word}`"))?;
                        self.rest = &rest[end..];
                        return Ok(Some(Operand::Function(function)));
                    }
                }
            }
            _ => return Err(format!("unexpected `{first}`")),
        };
        self.rest = &rest[len..];
        Ok(Some(Operand::Term(term)))
    }
}

fn call(function: &'static Function, arguments: Vec<Term>) -> Parsed<Term> {
    let (least, most) = function.arguments;
    if arguments.len() < least || arguments.len() > most {
        let wanted = match (least, most) {
            (a, b) if a == b => format!("{a}"),
            (a, usize::MAX) => format!("{a} or more"),
            (a, b) => format!("{a} to {b}"),
        };
        return Err(format!("`{}` takes {wanted} arguments, not {}", function.name, arguments.len()));
    }
    functions::check(function, &arguments)?;
    Ok(Term::Call(function, arguments))
}

/// A text between double quotes at the beginning of another, and its length with the quotes.
fn quoted(rest: &str) -> Parsed<(String, usize)> {
    let tokens = {
        let mut escaped = false;
        let end = rest[1..].char_indices().find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let (end, _) = end.ok_or("a text in it does not end")?;
        &rest[..end + 2]
    };
    match crate::lexer::tokens(tokens).map_err(|e| e.message)?.first().map(|t| &t.kind) {
        Some(crate::lexer::Kind::Text(text)) => Ok((text.clone(), tokens.len())),
        _ => Err("a text in it does not end".into()),
    }
}
