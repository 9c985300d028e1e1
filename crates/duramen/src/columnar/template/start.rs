//! Where in a template what somebody looks for may begin: what comes before need not be put together.

use super::super::leaf::Leaf;
use super::super::texts::Texts;
use super::decode::Source;
use crate::column::{Column, ColumnData};
use memchr::memmem::Finder;

/// What is looked for; not empty.
pub(super) struct Start<'s> {
    text: &'s [u8],
    first: u8,
    finder: Finder<'s>,
    /// The columns that were looked at, to which many templates may refer, and whether it may begin in them.
    columns: Vec<(*const Column, bool)>,
}

impl<'s> Start<'s> {
    /// Nothing, if the text is empty.
    pub(super) fn new(text: &'s str) -> Option<Self> {
        let first = *text.as_bytes().first()?;
        Some(Self { text: text.as_bytes(), first, finder: Finder::new(text), columns: Vec::new() })
    }

    /// How many pieces there are before the first in which it may begin, in whatever text: all, if there is none.
    pub(super) fn pieces_before(&mut self, sources: &[Source<'_>]) -> usize {
        sources.iter().take_while(|source| !self.may_begin_in(source)).count()
    }

    fn may_begin_in(&mut self, source: &Source<'_>) -> bool {
        match source {
            Source::Literal(text) => self.begins_in(text.as_bytes()),
            Source::Leaf(Leaf::Constant(text)) => self.begins_in(text),
            Source::Leaf(Leaf::Integers(_) | Leaf::Decimals(..)) => self.begins_in_numbers(),
            Source::Leaf(Leaf::Dictionary { values: texts, .. } | Leaf::Texts(texts)) => {
                self.begins_in_one_of(texts)
            }
            Source::Times(..) => !br#""'=()[]{}<>|&_"#.contains(&self.first),
            Source::Column(column) => self.begins_in_column(column),
        }
    }

    /// Whether all of it is in a text, or its beginning at the text's end.
    fn begins_in(&self, text: &[u8]) -> bool {
        self.reaches_beyond(text) || self.finder.find(text).is_some()
    }

    fn reaches_beyond(&self, text: &[u8]) -> bool {
        let longest = text.len().min(self.text.len() - 1);
        (1..=longest).any(|len| text.ends_with(&self.text[..len]))
    }

    fn begins_in_numbers(&self) -> bool {
        matches!(self.first, b'0'..=b'9' | b'-' | b'.')
    }

    fn begins_in_one_of(&self, texts: &Texts) -> bool {
        // What begins in one and ends in another reaches beyond the first.
        self.finder.find(&texts.bytes).is_some()
            || (0..texts.len()).any(|number| self.reaches_beyond(texts.get(number)))
    }

    fn begins_in_column(&mut self, column: &Column) -> bool {
        if let Some((_, begins)) = self.columns.iter().find(|(known, _)| std::ptr::eq(*known, column)) {
            return *begins;
        }
        let begins = match &column.data {
            ColumnData::Const(text) => self.begins_in(text.as_bytes()),
            ColumnData::Int { .. } | ColumnData::Decimal { .. } => self.begins_in_numbers(),
            ColumnData::Dict { values, .. } => values.iter().any(|text| self.begins_in(text.as_bytes())),
            ColumnData::Text { text, ends, .. } => {
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let mut texts = starts.zip(ends).map(|(start, &end)| start as usize..end as usize);
                self.finder.find(text.as_bytes()).is_some()
                    || texts
                        .any(|range| text.as_bytes().get(range).is_none_or(|text| self.reaches_beyond(text)))
            }
        };
        self.columns.push((column, begins));
        begins
    }
}
