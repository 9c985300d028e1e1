//! Rows to try, chunks in memory, and the comparison of what went in with what comes out.
#![allow(dead_code)]

use duramen::block::{Block, Found, LengthUnit, Needle, Place, Run, Word};
use duramen::column::{IntText, bit};
use duramen::columnar::{BlockEncoder, EncodeOptions, MemoryBlock, Row, TableBlock};
use duramen::{EntryBuf, EntryRef, Level, Value, ValueKind, gram, label_text, token};
use duramen_engine::sstable::{ChunkHandle, ChunkSink, ChunkSource};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Chunks in memory.
#[derive(Debug, Default)]
pub struct Chunks {
    pub chunks: Vec<Vec<u8>>,
    pub reads: Mutex<Vec<u64>>,
    /// What was asked for ahead.
    pub asked: Mutex<Vec<u64>>,
}

impl ChunkSink for Chunks {
    fn add_chunk(&mut self, bytes: &[u8]) -> duramen_engine::Result<ChunkHandle> {
        self.chunks.push(bytes.to_vec());
        Ok(ChunkHandle { offset: self.chunks.len() as u64 - 1, len: bytes.len() as u32 })
    }
}

impl ChunkSource for Chunks {
    fn read_chunk(&self, h: ChunkHandle) -> duramen_engine::Result<Vec<u8>> {
        self.reads.lock().unwrap().push(h.offset);
        let missing = || duramen_engine::Error::InvalidArgument("no such chunk".into());
        self.chunks.get(usize::try_from(h.offset).unwrap_or(usize::MAX)).cloned().ok_or_else(missing)
    }

    fn will_read(&self, h: ChunkHandle) {
        self.asked.lock().unwrap().push(h.offset);
    }
}

/// A value to try.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    None,
    SameAsMessage,
    Str(String),
    Int(i64),
    Float(f64),
    Number(String),
    Bool(bool),
    Null,
    Json(String),
}

impl Field {
    pub fn only_if(self, there: bool) -> Self {
        if there { self } else { Self::None }
    }
}

/// Rows to try.
pub struct Rows {
    buf: EntryBuf,
    entries: Vec<Vec<u8>>,
}

impl Rows {
    pub fn new(stream_fields: &[&str]) -> Self {
        Self { buf: EntryBuf::new(stream_fields.iter().copied()), entries: Vec::new() }
    }

    pub fn add(&mut self, time: i64, level: Level, message: &str, fields: Vec<(&str, Field)>) {
        let buf = &mut self.buf;
        buf.start(time).level(level).message(message);
        for (name, field) in fields {
            match &field {
                Field::None => &mut *buf,
                Field::SameAsMessage => buf.field_same_as_message(name),
                Field::Str(s) => buf.field(name, s.as_str()),
                Field::Int(n) => buf.field(name, *n),
                Field::Float(x) => buf.field(name, *x),
                Field::Number(s) => buf.field(name, Value::Number(s)),
                Field::Bool(b) => buf.field(name, *b),
                Field::Null => buf.field(name, Value::Null),
                Field::Json(s) => buf.field(name, Value::Json(s)),
            };
        }
        self.entries.push(buf.finish().unwrap().to_vec());
    }

    pub fn append(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    pub fn rows(&self) -> Vec<Row<'_>> {
        let row = |(i, e)| Row { entry: EntryRef::decode(e).unwrap(), writer: 3 + i / 50, seq: i * 2 };
        (0u64..).zip(self.entries.iter().map(Vec::as_slice)).map(row).collect()
    }
}

pub fn encode(rows: &Rows) -> TableBlock {
    let mut chunks = Chunks::default();
    let encoded =
        BlockEncoder::new(EncodeOptions::default()).unwrap().encode(&rows.rows(), &mut chunks).unwrap();
    let filters = encoded.write_filter(&mut chunks).unwrap();
    TableBlock::open(Arc::new(chunks), encoded.directory, &filters).unwrap()
}

