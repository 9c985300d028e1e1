//! Which streams write lines of one kind: the replicas of a program do, a web server and a database do not.
//!
//! The kind of a line is what does not vary in the first words of its message, or the names of its fields where it has no
//! message. Of each stream some lines are looked at; it joins the group that knows enough of their kinds.

use crate::entry::EntryRef;
use crate::error::Result;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::hash::{BuildHasher, Hasher};

/// So many lines of a stream are looked at.
pub(super) const SAMPLE: usize = 16;
/// So many of them, as one part of this many, must be of kinds that a group knows for the stream to join it.
const ENOUGH: usize = 4;
/// So many bytes of a message are looked at.
const MESSAGE_BYTES: usize = 64;

/// The number of a line's kind.
fn kind_of(entry: &EntryRef<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    let message = entry.message.as_bytes();
    if message.is_empty() {
        entry.fields().for_each(|(name, _)| hasher.write(name.as_bytes()));
        return hasher.finish();
    }
    let message = &message[..message.len().min(MESSAGE_BYTES)];
    let is_word = |c: &u8| c.is_ascii_alphanumeric() || *c >= 0x80;
    for part in message.chunk_by(|a, b| is_word(a) && is_word(b)) {
        // What holds digits varies: a number, an address, an id.
        let varies = part.iter().any(u8::is_ascii_digit);
        hasher.write(if varies { b"0" } else { part });
    }
    hasher.finish()
}

/// Groups of streams, each of one kind.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    group_of_kind: HashMap<u64, usize, FixedState>,
    groups: usize,
}

impl Kinds {
    /// The group that a stream joins. `lines` are the first of its lines.
    ///
    /// # Errors
    /// That of a line that could not be read.
    pub(super) fn group_of<'e>(
        &mut self,
        lines: impl Iterator<Item = Result<EntryRef<'e>>>,
    ) -> Result<usize> {
        let kinds = lines.take(SAMPLE).map(|line| Ok(kind_of(&line?))).collect::<Result<Vec<_>>>()?;
        let mut votes: Vec<(usize, usize)> = Vec::new();
        for group in kinds.iter().filter_map(|kind| self.group_of_kind.get(kind)) {
            match votes.iter_mut().find(|(of, _)| of == group) {
                Some((_, votes)) => *votes += 1,
                None => votes.push((*group, 1)),
            }
        }
        // Of groups that know as many, the older.
        let best = votes.into_iter().max_by_key(|&(group, votes)| (votes, std::cmp::Reverse(group)));
        let group = match best {
            Some((group, votes)) if votes * ENOUGH >= kinds.len() => group,
            _ => {
                self.groups += 1;
                self.groups - 1
            }
        };
        for kind in kinds {
            self.group_of_kind.entry(kind).or_insert(group);
        }
        Ok(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryBuf;

    /// The group of each stream of lines.
    fn groups(streams: &[&[&str]]) -> Vec<usize> {
        let mut kinds = Kinds::default();
        let mut buf = EntryBuf::default();
        let mut group_of = |lines: &&[&str]| {
            let entries: Vec<Vec<u8>> = lines
                .iter()
                .map(|line| {
                    buf.start(0);
                    match line.strip_prefix("fields ") {
                        Some(names) => names.split(' ').for_each(|name| _ = buf.field(name, 1)),
                        None => _ = buf.message(line),
                    }
                    buf.finish().unwrap().to_vec()
                })
                .collect();
            kinds.group_of(entries.iter().map(|bytes| EntryRef::decode(bytes.as_slice()))).unwrap()
        };
        streams.iter().map(&mut group_of).collect()
    }

    #[test]
    fn streams_that_say_the_same_are_of_one_kind() {
        assert_eq!(groups(&[&["GET /a 200"], &["GET /a 404"], &["PUT /a 200"]]), [0, 0, 1]);
        assert_eq!(groups(&[&["fields a b"], &["fields a c"], &["fields a b"], &[]]), [0, 1, 0, 2]);
        let long = "x".repeat(MESSAGE_BYTES);
        assert_eq!(
            groups(&[&[&format!("{long}a")], &[&format!("{long}b")]]),
            [0, 0],
            "only the beginning counts"
        );
    }

    #[test]
    fn a_quarter_of_its_lines_brings_a_stream_to_a_group() {
        let known = ["start", "stop"];
        assert_eq!(groups(&[&known, &["stop", "a", "b", "c"], &["c", "d", "e", "f", "g"]]), [0, 0, 1]);
        // The group that knows most of them has it, and of two that know as many the older.
        assert_eq!(groups(&[&["a"], &["b", "c"], &["a", "b", "c"], &["a", "b"]]), [0, 1, 1, 0]);
    }
}
