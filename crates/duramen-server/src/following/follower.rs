//! Somebody who follows a store, over whatever protocol: what comes, each row once, and how many were skipped.
//!
//! Following begins before what is there already is looked at, and what is in both is left out: so nothing is lost in
//! between, and nothing comes twice. Who is too slow is told how many rows were skipped. Rows that cannot be read are an
//! error, which ends the following: nobody is to miss them unknowingly.

use super::hub::{Listener, Round};
use crate::answer::CancelOnDrop;
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use duramen::Snapshot;
use duramen::block::{BlockHandle, OpenBlock};
use duramen_query::{Cancel, RunStats};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// Somebody who follows.
#[derive(Debug)]
pub(crate) struct Follower {
    listener: Listener,
    seen: Option<Seen>,
    /// One of those that its tenant has for followers.
    _place: Option<OwnedSemaphorePermit>,
}

/// What a follower has been shown already.
#[derive(Debug)]
struct Seen {
    snapshot: Arc<Snapshot>,
    /// When the snapshot had been taken, by the monotonic clock.
    at: Duration,
}

/// New rows, not looked at yet.
#[derive(Debug)]
pub(crate) struct News {
    /// How many rows before these were skipped.
    pub skipped: u64,
    /// When the look for them began, by the monotonic clock.
    pub began: Duration,
    round: Round,
    known: Option<Arc<Snapshot>>,
}

impl Follower {
    /// Follows the store that `access` is for: every row that is appended from here on comes.
    ///
    /// # Errors
    /// 503 if the store cannot be followed, 429 if too many follow it.
    pub async fn begin(app: &Shared, access: &Access) -> ApiResult<Self> {
        let tenant = access.tenant.clone();
        let place = tenant.tails.clone().try_acquire_owned();
        let place =
            place.map_err(|_| ApiError::busy("too many follow already (max_tails): try again later"))?;
        let clock = app.env.clock.clone();
        let listen = move |_: &Cancel| tenant.hub.listen(tenant.store()?, &clock);
        Ok(Self { listener: on_thread(app, listen).await?, seen: None, _place: Some(place) })
    }

    /// The rows that are there already. They do not come again.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn past(&mut self, app: &Shared, access: &Access) -> ApiResult<Arc<Snapshot>> {
        let (clock, tenant) = (app.env.clock.clone(), access.tenant.clone());
        let look = move |_: &Cancel| -> ApiResult<Seen> {
            let snapshot = Arc::new(tenant.store()?.snapshot()?);
            Ok(Seen { snapshot, at: clock.monotonic() })
        };
        let seen = self.seen.insert(on_thread(app, look).await?);
        Ok(seen.snapshot.clone())
    }

    /// It was not shown what was there already: what has come since it began to follow comes.
    pub fn forget_past(&mut self) {
        self.seen = None;
    }

    /// Gives back the view in which they were shown, once no row of it can come any more: where nothing is appended, it would be
    /// held for as long as somebody follows.
    pub fn let_go_of_past(&mut self) {
        let Self { seen, listener, .. } = self;
        let _let_go = seen.take_if(|seen| listener.has_heard_of(seen.at));
    }

    /// What comes next; `None` when nothing will. Nothing is lost if this is dropped before it is ready.
    pub async fn next(&mut self) -> Option<News> {
        let (round, skipped) = self.listener.next().await?;
        let known = self.seen.as_ref().map(|seen| seen.snapshot.clone());
        // The first round that was looked for after the snapshot is the last that can have a row of it.
        self.seen.take_if(|seen| round.began > seen.at);
        Some(News { skipped, began: round.began, round, known })
    }
}

impl News {
    /// Has `query` look at the rows that the follower has not been shown yet. May wait for the disk.
    ///
    /// # Errors
    /// As `query`; 500 if a row cannot be read.
    pub fn read<E: From<ApiError>>(
        &self,
        query: impl FnOnce(Vec<Arc<dyn BlockHandle>>) -> Result<RunStats, E>,
    ) -> Result<(), E> {
        let stats = query(self.handles().map_err(ApiError::from)?)?;
        match stats.first_failure {
            Some(e) => Err(damaged(&e).into()),
            None => Ok(()),
        }
    }

    fn handles(&self) -> duramen::Result<Vec<Arc<dyn BlockHandle>>> {
        let mut blocks = self.round.blocks.to_vec();
        if let Some(known) = &self.known {
            blocks = known.without_known(blocks)?;
        }
        blocks.into_iter().map(OpenBlock::handle).collect()
    }
}

fn damaged(e: &duramen::Error) -> ApiError {
    let told = format!("new lines cannot be read, so following ends here: {e}");
    ApiError::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, told)
}