fn text(value: Value<'_>) -> (String, ValueKind) {
    match value {
        Value::Str(s) => (s.into(), ValueKind::String),
        Value::Int(n) => (n.to_string(), ValueKind::Number),
        Value::Float(x) => (x.to_string(), ValueKind::Number),
        Value::Number(s) => (s.into(), ValueKind::Number),
        Value::Bool(b) => (b.to_string(), ValueKind::Bool),
        Value::Null => (String::new(), ValueKind::Null),
        Value::Json(s) => (s.into(), ValueKind::Json),
    }
}

/// The rows as a person would write them down.
fn expected(row: &Row<'_>) -> BTreeMap<String, (String, ValueKind)> {
    let mut fields = BTreeMap::new();
    if !row.entry.message.is_empty() {
        fields.insert("_msg".into(), (row.entry.message.into(), ValueKind::String));
    }
    if row.entry.level != Level::Unknown {
        fields.insert("level".into(), (row.entry.level.name().into(), ValueKind::String));
    }
    let mut labels = BTreeMap::new();
    for (name, value) in row.entry.stream() {
        labels.insert(name, text(value).0);
        fields.insert(name.into(), text(value));
    }
    for (name, value) in row.entry.fields() {
        fields.insert(name.into(), text(value));
    }
    let labels: Vec<String> = labels
        .iter()
        .map(|(k, v)| {
            format!("{k}=\"{}\"", v.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
        })
        .collect();
    let stream = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    fields.insert("_stream".into(), (stream, ValueKind::String));
    fields
}

/// Encodes the rows, and compares them with a table's block and with one in memory.
pub fn check(rows: &Rows) {
    let rows_ref = rows.rows();
    let table = encode(rows);
    let memory = MemoryBlock::build(&rows_ref).unwrap();
    assert_eq!(table.raw_bytes(), memory.raw_bytes());
    let levels: Vec<Level> = rows_ref.iter().map(|r| r.entry.level).collect();
    assert_eq!(table.levels().unwrap(), levels);
    check_block(&rows_ref, &table);
    check_block(&rows_ref, &memory);
    check_unordered(&rows_ref, &encode(rows).unordered());
}

/// Without their order the rows are the same, in another.
fn check_unordered(rows: &[Row<'_>], block: &TableBlock) {
    let by_identity: BTreeMap<(u64, u64), &Row<'_>> = rows.iter().map(|r| ((r.writer, r.seq), r)).collect();
    let identities = (0..block.rows()).map(|i| block.identity(i).unwrap());
    let rows: Vec<Row<'_>> = identities.map(|id| *by_identity[&id]).collect();
    let levels: Vec<Level> = rows.iter().map(|r| r.entry.level).collect();
    assert_eq!(block.levels().unwrap(), levels);
    check_block(&rows, block);
}

pub fn check_block(rows: &[Row<'_>], block: &dyn Block) {
    assert_eq!(block.rows(), rows.len());
    assert_eq!(*block.times().unwrap(), rows.iter().map(|r| r.entry.time).collect::<Vec<_>>());
    let all: Vec<_> = rows.iter().map(expected).collect();
    let mut names: Vec<String> =
        all.iter().flat_map(|f| f.keys().cloned()).filter(|n| n != "_stream").collect();
    names.sort();
    names.dedup();
    assert_eq!(block.field_names().unwrap(), names);
    names.push("_stream".into());
    let mut digits = IntText::default();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(block.identity(i).unwrap(), (row.writer, row.seq));
    }
    for name in &names {
        // Before the column is decoded, and after, no word that is there may be denied.
        check_words(&all, block, name);
        check_search(&all, block, name);
        if let Some(with) = block.rows_with(name).unwrap() {
            let say = |fields: &&BTreeMap<_, (String, _)>| fields.get(name).is_some_and(|f| !f.0.is_empty());
            assert_eq!(with, all.iter().filter(say).count(), "rows with {name:?}");
        }
        if let Some(having) = block.rows_having(name).unwrap() {
            for (row, fields) in all.iter().enumerate() {
                let has = fields.get(name).is_some_and(|f| !f.0.is_empty());
                assert_eq!(bit(&having, row), has, "whether row {row} has {name:?}");
            }
        }
        for unit in [LengthUnit::Bytes, LengthUnit::Chars] {
            let Some(lengths) = block.lengths(name, unit).unwrap() else { continue };
            for (row, fields) in all.iter().enumerate() {
                let text = fields.get(name).map_or("", |f| &f.0);
                let len = if unit == LengthUnit::Bytes { text.len() } else { text.chars().count() };
                assert_eq!(
                    lengths.text(row, &mut digits),
                    Some(&*len.to_string()),
                    "length of {name:?} in row {row}"
                );
            }
        }
        let column = block.column(name).unwrap().unwrap();
        assert_eq!(column.rows, rows.len());
        for (row, fields) in all.iter().enumerate() {
            let found = column.text(row, &mut digits);
            assert_eq!(found, fields.get(name).map(|f| &*f.0), "{name:?} in row {row}");
            if let Some((_, kind)) = fields.get(name) {
                assert_eq!(column.kind_at(column.slot(row)), *kind, "kind of {name:?} in row {row}");
            }
        }
        check_words(&all, block, name);
        if let Some((min, max)) = block.int_range(name).unwrap() {
            let numbers: Vec<i64> =
                all.iter().filter_map(|f| f.get(name)).map(|f| f.0.parse().unwrap()).collect();
            assert_eq!((Some(&min), Some(&max)), (numbers.iter().min(), numbers.iter().max()));
        }
    }
    let mut told = BTreeMap::new();
    block
        .rows_with_each(&mut |name, rows| {
            assert_eq!(told.insert(name.into_owned(), rows), None, "told twice")
        })
        .unwrap();
    let with = |name: &String| (name.clone(), block.rows_with(name).unwrap());
    assert_eq!(told, names.iter().map(with).collect());
    check_streams(&all, block, &names);
    assert!(block.column("no such field").unwrap().is_none());
    assert!(block.rows_with("no such field").unwrap().is_none_or(|rows| rows == 0));
}

/// Whether the rows of streams, and those of labels' values, are the right ones.
fn check_streams(all: &[BTreeMap<String, (String, ValueKind)>], block: &dyn Block, names: &[String]) {
    let text_of = |row: usize, name: &str| all[row].get(name).map_or("", |(text, _)| &**text);
    let step = (all.len() / 3).max(1);
    let samples = (0..all.len()).step_by(step).map(|row| text_of(row, "_stream")).chain(["{no=\"stream\"}"]);
    for stream in samples {
        let is_it = |labels: &[(&str, &str)]| {
            label_text::write(labels.iter().copied()) == if stream.is_empty() { "{}" } else { stream }
        };
        let expected: Vec<bool> = (0..all.len()).map(|row| text_of(row, "_stream") == stream).collect();
        let has = block.has_stream(&is_it).unwrap();
        assert!(has.is_none_or(|has| has == expected.contains(&true)), "{stream}");
        if let Some(found) = block.rows_of_streams(&is_it).unwrap() {
            assert_eq!((0..all.len()).map(|row| bit(&found, row)).collect::<Vec<_>>(), expected, "{stream}");
        }
    }
    for name in names {
        for value in [text_of(0, name), text_of(all.len() / 2, name), "no such value", ""] {
            let Some(found) = block.rows_of_label(name, &|text| text == value).unwrap() else { continue };
            for row in 0..all.len() {
                assert_eq!(bit(&found, row), text_of(row, name) == value, "{name:?} in row {row}");
            }
        }
    }
}

fn check_words(all: &[BTreeMap<String, (String, ValueKind)>], block: &dyn Block, name: &str) {
    for (text, _) in all.iter().filter_map(|fields| fields.get(name)) {
        let words: Vec<u64> = token::words(text).map(token::hash).collect();
        assert!(block.may_contain_words(name, &words).unwrap(), "{name:?} is said not to have {text:?}");
        // What a search asks for, whatever case it comes in.
        for text in [text.as_str(), &text.to_ascii_uppercase(), &text.replace(['k', 'K'], "\u{212a}")] {
            let held = block.may_contain_grams(name, &gram::hashes(text)).unwrap();
            assert!(held, "{name:?} is said not to have the grams of {text:?}");
        }
    }
}

/// Whether the rows found for a run of text are the right ones.
fn check_run<'a>(
    text_of: &dyn Fn(usize) -> Option<&'a str>,
    rows: usize,
    block: &dyn Block,
    name: &str,
    run: Run<'_>,
) {
    let phrase = run.text;
    let passes = |text: &str| {
        let is_at = |at| {
            run.may_follow(&text[..at])
                && text[at..].strip_prefix(phrase).is_some_and(|after| run.may_precede(after))
        };
        text.char_indices().any(|(at, _)| is_at(at))
    };
    let split = |part: &str, at: usize| {
        phrase.is_char_boundary(at) && (part.ends_with(&phrase[..at]) || part.starts_with(&phrase[at..]))
    };
    let reaches = |part: &str| phrase.contains(part) || (1..phrase.len()).any(|at| split(part, at));
    let mut words: Vec<Word<'_>> = token::words(phrase).map(Word::from).collect();
    let count = words.len();
    for (i, word) in words.iter_mut().enumerate() {
        let is_open_before = i == 0 && !run.starts_word && phrase.starts_with(token::is_word_char);
        let is_open_behind = i + 1 == count && !run.ends_word && phrase.ends_with(token::is_word_char);
        word.is_whole = !(is_open_before || is_open_behind);
    }
    let needle = Needle { words: &words, certain: &passes, reaches: &reaches, run: Some(run) };
    let Some(found) = block.search(name, &needle).unwrap() else { return };
    for row in 0..rows {
        let (certain, possible) = (bit(&found.certain, row), bit(&found.possible, row));
        let is = text_of(row).is_some_and(passes);
        assert!(!(certain && possible), "{name:?} in row {row}");
        assert!(is || !certain, "{run:?} is not in {:?}", text_of(row));
        assert!(!is || certain || possible, "{run:?} is in {:?}", text_of(row));
    }
}

/// Whether the rows found for words are the right ones: those that pass.
fn check_found<'a>(
    text_of: &dyn Fn(usize) -> Option<&'a str>,
    rows: usize,
    block: &dyn Block,
    name: &str,
    words: &[Word<'_>],
    passes: &dyn Fn(&str) -> bool,
) -> Option<Found> {
    let found =
        block.search(name, &Needle { words, certain: passes, reaches: &|_| true, run: None }).unwrap()?;
    for row in 0..rows {
        let (certain, possible) = (bit(&found.certain, row), bit(&found.possible, row));
        let is = text_of(row).is_some_and(passes);
        assert!(!(certain && possible), "{name:?} in row {row}");
        assert!(is || !certain, "{words:?} is not in {:?}", text_of(row));
        assert!(!is || certain || possible, "{words:?} is in {:?}", text_of(row));
    }
    Some(found)
}

/// Whether the rows found for words of some texts are the right ones, and their values right when asked for alone.
fn check_search(all: &[BTreeMap<String, (String, ValueKind)>], block: &dyn Block, name: &str) {
    let text_of = |row: usize| all[row].get(name).map(|(text, _)| &**text);
    let step = (all.len() / 5).max(1);
    for sample in (0..all.len()).step_by(step).filter_map(text_of) {
        let words: Vec<&str> = token::words(sample).collect();
        // One word, a few together, and one that is nowhere.
        for part in
            words.chunks(3).step_by(5).flat_map(|three| [&three[..1], three]).chain([&["nowhere"][..]])
        {
            let passes = |text: &str| {
                let of_text: Vec<&str> = token::words(text).collect();
                part.iter().all(|word| of_text.contains(word))
            };
            let part: Vec<Word<'_>> = part.iter().map(|&word| word.into()).collect();
            let Some(found) = check_found(&text_of, all.len(), block, name, &part, &passes) else { break };
            check_column_at(block, name, &found.possible, text_of, all);
            check_column_at(block, name, &found.certain, text_of, all);
        }
        // The beginning, the end and the midst of some words, in this case and in any.
        for word in words.iter().step_by(3) {
            let middle = word.char_indices().nth(1).map_or(0, |(at, _)| at);
            let end = word.char_indices().nth(4).map_or(word.len(), |(at, _)| at);
            for part in [&word[..end], &word[middle..], &word[middle..end]] {
                let upper = part.to_ascii_uppercase();
                for (text, any_case) in [(part, false), (&*upper, true)] {
                    if part.is_empty() {
                        continue;
                    }
                    let passes = |value: &str| match any_case {
                        true => value.to_ascii_uppercase().contains(text),
                        false => value.contains(text),
                    };
                    let sought = [Word { text, is_whole: false, any_case }];
                    check_found(&text_of, all.len(), block, name, &sought, &passes);
                }
            }
        }
        // From and to the edges of words, and from and to the midst of them and of what is between.
        let at = |word: &str| word.as_ptr() as usize - sample.as_ptr() as usize;
        for three in words.windows(3).step_by(4) {
            let text = &sample[at(three[0])..at(three[2]) + three[2].len()];
            check_run(&text_of, all.len(), block, name, Run { text, starts_word: true, ends_word: true });
        }
        let edges: Vec<usize> = sample.char_indices().map(|(at, _)| at).collect();
        for (i, &from) in edges.iter().enumerate().step_by(5) {
            let to = edges.get(i + 2 + i % 13).copied().unwrap_or(sample.len());
            let (starts_word, ends_word) = (i % 2 == 0, i % 3 == 0);
            check_run(
                &text_of,
                all.len(),
                block,
                name,
                Run { text: &sample[from..to], starts_word, ends_word },
            );
        }
    }
    let thirds = (0..all.len().div_ceil(64) as u64)
        .map(|word| 0x9249_2492_4924_9249 >> (word % 3))
        .collect::<Vec<_>>();
    check_column_at(block, name, &thirds, text_of, all);
    check_column_at(block, name, &[], text_of, all);
}

fn check_column_at<'a>(
    block: &dyn Block,
    name: &str,
    rows: &[u64],
    text_of: impl Fn(usize) -> Option<&'a str>,
    all: &[BTreeMap<String, (String, ValueKind)>],
) {
    let wanted = (0..all.len()).filter(|&row| bit(rows, row));
    let Some(column) = block.column_at(name, rows).unwrap() else {
        assert!(wanted.map(text_of).all(|text| text.is_none()), "{name:?} is left out");
        return;
    };
    let mut digits = IntText::default();
    for row in wanted {
        assert_eq!(column.text(row, &mut digits), text_of(row), "{name:?} in row {row}");
        if let Some((_, kind)) = all[row].get(name) {
            assert_eq!(column.kind_at(column.slot(row)), *kind, "kind of {name:?} in row {row}");
        }
    }
}

