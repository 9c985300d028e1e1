//! The values of a column, if they are few.

use super::super::columnize::{Collected, Form};
use super::super::table_fields::{FewValues, MAX_FEW_VALUE_BYTES, MAX_FEW_VALUES};
use crate::column::IntText;

/// The values and how many rows have each, in order of first use, if they are few and short.
pub(super) fn values_of(column: &Collected) -> Option<FewValues> {
    match column.form {
        Form::Dictionary => {
            if column.texts.len() > MAX_FEW_VALUES {
                return None;
            }
            let mut rows = vec![0; column.texts.len()];
            column.codes.iter().for_each(|&code| rows[code as usize] += 1);
            let of_code = |(code, rows)| {
                let text = std::str::from_utf8(column.texts.get(code)).ok()?;
                (text.len() <= MAX_FEW_VALUE_BYTES).then(|| (text.into(), rows))
            };
            rows.into_iter().enumerate().filter(|(_, rows)| *rows > 0).map(of_code).collect()
        }
        Form::Ints => {
            let mut few: Vec<(i64, u64)> = Vec::new();
            for &n in &column.ints {
                match few.iter().position(|(value, _)| *value == n) {
                    Some(at) => few[at].1 += 1,
                    None if few.len() == MAX_FEW_VALUES => return None,
                    None => few.push((n, 1)),
                }
            }
            let mut digits = IntText::default();
            Some(few.into_iter().map(|(n, rows)| (digits.format(n).into(), rows)).collect())
        }
        Form::Empty | Form::Alias | Form::Texts => None,
    }
}
