//! Rows into a file: collected by column, and written a row group at a time.

use crate::columns::{Columns, Kind};
use crate::{Error, Result};
use duramen::ValueKind;
use duramen_query::ResultRow;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// A row group ends with so many rows,
const GROUP_ROWS: usize = 65_536;
/// or so many bytes of text and numbers.
const GROUP_BYTES: usize = 16 << 20;

/// The values of a column since the last row group.
#[derive(Debug)]
enum Values {
    Ints(Vec<i64>),
    Doubles(Vec<f64>),
    Bools(Vec<bool>),
    Texts(Vec<ByteArray>),
}

#[derive(Debug)]
struct Column {
    name: String,
    kind: Kind,
    values: Values,
    /// 1 for a row that has a value, 0 for one that has none.
    levels: Vec<i16>,
}

/// Writes rows. Can be sent to another thread, not shared.
///
/// ```
/// use duramen::{EntryBuf, Store};
/// use duramen_parquet::{Columns, ParquetWriter};
/// use duramen_query::{ParseOptions, Query, RunOptions};
/// use std::ops::ControlFlow;
/// # let dir = tempfile::tempdir()?;
/// # let store = Store::open(dir.path().join("logs"))?;
/// # let mut entry = EntryBuf::new(["app"]);
/// # entry.start(1).message("hello");
/// # store.append(entry.finish()?)?;
/// let query = Query::parse("*", &ParseOptions::default())?;
/// let blocks = store.snapshot()?.blocks(i64::MIN, i64::MAX);
/// let (options, cancel) = (RunOptions::default(), Default::default());
/// let mut columns = Columns::new();
/// query.run(blocks.clone(), &options, &cancel, &mut |row| match columns.see(row) {
///     Ok(()) => ControlFlow::Continue(()),
///     Err(_) => ControlFlow::Break(()),
/// })?;
/// let mut writer = ParquetWriter::new(Vec::new(), columns)?;
/// let mut failed = None;
/// query.run(blocks, &options, &cancel, &mut |row| match writer.row(row) {
///     Ok(()) => ControlFlow::Continue(()),
///     Err(e) => {
///         failed = Some(e);
///         ControlFlow::Break(())
///     }
/// })?;
/// assert!(failed.is_none());
/// assert!(writer.finish()?.starts_with(b"PAR1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    names: Columns,
    columns: Vec<Column>,
    /// Rows since the last row group.
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A file with these columns; without any, because there is no row, with `_time` and `_msg`.
    ///
    /// # Errors
    /// What `out` said.
    pub fn new(out: W, columns: Columns) -> Result<Self> {
        let columns = if columns.is_empty() { Columns::of_an_entry() } else { columns };
        let fields = columns.all.iter().map(|(name, kind)| field(name, *kind).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("logs").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("duramen {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let empty = |(name, kind): &(String, Kind)| Column::new(name, *kind);
        Ok(Self { file, columns: columns.all.iter().map(empty).collect(), names: columns, rows: 0, bytes: 0 })
    }

    /// Takes a row.
    ///
    /// # Errors
    /// [`Error::Changed`] if it is none of those whose columns were seen; what is written to said. Then the file is no use.
    pub fn row(&mut self, row: &ResultRow) -> Result<()> {
        for (name, text, kind) in row.iter() {
            let changed = || Error::Changed { field: name.to_owned() };
            let column =
                self.names.index_of(name).and_then(|i| self.columns.get_mut(i)).ok_or_else(changed)?;
            if kind != ValueKind::Null {
                column.push(row, text).ok_or_else(changed)?;
                column.levels.push(1);
                self.bytes += text.len() + 8;
            }
        }
        self.rows += 1;
        for column in &mut self.columns {
            column.levels.resize(self.rows, 0);
        }
        if self.rows >= GROUP_ROWS || self.bytes + 2 * self.rows * self.columns.len() >= GROUP_BYTES {
            self.group()?;
        }
        Ok(())
    }

    /// What has been written to, to take from it what there is; writing to it breaks the file.
    pub fn inner_mut(&mut self) -> &mut W {
        self.file.inner_mut()
    }

    /// Writes the last row group and the footer.
    ///
    /// # Errors
    /// What is written to said.
    pub fn finish(mut self) -> Result<W> {
        if self.rows > 0 {
            self.group()?;
        }
        Ok(self.file.into_inner()?)
    }

    fn group(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl<W: Write + Send> std::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("columns", &self.names.len()).finish_non_exhaustive()
    }
}

fn field(name: &str, kind: Kind) -> Result<Type> {
    let (physical, logical) = match kind {
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        Kind::Int | Kind::BigInt => (Physical::INT64, None),
        Kind::Double => (Physical::DOUBLE, None),
        Kind::Bool => (Physical::BOOLEAN, None),
        Kind::Text | Kind::Null => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(builder.build()?)
}

impl Column {
    fn new(name: &str, kind: Kind) -> Self {
        let values = match kind {
            Kind::Time | Kind::Int | Kind::BigInt => Values::Ints(Vec::new()),
            Kind::Double => Values::Doubles(Vec::new()),
            Kind::Bool => Values::Bools(Vec::new()),
            Kind::Text | Kind::Null => Values::Texts(Vec::new()),
        };
        Self { name: name.to_owned(), kind, values, levels: Vec::new() }
    }

    /// Takes a value; `None` if it is not of the column's type.
    fn push(&mut self, row: &ResultRow, text: &str) -> Option<()> {
        match &mut self.values {
            Values::Ints(ints) if self.kind == Kind::Time => ints.push(row.time_ns()?),
            Values::Ints(ints) => ints.push(text.parse().ok()?),
            Values::Doubles(doubles) => doubles.push(text.parse().ok()?),
            Values::Bools(bools) => bools.push(text.parse().ok()?),
            Values::Texts(_) if self.kind == Kind::Null => return None,
            Values::Texts(texts) => texts.push(text.as_bytes().to_vec().into()),
        }
        Some(())
    }

    fn write<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let Some(mut column) = group.next_column()? else {
            return Err(Error::Changed { field: self.name.clone() });
        };
        let levels = Some(&*self.levels);
        match &self.values {
            Values::Ints(ints) => column.typed::<Int64Type>().write_batch(ints, levels, None)?,
            Values::Doubles(doubles) => column.typed::<DoubleType>().write_batch(doubles, levels, None)?,
            Values::Bools(bools) => column.typed::<BoolType>().write_batch(bools, levels, None)?,
            Values::Texts(texts) => column.typed::<ByteArrayType>().write_batch(texts, levels, None)?,
        };
        column.close()?;
        self.levels.clear();
        match &mut self.values {
            Values::Ints(ints) => ints.clear(),
            Values::Doubles(doubles) => doubles.clear(),
            Values::Bools(bools) => bools.clear(),
            Values::Texts(texts) => texts.clear(),
        }
        Ok(())
    }
}
