//! Which values of a sequence are decoded: all, or some. Where values can be reached one by one, the others cost
//! nothing.

use super::bytes::bad;
use crate::error::Result;

/// Numbers of values, ascending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen<'a> {
    count: usize,
    some: Option<&'a [u32]>,
}

impl<'a> Chosen<'a> {
    /// All of `count` values.
    pub(crate) fn all(count: usize) -> Self {
        Self { count, some: None }
    }

    /// These of `count` values; their numbers are ascending.
    ///
    /// # Errors
    /// [`crate::Error::Decode`] if there are no such values.
    pub(crate) fn some(count: usize, numbers: &'a [u32]) -> Result<Self> {
        if numbers.last().is_some_and(|&last| last as usize >= count) {
            return Err(bad("there is no such value"));
        }
        Ok(Self { count, some: Some(numbers) })
    }

    /// How many values the sequence has.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// How many of them are chosen.
    pub(crate) fn len(&self) -> usize {
        self.some.map_or(self.count, <[u32]>::len)
    }

    /// The numbers, unless they are all.
    pub(crate) fn numbers(&self) -> Option<&'a [u32]> {
        self.some
    }

    /// The chosen ones of `values`, which are all of the sequence.
    pub(crate) fn of<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        match self.some {
            None => values,
            Some(numbers) => numbers.iter().map(|&i| values[i as usize]).collect(),
        }
    }
}
