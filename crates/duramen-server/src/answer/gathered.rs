//! Answers that are made of all rows of a query at once: what is gathered of them counts against the query's memory, and is made
//! an answer as [`whole`](super::whole) ones are.

use super::whole::whole_by;
use super::{Leave, Question, brief};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::written;
use axum::http::StatusCode;
use axum::response::Response;
use duramen_query::ResultRow;
use std::ops::ControlFlow;

/// What a member of an object or an array takes beside its text, about, while the answer is made.
pub(crate) const MEMBER_BYTES: usize = 192;
/// The same for an object inside of it that has some members.
pub(crate) const OBJECT_BYTES: usize = 1536;

/// How much more may be gathered.
#[derive(Debug)]
pub(crate) struct Room {
    most_bytes: usize,
    left_bytes: usize,
    is_over: bool,
}

impl Room {
    /// For so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { most_bytes: bytes, left_bytes: bytes, is_over: false }
    }

    /// Takes so many bytes of it; breaks if there are fewer.
    pub fn take(&mut self, bytes: usize) -> ControlFlow<()> {
        self.is_over |= bytes > self.left_bytes;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether there are so many bytes of it.
    pub fn has(&self, bytes: usize) -> bool {
        !self.is_over && bytes <= self.left_bytes
    }

    /// That there was too little.
    pub fn over(&self) -> ApiError {
        let told = format!(
            "the answer takes more than {} bytes (query_memory_bytes): ask for fewer groups, longer steps or a shorter time",
            self.most_bytes
        );
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, told)
    }

    /// That there was enough.
    ///
    /// # Errors
    /// 422 if there was not.
    pub fn was_enough(&self) -> ApiResult<()> {
        if self.is_over { Err(self.over()) } else { Ok(()) }
    }
}

/// Runs a query to its end; `each` sees its rows, what it has made so far of what `start` began, and how much more there may be of
/// it; `finish` makes the answer's JSON. The first two may be begun twice.
///
/// # Errors
/// As [`super::run`], and as `finish`; 422 if there is no more room.
pub(crate) async fn gather<T: Send + 'static>(
    app: &Shared,
    access: &Access,
    mut question: Question,
    start: impl Fn() -> T + Send + 'static,
    each: impl Fn(&mut T, &ResultRow, &mut Room) -> ControlFlow<()> + Send + 'static,
    finish: impl FnOnce(T) -> ApiResult<Vec<u8>> + Send + 'static,
) -> ApiResult<Response> {
    let most = app.limits.query_memory_bytes;
    let finish = move |state: T, room: &Room| room.was_enough().and_then(|()| finish(state));
    let leave = Leave::take(app, access, question.timeout).await?;
    let made = brief::attempt(app, access, &mut question, |question, blocks, cancel| {
        let (mut state, mut room) = (start(), Room::new(most));
        let mut each = |row: &ResultRow| each(&mut state, row, &mut room);
        let stats = question.query.run(blocks, &question.options, cancel, &mut each)?;
        Ok((Some((state, room)), stats))
    })?;
    if let Some(((state, room), _)) = made {
        // It took a moment, and what it gathered is as little.
        return Ok(written(StatusCode::OK, finish(state, &room)?));
    }
    whole_by(app, access, leave, move |app, access, cancel| {
        let (mut state, mut room) = (start(), Room::new(most));
        question.run(app, access, cancel, &mut |row| each(&mut state, row, &mut room))?;
        finish(state, &room)
    })
    .await
}
