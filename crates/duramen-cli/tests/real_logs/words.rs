//! Words as LogsQL defines them: runs of letters, digits and `_`, found only whole, case counting.

/// Whether a character belongs to words.
pub fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a text with where they begin.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(in_word)?;
        let len = text[start..].find(|c| !in_word(c)).unwrap_or(text.len() - start);
        at = start + len;
        Some((start, &text[start..at]))
    })
}

/// Whether a text holds a phrase whose ends lie on ends of words; as a prefix, its last word may go on.
pub fn has_phrase(text: &str, phrase: &str, prefix: bool) -> bool {
    let begins_word = phrase.starts_with(in_word);
    let ends_word = phrase.ends_with(in_word) && !prefix;
    let mut from = 0;
    while let Some(found) = text[from..].find(phrase) {
        let at = from + found;
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        if !(begins_word && before.ends_with(in_word) || ends_word && after.starts_with(in_word)) {
            return true;
        }
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// Whether a text holds a word in any case.
pub fn has_word_in_any_case(text: &str, word: &str) -> bool {
    let wanted = word.to_lowercase();
    words(text).any(|(_, word)| word.to_lowercase() == wanted)
}
