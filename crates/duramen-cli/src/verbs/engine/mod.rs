//! `duramen engine`: the files of the storage engine, as files.

mod dump;
mod repair;
mod verify;

use crate::args::{EngineArgs, EngineVerb};
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::render::escape::push_safe_line;
use crate::render::units::{bytes, counted};
use duramen_engine::io::Env;
use duramen_engine::kv::{Damage, MARKER_FILE_NAME};
use std::io::Write;
use std::path::Path;

/// Dumps, verifies or repairs.
pub(crate) fn run(args: &EngineArgs, env: &Env, interrupt: &Interrupt) -> Outcome {
    match &args.verb {
        EngineVerb::Dump(args) => dump::run(args, env, interrupt),
        EngineVerb::Verify(args) => verify::run(args, env, interrupt),
        EngineVerb::Repair(args) => repair::run(args, env, interrupt),
    }
}

/// Sends who means a log store to where that is looked after.
fn refuse_log_store(env: &Env, dir: &Path) -> Result<(), Failure> {
    let has = |name: &str| env.fs.exists(&dir.join(name)).unwrap_or(false);
    if has(MARKER_FILE_NAME) || has("sst") || !(has("MANIFEST") && has("wal")) {
        return Ok(());
    }
    let dir = dir.display();
    Err(Failure::Failed(format!(
        "{dir} holds a log store, not a key-value store: use `duramen --store {dir} verify`; \
         docs/operations.md says what to do about damage"
    )))
}

/// Writes lines to stdout, with nothing in them that could steer a terminal.
fn print(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let mut text = String::new();
    for line in lines {
        push_safe_line(&mut text, &line);
        text.push('\n');
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}

/// Which file, where, which keys, what was found, and what it costs.
fn describe(damage: &Damage) -> String {
    let mut text = damage.path.display().to_string();
    if let Some(offset) = damage.offset {
        text.push_str(&format!(", at byte {offset}"));
    }
    if let Some(length) = damage.bytes {
        text.push_str(&format!(", {}", bytes(length)));
    }
    text.push_str(&format!(": {}", damage.detail));
    let among = damage.keys.as_ref().map_or_else(String::new, |(from, to)| {
        format!(" among the keys \"{}\" to \"{}\"", from.escape_ascii(), to.escape_ascii())
    });
    text.push_str(&match damage.entries {
        Some(0) => "; costs nothing".into(),
        Some(entries) => format!("; costs {}{among}", counted(entries, "entry", "entries")),
        None if among.is_empty() => "; what it costs cannot be told".into(),
        None => format!("; costs entries{among}"),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damage_says_where_and_what_it_costs() {
        let mut damage = Damage {
            path: "/s/sst/00000001.sst".into(),
            offset: Some(4096),
            bytes: Some(512),
            keys: Some((b"a\xff".to_vec(), b"b".to_vec())),
            entries: Some(1),
            detail: "the checksum is wrong".into(),
        };
        let place = "/s/sst/00000001.sst, at byte 4096, 512 B: the checksum is wrong; costs";
        assert_eq!(describe(&damage), format!("{place} 1 entry among the keys \"a\\xff\" to \"b\""));
        damage.entries = None;
        assert_eq!(describe(&damage), format!("{place} entries among the keys \"a\\xff\" to \"b\""));
        damage.entries = Some(0);
        assert_eq!(describe(&damage), format!("{place} nothing"));
        damage = Damage { offset: None, bytes: None, keys: None, entries: None, ..damage };
        let whole = "/s/sst/00000001.sst: the checksum is wrong; what it costs cannot be told";
        assert_eq!(describe(&damage), whole);
    }
}
