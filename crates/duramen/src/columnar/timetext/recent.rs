//! The last time stamp that was found: one line's is often the next one's, too.

use super::{SHAPES, TimeForm, is_word, parse};

/// No longer one is remembered.
const MOST_BYTES: usize = 32;

/// A time stamp, with the byte behind it.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    text: [u8; MOST_BYTES],
    found: Option<(TimeForm, usize, i64)>,
}

impl Recent {
    /// As [`parse`].
    #[inline]
    pub(crate) fn parse(&mut self, text: &[u8], near: i64) -> Option<(TimeForm, usize, i64)> {
        if let Some((_, len, _)) = self.found
            && text.get(len) == Some(&self.text[len])
            && text[..len] == self.text[..len]
        {
            return self.found;
        }
        let found = parse(text, near)?;
        self.remember(found, text);
        Some(found)
    }

    /// Only if it would be found whatever comes further behind, and at whatever time its row has.
    fn remember(&mut self, found: (TimeForm, usize, i64), text: &[u8]) {
        let (form, len, _) = found;
        let tells_year = SHAPES[usize::from(form.shape)].iter().any(|item| matches!(item, b'Y' | b'y'));
        let ends_it = |&&next: &&u8| !is_word(next) && !matches!(next, b'.' | b',' | b'-' | b':');
        if let Some(text) = text.get(..=len)
            && text.last().filter(ends_it).is_some()
            && tells_year
            && let Some(room) = self.text.get_mut(..=len)
        {
            room.copy_from_slice(text);
            self.found = Some(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn what_was_found_before_changes_nothing(
            texts in proptest::collection::vec(
                ("(2023-11-14T|14/Nov/2023:|Nov 14 )22:13:20([.,]5)?Z?", "[ .,:Zx-][0 x]?|", 0..3i64),
                100,
            ),
        ) {
            let mut recent = Recent::default();
            for (stamp, behind, days) in texts {
                let text = stamp + &behind;
                let near = (1_700_000_000 + days * 400 * 86_400) * 1_000_000_000;
                assert_eq!(recent.parse(text.as_bytes(), near), parse(text.as_bytes(), near), "{text}");
            }
        }
    }

    #[test]
    fn the_same_again_is_remembered() {
        let mut recent = Recent::default();
        let near = 1_700_000_000_000_000_000;
        assert!(
            recent.parse(b"Nov 14 22:13:20 x", near).is_some() && recent.found.is_none(),
            "it tells no year"
        );
        assert!(
            recent.parse(b"14/Nov/2023:22:13:20", near).is_some() && recent.found.is_none(),
            "it may go on"
        );
        let line = b"14/Nov/2023:22:13:20 +0000]";
        let found = recent.parse(line, near).unwrap();
        let other = (found.0, found.1, found.2 + 1);
        recent.found = Some(other);
        assert_eq!(recent.parse(line, near), Some(other), "it is not read again");
        assert_eq!(
            recent.parse(b"14/Nov/2023:22:13:21 +0000]", near).map(|found| found.2),
            Some(found.2 + 1_000_000_000)
        );
    }
}
