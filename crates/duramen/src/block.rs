//! What a query sees of a store: blocks of rows, each a set of columns that are decoded when asked for.

use crate::column::{Column, Order};
pub use crate::columnar::{
    BlockStreams, FewValues, PagedColumn, Place, TableLabel, TableStreams, TimeCounts,
};
use crate::error::Result;
use crate::store::some_rows::SomeRows;
use crate::token::is_word_char;
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

/// Names that are not fields of the sender's.
pub mod names {
    /// The time stamp, RFC 3339 in UTC with nanoseconds as needed.
    pub const TIME: &str = "_time";
    /// The message.
    pub const MESSAGE: &str = "_msg";
    /// The stream's label set, as in `{app="checkout",host="web-1"}`.
    pub const STREAM: &str = "_stream";
    /// The stream's identity, which queries reckon of its label set.
    pub const STREAM_ID: &str = "_stream_id";
    /// The level: the sender's own text where it sent a field of that name, else the level's name.
    pub const LEVEL: &str = "level";
}

/// Which filters of a block will be looked at when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// That of words, for [`Block::may_contain_words`]: bit `n` says that a word is sought whose [hash](crate::token::hash) has
    /// `n` as its highest four bits. Of a large filter, that leads to the part in which the word would be.
    pub at_words: u16,
    /// That of grams: [`Block::may_contain_grams`].
    pub at_grams: bool,
}

impl Looks {
    /// At the words with these hashes.
    pub fn at_words(hashes: impl IntoIterator<Item = u64>) -> Self {
        let bits = hashes.into_iter().fold(0, |bits, hash| bits | 1 << (hash >> 60));
        Self { at_words: bits, ..Self::default() }
    }
}

/// What a value must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueWords<'a> {
    /// The field that it is of.
    pub field: &'a str,
    /// Words, by their hashes ([`crate::token::hash`]): all of these.
    pub hashes: &'a [u64],
    /// Whether it may be an integer. The words of integers are in no filter.
    pub may_be_integer: bool,
}

/// A block of rows as a snapshot lists it: where and when, without having read it.
pub trait BlockHandle: Send + Sync + Debug {
    /// How many rows it has; at least 1.
    fn rows(&self) -> usize;
    /// The earliest time stamp in it, ns since the epoch.
    fn min_time(&self) -> i64;
    /// The latest.
    fn max_time(&self) -> i64;
    /// Reads the block's directory. Columns are read when asked for.
    fn open(&self) -> Result<Arc<dyn Block>>;
    /// As [`BlockHandle::open`], for whoever does not mind which row has which number: they may be in any order, so that
    /// [`Block::times`] need not ascend. Cheaper, where rows are stored in another order than that of time.
    fn open_unordered(&self) -> Result<Arc<dyn Block>> {
        self.open()
    }
    /// Says that its filter of words will be looked at soon ([`BlockHandle::may_have_words`]). A hint, as
    /// [`BlockHandle::will_open`].
    fn will_look(&self, looks: Looks) {
        let _nothing_to_do = looks;
    }
    /// Says that it will be opened soon, and which of its filters will be looked at. Only a hint, which never fails: what is
    /// needed for that may be fetched from the device meanwhile.
    fn will_open(&self, looks: Looks) {
        let _nothing_to_do = looks;
    }
    /// The streams of its rows, where they are known without opening it.
    fn streams(&self) -> Option<BlockStreams> {
        None
    }
    /// The values that its rows have in a field, and how many rows each, where that is known without opening it: all other rows
    /// have none. Nothing is known of `_time`, `_stream`, and where the field makes streams.
    fn values(&self, _name: &str) -> Option<FewValues> {
        None
    }
    /// Whether a value of its rows may have these words, as far as that is known without opening it; `false` is certain. If it
    /// `reads`, it finds out if that is not known yet.
    fn may_have_words(&self, _words: &ValueWords<'_>, _reads: bool) -> bool {
        true
    }
    /// How many of its rows each step of time has, where that is known without opening it.
    fn time_counts(&self) -> Option<TimeCounts> {
        None
    }
    /// Whether the file that it lies in is there, as far as that is known without opening it. Who counts its rows without opening it
    /// asks, and opens it if not: that tells what is wrong.
    fn is_there(&self) -> bool {
        true
    }
    /// Whether it is open already, with what was decoded of it, or has few rows in memory: to look at it takes little then, most
    /// likely.
    fn is_open(&self) -> bool {
        false
    }
    /// Whether to open it before it is needed saves time then: it is not open yet, and stays so.
    fn is_worth_opening_ahead(&self) -> bool {
        false
    }
}

