//! `duramen engine dump`: what is in the engine's files, line by line.

use crate::args::EngineDumpArgs;
use crate::failure::{Failure, Outcome, complain};
use crate::interrupt::Interrupt;
use crate::render::escape::push_safe_line;
use crate::render::units::counted;
use duramen_engine::dump::{DumpOptions, FieldValue, Line, dump};
use duramen_engine::io::Env;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

/// Tells what is in a store or a file.
pub(super) fn run(args: &EngineDumpArgs, env: &Env, interrupt: &Interrupt) -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut file = String::new();
    let mut failed = None;
    let options = DumpOptions { keys: args.keys, values: args.values, limit: args.limit };
    let mut text = String::new();
    let report = dump(env, &args.path, options, &mut |line| {
        if let ("file", Some(FieldValue::Text(path))) = (line.what, line.get("path")) {
            file.clone_from(path);
        }
        text.clear();
        if args.json {
            push_json(&mut text, &file, line)
        } else {
            push_text(&mut text, line)
        }
        text.push('\n');
        failed = out.write_all(text.as_bytes()).err();
        if failed.is_some() || interrupt.requested() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    // What is told already is wanted even if the rest cannot be.
    let flushed = out.flush();
    if let Some(error) = failed.or(flushed.err()) {
        return Err(Failure::output(error));
    }
    interrupt.check()?;
    let damaged = report?.damaged;
    if damaged == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    complain(&format!("{} damaged", counted(damaged, "place is", "places are")));
    Ok(ExitCode::from(1))
}

/// `record offset=4096 seq=1 kind=batch`; what could be mistaken for several words is quoted.
fn push_text(out: &mut String, line: &Line) {
    for _ in 0..line.depth {
        out.push_str("  ");
    }
    out.push_str(line.what);
    for (name, value) in &line.fields {
        let mut shown = String::new();
        // Writing to a String cannot fail.
        let _infallible = match value {
            FieldValue::Number(number) => write!(shown, "{number}"),
            FieldValue::Bytes(bytes) => write!(shown, "\"{}\"", bytes.escape_ascii()),
            FieldValue::Text(text) if text.contains([' ', '"', '=']) || text.is_empty() => {
                write!(shown, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
            FieldValue::Text(text) => write!(shown, "{text}"),
        };
        out.push(' ');
        out.push_str(name);
        out.push('=');
        push_safe_line(out, &shown);
    }
}

/// The same as an object that stands on its own: it says which file it is about.
fn push_json(out: &mut String, file: &str, line: &Line) {
    let string = |text: &str| serde_json::Value::from(text).to_string();
    // Writing to a String cannot fail.
    let _infallible = write!(out, "{{\"file\":{},\"what\":{}", string(file), string(line.what));
    for (name, value) in line.fields.iter().filter(|(name, _)| (line.what, *name) != ("file", "path")) {
        let value = match value {
            FieldValue::Number(number) => number.to_string(),
            FieldValue::Bytes(bytes) => string(&bytes.escape_ascii().to_string()),
            FieldValue::Text(text) => string(text),
        };
        let _infallible = write!(out, ",{}:{value}", string(name));
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_strangers_stay_on_their_line() {
        let fields = vec![
            ("path", FieldValue::Text("a b\n\x1b[2J\"".into())),
            ("bytes", FieldValue::Number(u64::MAX)),
            ("key", FieldValue::Bytes(b"k\"\n\xff\\".to_vec())),
            ("kind", FieldValue::Text("batch".into())),
        ];
        let line = Line { what: "put", depth: 2, fields };
        let mut text = String::new();
        push_text(&mut text, &line);
        assert_eq!(
            text,
            r#"    put path="a b\n\x1b[2J\"" bytes=18446744073709551615 key="k\"\n\xff\\" kind=batch"#
        );
        let mut json = String::new();
        push_json(&mut json, "s/LOG", &line);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&value["file"], &value["what"]), (&"s/LOG".into(), &"put".into()));
        assert_eq!((&value["bytes"], &value["key"]), (&u64::MAX.into(), &r#"k\"\n\xff\\"#.into()));
        assert_eq!(value["path"], "a b\n\x1b[2J\"");
    }
}
