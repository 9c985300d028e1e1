//! Lines of any kind, and what is asked about them, chosen from the lines themselves with a seed.
//!
//! | module | what it does |
//! |---|---|
//! | [`sample`] | some of the lines, their fields flattened as the servers flatten them |
//! | [`fields`] | fields of few, some and many values, and numbers |
//! | [`words`] | rare and frequent words, phrases, parts of words |
//! | [`questions`] | the queries |

mod fields;
mod questions;
mod sample;
mod words;

use crate::Result;
use crate::subject::Subject;
use std::path::Path;

/// What says to both servers which fields are what. Each looks for a message in the same fields in the same order.
const INSERT: &str = "_stream_fields=log_file&_time_field=_time&_msg_field=_msg,record.message,message,msg,Message,log,Log.log";

/// The lines of a file, and questions that fit them.
pub(crate) fn subject(file: &Path, seed: u64) -> Result<Subject> {
    let sample = sample::Sample::of(file)?;
    let questions = questions::of(&sample, &mut fastrand::Rng::with_seed(seed));
    Ok(Subject { file: file.to_path_buf(), count: sample.count, insert: INSERT, questions, is_foreign: true })
}

/// The field to search for words, and all fields that a line's message is taken from.
fn message_fields() -> impl Iterator<Item = &'static str> {
    INSERT.split("_msg_field=").last().unwrap_or_default().split(',')
}
