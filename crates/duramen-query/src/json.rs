//! JSON arrays inside values.

use duramen::ValueKind;
use duramen_formats::json::is_json;
use jiter::{Jiter, JiterResult, Peek};

/// The most items of an array that are looked at: an array of small numbers takes much more room as rows.
pub(crate) const MAX_ITEMS: usize = 1 << 20;

/// The items of the JSON array that a text is: strings as their text, all else as it stands there. `None` if the
/// text is no array, or one of more than [`MAX_ITEMS`].
pub(crate) fn items(text: &str) -> Option<Vec<(String, ValueKind)>> {
    let trimmed = text.trim_start();
    // Most values are told by their first byte to be none.
    if !trimmed.starts_with('[') {
        return None;
    }
    let mut items = Vec::new();
    let mut jiter = Jiter::new(trimmed.as_bytes()).with_allow_inf_nan();
    read(&mut jiter, trimmed, &mut items).ok()?.then_some(items)
}

/// Whether a text is such an array.
pub(crate) fn is_array(text: &str) -> bool {
    items(text).is_some()
}

fn read(jiter: &mut Jiter<'_>, text: &str, items: &mut Vec<(String, ValueKind)>) -> JiterResult<bool> {
    let mut next = jiter.next_array()?;
    while let Some(peek) = next {
        if items.len() == MAX_ITEMS {
            return Ok(false);
        }
        let start = jiter.current_index();
        let kind = match peek {
            Peek::String => {
                items.push((jiter.known_str()?.to_owned(), ValueKind::String));
                next = jiter.array_step()?;
                continue;
            }
            Peek::True | Peek::False => ValueKind::Bool,
            Peek::Null => ValueKind::Null,
            Peek::Array | Peek::Object => ValueKind::Json,
            _ => ValueKind::Number,
        };
        jiter.known_skip(peek)?;
        let item = match kind {
            ValueKind::Null => "",
            _ => text.get(start..jiter.current_index()).unwrap_or_default().trim(),
        };
        let kind = match kind {
            // `NaN` and `Infinity` are no JSON.
            ValueKind::Number if !item.ends_with(|c: char| c.is_ascii_digit()) => ValueKind::String,
            ValueKind::Json if !is_json(item) => ValueKind::String,
            kind => kind,
        };
        items.push((item.to_owned(), kind));
        next = jiter.array_step()?;
    }
    jiter.finish()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_text_and_kind() {
        let found = items(r#" [1.50, "a\"b", true ,null, [1, 2], {"a": 1}] "#).unwrap();
        let texts: Vec<&str> = found.iter().map(|(text, _)| &**text).collect();
        assert_eq!(texts, ["1.50", "a\"b", "true", "", "[1, 2]", "{\"a\": 1}"]);
        assert_eq!(found[3].1, ValueKind::Null);
        for text in ["", "1", "{}", "[1", "[1,]", "[1] x", "[01]"] {
            assert_eq!(items(text), None, "{text}");
        }
        assert_eq!(items("[]"), Some(vec![]));
        let kinds = items(r#"[NaN, -Infinity, [NaN], ["NaN"]]"#).unwrap();
        let kinds: Vec<_> = kinds.iter().map(|(text, kind)| (&**text, *kind)).collect();
        let text = ValueKind::String;
        let expected = [("NaN", text), ("-Infinity", text), ("[NaN]", text), ("[\"NaN\"]", ValueKind::Json)];
        assert_eq!(kinds, expected);
    }

    proptest::proptest! {
        #[test]
        fn what_another_parser_reads_is_read(text in "\\[[\\[\\]{}\",:0-9a\\\\n ]{0,20}\\]?") {
            let theirs = serde_json::from_str::<Vec<serde_json::Value>>(&text).ok().map(|v| v.len());
            let ours = items(&text).map(|v| v.len());
            proptest::prop_assert!(theirs.is_none() || ours == theirs, "{}", text);
        }
    }
}