/// A varint at the start of bytes, and what is behind it.
fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let len = 1 + bytes.iter().position(|byte| *byte < 128)?;
    let (of_number, rest) = bytes.split_at(len);
    Some((of_number.iter().rev().fold(0, |n, byte| n << 7 | usize::from(byte & 127)), rest))
}

/// The same bundle with its streams as they are, if the chunk is one: what is flipped in there reaches the decoders.
pub fn plainly(chunk: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut streams) = (chunk, Vec::new());
    for _ in 0..4 {
        let (&method, behind) = rest.split_first()?;
        let (plain_len, behind) = varint(behind)?;
        let (stored_len, behind) = varint(behind)?;
        streams.push((method, plain_len, stored_len));
        rest = behind;
    }
    let (mut head, mut body) = (Vec::new(), Vec::new());
    for (method, plain_len, stored_len) in streams {
        let (stored, behind) = rest.split_at_checked(stored_len)?;
        rest = behind;
        let plain = match method {
            0 => stored.to_vec(),
            1 => zstd::bulk::decompress(stored, plain_len).ok()?,
            _ => return None,
        };
        head.push(0);
        for _ in 0..2 {
            let mut n = plain.len();
            while n >= 128 {
                head.push(n as u8 | 128);
                n >>= 7;
            }
            head.push(n as u8);
        }
        body.extend(plain);
    }
    rest.is_empty().then(|| [head, body].concat())
}

