//! RE2's regular expressions, said in the words of Rust's crate `regex`.
//!
//! Who asks in LogQL or LogsQL writes what Loki and VictoriaLogs read, which is RE2 as Go has it. The crate's syntax
//! is nearly the same, and so are its matches (the leftmost, of which the first branch is taken); but `\w`, `\d`, `\s`
//! and `\b` are Unicode's there, `[a&&b]` and `[[a]]` are sets of sets, `\<` is the edge of a word, and `a{`, `\Q.\E`
//! and `\07` are errors. The same text would find other lines, and nobody would be told. So each expression is read
//! here by RE2's grammar and written again with what both understand in the same way, escaping whatever the
//! crate alone sees something in. All that looks at an expression further on (compiling, the literals by which blocks
//! are passed over) sees only what was written here, and so cannot be of another opinion than the match is.
//!
//! The grammar is that of <https://github.com/google/re2/wiki/Syntax>, and where that leaves something open, that of
//! the parser of Go's `regexp/syntax` (with the flags `Perl`). What is wrong for the crate, too (groups without end,
//! ranges from high to low, names that stand twice), is left for it to refuse.

use std::borrow::Cow;

/// The most that Go lets something be repeated by a number.
const MAX_REPEATED: u32 = 1000;

/// The names of ASCII's classes, as in `[[:alpha:]]`; the crate knows all of them.
const CLASSES: &str = " alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit ";

/// An expression of RE2's syntax in that of the crate `regex`, with the same matches and groups.
///
/// # Errors
/// What is wrong with the expression, in a few words.
pub fn translate(expression: &str) -> Result<Cow<'_, str>, String> {
    if !expression.contains(['\\', '[', '{', '?', '*', '+']) {
        return Ok(Cow::Borrowed(expression));
    }
    let mut translation = Translation { rest: expression, out: String::new(), repeated: false };
    translation.all()?;
    Ok(Cow::Owned(translation.out))
}

/// What a group is called, of what the crate calls it.
pub fn group_name(name: &str) -> &str {
    name.strip_prefix(DIGIT_FIRST).unwrap_or(name)
}

/// Stands before names of groups that begin with a digit, which the crate's may not; RE2's have no dot.
const DIGIT_FIRST: &str = "_.";

struct Translation<'a> {
    rest: &'a str,
    out: String,
    /// Whether what was read last is a repetition, on which no other may follow.
    repeated: bool,
}

impl<'a> Translation<'a> {
    fn all(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest.chars().next() {
            let was_repeated = std::mem::take(&mut self.repeated);
            match c {
                '*' | '+' | '?' => self.repetition(1, was_repeated)?,
                '{' => match repeat_count(self.rest)? {
                    Some(len) => self.repetition(len, was_repeated)?,
                    None => self.literal('{', 1),
                },
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' if self.rest.starts_with("(?") => self.group()?,
                _ => self.copy(c.len_utf8()),
            }
        }
        Ok(())
    }

