//! `label_replace(…, "target", "$1", "source", "(.*)")`

use super::Series;
use crate::ast::LabelReplace;
use crate::error::{Error, Result};
use std::collections::BTreeSet;

pub(super) fn replace(replace: &LabelReplace, mut series: Vec<Series>) -> Result<Vec<Series>> {
    for one in &mut series {
        let source = one.labels.iter().find(|(name, _)| *name == replace.source);
        let source = source.map_or(String::new(), |(_, value)| value.to_string());
        let Some(captures) = replace.regex.regex.captures(&source) else { continue };
        let mut value = String::new();
        captures.expand(&replace.replacement, &mut value);
        one.labels.retain(|(name, _)| *name != replace.target);
        if !value.is_empty() {
            one.labels.push((replace.target.clone(), value.into()));
            one.labels.sort_unstable();
        }
    }
    let mut seen = BTreeSet::new();
    match series.iter().all(|one| seen.insert(&one.labels)) {
        true => Ok(series),
        false => Err(Error::Matching("label_replace makes series with the same labels".into())),
    }
}
