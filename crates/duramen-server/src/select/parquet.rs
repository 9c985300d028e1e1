//! `query` with `format=parquet`: the query is run twice on one view of the store, for the columns and for the rows.

use crate::answer::{Question, pieces_in_turn, run};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use duramen_parquet::{Columns, Error, ParquetWriter};
use futures_util::{StreamExt, stream};
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// A file on its way.
#[derive(Debug)]
struct Going {
    writer: ParquetWriter<Vec<u8>>,
    /// Why it cannot go on.
    failed: Option<Error>,
}

/// A failure after the first row group breaks the answer off.
pub(super) async fn answer(app: &Shared, access: &Access, mut question: Question) -> ApiResult<Response> {
    question.fix_view(access).await?;
    let (columns, _) = run(
        app,
        access,
        question.clone(),
        || Ok(Columns::new()),
        move |columns, row| {
            if let Ok(seen) = columns
                && let Err(e) = seen.see(row)
            {
                *columns = Err(e);
            }
            if columns.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    )
    .await?;
    let writer = columns.and_then(|columns| ParquetWriter::new(Vec::new(), columns));
    let going = Going { writer: writer.map_err(refused)?, failed: None };
    let going = Arc::new(Mutex::new(Some(going)));
    let rows = going.clone();
    let pieces = pieces_in_turn(app, access, question, move |row, out| {
        let mut going = rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Going { writer, failed: failed @ None }) = &mut *going {
            match writer.row(row) {
                Ok(()) => out.append(writer.inner_mut()),
                Err(e) => *failed = Some(e),
            }
        }
    })
    .await?;
    let footer = stream::once(async move {
        let going = going.lock().unwrap_or_else(PoisonError::into_inner).take();
        going.map_or_else(|| Ok(Bytes::new()), ended)
    });
    let body = Body::from_stream(pieces.into_stream().chain(footer));
    Ok(([(header::CONTENT_TYPE, "application/vnd.apache.parquet")], body).into_response())
}

/// What the file ends with.
fn ended(going: Going) -> io::Result<Bytes> {
    let finished = going.failed.map_or_else(|| going.writer.finish(), Err);
    finished.map(Bytes::from).map_err(io::Error::other)
}

fn refused(e: Error) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, e.to_string())
}
