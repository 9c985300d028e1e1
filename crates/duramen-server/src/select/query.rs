//! `query`: entries, or what pipes make of them, as NDJSON, CSV or one JSON array.

use super::args::Args;
use crate::answer::{Question, run, stream};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::Extension;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use duramen_query::ResultRow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Most columns of an answer as CSV whose columns are not named.
const MAX_CSV_COLUMNS: usize = 1_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/select/logsql/query", get(query).post(query))
}

/// The newest first. `limit` and `offset` count rows from there; `format` is `json` (an object a line, all values text),
/// `typed` (the same, numbers as numbers), `csv` (of `fields`, or of all), or `parquet`, if it was built with that.
async fn query(
    State(app): State<Shared>,
    Extension(access): Extension<Access>,
    args: Args,
) -> ApiResult<Response> {
    let mut question = args.question(&app, "")?;
    question.options.offset = rows(args.number("offset")?.unwrap_or(0));
    question.options.limit = args.number("limit")?.filter(|limit| *limit > 0).map(rows);
    let is_entry = question.query.pipes().is_empty();
    let render: fn(&ResultRow, bool, &mut Vec<u8>) = match args.get("format").unwrap_or("json") {
        "json" => write_texts,
        "typed" => write_typed,
        "csv" => {
            return csv(&app, &access, question, &args).await;
        }
        #[cfg(feature = "parquet")]
        "parquet" => {
            return super::parquet::answer(&app, &access, question).await;
        }
        #[cfg(not(feature = "parquet"))]
        "parquet" => {
            return Err(ApiError::bad_request("this duramen was built without Parquet (--features parquet)"));
        }
        other => {
            let told = format!("the format `{other}` is none of: json, typed, csv, parquet");
            return Err(ApiError::bad_request(told));
        }
    };
    let write = move |row: &ResultRow, out: &mut Vec<u8>| render(row, is_entry, out);
    stream(&app, &access, question, "application/stream+json", Vec::new(), write).await
}

pub(super) fn rows(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// An object whose values are all text, as VictoriaLogs' clients expect; of a whole entry, with its stream, though that be
/// empty. Of a row without a value there is none.
pub(super) fn write_texts(row: &ResultRow, is_entry: bool, out: &mut Vec<u8>) {
    if row.iter().all(|(_, text, _)| text.is_empty()) {
        return;
    }
    out.push(b'{');
    let mut first = true;
    let mut pair = |name: &str, text: &str, out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        write_string(text, out);
    };
    let mut cells = row.iter().peekable();
    if let Some(("_time", text, _)) = cells.peek() {
        pair("_time", text, out);
        cells.next();
        if is_entry && !matches!(cells.peek(), Some(("_stream", ..))) {
            pair("_stream", "{}", out);
        }
    }
    for (name, text, _) in cells {
        pair(name, text, out);
    }
    out.extend_from_slice(b"}\n");
}

fn write_typed(row: &ResultRow, _is_entry: bool, out: &mut Vec<u8>) {
    row.write_json(out);
    out.push(b'\n');
}

pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail, and text can always be written.
    let _written = serde_json::to_writer(out, text);
}

/// With these columns; without any, with all that the rows have, for which the query is run twice on one view of the store.
async fn csv(app: &Shared, access: &Access, mut question: Question, args: &Args) -> ApiResult<Response> {
    let named = args.all("fields").flat_map(|f| f.split(',')).map(str::trim).filter(|f| !f.is_empty());
    let mut names: Vec<String> = named.map(str::to_owned).collect();
    if names.is_empty() {
        question.fix_view(access).await?;
        names = columns_of(app, access, question.clone()).await?;
    }
    let mut head = Vec::new();
    if !names.is_empty() {
        write_line(names.iter().map(String::as_str), &mut head);
    }
    stream(app, access, question, "text/csv; charset=utf-8", head, move |row, out| {
        write_line(names.iter().map(|name| row.get(name).unwrap_or_default()), out);
    })
    .await
}

/// The names of all fields of an answer, in the order in which they are first seen.
async fn columns_of(app: &Shared, access: &Access, question: Question) -> ApiResult<Vec<String>> {
    let start = || (Vec::new(), BTreeSet::new());
    let ((names, _), _) = run(app, access, question, start, move |(names, seen), row| {
        for (name, ..) in row.iter() {
            if !seen.contains(name) {
                seen.insert(name.to_owned());
                names.push(name.to_owned());
            }
        }
        match names.len() > MAX_CSV_COLUMNS {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })
    .await?;
    if names.len() > MAX_CSV_COLUMNS {
        let told = format!("more than {MAX_CSV_COLUMNS} columns: name those that are wanted in `fields`");
        return Err(ApiError::bad_request(told));
    }
    Ok(names)
}

/// A line of RFC 4180.
fn write_line<'a>(cells: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    for (i, text) in cells.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if text.contains(['"', ',', '\n', '\r']) {
            out.push(b'"');
            out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
            out.push(b'"');
        } else {
            out.extend_from_slice(text.as_bytes());
        }
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_quoted() {
        let mut out = Vec::new();
        write_line(["a", "b,c", "d\"e\nf", ""].into_iter(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "a,\"b,c\",\"d\"\"e\nf\",\r\n");
    }
}
