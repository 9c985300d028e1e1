//! How a pipe makes fields of others, told so that it can be done row by row as well as column by column.

use super::row_pipe::Worker;
use super::writes::Writes;
use crate::number::Number;
use duramen::ValueKind;

/// The texts of the fields that are read, by their places among them; a row without a field has the empty text.
pub(crate) type Texts<'t> = dyn Fn(usize) -> &'t str + 't;

/// Makes a row's values of these texts, which are all that decides about them.
pub(crate) type Make<'a> = Box<dyn FnMut(&Texts<'_>, &mut [Made]) + 'a>;

/// The numbers of some rows; nothing where there is none.
pub(crate) type Numbers = Vec<Option<Number>>;

/// Makes the numbers that the values of some rows are, as whoever reads their texts finds them. It is given those in each of the
/// fields that are read, as `math` reads them, and how many rows they are.
pub(crate) type MakeNumbers<'a> = Box<dyn Fn(&[Numbers], usize) -> Numbers + 'a>;

/// A value that was made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    text: String,
    int: Option<i64>,
    kind: ValueKind,
}

impl Default for Made {
    fn default() -> Self {
        Self { text: String::new(), int: None, kind: ValueKind::String }
    }
}

impl Made {
    /// It is an integer.
    pub fn set_int(&mut self, n: i64) {
        (self.int, self.kind) = (Some(n), ValueKind::Number);
    }

    /// It is a text of this kind, which is still to be written.
    pub fn start(&mut self, kind: ValueKind) -> &mut String {
        (self.int, self.kind) = (None, kind);
        self.text.clear();
        &mut self.text
    }

    /// The integer, if it is one.
    pub fn int(&self) -> Option<i64> {
        self.int
    }

    /// It as text.
    pub fn text(&mut self) -> &str {
        if let Some(n) = self.int {
            self.text = n.to_string();
        }
        &self.text
    }

    pub fn kind(&self) -> ValueKind {
        self.kind
    }
}

/// What is written, of what is known of the texts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shortcut {
    /// The length of the one text that is read.
    Length,
    /// What is read, as text, unless that is such: what becomes of its row then is not told by columns.
    SameUnless(fn(&str) -> bool),
    /// What is read, as it is, or nothing where there is none. If it `moves`, the field that is read has none any more.
    Name { moves: bool },
}

/// What a pipe makes of which fields.
pub(crate) struct Maker<'a> {
    /// The fields that it reads.
    pub reads: Vec<&'a str>,
    /// The fields that it writes.
    pub writes: Vec<&'a str>,
    /// Which of them keep the value they have.
    pub keeps: Writes,
    /// If what is written can be had without making it of each text.
    pub shortcut: Option<Shortcut>,
    pub make: Make<'a>,
    /// If it is not empty: of the one text that is read, what comes before the first of it makes no difference, nor does a text
    /// without it.
    pub start: &'a str,
    /// How the one field that it writes is made for those who only want to know the numbers, if it can be without texts.
    pub numbers: Option<MakeNumbers<'a>>,
}

impl<'a> Maker<'a> {
    /// Of one field.
    pub fn of_one(read: &'a str, write: &'a str, mut make: impl FnMut(&str, &mut Made) + 'a) -> Self {
        let make =
            move |texts: &Texts<'_>, made: &mut [Made]| made.iter_mut().for_each(|made| make(texts(0), made));
        Self {
            reads: vec![read],
            writes: vec![write],
            keeps: Writes::default(),
            shortcut: None,
            make: Box::new(make),
            start: "",
            numbers: None,
        }
    }

    /// The fields that it changes.
    pub fn changes(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.writes.iter().chain(self.empties()).copied()
    }

    /// The fields that have nothing any more behind it.
    pub fn empties(&self) -> &[&'a str] {
        if matches!(self.shortcut, Some(Shortcut::Name { moves: true })) { &self.reads } else { &[] }
    }

    /// The same, row by row.
    pub fn worker(mut self) -> Worker<'a> {
        let mut made = vec![Made::default(); self.writes.len()];
        Box::new(move |row| {
            (self.make)(&|i| self.reads.get(i).and_then(|name| row.get(name)).unwrap_or(""), &mut made);
            for (name, made) in self.writes.iter().zip(&mut made) {
                let kind = made.kind();
                self.keeps.put(row, name, made.text(), kind);
            }
        })
    }
}
