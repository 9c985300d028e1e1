//! A table's container, line by line: header, footer, properties, index. What its blocks hold, their codec knows.

use super::BlockMeta;
use super::table::{open_file, read_footer, read_index};
use crate::dump::{Line, Out, Stop};
use crate::io::Env;
use std::ops::Range;
use std::path::Path;

/// Tells what can be read of the container. Gives the codec's number, if the header can be read, and the damage that
/// was told.
///
/// # Errors
/// [`Stop`]; [`crate::Error::TooNew`]; [`crate::Error::Io`].
pub(crate) fn dump(
    env: &Env,
    path: &Path,
    out: &mut Out<'_>,
) -> Result<(Option<u32>, Vec<Range<u64>>), Stop> {
    let mut told = Vec::new();
    let mut failed = |error: crate::Error, out: &mut Out<'_>| {
        if let crate::Error::Corruption { offset, .. } = &error {
            told.push(*offset..offset.saturating_add(1));
        }
        out.failure(error)
    };
    let (file, file_bytes, header) = open_file(env, path)?;
    let codec = match header {
        Ok(codec) => {
            out.line(Line::new("header", 1).number("codec", codec))?;
            Some(codec)
        }
        Err(error) => {
            failed(error, out)?;
            None
        }
    };
    let footer = match read_footer(&*file, path, file_bytes) {
        Ok(footer) => footer,
        Err(error) => {
            failed(error, out)?;
            return Ok((codec, told));
        }
    };
    let line = Line::new("footer", 1).number("entries", footer.entries).number("partitions", footer.blocks);
    let line = line.number("index_offset", footer.index.offset).number("index_bytes", footer.index.len);
    let line = line.number("properties_offset", footer.properties.offset);
    out.line(line.number("properties_bytes", footer.properties.len))?;
    match read_index(&*file, path, &footer) {
        Ok((index, properties)) => {
            for (name, value) in &properties {
                out.line(Line::new("property", 1).text("name", name).bytes("value", value))?;
            }
            for (i, (block, end)) in index.blocks.iter().zip(&index.ends).enumerate() {
                out.item(partition(i, index.start(i)..*end, block))?;
            }
        }
        Err(error) => failed(error, out)?,
    }
    Ok((codec, told))
}

fn partition(i: usize, range: Range<u64>, block: &BlockMeta) -> Line {
    let line = Line::new("partition", 1).number("partition", i).number("offset", range.start);
    let line = line.number("bytes", range.end - range.start).number("entries", block.entries);
    let line = line.bytes("min_key", &block.min_key).bytes("max_key", &block.max_key);
    let line = line.number("directory_offset", block.directory.offset);
    let line = line.number("directory_bytes", block.directory.len);
    let Some(first) = block.filters.first() else { return line };
    let bytes = block.filters.iter().map(|filter| u64::from(filter.len)).sum::<u64>();
    let line = line.number("filter_offset", first.offset).number("filter_bytes", bytes);
    if block.filters.len() > 1 { line.number("filter_parts", block.filters.len() as u64) } else { line }
}
