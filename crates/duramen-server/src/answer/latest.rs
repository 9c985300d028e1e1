//! The last of what a query finds, gathered before any of it is sent: for who begins to follow, and is not to be kept from it by
//! other queries, nor to keep a query's place until it is read.

use super::{Leave, Question, brief, on_thread_by};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::ApiResult;
use duramen_query::{ResultRow, Text};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

/// What is left out at once, of what is too much.
const PART_BYTES: usize = 64 << 10;

/// The text of the last rows.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    parts: VecDeque<(Vec<u8>, u64)>,
    bytes: usize,
    /// How many rows came before them, and are left out.
    pub left_out: u64,
}

impl Latest {
    /// Adds rows behind the others, and leaves out the first ones as long as there are more bytes than that.
    fn add(&mut self, text: Vec<u8>, rows: u64, most_bytes: usize) {
        self.bytes += text.len();
        self.parts.push_back((text, rows));
        while self.bytes > most_bytes
            && let Some((text, rows)) = self.parts.pop_front()
        {
            self.bytes -= text.len();
            self.left_out += rows;
        }
    }

    /// How many bytes they are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The text, one part behind the other.
    pub fn into_parts(self) -> impl Iterator<Item = Vec<u8>> {
        self.parts.into_iter().map(|(text, _)| text)
    }
}

/// The last of the rows that a query finds, of up to so many bytes of text. It has its place among the queries only while it runs,
/// and waits so long for one.
///
/// # Errors
/// As [`run`](super::run).
pub(crate) async fn latest(
    app: &Shared,
    access: &Access,
    mut question: Question,
    wait: Duration,
    most_bytes: usize,
    write: impl Fn(&ResultRow, &mut Vec<u8>) + Send + Sync + 'static,
) -> ApiResult<Latest> {
    let leave = Leave::take_within(app, access, wait, question.timeout).await?;
    let mut latest = Latest::default();
    if let Some(text) = brief::text(app, access, &mut question, &[], &write)? {
        latest.add(text, 0, usize::MAX);
        return Ok(latest);
    }
    on_thread_by(app, access, leave, move |app, access, cancel| {
        let (mut rest, mut rows_of_rest) = (Vec::new(), 0);
        let take = |text: &mut Vec<u8>, rows: usize| {
            rows_of_rest += rows as u64;
            if text.len() >= PART_BYTES {
                latest.add(std::mem::take(text), std::mem::take(&mut rows_of_rest), most_bytes);
            }
            ControlFlow::Continue(())
        };
        let text = Text { write: &write, text: &mut rest, take: Box::new(take) };
        question.write(app, access, cancel, text)?;
        latest.add(rest, rows_of_rest, most_bytes);
        Ok(latest)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_left_out() {
        let mut latest = Latest::default();
        for (text, rows) in [("aaa", 1), ("bb", 2), ("c", 4), ("", 0), ("dd", 8)] {
            latest.add(text.into(), rows, 5);
        }
        assert_eq!(latest.left_out, 1);
        assert_eq!(latest.into_parts().collect::<Vec<_>>().concat(), b"bbcdd");
        let mut latest = Latest::default();
        latest.add(b"much".to_vec(), 3, 1);
        assert_eq!((latest.left_out, latest.into_parts().count()), (3, 0));
    }
}
