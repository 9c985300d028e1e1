//! Aligned columns of text, streamed: the first rows fix the widths, the rest follow without being held. Where rows come one by one, as
//! while something is followed, the first of them say little: columns grow with what comes.

use crate::render::color::Styles;
use crate::render::escape::push_safe_line;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// How many rows are looked at before the first is written.
const LOOKAHEAD_ROWS: usize = 1000;
/// The widest a column is padded to: one huge value must not push the rest off the screen.
const MAX_PADDED_WIDTH: usize = 60;

/// On which side a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
    /// Right if everything seen before the first row is written is a number.
    Auto,
}

/// Writes rows of cells as aligned columns under a heading.
#[derive(Debug)]
pub(crate) struct Table {
    headings: Vec<String>,
    align: Vec<Align>,
    widths: Vec<usize>,
    held: Vec<Vec<String>>,
    started: bool,
    /// Which columns are on the right because all seen so far are numbers.
    numbers: Vec<bool>,
    /// Whether what was there was written before there was enough of it.
    follows: bool,
}

impl Table {
    /// A table of these columns.
    pub(crate) fn new<S: AsRef<str>>(columns: impl IntoIterator<Item = (S, Align)>) -> Self {
        let (headings, align): (Vec<String>, Vec<Align>) =
            columns.into_iter().map(|(name, align)| (clean(name.as_ref()), align)).unzip();
        let widths = headings.iter().map(|h| h.width()).collect();
        let numbers = vec![false; headings.len()];
        Self { headings, align, widths, held: Vec::new(), started: false, numbers, follows: false }
    }

    /// Adds a row; one with fewer cells than columns ends in empty ones.
    pub(crate) fn row<S: AsRef<str>>(
        &mut self,
        cells: impl IntoIterator<Item = S>,
        styles: &Styles,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| clean(cell.as_ref())).collect();
        cells.resize(self.headings.len(), String::new());
        if !self.started || self.follows {
            for (width, cell) in self.widths.iter_mut().zip(&cells) {
                *width = (*width).max(cell.width().min(MAX_PADDED_WIDTH));
            }
        }
        if self.started {
            if self.follows {
                self.look_at_sides(&cells);
            }
            return self.write_row(&cells, out);
        }
        self.held.push(cells);
        if self.held.len() >= LOOKAHEAD_ROWS { self.start(styles, out) } else { Ok(()) }
    }

    /// Writes what is still held, and ends.
    pub(crate) fn finish(mut self, styles: &Styles, out: &mut dyn Write) -> io::Result<()> {
        self.flush(styles, out)
    }

    /// Writes what is still held; rows that come go below. A table without rows writes nothing.
    pub(crate) fn flush(&mut self, styles: &Styles, out: &mut dyn Write) -> io::Result<()> {
        self.follows |= self.started;
        if self.started || self.held.is_empty() {
            return Ok(());
        }
        self.follows = true;
        self.start(styles, out)
    }

    /// Puts columns on the left that have turned out to be none of numbers.
    fn look_at_sides(&mut self, cells: &[String]) {
        for ((cell, numbers), align) in cells.iter().zip(&mut self.numbers).zip(&mut self.align) {
            if *numbers && !cell.is_empty() && !is_number(cell) {
                (*numbers, *align) = (false, Align::Left);
            }
        }
    }

    fn start(&mut self, styles: &Styles, out: &mut dyn Write) -> io::Result<()> {
        self.started = true;
        let held = std::mem::take(&mut self.held);
        for (column, align) in self.align.iter_mut().enumerate() {
            if *align == Align::Auto {
                let numbers = held.iter().all(|row| row[column].is_empty() || is_number(&row[column]));
                *align = if numbers { Align::Right } else { Align::Left };
                self.numbers[column] = numbers;
            }
        }
        let style = styles.strong;
        write!(out, "{style}")?;
        self.write_cells(&self.headings, out)?;
        writeln!(out, "{style:#}")?;
        held.iter().try_for_each(|row| self.write_row(row, out))
    }

    fn write_row(&self, cells: &[String], out: &mut dyn Write) -> io::Result<()> {
        self.write_cells(cells, out)?;
        out.write_all(b"\n")
    }

    fn write_cells(&self, cells: &[String], out: &mut dyn Write) -> io::Result<()> {
        let last = cells.len().saturating_sub(1);
        for (column, cell) in cells.iter().enumerate() {
            if column > 0 {
                out.write_all(b"  ")?;
            }
            let padding = self.widths[column].saturating_sub(cell.width());
            if self.align[column] == Align::Right {
                write!(out, "{:padding$}{cell}", "")?;
            } else if column == last {
                out.write_all(cell.as_bytes())?;
            } else {
                write!(out, "{cell}{:padding$}", "")?;
            }
        }
        Ok(())
    }
}

fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_safe_line(&mut out, text);
    out
}

fn is_number(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(columns: &[(&str, Align)], rows: &[&[&str]]) -> String {
        let styles = Styles::new(false);
        let mut out = Vec::new();
        let mut table = Table::new(columns.iter().copied());
        for row in rows {
            table.row(row.iter(), &styles, &mut out).unwrap();
        }
        table.finish(&styles, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_aligned_by_what_they_hold() {
        let auto = [("app", Align::Auto), ("n", Align::Auto), ("note", Align::Auto)];
        assert_eq!(
            render(&auto, &[&["checkout", "7", "x"], &["ÄÖ", "12.5", ""], &["b\x1b", "", "y"]]),
            "app          n  note\n\
             checkout     7  x\n\
             ÄÖ        12.5  \n\
             b\\x1b           y\n"
        );
        assert_eq!(render(&auto, &[]), "");
    }

    #[test]
    fn what_comes_later_stands_below_the_same_heading() {
        let styles = Styles::new(false);
        let mut out = Vec::new();
        let mut table = Table::new([("app", Align::Auto)]);
        for app in ["one", "two"] {
            table.row([app], &styles, &mut out).unwrap();
            table.flush(&styles, &mut out).unwrap();
        }
        table.finish(&styles, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "app\none\ntwo\n");
    }

    #[test]
    fn columns_grow_with_what_comes() {
        let styles = Styles::new(false);
        let mut out = Vec::new();
        let mut table = Table::new([("host", Align::Auto), ("n", Align::Auto), ("note", Align::Auto)]);
        for row in [["a", "7", "x"], ["web-100", "12", "y"], ["b", "none", "z"], ["c", "5", ""]] {
            table.row(row, &styles, &mut out).unwrap();
            table.flush(&styles, &mut out).unwrap();
        }
        table.finish(&styles, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "host  n  note\n\
             a     7  x\n\
             web-100  12  y\n\
             b        none  z\n\
             c        5     \n"
        );
    }

    #[test]
    fn a_long_table_is_not_held() {
        let styles = Styles::new(false);
        let mut out = Vec::new();
        let mut table = Table::new([("n", Align::Right)]);
        for n in 0..LOOKAHEAD_ROWS {
            table.row([n.to_string()], &styles, &mut out).unwrap();
        }
        let before = out.len();
        assert!(before > LOOKAHEAD_ROWS * 3);
        table.row(["1234"], &styles, &mut out).unwrap();
        assert_eq!(&out[before..], b"1234\n");
        table.finish(&styles, &mut out).unwrap();
        assert!(out.starts_with(b"  n\n  0\n"));
    }
}
