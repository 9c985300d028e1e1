//! `duramen verify`: reads every byte of the store.

use crate::args::VerifyArgs;
use crate::failure::{Failure, Outcome, complain};
use crate::interrupt::Interrupt;
use crate::render::escape::push_safe_line;
use crate::render::units::{bytes, counted};
use crate::verbs::progress::Progress;
use duramen::Store;
use duramen::store::Damage;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Checks the store and says what is damaged.
pub(crate) fn run(args: &VerifyArgs, dir: &Path, interrupt: &Interrupt) -> Outcome {
    let store = Store::open_read_only(dir)?;
    let progress = Progress::new(args.quiet, interrupt);
    // Nothing is being written, so there is nothing to finish when a signal comes.
    let report = store.verify(&mut |so_far| progress.set(so_far.done_bytes, so_far.total_bytes))?;
    progress.finish();
    let mut out = std::io::stdout().lock();
    let read = format!(
        "{} and {} of {} read, {} whole",
        counted(report.files, "file", "files"),
        counted(report.blocks, "block", "blocks"),
        bytes(report.bytes),
        counted(report.lines, "line", "lines")
    );
    let mut text = String::new();
    for damage in &report.damage {
        push_safe_line(&mut text, &describe(damage));
        text.push('\n');
    }
    for name in &report.quarantined {
        push_safe_line(
            &mut text,
            &format!("note: quarantine/{name} was set aside earlier, and is in no answer"),
        );
        text.push('\n');
    }
    if report.quarantined.iter().any(|name| name.starts_with("tables-")) {
        text.push_str("note: `duramen repair` puts tables back that are whole, or says why they stay\n");
    }
    if report.damage.is_empty() {
        text.push_str(&format!("{read}: every byte is as it was written\n"));
    } else {
        text.push_str(&format!("{read}\n"));
    }
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output);
    if report.damage.is_empty() {
        return printed.map(|()| ExitCode::SUCCESS);
    }
    let places = counted(report.damage.len() as u64, "place is", "places are");
    complain(&format!(
        "{places} damaged; what is whole is still served. `duramen ingest --again FILE` takes lines once more, those that are \
         whole a second time"
    ));
    // Damage is damage, also where nobody reads on.
    match printed {
        Ok(()) | Err(Failure::ClosedPipe) => Ok(ExitCode::from(1)),
        Err(failure) => Err(failure),
    }
}

/// Which file, block and offset, what was found, and what it costs.
fn describe(damage: &Damage) -> String {
    let mut text = format!("damaged: {}", damage.path.display());
    if let Some(block) = damage.block {
        text.push_str(&format!(", block {block}"));
    }
    if let Some(offset) = damage.offset {
        text.push_str(&format!(", at byte {offset}"));
    }
    text.push_str(&format!(": {}", damage.detail));
    text.push_str(&match damage.lines {
        Some(lines) => format!("; costs {}", counted(lines, "line", "lines")),
        None => "; what it costs cannot be told".into(),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damage_says_where_and_what_it_costs() {
        let mut damage = Damage {
            path: "/s/tables/20260101/00000001.sst".into(),
            offset: Some(4096),
            block: Some(2),
            lines: Some(1),
            detail: "the checksum is wrong".into(),
        };
        assert_eq!(
            describe(&damage),
            "damaged: /s/tables/20260101/00000001.sst, block 2, at byte 4096: the checksum is wrong; costs 1 line"
        );
        damage = Damage { offset: None, block: None, lines: None, ..damage };
        assert_eq!(
            describe(&damage),
            "damaged: /s/tables/20260101/00000001.sst: the checksum is wrong; what it costs cannot be told"
        );
    }
}
