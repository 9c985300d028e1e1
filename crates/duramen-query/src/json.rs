//! JSON arrays inside values.

use duramen::ValueKind;
use duramen_formats::json::is_json;
use jiter::{Jiter, JiterResult, Peek};

/// The most items of an array that are looked at: an array of small numbers takes much more room as rows.
pub(crate) const MAX_ITEMS: usize = 1 << 20;

/// Texts and their kinds, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Items {
    text: String,
    ends: Vec<(usize, ValueKind)>,
}

impl Items {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, i: usize) -> Option<(&str, ValueKind)> {
        let &(end, kind) = self.ends.get(i)?;
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before].0);
        Some((&self.text[start..end], kind))
    }

    pub fn push(&mut self, text: &str, kind: ValueKind) {
        self.text.push_str(text);
        self.ends.push((self.text.len(), kind));
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Becomes the items of the JSON array that a text is: strings as their text, all else as it stands there. `false` if the
    /// text is no array, or one of more than [`MAX_ITEMS`].
    pub fn read(&mut self, text: &str) -> bool {
        self.clear();
        let trimmed = text.trim_start();
        // Most values are told by their first byte to be none.
        if !trimmed.starts_with('[') {
            return false;
        }
        let mut jiter = Jiter::new(trimmed.as_bytes()).with_allow_inf_nan();
        read(&mut jiter, trimmed, self).unwrap_or(false)
    }
}

/// How many items the JSON array has that a text is, if it is [one](Items::read).
pub(crate) fn array_len(text: &str) -> Option<usize> {
    let mut items = Items::default();
    items.read(text).then(|| items.len())
}

/// Whether a text is such an array.
pub(crate) fn is_array(text: &str) -> bool {
    array_len(text).is_some()
}

fn read(jiter: &mut Jiter<'_>, text: &str, items: &mut Items) -> JiterResult<bool> {
    let mut next = jiter.next_array()?;
    while let Some(peek) = next {
        if items.len() == MAX_ITEMS {
            return Ok(false);
        }
        let start = jiter.current_index();
        let kind = match peek {
            Peek::String => {
                items.push(jiter.known_str()?, ValueKind::String);
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
        items.push(item, kind);
        next = jiter.array_step()?;
    }
    jiter.finish()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Option<Vec<(String, ValueKind)>> {
        let mut items = Items::default();
        let is_array = items.read(text);
        let all = (0..items.len()).map(|i| items.get(i).map(|(text, kind)| (text.to_owned(), kind)).unwrap());
        is_array.then(|| all.collect())
    }

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
