//! The groups of a block's rows, and how many rows each has, as its table tells of fields of few values and of steps of time.

use super::super::group_keys::time_buckets;
use super::super::verdicts;
use super::Told;
use crate::pipe::stats::By;
use duramen::block::{BlockHandle, names};

/// The texts of groups' keys, and how many rows each has.
pub(super) type Groups = Vec<(Vec<String>, u64)>;

impl Told<'_> {
    /// The groups of the block's rows that match, and how many each has, if that is told. `whole`: whether all rows match;
    /// `buckets` are the keys that are known by the time. One field may have several values, of which it is told how many rows
    /// have each: one that rows are grouped by, or that decides whether they match.
    pub(super) fn groups(
        &self,
        handle: &dyn BlockHandle,
        whole: Option<bool>,
        buckets: &[Option<String>],
    ) -> Option<Groups> {
        let of_by = || {
            let unknown = self.by.iter().zip(buckets).filter(|(_, bucket)| bucket.is_none());
            unknown
                .map(|(by, _)| (&*by.field, verdicts::values(handle, &by.field)))
                .find(|(_, v)| v.len() > 1)
        };
        let varying =
            if whole == Some(true) { of_by() } else { Some(verdicts::varying(self.filter, handle)?) };
        let Some((field, values)) = varying else {
            return Some(vec![(self.key_of(handle, buckets, None)?, handle.rows() as u64)]);
        };
        let mut groups = Vec::new();
        for (text, rows) in &values {
            let value = Some((field, &**text));
            if whole.or_else(|| self.matches_with(handle, value))? {
                groups.push((self.key_of(handle, buckets, value)?, *rows));
            }
        }
        Some(groups)
    }

    /// The same of a block whose rows are in several buckets of time, if its steps of time are each in one. Of fields, only
    /// `level` may have several values.
    pub(super) fn groups_in_time(
        &self,
        handle: &dyn BlockHandle,
        whole: Option<bool>,
        buckets: &[Option<String>],
    ) -> Option<Groups> {
        let varies = |at: &usize| {
            let by = &self.by[*at];
            buckets[*at].is_none() && *by.field == *names::TIME && by.bucket.is_some()
        };
        let mut by_time = (0..self.by.len()).filter(varies);
        let (Some(at), None) = (by_time.next(), by_time.next()) else { return None };
        let counts = handle.time_counts()?;
        let (min, max) = (handle.min_time(), handle.max_time());
        let steps = (0..counts.steps()).map(|step| counts.times(step));
        let steps = steps.map(|(first, last)| (first.max(min), last.min(max)));
        let in_time = time_buckets(&self.by[at], steps)?;
        let whole = whole.or_else(|| self.matches(handle));
        let (mut groups, mut buckets) = (Vec::new(), buckets.to_vec());
        for (level, steps) in &counts.rows {
            let value = level.as_deref().map(|text| (names::LEVEL, text));
            if !whole.or_else(|| self.matches_with(handle, value))? {
                continue;
            }
            let mut steps = steps.iter();
            for (bucket, count) in &in_time {
                let rows = steps.by_ref().take(*count).fold(0u64, |sum, rows| sum.saturating_add(*rows));
                if rows > 0 {
                    buckets[at] = Some(bucket.clone());
                    groups.push((self.key_of(handle, &buckets, value)?, rows));
                }
            }
        }
        Some(groups)
    }

    /// The key of the rows of a block, or of those with this value of a field, if all have the same.
    fn key_of(
        &self,
        handle: &dyn BlockHandle,
        buckets: &[Option<String>],
        value: Option<verdicts::Value<'_>>,
    ) -> Option<Vec<String>> {
        let text = |(by, bucket): (&By, &Option<String>)| match (bucket, value) {
            (Some(text), _) => Some(text.clone()),
            (None, Some((field, text))) if *field == *by.field => Some(by.value(text).into_owned()),
            _ => match &verdicts::values(handle, &by.field)[..] {
                [(text, _)] => Some(by.value(text).into_owned()),
                _ => None,
            },
        };
        self.by.iter().zip(buckets).map(text).collect()
    }
}