/// Does what may wait for the disk, or compute, on a thread for that: few do at once, so that there are threads for queries,
/// however many follow. It is cancelled when nobody waits for it any more, or when it takes longer than a query may.
///
/// # Errors
/// As `work`; 503 if the server stops.
pub(crate) async fn on_thread<T: Send + 'static, E: From<ApiError> + Send + 'static>(
    app: &Shared,
    work: impl FnOnce(&Cancel) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let stopping = |_| ApiError::unavailable("the server is stopping");
    let turn = app.following.clone().acquire_owned().await.map_err(stopping)?;
    let cancel = Arc::new(Cancel::timed(app.env.clock.clone(), Some(app.limits.query_timeout)));
    let _guard = CancelOnDrop(cancel.clone());
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work(&cancel)
    });
    done.await.map_err(|e| ApiError::unavailable(format!("the store cannot be followed: {e}")))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::following::hub::Line;
    use duramen::block::Block;
    use duramen::column::Column;
    use duramen::{Error, Result};
    use duramen_query::{Cancel, ParseOptions, Query, RunOptions};

    /// A block of so many rows, whose messages have so many bytes, or are damaged.
    #[derive(Debug)]
    struct Made {
        rows: usize,
        message_bytes: Option<usize>,
    }

    /// A block of a row with a message of so many bytes.
    fn long(bytes: usize) -> Arc<Made> {
        Arc::new(Made { rows: 1, message_bytes: Some(bytes) })
    }

    /// A block of so many rows, whose columns are damaged.
    fn damaged(rows: usize) -> Arc<Made> {
        Arc::new(Made { rows, message_bytes: None })
    }

    impl Block for Made {
        fn rows(&self) -> usize {
            self.rows
        }
        fn times(&self) -> Result<Arc<Vec<i64>>> {
            Ok(Arc::new(vec![1; self.rows]))
        }
        fn field_names(&self) -> Result<Vec<String>> {
            Ok(vec!["_msg".into()])
        }
        fn column(&self, _: &str) -> Result<Option<Arc<Column>>> {
            let Some(bytes) = self.message_bytes else { return Err(Error::Invalid("damaged".into())) };
            let kinds = duramen::column::Kinds::All(duramen::ValueKind::String);
            let data = duramen::column::ColumnData::Const("x".repeat(bytes).into());
            let order = duramen::column::Order::Rows;
            Ok(Some(Arc::new(Column { data, kinds, order, rows: self.rows })))
        }
        fn may_contain_words(&self, _: &str, _: &[u64]) -> Result<bool> {
            Ok(true)
        }
        fn int_range(&self, _: &str) -> Result<Option<(i64, i64)>> {
            Ok(None)
        }
        fn identity(&self, row: usize) -> Result<(u64, u64)> {
            Ok((1, row as u64))
        }
    }

    #[test]
    fn few_long_rows_are_too_much_behind_too() {
        let line = Line::default();
        let mut slow = follow(&line);
        for _ in 0..10 {
            line.send(Duration::ZERO, vec![long(20 << 20)]);
        }
        for _ in 0..3 {
            assert_eq!(next(&mut slow).unwrap().skipped, 0);
        }
        line.send(Duration::ZERO, vec![long(100 << 20)]);
        assert_eq!(next(&mut slow).unwrap().skipped, 7, "one is taken, however long");
    }

    fn follow(line: &Line) -> Follower {
        Follower { listener: line.listen().unwrap(), seen: None, _place: None }
    }

    fn next(follower: &mut Follower) -> Option<News> {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(follower.next())
    }

    #[test]
    fn who_is_too_slow_is_told_how_many_rows_were_skipped() {
        let line = Line::default();
        let send = |rows| line.send(Duration::ZERO, vec![damaged(rows)]);
        send(7);
        let (mut slow, mut quick) = (follow(&line), follow(&line));
        for _ in 0..10 {
            send(30_000);
            assert_eq!(next(&mut quick).unwrap().skipped, 0);
        }
        for _ in 0..3 {
            assert_eq!(next(&mut slow).unwrap().skipped, 0, "so far behind one may be");
        }
        send(500_000);
        assert_eq!(next(&mut slow).unwrap().skipped, 210_000, "whatever came while it was too far behind");
        line.end();
        assert!(next(&mut slow).is_none());
        assert_eq!(next(&mut quick).unwrap().skipped, 0);
        assert!(next(&mut quick).is_none() && line.listen().is_none());
    }

    #[test]
    fn rows_that_cannot_be_read_are_an_error() {
        let line = Line::default();
        let mut follower = follow(&line);
        line.send(Duration::ZERO, vec![damaged(2)]);
        let query = Query::parse("refused", &ParseOptions::default()).unwrap();
        let read = next(&mut follower).unwrap().read(|handles| {
            let each = &mut |_: &duramen_query::ResultRow| std::ops::ControlFlow::Continue(());
            Ok::<_, ApiError>(query.run(handles, &RunOptions::default(), &Cancel::new(), each)?)
        });
        let told = read.unwrap_err();
        assert!(told.status.as_u16() == 500 && told.message.contains("cannot be read"), "{told:?}");
    }
}