/// Flips bytes of a block's chunks and reads all that can be read: anything but a panic is right.
pub fn read_damaged(rows: &Rows, flips: &[(proptest::sample::Index, u8)]) {
    let mut chunks = Chunks::default();
    let encoded =
        BlockEncoder::new(EncodeOptions::default()).unwrap().encode(&rows.rows(), &mut chunks).unwrap();
    let filters = encoded.write_filter(&mut chunks).unwrap();
    let plain: Vec<Vec<u8>> = chunks.chunks.iter().map(|c| plainly(c).unwrap_or(c.clone())).collect();
    assert!(plain != chunks.chunks, "no chunk is a bundle");
    for chunks in [chunks.chunks, plain] {
        read_flipped(chunks, (encoded.directory, &filters), flips);
    }
}

fn read_flipped(
    mut chunks: Vec<Vec<u8>>,
    (directory, filters): (ChunkHandle, &[ChunkHandle]),
    flips: &[(proptest::sample::Index, u8)],
) {
    let total: usize = chunks.iter().map(Vec::len).sum();
    for (at, value) in flips {
        let mut at = at.index(total);
        for chunk in &mut chunks {
            if at < chunk.len() {
                chunk[at] = *value;
                break;
            }
            at -= chunk.len();
        }
    }
    let chunks = Arc::new(Chunks { chunks, ..Chunks::default() });
    let open = || TableBlock::open(chunks.clone(), directory, filters);
    let (Ok(block), Ok(unordered)) = (open(), open().map(|block| block.unordered())) else { return };
    read_all(&block);
    read_all(&unordered);
    let Ok(block) = open() else { return };
    let all = vec![u64::MAX; block.rows().div_ceil(64)];
    for name in block.field_names().unwrap_or_default().iter().map(String::as_str).chain(["_stream"]) {
        let _ = block.rows_having(name);
        let _ = block.look_through(name, &all, "", &mut |slot, _| assert!(slot < block.rows()));
        let _ = block.look_through(name, &all, "1 ", &mut |slot, _| assert!(slot < block.rows()));
    }
}

