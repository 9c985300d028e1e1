//! Going through a table whose index cannot be read: every chunk that is a block by what it holds.

use super::check::{Checked, LastRow};
use super::{DamagedPart, Item, Role, TableWalk};
use crate::Result;
use crate::lsm::table::{compress, tombstones};
use crate::sstable::filter::FuseFilter;
use crate::sstable::{FOOTER_BYTES, FRAME_BYTES, HEADER_BYTES, could_be_footer};

impl TableWalk {
    /// Goes from chunk to chunk, those of index and properties included: then what is left is the footer. If it is
    /// anything else, the file is cut short, or a length cannot be trusted, and something may be missing.
    pub(super) fn by_content(&self, visit: &mut dyn FnMut(Item<'_>) -> Result<()>) -> Result<()> {
        let damaged = |range, detail| {
            let (role, partition) = (Role::Block, None);
            Item::Damaged(DamagedPart { role, partition, range, detail })
        };
        let mut last = LastRow::default();
        let mut at = HEADER_BYTES as u64;
        // What may be a filter as well is taken for deleted ranges only if nothing else is: the first, for filters lie behind.
        let (mut ranges, mut perhaps) = (None, None);
        while at < self.file_bytes {
            let Some(next) = self.next_frame(at, self.file_bytes) else { break };
            match self.frame(at..next) {
                Ok(bytes) => {
                    let (len, payload) = (bytes.len(), bytes.get(FRAME_BYTES..).unwrap_or_default());
                    let found = compress::open(bytes.clone(), FRAME_BYTES..len, None)
                        .and_then(|block| Checked::of(block, &last));
                    if let Ok(checked) = found {
                        checked.give(None, at..next, &mut last, visit)?;
                    } else if let Ok(found) = tombstones::decode(payload)
                        && !found.is_empty()
                    {
                        match FuseFilter::decode(payload) {
                            Ok(_) => perhaps = perhaps.or(Some(found)),
                            Err(_) => ranges = Some(found),
                        }
                    }
                }
                Err(detail) => visit(damaged(at..next, detail))?,
            }
            at = next;
        }
        if !self.is_footer(at) {
            let detail = "what should follow is missing, or cannot be told apart".to_owned();
            visit(damaged(at.min(self.file_bytes)..self.file_bytes, detail))?;
        }
        ranges.or(perhaps).map_or(Ok(()), |ranges| visit(Item::Ranges(ranges)))
    }

    /// Whether the rest of the file is its footer.
    fn is_footer(&self, at: u64) -> bool {
        let mut rest = [0; FOOTER_BYTES];
        at.checked_add(FOOTER_BYTES as u64) == Some(self.file_bytes)
            && self.file.read_exact_at(&mut rest, at).is_ok()
            && could_be_footer(&rest)
    }
}
