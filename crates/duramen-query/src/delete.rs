//! Deleting the lines that a query finds.

use crate::error::Error;
use crate::query::Query;
use crate::store::QueryError;
use duramen::block::Block;
use duramen::{DeleteReport, Store};
use std::sync::Arc;

/// Deletions from a [`Store`] by what a query's filter finds.
pub trait DeleteByQuery {
    /// Deletes every line that the filter finds and that was appended before this call, as [`Store::delete`] does.
    /// `stop` is asked from time to time; if it says yes, nothing was deleted, and the result is `None`.
    ///
    /// ```
    /// use duramen::{EntryBuf, Store};
    /// use duramen_query::{DeleteByQuery, ParseOptions, Query};
    /// # let dir = tempfile::tempdir()?;
    /// let store = Store::open(dir.path().join("logs"))?;
    /// let mut entry = EntryBuf::new(["app"]);
    /// for user in ["ada", "bob"] {
    ///     entry.start(1).message("login").field("user", user);
    ///     store.append(entry.finish()?)?;
    /// }
    /// let query = Query::parse("user:=ada", &ParseOptions::default())?;
    /// assert_eq!(store.count_matching(&query, &|| false)?, Some(1));
    /// let report = store.delete_matching(&query, &|| false)?.ok_or("stopped")?;
    /// assert_eq!(report.lines, 1);
    /// assert_eq!(store.count_matching(&query, &|| false)?, Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`QueryError::OnlyFilter`] if the query has pipes or other queries in it; [`QueryError::Store`] as
    /// [`Store::delete`].
    fn delete_matching(
        &self,
        query: &Query,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<DeleteReport>, QueryError>;

    /// How many lines [`DeleteByQuery::delete_matching`] would delete now. Blocks that are damaged are left out.
    ///
    /// # Errors
    /// As there.
    fn count_matching(&self, query: &Query, stop: &dyn Fn() -> bool) -> Result<Option<u64>, QueryError>;
}

impl DeleteByQuery for Store {
    fn delete_matching(
        &self,
        query: &Query,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<DeleteReport>, QueryError> {
        only_filter(query)?;
        let (min_time, max_time) = query.time_range();
        if min_time > max_time {
            return Ok(Some(DeleteReport::default()));
        }
        Ok(self.delete(min_time..=max_time, &mut |block| matches(query, block), stop)?)
    }

    fn count_matching(&self, query: &Query, stop: &dyn Fn() -> bool) -> Result<Option<u64>, QueryError> {
        only_filter(query)?;
        let (min_time, max_time) = query.time_range();
        let mut found = 0;
        for handle in self.snapshot()?.blocks(min_time, max_time) {
            if stop() {
                return Ok(None);
            }
            match handle.open().map_err(Error::from).and_then(|block| query.matches(&block)) {
                Ok(rows) => found += rows.count() as u64,
                Err(Error::Block(e)) if e.is_corruption() => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(Some(found))
    }
}

/// Refuses a query that is more than a filter: only one says which lines to delete.
///
/// # Errors
/// [`QueryError::OnlyFilter`] if the query has pipes or other queries in it.
pub fn only_filter(query: &Query) -> Result<(), QueryError> {
    if query.pipes().is_empty() && !query.filter().has_subquery() {
        Ok(())
    } else {
        Err(QueryError::OnlyFilter)
    }
}

fn matches(query: &Query, block: &Arc<dyn Block>) -> duramen::Result<Vec<bool>> {
    let found = query.matches(block).map_err(|e| match e {
        Error::Block(e) => e,
        other => duramen::Error::Invalid(other.to_string()),
    })?;
    Ok((0..block.rows()).map(|row| found.contains(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::ParseOptions;
    use duramen::EntryBuf;

    #[test]
    fn a_filter_says_what_goes_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("logs")).unwrap();
        let mut entry = EntryBuf::new(["app"]);
        for n in 0..100i64 {
            entry.start(n * 1_000_000_000).message(&format!("n is {n}")).field("n", n);
            store.append(entry.finish().unwrap()).unwrap();
            if n == 60 {
                store.flush().unwrap();
            }
        }
        let parse = |text| Query::parse(text, &ParseOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let count = |text| store.count_matching(&parse(text), &|| false).unwrap().unwrap();
        let delete = |text| store.delete_matching(&parse(text), &|| false).unwrap().unwrap().lines;
        // Both ends of a time range lie within blocks.
        let some = "_time:[1970-01-01T00:00:50Z, 1970-01-01T00:01:10Z) n:>=55";
        assert_eq!((count(some), delete(some), count("*")), (15, 15, 85));
        assert_eq!((delete("n:=54"), delete("\"n is 54\""), count("n:range[50,80)")), (1, 0, 14));
        assert_eq!(delete("_time:<1970-01-01 _time:>1970-01-02"), 0, "nothing is both");
        for more in ["* | limit 1", "* | stats count()", "n:in(n:=3 | fields n)"] {
            assert!(
                matches!(store.delete_matching(&parse(more), &|| false), Err(QueryError::OnlyFilter)),
                "{more}"
            );
            assert!(
                matches!(store.count_matching(&parse(more), &|| false), Err(QueryError::OnlyFilter)),
                "{more}"
            );
        }
        assert_eq!(store.delete_matching(&parse("*"), &|| true).unwrap(), None);
        assert_eq!((count("*"), delete("*"), count("*")), (84, 84, 0));
    }

    #[test]
    fn what_is_said_of_a_field_that_some_lines_have_as_their_message_leaves_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("logs")).unwrap();
        let mut entry = EntryBuf::default();
        for n in 0..600i64 {
            entry.start(n * 1_000_000_000).message(&format!("{n} has failed"));
            if n % 3 == 0 {
                entry.field_same_as_message("log");
            }
            store.append(entry.finish().unwrap()).unwrap();
        }
        store.flush().unwrap();
        let query = Query::parse("log:failed", &ParseOptions::default()).unwrap();
        assert_eq!(store.count_matching(&query, &|| false).unwrap(), Some(200));
        assert_eq!(store.delete_matching(&query, &|| false).unwrap().unwrap().lines, 200);
    }
}
