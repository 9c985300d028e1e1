//! A connection on which nothing is waited for without end. A server that is stopped, or away behind something that is not, keeps its
//! connections and never says a word, and the network's own limits see nothing of that.
//!
//! Who waits asks now and then whether the server answers others, on a connection of their own, and gives up if it does not. So a
//! question may take as long as it takes. What writes has a limit besides: a batch can be written again, once.

use super::address::Address;
use super::{connect, explain};
use crate::error::{Error, Result};
use futures_util::StreamExt;
use std::fmt;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement, ToStatement};

/// How long it may take to have a statement stopped that has taken too long.
const CANCEL_WITHIN: Duration = Duration::from_secs(5);
/// How long it may take to say goodbye.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

/// Why something was not done.
pub(super) enum Failure {
    /// What the server said, or the client.
    Said(tokio_postgres::Error),
    /// Nothing was said in time.
    Silent(String),
    /// It took longer than a statement may.
    Late(String),
}

impl Failure {
    /// What kind of refusal the server told, if it told one.
    pub fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Said(error) => error.code(),
            Self::Silent(_) | Self::Late(_) => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(error) => f.write_str(&explain(error)),
            Self::Silent(why) | Self::Late(why) => f.write_str(why),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Said(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Database(failure.to_string())
    }
}

/// A connection. It waits on a runtime of its own, and must not do so on a thread that already has one.
pub(super) struct Client {
    runtime: Runtime,
    /// `None` once it is dropped.
    inner: Option<tokio_postgres::Client>,
    /// What sends and receives, while something is waited for.
    talk: JoinHandle<Result<(), tokio_postgres::Error>>,
    /// Of its server alone, if there are several: whether another answers says nothing of this one.
    address: Address,
    /// The longest that a statement may take.
    limit: Option<Duration>,
}

impl Client {
    /// Connects, and waits for that as long as the network lets it: see [`connect::connect`].
    pub fn open(address: &Address) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Error::Database(format!("cannot wait for a server: {e}")))?;
        let mut outcome = Err(Error::Database("the address of PostgreSQL names no server".into()));
        for address in address.of_each_server() {
            match runtime.block_on(address.config.connect(address.tls.clone())) {
                Ok((inner, connection)) => {
                    let talk = runtime.spawn(connection);
                    outcome = Ok(Self { runtime, inner: Some(inner), talk, address, limit: None });
                    break;
                }
                Err(e) => outcome = Err(e.into()),
            }
        }
        outcome
    }

    /// The same, where no statement may take longer than this.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    pub fn batch_execute(&self, sql: &str) -> Result<(), Failure> {
        self.wait(self.inner()?.batch_execute(sql))
    }

    pub fn prepare(&self, sql: &str) -> Result<Statement, Failure> {
        self.wait(self.inner()?.prepare(sql))
    }

    pub fn execute(
        &self,
        statement: &(impl ToStatement + ?Sized),
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        self.wait(self.inner()?.execute(statement, params))
    }

    pub fn query(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        self.wait(self.inner()?.query(sql, params))
    }

    pub fn query_one(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Row, Failure> {
        self.wait(self.inner()?.query_one(sql, params))
    }

    pub fn query_opt(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, Failure> {
        self.wait(self.inner()?.query_opt(sql, params))
    }

    /// The rows of a query, as they come.
    pub fn each_row(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
        each: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let mut rows = pin!(self.wait(self.inner()?.query_raw(sql, params.iter().copied()))?);
        while let Some(row) = self.wait(async { rows.next().await.transpose() })? {
            each(&row)?;
        }
        Ok(())
    }

    fn inner(&self) -> Result<&tokio_postgres::Client, Failure> {
        self.inner.as_ref().ok_or_else(|| Failure::Silent("the connection is closed".into()))
    }

    fn wait<T>(&self, asked: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
        self.runtime.block_on(self.patiently(asked))
    }

    async fn patiently<T>(
        &self,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        let mut asked = pin!(asked);
        let mut waited = Duration::ZERO;
        loop {
            let patience = self.address.patience();
            let more = self.limit.map_or(patience, |limit| patience.min(limit.saturating_sub(waited)));
            if let Ok(answered) = timeout(more, &mut asked).await {
                return Ok(answered?);
            }
            waited += more;
            if let Some(limit) = self.limit.filter(|limit| waited >= *limit) {
                self.cancel().await;
                return Err(Failure::Late(format!("it took longer than {} ms", limit.as_millis())));
            }
            // On this thread nothing else is to be done meanwhile.
            if !connect::answers_still(&self.address) {
                return Err(Failure::Silent("the server does not answer any more".into()));
            }
        }
    }

    /// Has the server stop what it is doing, so that what is given up does not add up there.
    async fn cancel(&self) {
        if let Some(inner) = &self.inner {
            let asked = inner.cancel_token();
            let _as_good_as = timeout(CANCEL_WITHIN, asked.cancel_query(self.address.tls.clone())).await;
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.inner.take());
        let talk = &mut self.talk;
        let _as_good_as = self.runtime.block_on(async { timeout(GOODBYE_WITHIN, talk).await });
    }
}
