//! Short queries are answered where they are asked: to wake a thread for one, and to be woken by it, takes longer than many of
//! them do.
//!
//! Which are short is found out: a query is begun so, and begun again on a thread of its own when it takes longer than
//! [`BRIEF`], comes to a block that is not open, or to more rows than a first piece holds; what became of it is remembered, see
//! [`KnownQueries`].

use super::known::{Begin, Outcome};
use super::{FIRST_PIECE_BYTES, Question, has_run};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use duramen::block::BlockHandle;
use duramen_query::{Cancel, Error, ResultRow, RunStats, Text};
use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The most that a query may take where it is asked: whoever asks is not seen to leave meanwhile.
const BRIEF: Duration = Duration::from_millis(4);
/// What `run` makes of the question, if that is soon there and it says so; if not, the question's view of the store is kept for
/// the second time. Others may use the runtime meanwhile, unless it is known to be over at once: to hand a thread's other work over
/// takes longer than such a query does.
///
/// # Errors
/// As [`super::run`].
pub(super) fn attempt<T>(
    app: &Shared,
    access: &Access,
    question: &mut Question,
    run: impl FnOnce(&Question, Vec<Arc<dyn BlockHandle>>, &Cancel) -> Result<(Option<T>, RunStats), Error>,
) -> ApiResult<Option<(T, RunStats)>> {
    let key = FixedState::default().hash_one((&access.tenant.name, question.key));
    let begin = app.known_queries.begin(key);
    if begin == Begin::OnThread {
        return Ok(None);
    }
    let cancel = Cancel::brief(app.env.clock.clone(), BRIEF.min(question.timeout));
    let run = || {
        let view = question.view(access)?;
        question.snapshot = Some(view.clone());
        let blocks = question.blocks_of(&view);
        match cancel.check().and_then(|()| run(question, blocks, &cancel)) {
            Ok((Some(made), stats)) => Ok(Some((made, stats))),
            Ok((None, _)) | Err(Error::NotBrief) => Ok(None),
            Err(e) => Err(e.into()),
        }
    };
    // A panic is this query's, not its connection's, as on a thread of its own.
    let run = || catch_unwind(AssertUnwindSafe(run));
    let began = app.env.clock.monotonic();
    let outcome = if begin == Begin::AtOnce { run() } else { tokio::task::block_in_place(run) };
    let took = app.env.clock.monotonic().saturating_sub(began);
    let made = outcome.unwrap_or_else(|_| Err(ApiError::unavailable("the query broke off")))?;
    app.known_queries.was(key, if made.is_some() { Outcome::Took(took) } else { Outcome::InVain });
    if let Some((_, stats)) = &made {
        app.metrics.brief_query();
        has_run(app, stats);
    }
    Ok(made)
}

/// The whole answer, which begins with `head`, if it is soon there and no longer than a first piece.
///
/// # Errors
/// As [`super::pieces`].
pub(super) fn text(
    app: &Shared,
    access: &Access,
    question: &mut Question,
    head: &[u8],
    write: &(dyn Fn(&ResultRow, &mut Vec<u8>) + Sync),
) -> ApiResult<Option<Vec<u8>>> {
    let made = attempt(app, access, question, |question, blocks, cancel| {
        let (mut text, mut is_long) = (head.to_vec(), false);
        let take = |text: &mut Vec<u8>, _rows: usize| {
            is_long = text.len() >= FIRST_PIECE_BYTES;
            if is_long { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let to = Text { write, text: &mut text, take: Box::new(take) };
        let stats = question.query.write(blocks, &question.options, cancel, to)?;
        Ok(((!is_long).then_some(text), stats))
    })?;
    Ok(made.map(|(text, _)| text))
}
