//! Patterns with places for fields, as `extract` and `format` have them: `user=<name> took <q:time>`.
//!
//! `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;` and `&#60;` stand for characters that would mean something.

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Text that stands for itself; not empty.
    Text(Box<str>),
    /// `<name>`, or `<option:name>`. Without a name, or with the name `_`, a place for anything.
    Field {
        /// What stands before the colon.
        option: Option<Box<str>>,
        /// The name.
        name: Box<str>,
    },
}

/// Takes a pattern apart; an option is one of `options`, and any other text before a colon belongs to the name.
///
/// # Errors
/// What is wrong, and at which byte of the pattern.
pub(crate) fn parse(pattern: &str, options: &[&str]) -> Result<Vec<Piece>, (usize, String)> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut text = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let at = pattern.len() - rest.len();
        if c == '<' {
            let end =
                rest.find('>').ok_or_else(|| (at, "a `<` without `>`: write &lt; for `<`".to_string()))?;
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text).into()));
            }
            let inner = &rest[1..end];
            let (option, name) = match inner.split_once(':') {
                Some((option, name)) if options.contains(&option.trim()) => {
                    (Some(option.trim().into()), name)
                }
                _ => (None, inner),
            };
            pieces.push(Piece::Field { option, name: name.trim().into() });
            rest = &rest[end + 1..];
        } else if let Some((c, len)) = entity(rest) {
            text.push(c);
            rest = &rest[len..];
        } else {
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text.into()));
    }
    Ok(pieces)
}

/// The character that an entity at the beginning of a text stands for, and how many bytes it takes.
fn entity(text: &str) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    let len = body.bytes().take(10).position(|b| b == b';')?;
    let name = body.get(..len)?;
    let c = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        name => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((c, len + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_taken_apart() {
        let field = |option: Option<&str>, name: &str| Piece::Field {
            option: option.map(Into::into),
            name: name.into(),
        };
        let pieces = parse("a &lt; < b ><q : c:d>&#233;<x:y>&nbsp;", &["q"]).unwrap();
        let expected = [
            Piece::Text("a < ".into()),
            field(None, "b"),
            field(Some("q"), "c:d"),
            Piece::Text("é".into()),
            field(None, "x:y"),
            Piece::Text("&nbsp;".into()),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(parse("ab <c", &[]).unwrap_err().0, 3);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a<>&;:#x0-9lté]{0,16}") {
            let _ = parse(&text, &["a"]);
        }
    }
}
