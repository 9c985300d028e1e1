//! The bytes of a template: what stands for itself, and marks for what does not.

use super::super::timetext::TimeForm;

pub(super) const VARIABLE: u8 = 0x11;
pub(super) const TIME: u8 = 0x12;
pub(super) const REFERENCE: u8 = 0x13;

/// For each byte: 0 stands for itself, 1 belongs to tokens, 2 is a digit, 3 joins tokens, 4 is a mark.
pub(super) const CLASS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut i = 0;
    while i < 256 {
        let c = i as u8;
        table[i] = if c.is_ascii_digit() {
            2
        } else if c.is_ascii_alphabetic() || c == b'_' || c >= 0x80 {
            1
        } else if c == b'.' || c == b'-' {
            3
        } else if c >= VARIABLE && c <= REFERENCE {
            4
        } else {
            0
        };
        i += 1;
    }
    table
};

/// One place of a template.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece {
    Literal { start: u32, end: u32 },
    Variable,
    Time(TimeForm),
    Reference(u32),
}

/// Puts the pieces of a template into `out`, which is cleared first; `None` if it is none.
pub(super) fn pieces(pattern: &[u8], out: &mut Vec<Piece>) -> Option<()> {
    out.clear();
    let mut at = 0;
    while at < pattern.len() {
        let len = pattern[at..].iter().take_while(|&&c| CLASS[c as usize] != 4).count();
        if len > 0 {
            out.push(Piece::Literal { start: at as u32, end: (at + len) as u32 });
            at += len;
            continue;
        }
        match pattern[at] {
            VARIABLE => {
                out.push(Piece::Variable);
                at += 1;
            }
            TIME => {
                let &[shape, point, digits, zulu] = pattern.get(at + 1..at + 5)?.first_chunk::<4>()?;
                // A fraction's point is a character, and a time stamp never joins two.
                (point < 0x80).then_some(())?;
                out.push(Piece::Time(TimeForm { shape, point, digits, zulu: zulu != 0 }));
                at += 5;
            }
            _ => {
                let &[low, middle, high] = pattern.get(at + 1..at + 4)?.first_chunk::<3>()?;
                out.push(Piece::Reference(u32::from_le_bytes([low, middle, high, 0])));
                at += 4;
            }
        }
    }
    Some(())
}

/// What a token of a template is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word that stands for itself.
    Word,
    /// A variable or a time: it has a value of its own.
    Variable,
    Reference,
}

/// Part of a template that begins where a word does in its texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// The tokens of a template, as a text is split into them.
pub(super) fn tokens(pattern: &[u8]) -> impl Iterator<Item = Token> {
    let class = |at: usize| pattern.get(at).map_or(0, |&c| CLASS[c as usize]);
    let mut at = 0;
    std::iter::from_fn(move || {
        while matches!(class(at), 0 | 3) {
            if at >= pattern.len() {
                return None;
            }
            at += 1;
        }
        let start = at;
        let (len, kind) = match pattern[start] {
            VARIABLE => (1, Kind::Variable),
            TIME => (5, Kind::Variable),
            REFERENCE => (4, Kind::Reference),
            _ => {
                let goes_on =
                    |at| matches!(class(at), 1 | 2) || class(at) == 3 && matches!(class(at + 1), 1 | 2);
                ((start..).take_while(|&at| goes_on(at)).count(), Kind::Word)
            }
        };
        at = (start + len).min(pattern.len());
        Some(Token { start, end: at, kind })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_the_tokens_of_its_texts() {
        let found = |pattern: &[u8]| {
            tokens(pattern).map(|t| (pattern[t.start..t.end].to_vec(), t.kind)).collect::<Vec<_>>()
        };
        let word = |text: &str| (text.as_bytes().to_vec(), Kind::Word);
        assert_eq!(found(b""), []);
        assert_eq!(found(b" [a-b.c] d- .e"), [word("a-b.c"), word("d"), word("e")]);
        // The bytes behind a mark may be any.
        let marks =
            [b"x=" as &[u8], &[TIME, 7, b'.', 3, 0], b": ", &[REFERENCE, b'a', VARIABLE, 0], &[VARIABLE]];
        let wanted = [
            word("x"),
            (vec![TIME, 7, b'.', 3, 0], Kind::Variable),
            (vec![REFERENCE, b'a', VARIABLE, 0], Kind::Reference),
            (vec![VARIABLE], Kind::Variable),
        ];
        assert_eq!(found(&marks.concat()), wanted);
        assert_eq!(found(&[b'a', b' ', TIME, 1]).len(), 2, "one that is cut off is none, and does no harm");
    }
}
