//! Paths into JSON: `a.b[0]["c d"]`.

use crate::ast::{JsonPath, JsonStep};

/// Reads a path, or says what is wrong with it.
pub(super) fn json_path(text: &str) -> Result<JsonPath, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('[') {
            let quote = tail.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
            if let Some(quote) = quote {
                let body = &tail[1..];
                let end = body.find(quote).ok_or("a text in it does not end")?;
                steps.push(JsonStep::Key(body[..end].into()));
                rest = body[end + 1..].strip_prefix(']').ok_or("`]` is missing in it")?;
            } else {
                let end = tail.find(']').ok_or("`]` is missing in it")?;
                let index = tail[..end].parse().map_err(|_| "between [ and ] stands a number or a text")?;
                steps.push(JsonStep::Index(index));
                rest = &tail[end + 1..];
            }
        } else {
            let body = match rest.strip_prefix('.') {
                Some(body) if !steps.is_empty() => body,
                Some(_) => return Err("it begins with a dot".into()),
                None if steps.is_empty() => rest,
                None => return Err("`.` or `[` is missing in it".into()),
            };
            let end = body.find(['.', '[']).unwrap_or(body.len());
            if end == 0 {
                return Err("a name is missing in it".into());
            }
            steps.push(JsonStep::Key(body[..end].into()));
            rest = &body[end..];
        }
    }
    if steps.is_empty() {
        return Err("it is empty".into());
    }
    Ok(JsonPath { source: text.into(), steps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_keys_and_indexes() {
        let key = |k: &str| JsonStep::Key(k.into());
        assert_eq!(
            json_path("a.b[0][\"c d\"].e").unwrap().steps,
            [key("a"), key("b"), JsonStep::Index(0), key("c d"), key("e")]
        );
        for bad in ["", ".a", "a.", "a..b", "a[", "a[x]", "a[\"b]", "a[0]b", "a[-1]"] {
            assert!(json_path(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a\\.\\[\\]\"é0-9]{0,12}") {
            let _ = json_path(&text);
        }
    }
}