/// What each row has in a column.
pub type Values = Vec<Option<(String, ValueKind)>>;

/// The texts and kinds of a column that lies on pages, read one page after another; `None` if it does not.
pub fn read_pages(block: &dyn Block, name: &str) -> duramen::Result<Option<Values>> {
    let Some(column) = block.column_on_pages(name, true)? else { return Ok(None) };
    // A buffer that was in use.
    let texts = (0..column.pages()).map(|page| column.read(page, None, vec![7; page * 100_000]));
    let texts = texts.collect::<duramen::Result<Vec<String>>>()?;
    let text = |row| {
        let slot = column.order().slot(row);
        let text = match column.place(slot)? {
            Place::Empty => "",
            Place::On(page, bytes) => texts.get(page)?.get(bytes)?,
        };
        Some((text.to_owned(), column.kind_at(slot)))
    };
    Ok(Some((0..block.rows()).map(text).collect()))
}

pub fn read_all(block: &TableBlock) {
    let _ = block.identity(0);
    let _ = block.times();
    let _ = block.levels();
    let mut digits = IntText::default();
    for name in block.field_names().unwrap_or_default().iter().map(String::as_str).chain(["_stream"]) {
        let _ = block.may_contain_words(name, &[1, 2]);
        let _ = block.may_contain_grams(name, &[0, 1, (1 << gram::HASH_BITS) - 1]);
        let _ = block.int_range(name);
        let _ = block.rows_with(name);
        let _ = (block.lengths(name, LengthUnit::Bytes), block.lengths(name, LengthUnit::Chars));
        // Some are in most lines, in a field that they refer to, or in a few.
        for words in [&["a", "12"][..], &["from"], &["request"], &["GET"], &["77"], &["1"]] {
            let certain = |text: &str| words.len() > 1 && text.contains("a 12");
            let reaches = |part: &str| !part.len().is_multiple_of(3);
            for (is_whole, any_case) in [(true, false), (false, false), (true, true), (false, true)] {
                let words: Vec<Word<'_>> =
                    words.iter().map(|text| Word { text, is_whole, any_case }).collect();
                let _ = block
                    .search(name, &Needle { words: &words, certain: &certain, reaches: &reaches, run: None });
            }
        }
        if let Ok(Some(column)) = block.column_at(name, &[5, u64::MAX]) {
            for row in 0..block.rows() {
                let _ = column.text(row, &mut digits);
                let _ = column.kind_at(column.slot(row));
            }
        }
        let _ = read_pages(block, name);
        if let Ok(Some(column)) = block.column(name) {
            for row in 0..block.rows() {
                let _ = column.text(row, &mut digits);
                let _ = column.kind_at(column.slot(row));
            }
        }
    }
}
