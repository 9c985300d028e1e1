//! Answers that are made of all rows of a query at once: what is gathered of them counts against the query's memory, and is made
//! an answer where the query ran, by its leave. On a thread that serves others, one large answer would keep all waiting.

use super::{Leave, Question, brief, on_thread_by};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use axum::http::StatusCode;
use duramen_query::ResultRow;
use std::ops::ControlFlow;

/// What a member of an object or an array takes beside its text, about, while the answer is made.
pub(crate) const MEMBER_BYTES: usize = 192;
/// The same for an object inside of it that has some members.
pub(crate) const OBJECT_BYTES: usize = 1536;

/// How much more may be gathered.
#[derive(Debug)]
pub(crate) struct Room {
    left_bytes: usize,
    is_over: bool,
}

impl Room {
    fn new(bytes: usize) -> Self {
        Self { left_bytes: bytes, is_over: false }
    }

    /// Takes so many bytes of it; breaks if there are fewer.
    pub fn take(&mut self, bytes: usize) -> ControlFlow<()> {
        self.is_over |= bytes > self.left_bytes;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs a query to its end; `each` sees its rows, what it has made so far of what `start` began, and how much more there may be of
/// it; `finish` makes the answer. The first two may be begun twice.
///
/// # Errors
/// As [`super::run`], and as `finish`; 422 if there is no more room.
pub(crate) async fn gather<T: Send + 'static, R: Send + 'static>(
    app: &Shared,
    access: &Access,
    mut question: Question,
    start: impl Fn() -> T + Send + 'static,
    each: impl Fn(&mut T, &ResultRow, &mut Room) -> ControlFlow<()> + Send + 'static,
    finish: impl FnOnce(T) -> ApiResult<R> + Send + 'static,
) -> ApiResult<R> {
    let most = app.limits.query_memory_bytes;
    let finish = move |state: T, room: &Room| match room.is_over {
        false => finish(state),
        true => {
            let told = format!(
                "the answer takes more than {most} bytes (query_memory_bytes): ask for fewer groups, longer steps or a shorter time"
            );
            Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, told))
        }
    };
    let leave = Leave::take(app, access, question.timeout).await?;
    let made = brief::attempt(app, access, &mut question, |question, blocks, cancel| {
        let (mut state, mut room) = (start(), Room::new(most));
        let mut each = |row: &ResultRow| each(&mut state, row, &mut room);
        let stats = question.query.run(blocks, &question.options, cancel, &mut each)?;
        Ok((Some((state, room)), stats))
    })?;
    if let Some(((state, room), _)) = made {
        // It took a moment, and what it gathered is as little.
        return finish(state, &room);
    }
    on_thread_by(app, access, leave, move |app, access, cancel| {
        let (mut state, mut room) = (start(), Room::new(most));
        question.run(app, access, cancel, &mut |row| each(&mut state, row, &mut room))?;
        finish(state, &room)
    })
    .await
}