/// A word to look for, or a part of one: letters, digits and `_` ([`crate::token`]) without anything in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word<'a> {
    /// Its text; not empty.
    pub text: &'a str,
    /// Whether it is a whole word. Otherwise it may also be a part of a longer one.
    pub is_whole: bool,
    /// Whether the letters of ASCII are meant in either case.
    pub any_case: bool,
}

impl<'a> From<&'a str> for Word<'a> {
    /// A whole word, in this case.
    fn from(text: &'a str) -> Self {
        Self { text, is_whole: true, any_case: false }
    }
}

/// A run of text, of one word or of more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// Its text; not empty.
    pub text: &'a str,
    /// Whether no word may reach into its start: where it begins with a letter, a digit or `_`, none of these stands before it.
    pub starts_word: bool,
    /// Whether no word may reach out of its end, likewise.
    pub ends_word: bool,
}

impl Run<'_> {
    /// Whether it may stand right behind this.
    pub fn may_follow(&self, before: &str) -> bool {
        let reaches_in = || self.text.starts_with(is_word_char) && before.ends_with(is_word_char);
        !(self.starts_word && reaches_in())
    }

    /// Whether it may stand right before this.
    pub fn may_precede(&self, after: &str) -> bool {
        let reaches_out = || self.text.ends_with(is_word_char) && after.starts_with(is_word_char);
        !(self.ends_word && reaches_out())
    }
}

/// What a query seeks in texts.
pub struct Needle<'a> {
    /// Every text that passes holds all of these.
    pub words: &'a [Word<'a>],
    /// Whether a text passes for certain that has this one in it, cut out between two words.
    pub certain: &'a dyn Fn(&str) -> bool,
    /// Whether a text may pass because of this part of it, cut out between two words, together with what stands around it;
    /// `true` if that is not known. Asked of parts that hold one of the words, and do not make the text pass for certain.
    pub reaches: &'a dyn Fn(&str) -> bool,
    /// If the texts that pass are those that hold a run of text: that one.
    pub run: Option<Run<'a>>,
}

/// Rows whose value may pass, as far as a block could tell without putting it together: one bit a row, least
/// significant first; missing words are zeros. No row is in both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Rows that pass.
    pub certain: Vec<u64>,
    /// Rows to be looked at; all that are in neither do not pass.
    pub possible: Vec<u64>,
}

/// What the length of a text is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// Its bytes.
    Bytes,
    /// Its characters.
    Chars,
}

impl LengthUnit {
    /// How long a text is, or what a part of one adds to it, wherever it was cut.
    pub(crate) fn of(self, text: &[u8]) -> usize {
        match self {
            Self::Bytes => text.len(),
            // Those that begin a character.
            Self::Chars => text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count(),
        }
    }
}

/// Whether rows of a block are so few that going to each of them ([`Block::column_at`]) is cheaper than running over all.
pub fn is_few(some: usize, all: usize) -> bool {
    some < all / 8
}

/// The labels of a stream: names and values, by name.
pub type StreamLabels<'a> = [(&'a str, &'a str)];

