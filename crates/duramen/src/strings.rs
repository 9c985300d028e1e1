//! Many texts in one piece of memory.

use std::fmt;

/// A list of texts that lie one after another: two allocations, however many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Strings {
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Strings {
    /// Those that end at these places of a text; `None` if they do not follow one another up to its end, or cut a character.
    pub(crate) fn from_parts(text: String, ends: Vec<usize>) -> Option<Self> {
        let is_list = ends.is_sorted()
            && ends.last().copied().unwrap_or(0) == text.len()
            && ends.iter().all(|&end| text.is_char_boundary(end));
        is_list.then_some(Self { text, ends })
    }

    /// Adds one.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The one with this number, from 0.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&str> {
        let end = *self.ends.get(i)?;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        self.text.get(start..end)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i).unwrap_or_default())
    }

    /// How many bytes of memory they take, about.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.ends.len() * size_of::<usize>()
    }
}

impl fmt::Debug for Strings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Strings;

    #[test]
    fn texts_are_as_they_came() {
        let texts = ["", "one", "", "zwölf", "three"];
        let strings: Strings = texts.iter().collect();
        assert_eq!(strings.iter().collect::<Vec<_>>(), texts);
        assert_eq!((strings.len(), strings.get(3), strings.get(5)), (5, Some("zwölf"), None));
        assert!(Strings::default().is_empty());
    }

    #[test]
    fn parts_that_are_no_list_are_refused() {
        let of = |ends: &[usize]| Strings::from_parts("zwölf".into(), ends.to_vec());
        assert_eq!(
            of(&[2, 6]).map(|s| s.iter().map(str::to_owned).collect::<Vec<_>>()),
            Some(vec!["zw".into(), "ölf".into()])
        );
        for ends in [&[3, 6][..], &[2, 1, 6], &[2], &[7], &[]] {
            assert_eq!(of(ends), None);
        }
        assert_eq!(Strings::from_parts(String::new(), Vec::new()), Some(Strings::default()));
    }
}
