//! Study 003: entries are stored one by one, and all of them read back. Its versions are configurations here.
//!
//! | module | one idea |
//! |---|---|
//! | `configs` | its versions, and what they are compared with |
//! | `ours` | the store, in each configuration |
//! | `peers` | SQLite, a JSON file, and the device alone |
//! | `entries` | writing all, reading all |
//! | `window` | a hundredth of the time range, beside all of it |
//! | `recover` | what a killed process left |
//! | `encoding` | CBOR and JSON |
//! | `report` | the page |

mod configs;
mod encoding;
mod entries;
mod ours;
mod peers;
mod recover;
mod report;
mod window;

pub(crate) use encoding::encoding;
pub(crate) use entries::entries;
pub(crate) use recover::{recover, victim};
pub(crate) use report::page;
pub(crate) use window::window;

use crate::case::{Case, Study};
use configs::CONFIGS;

/// Small messages, and 003's of 1 KB.
pub(crate) const SMALL_BYTES: usize = 64;
pub(crate) const LARGE_BYTES: usize = 1024;
pub(crate) const SIZES: [usize; 2] = [SMALL_BYTES, LARGE_BYTES];

pub(crate) const COUNTS: [u64; 2] = [10_000, 100_000];

/// Who is killed.
pub(crate) const VICTIMS: [&str; 3] = ["process", "process-in-flush", "sqlite-normal"];

pub(crate) fn cases(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for lines in COUNTS {
        for bytes in SIZES {
            let wanted =
                CONFIGS.iter().filter(|c| !quick || lines == COUNTS[0] || c.always && bytes == LARGE_BYTES);
            cases.extend(wanted.map(|c| Case::new(Study::Entries, c.name, lines).message_bytes(bytes)));
        }
    }
    for bytes in SIZES {
        cases.push(Case::new(Study::Window, "process", COUNTS[1]).message_bytes(bytes));
        cases.push(Case::new(Study::Window, "sqlite-normal", COUNTS[1]).message_bytes(bytes));
        cases.extend(["cbor", "json"].map(|e| Case::new(Study::Encoding, e, COUNTS[0]).message_bytes(bytes)));
    }
    cases.extend(VICTIMS.map(|v| Case::new(Study::Recover, v, COUNTS[1]).message_bytes(LARGE_BYTES)));
    cases
}
