//! Finding out whether a number before an object of JSON is its length.

/// Where in what may be an object of JSON the bytes so far end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Object {
    place: Place,
    /// How many brackets are open.
    open: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before its bracket.
    #[default]
    Before,
    /// Before its first member.
    First,
    /// Between texts.
    Inside,
    Text,
    /// In a text, behind a backslash.
    Escape,
    /// Behind it.
    Behind,
    /// It is none.
    Nowhere,
}

impl Object {
    /// Takes the next bytes, of so many that are `left`, up to the one that tells that it is none; gives the place of that.
    pub fn tells_none(&mut self, piece: &[u8], left: usize) -> Option<usize> {
        piece.iter().zip((0..left).rev()).position(|(byte, left)| {
            self.take(*byte);
            self.is_none(left)
        })
    }

    /// Takes the next byte.
    fn take(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Before, _) => Place::First,
            (Place::First, b' ' | b'\t' | b'\r' | b'\n') => Place::First,
            (Place::First, b'}') => Place::Behind,
            (Place::First | Place::Inside, b'"') => Place::Text,
            (Place::First, _) | (_, 0) if self.place != Place::Behind => Place::Nowhere,
            (Place::Text | Place::Escape, b'\n') => Place::Nowhere,
            (Place::Text, b'"') => Place::Inside,
            (Place::Text, b'\\') => Place::Escape,
            (Place::Text | Place::Escape, _) => Place::Text,
            (Place::Inside, b'{' | b'[') => {
                self.open += 1;
                Place::Inside
            }
            (Place::Inside, b'}' | b']') if self.open == 0 => Place::Behind,
            (Place::Inside, b'}' | b']') => {
                self.open -= 1;
                Place::Inside
            }
            // Nothing else stands between texts (`NaN` and `Infinity` in some), so that a message behind a line tells at once that it is none.
            (Place::Inside, b' ' | b'\t' | b'\r' | b'\n') => Place::Inside,
            (Place::Inside, byte) if b",:+-.0123456789aeflnrstuENIiy".contains(&byte) => Place::Inside,
            (Place::Behind, b'\r' | b'\n' | 0) => Place::Behind,
            _ => Place::Nowhere,
        };
    }

    /// Whether it has ended, and nothing but a line's end may follow.
    pub fn is_whole(self) -> bool {
        self.place == Place::Behind
    }

    /// Whether it is none that ends in so many bytes, or has a line's end at most behind it there.
    fn is_none(&self, left: usize) -> bool {
        match self.place {
            Place::Nowhere => true,
            Place::Behind => left > 2,
            _ => left == 0,
        }
    }
}
