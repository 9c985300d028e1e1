//! `<ip> - <_> "<method> <path>"`: places between texts, as the stage `pattern` and the filter `|>` have them.

/// A pattern, with the text that it was written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub source: Box<str>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    /// `<name>`, and `<_>`, which has no name.
    Place(Option<Box<str>>),
}

/// The name between `<` and `>` at the beginning of a text, and what is behind.
fn place(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts_well && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, rest))
}

impl Pattern {
    /// For the stage: it must have a name.
    pub fn parser(source: &str) -> Result<Self, String> {
        let pattern = Self::new(source)?;
        let mut names: Vec<&str> = pattern.names().collect();
        if names.is_empty() {
            return Err("no place in it has a name, such as <ip>".into());
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        if names.len() < count { Err("two places have the same name".into()) } else { Ok(pattern) }
    }

    /// For the filter: it must have no name. The empty one is of empty lines.
    pub fn filter(source: &str) -> Result<Self, String> {
        if source.is_empty() {
            return Ok(Self { source: "".into(), parts: Vec::new() });
        }
        let pattern = Self::new(source)?;
        if pattern.names().next().is_some() {
            return Err("in a filter, places have no names: write <_>".into());
        }
        Ok(pattern)
    }

    fn new(source: &str) -> Result<Self, String> {
        let mut parts: Vec<Part> = Vec::new();
        let (mut rest, mut text) = (source, String::new());
        while let Some(c) = rest.chars().next() {
            if let Some((name, after)) = place(rest) {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text).into()));
                }
                if matches!(parts.last(), Some(Part::Place(_))) {
                    return Err("between two places there must be a text".into());
                }
                parts.push(Part::Place((name != "_").then(|| name.into())));
                rest = after;
            } else {
                text.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(text.into()));
        }
        if parts.is_empty() { Err("it is empty".into()) } else { Ok(Self { source: source.into(), parts }) }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Place(name) => name.as_deref(),
            Part::Text(_) => None,
        })
    }

    /// Calls `found` with every name and what stands at its place. A text that the line does not have ends the search:
    /// the place before it takes the rest.
    pub fn each_place<'l>(&self, line: &'l str, found: &mut dyn FnMut(&str, &'l str)) {
        let mut parts = self.parts.iter().peekable();
        let mut rest = line;
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => match rest.strip_prefix(&**text) {
                    Some(after) => rest = after,
                    None => return,
                },
                Part::Place(name) => {
                    let next = match parts.peek() {
                        Some(Part::Text(text)) => rest.find(&**text),
                        _ => None,
                    };
                    let (value, after) = rest.split_at(next.unwrap_or(rest.len()));
                    if let Some(name) = name {
                        found(name, value);
                    }
                    match next {
                        Some(_) => rest = after,
                        None => return,
                    }
                }
            }
        }
    }

    /// Whether the whole line is such. As in Loki, no place is empty, and each ends where the text behind it stands first.
    pub fn matches(&self, line: &str) -> bool {
        let mut rest = line;
        for (i, part) in self.parts.iter().enumerate() {
            let Part::Text(text) = part else { continue };
            let after = match i {
                0 => rest.strip_prefix(&**text),
                _ => rest.find(&**text).filter(|at| *at > 0).map(|at| &rest[at + text.len()..]),
            };
            match after {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty() != matches!(self.parts.last(), Some(Part::Place(_)))
    }

    /// The texts that a line that matches has.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Place(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(pattern: &str, line: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let pattern = Pattern::parser(pattern).unwrap();
        pattern.each_place(line, &mut |name, value| found.push((name.into(), value.into())));
        found
    }

    #[test]
    fn places_are_found() {
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        let line = "1.2.3.4 - - [x] \"GET /a b\" 200";
        let found = places("<ip> - <_> [<_>] \"<method> <path>\" <status>", line);
        let expected = [("ip", "1.2.3.4"), ("method", "GET"), ("path", "/a b"), ("status", "200")];
        assert_eq!(found, expected.map(|(a, b)| pair(a, b)));
        assert_eq!(places("level=<l> ", "level=warn"), [pair("l", "warn")]);
        assert_eq!(places("level=<l>", "x level=warn"), []);
        for bad in ["", "x", "<_>", "<a><b>", "<a> <a>"] {
            assert!(Pattern::parser(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn filters_match_whole_lines() {
        let is = |pattern: &str, line: &str| Pattern::filter(pattern).unwrap().matches(line);
        assert!(is("<_> took <_>ms", "GET took 5ms") && !is("took <_>ms", "GET took 5ms"));
        assert!(is("a", "a") && !is("a", "ab") && is("a<_>", "ab") && is("<_>", "x"));
        assert!(!is("<_>ab", "xabab") && !is("<_> took <_>ms", "GET took 5s"));
        for (pattern, line) in [
            ("a<_>", "a"),
            ("<_>a <_>", "a b"),
            ("<_> bar<_>", " bar "),
            ("<_>bar <_>", " bar "),
            ("a<_>b", "ab"),
            ("<_>", ""),
            ("", "x"),
            ("x", ""),
            ("foo <_>", "x foo bar"),
        ] {
            assert!(!is(pattern, line), "{pattern} {line}");
        }
        assert!(is("", "") && is("<_>bar<_>", " bar ") && is("<_>é<_>", "aéb"));
        assert!(Pattern::filter("<a>").is_err() && Pattern::filter("<_><_>").is_err());
    }
}