/// Which streams are wanted. Any function of their labels is such a test.
pub trait StreamTest {
    /// Whether one with these labels is.
    fn wants(&self, labels: &StreamLabels<'_>) -> bool;
    /// The same of all of a table's sets of labels, by their numbers, from who remembers it while its blocks are asked for. By
    /// default it is not remembered.
    fn wanted_of(&self, _table: &Arc<TableStreams>) -> Option<Arc<[bool]>> {
        None
    }
}

impl<F: Fn(&StreamLabels<'_>) -> bool> StreamTest for F {
    fn wants(&self, labels: &StreamLabels<'_>) -> bool {
        self(labels)
    }
}

/// An opened block. Rows are numbered from 0 in order of (time, writer, sequence number), unless it was opened
/// [unordered](BlockHandle::open_unordered).
pub trait Block: Send + Sync + Debug {
    /// How many rows it has.
    fn rows(&self) -> usize;
    /// The time stamp of every row, in the rows' order.
    fn times(&self) -> Result<Arc<Vec<i64>>>;
    /// The names of the fields that at least one row has, `_msg` and `level` among them if any row has
    /// them; not `_time` and `_stream`, which every row has.
    fn field_names(&self) -> Result<Vec<String>>;
    /// How many rows have a value in this field that is not the empty text, where that is known without decoding it; of `_stream`,
    /// how many have a label.
    fn rows_with(&self, _name: &str) -> Result<Option<usize>> {
        Ok(None)
    }
    /// Calls `see` with the name of each field, `_stream` among them, and what [`Block::rows_with`] says of it.
    fn rows_with_each<'b>(&'b self, see: &mut dyn FnMut(Cow<'b, str>, Option<usize>)) -> Result<()> {
        let of_block = self.field_names()?.into_iter().map(Cow::Owned);
        for name in of_block.chain([Cow::Borrowed(names::STREAM)]) {
            let rows = self.rows_with(&name)?;
            see(name, rows);
        }
        Ok(())
    }
    /// Which rows have a value in this field that is not the empty text, one bit each as in [`Found`], where that is known
    /// without decoding it.
    fn rows_having(&self, _name: &str) -> Result<Option<Vec<u64>>> {
        Ok(None)
    }
    /// How long each row's value in this field is, 0 where there is none, if that is cheaper to find out than the values.
    fn lengths(&self, _name: &str, _unit: LengthUnit) -> Result<Option<Arc<Column>>> {
        Ok(None)
    }
    /// A field's values, `_msg`, `level` and `_stream` included; `None` when no row has the field.
    fn column(&self, name: &str) -> Result<Option<Arc<Column>>>;
    /// The same page by page, for whoever goes through rows in order and needs each text only for a while: through all, or through
    /// some, and what leads to the pages stays in memory for the next ones. `None` if the values are there already, or do not lie
    /// on pages: [`Block::column`] has them.
    fn column_on_pages(&self, name: &str, is_for_all: bool) -> Result<Option<PagedColumn>> {
        let _unknown = (name, is_for_all);
        Ok(None)
    }
    /// Whether a row of the block may have, in this field, all these words. `false` is certain, `true` is
    /// not. Each word is the [`crate::token::hash`] of a whole word.
    fn may_contain_words(&self, name: &str, words: &[u64]) -> Result<bool>;
    /// Whether a row of the block may have, in this field, a text with all these grams, by their
    /// [hashes](crate::gram::hashes). `false` is certain, `true` is not.
    fn may_contain_grams(&self, name: &str, grams: &[u32]) -> Result<bool> {
        let _unknown = (name, grams);
        Ok(true)
    }
    /// Which rows' values in the field may hold what is sought; `None` when only the column can tell.
    fn search(&self, name: &str, needle: &Needle<'_>) -> Result<Option<Found>> {
        let _unknown = (name, needle);
        Ok(None)
    }
    /// Which rows are of streams with labels that are wanted, one bit each as in [`Found`], told without looking at rows; `None`
    /// when only the column `_stream` can tell.
    fn rows_of_streams(&self, test: &dyn StreamTest) -> Result<Option<Vec<u64>>> {
        let _unknown = test;
        Ok(None)
    }
    /// Whether there are any such rows, where that is known.
    fn has_stream(&self, test: &dyn StreamTest) -> Result<Option<bool>> {
        let _unknown = test;
        Ok(None)
    }
    /// Whether it is the name of a field that no row of the block has but as a label: [`Block::rows_of_label`] tells its rows.
    fn is_label(&self, name: &str) -> bool {
        let _unknown = name;
        false
    }
    /// As [`Block::rows_of_streams`], by the value of a field that no row of the block has but as a label; without the label it
    /// is the empty text. `None` for other fields.
    fn rows_of_label(&self, name: &str, is_wanted: &dyn Fn(&str) -> bool) -> Result<Option<Vec<u64>>> {
        let _unknown = (name, is_wanted);
        Ok(None)
    }
    /// As [`Block::column`], for whoever looks only at these rows, one bit each: what is in the others means nothing,
    /// and there may be no column when none of these has the field.
    fn column_at(&self, name: &str, rows: &[u64]) -> Result<Option<Arc<Column>>> {
        let _all_are_right = rows;
        self.column(name)
    }
    /// Looks through a field's values in these rows (one bit each) without keeping them: calls `see` with each one's slot, which
    /// ascend, and its text, and gives how rows lead to slots. Rows without a value are passed over. `None` if `see` was not called:
    /// the values are there anyway, or worth keeping, and [`Block::column`] has them. Before an error it may have been called.
    ///
    /// Of each text, `see` may be given less than all: the part from the first `start` on, and anything of what comes before it that
    /// holds no other; of a text without it, any part that has none either. If that is empty, it is given all.
    fn look_through(
        &self,
        name: &str,
        rows: &[u64],
        start: &str,
        see: &mut dyn FnMut(usize, &str),
    ) -> Result<Option<Order>> {
        let _unknown = (name, rows, start, see);
        Ok(None)
    }
    /// Says that the fields that somebody wants will be read soon, and what leads to them. Only a hint, which never fails:
    /// what is not in memory may be fetched from the device meanwhile.
    fn will_read(&self, wants: &dyn Fn(&str) -> bool) {
        let _nothing_to_do = wants;
    }
    /// How many bytes it keeps in memory, the columns among them that it gave out and keeps.
    fn held_bytes(&self) -> usize {
        0
    }
    /// The smallest and largest number in the field, if all its values are integers and that is known
    /// without reading the column.
    fn int_range(&self, name: &str) -> Result<Option<(i64, i64)>>;
    /// The identity of a row: which writer wrote it, and as its how-manieth.
    fn identity(&self, row: usize) -> Result<(u64, u64)>;
}

/// A block of some rows of another in order of time, whose numbers must be ascending and the other's.
pub fn some_rows(block: Arc<dyn Block>, rows: Vec<u32>) -> Arc<dyn Block> {
    Arc::new(SomeRows::new(block, rows))
}

/// A block that is open already, such as [`crate::Tail::poll`] gives, as queries take them.
#[derive(Debug)]
pub struct OpenBlock {
    block: Arc<dyn Block>,
    times: (i64, i64),
}

impl OpenBlock {
    /// A handle of the block, which must have a row, and its rows in order of time.
    ///
    /// # Errors
    /// If its time stamps cannot be read.
    pub fn handle(block: Arc<dyn Block>) -> Result<Arc<dyn BlockHandle>> {
        let times = block.times()?;
        let times = (times.first().copied().unwrap_or(i64::MIN), times.last().copied().unwrap_or(i64::MAX));
        Ok(Arc::new(Self { block, times }))
    }
}

impl BlockHandle for OpenBlock {
    fn rows(&self) -> usize {
        self.block.rows()
    }

    fn min_time(&self) -> i64 {
        self.times.0
    }

    fn max_time(&self) -> i64 {
        self.times.1
    }

    fn open(&self) -> Result<Arc<dyn Block>> {
        Ok(self.block.clone())
    }
}