    /// Passes over so many bytes.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        taken
    }

    fn copy(&mut self, len: usize) {
        let taken = self.take(len);
        self.out.push_str(taken);
    }

    /// A character that stands for itself, of so many bytes.
    fn literal(&mut self, c: char, len: usize) {
        self.rest = &self.rest[len..];
        push_literal(&mut self.out, c);
    }

    fn repetition(&mut self, len: usize, was_repeated: bool) -> Result<(), String> {
        let start = self.rest;
        self.copy(len);
        if self.rest.starts_with('?') {
            self.copy(1);
        }
        if was_repeated {
            return Err(format!("`{}` repeats a repetition", &start[..start.len() - self.rest.len()]));
        }
        self.repeated = true;
        Ok(())
    }

    /// `\…` outside of a class.
    fn escape(&mut self) -> Result<(), String> {
        let edge = match self.rest.as_bytes().get(1) {
            Some(b'A') => "\\A",
            Some(b'z') => "\\z",
            // Of ASCII's words. No part of a character is taken for what lies between two, as the crate
            // looks at places within none.
            Some(b'b') => "(?-u:\\b)",
            Some(b'B') => "(?-u:\\B)",
            Some(b'Q') => {
                self.take(2);
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                quoted.chars().for_each(|c| push_literal(&mut self.out, c));
                self.rest = rest;
                return Ok(());
            }
            _ => {
                if !self.set()? {
                    let (c, len) = escaped(self.rest)?;
                    self.literal(c, len);
                }
                return Ok(());
            }
        };
        self.take(2);
        self.out.push_str(edge);
        Ok(())
    }

    /// `\d`, `\pL` and the like, which stand within classes, too; whether there is one.
    fn set(&mut self) -> Result<bool, String> {
        let set = match self.rest.as_bytes().get(1) {
            // What is none of them is written as all other characters, and not as all other bytes.
            Some(b'd') => "[0-9]",
            Some(b'D') => "[^0-9]",
            Some(b's') => "[\\t\\n\\f\\r ]",
            Some(b'S') => "[^\\t\\n\\f\\r ]",
            Some(b'w') => "[0-9A-Za-z_]",
            Some(b'W') => "[^0-9A-Za-z_]",
            Some(b'p' | b'P') => return self.property().map(|()| true),
            _ => return Ok(false),
        };
        self.take(2);
        self.out.push_str(set);
        Ok(true)
    }

    /// `\pL`, `\p{Greek}`, `\p{^Greek}`, `\PL`, `\P{Greek}`: characters of a script or a general category.
    fn property(&mut self) -> Result<(), String> {
        let (escape, rest) = self.rest.split_at(2);
        let (name, len) = match rest.strip_prefix('{') {
            Some(braced) => {
                let end = braced.find('}').ok_or_else(|| format!("`{escape}{{` has no `}}`"))?;
                (&braced[..end], end + 2)
            }
            None => {
                let len = rest.chars().next().map_or(0, char::len_utf8);
                (&rest[..len], len)
            }
        };
        let (negated, plain) = match name.strip_prefix('^') {
            Some(plain) => (true, plain),
            None => (false, name),
        };
        let is_named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
        if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) || !plain.chars().all(is_named) {
            return Err(format!("`{escape}{}` names no class of characters", &rest[..len]));
        }
        let letter = if negated == (escape == "\\P") { 'p' } else { 'P' };
        self.out.extend(['\\', letter, '{']);
        self.out.push_str(plain);
        self.out.push('}');
        self.rest = &rest[len..];
        Ok(())
    }

    /// `[…]`
    fn class(&mut self) -> Result<(), String> {
        self.copy(if self.rest.starts_with("[^") { 2 } else { 1 });
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            is_first = false;
            if let Some(end) = self.rest.strip_prefix("[:").and_then(|name| name.find(":]")) {
                let name = &self.rest[2..end + 2];
                if !CLASSES
                    .split(' ')
                    .any(|known| !known.is_empty() && known == name.strip_prefix('^').unwrap_or(name))
                {
                    return Err(format!("there is no class `[:{name}:]`"));
                }
                self.copy(end + 4);
                continue;
            }
            if self.rest.starts_with('\\') && self.set()? {
                continue;
            }
            self.of_class()?;
            if self.rest.starts_with('-') && !matches!(self.rest.as_bytes().get(1), None | Some(b']')) {
                self.copy(1);
                self.of_class()?;
            }
        }
        self.copy(1);
        Ok(())
    }

    /// One character of a class.
    fn of_class(&mut self) -> Result<(), String> {
        let first = self.rest.chars().next().ok_or("a class has no `]`")?;
        let (c, len) = if first == '\\' { escaped(self.rest)? } else { (first, first.len_utf8()) };
        self.literal(c, len);
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?i)`, `(?i-s:`
    fn group(&mut self) -> Result<(), String> {
        let start = self.rest;
        self.take(2);
        if let Some(name) = self.rest.strip_prefix("P<").or_else(|| self.rest.strip_prefix('<')) {
            let is_named = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let (name, rest) = name.split_once('>').ok_or("a group's name has no `>`")?;
            if name.is_empty() || !name.chars().all(is_named) {
                return Err(format!("`{name}` is no name of a group, which has letters, digits and `_`"));
            }
            self.out.push_str("(?P<");
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                self.out.push_str(DIGIT_FIRST);
            }
            self.out.push_str(name);
            self.out.push('>');
            self.rest = rest;
            return Ok(());
        }
        // The crate takes none twice, and `(?)` not at all.
        let (mut on, mut off, mut negated) = (String::new(), String::new(), false);
        let mut wanting = false;
        while let Some(c) = self.rest.chars().next() {
            self.take(c.len_utf8());
            match c {
                'i' | 'm' | 's' | 'U' => {
                    wanting = false;
                    on.retain(|other| other != c);
                    off.retain(|other| other != c);
                    if negated { &mut off } else { &mut on }.push(c);
                }
                '-' if !negated => (negated, wanting) = (true, true),
                ':' | ')' if !wanting => {
                    if c == ')' && on.is_empty() && off.is_empty() {
                        return Ok(());
                    }
                    self.out.push_str("(?");
                    self.out.push_str(&on);
                    if !off.is_empty() {
                        self.out.push('-');
                        self.out.push_str(&off);
                    }
                    self.out.push(c);
                    return Ok(());
                }
                _ => break,
            }
        }
        Err(format!("`{}` begins no group", &start[..start.len() - self.rest.len()]))
    }
}

fn push_literal(out: &mut String, c: char) {
    if regex_syntax::is_meta_character(c) {
        out.push('\\');
    }
    out.push(c);
}

/// How long the `{2}`, `{2,}` or `{2,3}` is that a text begins with; none where `{` is only itself.
fn repeat_count(text: &str) -> Result<Option<usize>, String> {
    let Some((counts, _)) = text[1..].split_once('}') else { return Ok(None) };
    let (least, most) = counts.split_once(',').unwrap_or((counts, ""));
    let is_number =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    if least.is_empty() || !is_number(least) || !(most.is_empty() || is_number(most)) {
        return Ok(None);
    }
    let is_over =
        |text: &&str| !text.is_empty() && text.parse().map_or(true, |count: u32| count > MAX_REPEATED);
    match [least, most].iter().find(|text| is_over(text)) {
        Some(count) => Err(format!("it repeats something {count} times; {MAX_REPEATED} is the most")),
        None => Ok(Some(counts.len() + 2)),
    }
}

/// The character that an escape at a text's start stands for, and the escape's length.
fn escaped(text: &str) -> Result<(char, usize), String> {
    let no_escape = |len: usize| {
        let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).find(|end| *end >= len);
        format!("there is no `{}`", &text[..end.unwrap_or(text.len())])
    };
    let number = |digits: &str, radix, len| {
        let code = u32::from_str_radix(digits, radix).ok();
        code.and_then(char::from_u32)
            .map(|c| (c, len))
            .ok_or_else(|| format!("`{}` is no character", &text[..len]))
    };
    let Some(c) = text[1..].chars().next() else { return Err("nothing stands behind the last `\\`".into()) };
    let plain = match c {
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0'..='7' => {
            let digits = text[1..].bytes().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
            // `\1` means what the first group matched, elsewhere.
            return if c == '0' || digits > 1 {
                number(&text[1..=digits], 8, digits + 1)
            } else {
                Err(no_escape(2))
            };
        }
        'x' => {
            let is_hex = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            return match text[2..].strip_prefix('{') {
                Some(braced) => match braced.split_once('}') {
                    Some((digits, _)) if is_hex(digits) => number(digits, 16, digits.len() + 4),
                    _ => Err(no_escape(3)),
                },
                None => match text.get(2..4) {
                    Some(digits) if is_hex(digits) => number(digits, 16, 4),
                    _ => Err(no_escape(4)),
                },
            };
        }
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return Err(no_escape(2)),
    };
    Ok((plain, 2))
}
