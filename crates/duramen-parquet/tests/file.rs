//! What is written is read again, by column, with its types.

#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too

use duramen::{EntryBuf, Store, Value};
use duramen_parquet::{Columns, Error, ParquetWriter};
use duramen_query::{Cancel, ParseOptions, Query, ResultRow, RunOptions};
use parquet::basic::Type;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::ops::ControlFlow;

fn rows(store: &Store, query: &str) -> Vec<ResultRow> {
    let query = Query::parse(query, &ParseOptions::default()).unwrap();
    let mut rows = Vec::new();
    let blocks = store.snapshot().unwrap().blocks(i64::MIN, i64::MAX);
    let ran = query.run(blocks, &RunOptions::default(), &Cancel::default(), &mut |row| {
        rows.push(row.clone());
        ControlFlow::Continue(())
    });
    ran.unwrap();
    rows
}

fn columns(rows: &[ResultRow]) -> Columns {
    let mut columns = Columns::new();
    rows.iter().for_each(|row| columns.see(row).unwrap());
    columns
}

fn written(rows: &[ResultRow]) -> SerializedFileReader<bytes::Bytes> {
    let mut writer = ParquetWriter::new(Vec::new(), columns(rows)).unwrap();
    rows.iter().for_each(|row| writer.row(row).unwrap());
    SerializedFileReader::new(bytes::Bytes::from(writer.finish().unwrap())).unwrap()
}

#[test]
fn every_type_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("logs")).unwrap();
    let mut entry = EntryBuf::new(["app"]);
    for n in 0..100_000i64 {
        entry
            .start(1_700_000_000_000_000_000 + n)
            .message("line")
            .field("n", n)
            .field("half", n as f64 / 2.0);
        if n % 2 == 0 {
            entry.field("even", true).field("mixed", "text");
        } else {
            entry.field("mixed", n).field("nothing", Value::Null);
        }
        store.append(entry.finish().unwrap()).unwrap();
    }
    let rows = rows(&store, "*");
    let file = written(&rows);
    assert!(file.num_row_groups() > 1);
    let meta = file.metadata().file_metadata();
    assert_eq!(meta.num_rows(), 100_000);
    let of = |name: &str| {
        let columns = meta.schema_descr().columns();
        columns.iter().find(|column| column.name() == name).unwrap().physical_type()
    };
    assert_eq!([of("_time"), of("n"), of("half")], [Type::INT64, Type::INT64, Type::DOUBLE]);
    assert_eq!([of("even"), of("mixed"), of("nothing")], [Type::BOOLEAN, Type::BYTE_ARRAY, Type::BYTE_ARRAY]);
    for (row, read) in rows.iter().zip(file.get_row_iter(None).unwrap()) {
        let read = read.unwrap();
        let n: i64 = row.get("n").unwrap().parse().unwrap();
        for (name, field) in read.get_column_iter() {
            let wanted = match name.as_str() {
                "n" => Field::Long(n),
                "half" => Field::Double(n as f64 / 2.0),
                "even" if n % 2 == 0 => Field::Bool(true),
                "mixed" if n % 2 == 0 => Field::Str("text".into()),
                "mixed" => Field::Str(n.to_string()),
                "_msg" => Field::Str("line".into()),
                "_time" => {
                    let Field::Long(ns) = field else { panic!("{field:?}") };
                    assert_eq!(*ns, 1_700_000_000_000_000_000 + n);
                    continue;
                }
                _ => Field::Null,
            };
            assert_eq!(*field, wanted, "{name} of {n}");
        }
    }
    let counts = self::rows(&store, "* | stats by (_time:1d) count() n, avg(n) mean");
    assert_eq!(written(&counts).metadata().file_metadata().num_rows(), 1);
}

#[test]
fn what_was_not_seen_is_no_row() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("logs")).unwrap();
    let mut entry = EntryBuf::new(["app"]);
    for value in [Value::Int(1), Value::Str("x")] {
        entry.start(1).message("m").field("a", value);
        store.append(entry.finish().unwrap()).unwrap();
    }
    assert_eq!(written(&[]).metadata().file_metadata().num_rows(), 0, "no row is a file, too");
    let (number, text) = (rows(&store, "a:1"), rows(&store, "a:x"));
    let mut writer = ParquetWriter::new(Vec::new(), columns(&number)).unwrap();
    assert!(matches!(writer.row(&text[0]), Err(Error::Changed { field }) if field == "a"));
    let mut writer = ParquetWriter::new(Vec::new(), columns(&rows(&store, "a:1 | fields a"))).unwrap();
    assert!(matches!(writer.row(&number[0]), Err(Error::Changed { .. })));
}
