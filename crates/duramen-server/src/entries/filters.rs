//! Parameters to a filter in LogsQL: `filters[level]=error&filters[app]=web&filters[app]=api&q=refused`.

use crate::error::{ApiError, ApiResult};
use crate::select::args::Args;
use crate::select::extra::one_of;
use duramen_query::parse::quote::quote_always;
use std::collections::BTreeMap;

/// Most values that a request filters by.
const MAX_VALUES: usize = 100;

/// The filter that the parameters make; everything if there are none.
///
/// # Errors
/// 400 if they are too many. A mistake in `q` is found where the filter is read.
pub(super) fn filter_of(args: &Args) -> ApiResult<String> {
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut count = 0;
    for (name, value) in args.pairs() {
        let Some(rest) = name.strip_prefix("filters[") else { continue };
        let rest = rest.strip_suffix("[]").unwrap_or(rest);
        let Some(field) = rest.strip_suffix(']') else { continue };
        if !value.is_empty() {
            count += 1;
            named.entry(field).or_default().push(value);
        }
    }
    if count > MAX_VALUES {
        return Err(ApiError::bad_request(format!("{count} filters; at most {MAX_VALUES}")));
    }
    let mut parts: Vec<String> = named.iter().map(|(field, values)| equals(field, values)).collect();
    if let Some(q) = args.get("q") {
        // By itself first: what stands in brackets below must be whole.
        args.parse_within(q, 0, None)?;
        // A comment goes on to the end of its line.
        parts.push(format!("({q}\n)"));
    }
    Ok(if parts.is_empty() { "*".to_owned() } else { parts.join(" ") })
}

/// That a field is one of these values.
pub(super) fn equals(field: &str, values: &[&str]) -> String {
    format!("{}:{}", quote_always(field), one_of(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_make_a_filter() {
        let filter = |pairs: &[(&str, &str)]| filter_of(&Args::of(pairs));
        assert_eq!(filter(&[]).unwrap(), "*");
        let pairs = [
            ("filters[app]", "a"),
            ("filters[level][]", "x\"y"),
            ("filters[app]", "b"),
            ("q", "refused or lost"),
        ];
        let expected = "\"app\":in(\"a\",\"b\") \"level\":in(\"x\\\"y\") (refused or lost\n)";
        assert_eq!(filter(&pairs).unwrap(), expected);
        assert!(filter(&[("q", "a) or (b")]).is_err());
        let many: Vec<_> = (0..=MAX_VALUES).map(|_| ("filters[a]", "b")).collect();
        assert!(filter(&many).is_err());
    }
}
