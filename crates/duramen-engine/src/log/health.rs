//! Verifying and repairing a log.

use super::format::Identity;
use super::new_file::NewFile;
use super::open::{LOCK, LOG, LOG_TMP};
use super::survey::survey;
use super::{Log, LogOptions};
use crate::io::{Env, OpenMode};
use crate::kv::{
    Damage, Engine, Progress, Quarantine, RepairOptions, RepairReport, VerifyReport, lock_to_repair,
};
use crate::wal::Background;
use crate::{Error, Result};
use std::path::Path;

/// See [`verify`](crate::kv::verify).
pub(crate) fn verify(env: &Env, dir: &Path, progress: &mut dyn FnMut(Progress)) -> Result<VerifyReport> {
    let path = dir.join(LOG);
    let mut report = VerifyReport { files: 1, ..VerifyReport::default() };
    let found = env.fs.open(&path, OpenMode::Read).map_err(Error::io("open", &path));
    match found.and_then(|file| survey(&*file, &path, progress)) {
        Ok(found) => {
            report.bytes = found.file_len;
            report.entries = found.writes;
            report.damage = found.damage;
            if found.torn_bytes > 0 {
                let (path, bytes) = (path.display(), found.torn_bytes);
                report.notes.push(format!("{path} ends in {bytes} bytes of a write that a crash cut off"));
            }
        }
        Err(error) if error.is_corruption() || error.is_not_found() => {
            report.damage.push(Damage::of_error(&path, &error));
        }
        Err(error) => return Err(error),
    }
    Ok(report)
}

/// See [`repair`](crate::kv::repair). What can be read becomes the base of a new file.
pub(crate) fn repair(
    env: &Env,
    dir: &Path,
    options: RepairOptions,
    progress: &mut dyn FnMut(Progress),
    report: &mut RepairReport,
) -> Result<()> {
    let path = dir.join(LOG);
    let lock = lock_to_repair(env, dir.join(LOCK), options)?;
    let file = match env.fs.open(&path, OpenMode::Read).map_err(Error::io("open", &path)) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => {
            report.lost.push(Damage::of_error(&path, &error));
            report.actions.push(format!("{} is begun anew, empty", path.display()));
            drop(lock);
            return begin_anew(env, dir, options);
        }
        Err(error) => return Err(error),
    };
    let mut quarantine = Quarantine::new(env, dir);
    let found = match survey(&*file, &path, progress) {
        Ok(found) => found,
        Err(error) if error.is_corruption() => {
            report.lost.push(Damage::of_error(&path, &error));
            let named = path.display();
            report
                .actions
                .push(format!("{named} is put aside, and begun anew, empty: nothing of it can be read"));
            if !options.dry_run {
                report.quarantined.push(quarantine.put_aside(&path)?);
                env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
            }
            drop(lock);
            return begin_anew(env, dir, options);
        }
        Err(error) => return Err(error),
    };
    if found.damage.is_empty() {
        return Ok(());
    }
    report.actions.push(format!("{}: {} writes are written anew", path.display(), found.writes));
    report.lost.extend(found.damage.iter().filter(|damage| damage.entries != Some(0)).cloned());
    if options.dry_run {
        return Ok(());
    }
    let generation = (found.identity.generation >> 1).saturating_add(1 << 32);
    // Without a header it is known only what the store's number did to checksums.
    let store_id = if found.is_said { found.identity.store_id } else { env.random.next_u64() };
    let identity = Identity { store_id, generation };
    let tmp = dir.join(LOG_TMP);
    let mut new = NewFile::create(env, tmp.clone(), identity)?;
    found.each_op(&*file, &path, |op| new.base_op(op, found.last_seq))?;
    new.end_base(found.last_seq)?;
    let base_end = new.end();
    new.finish((base_end, found.last_seq), found.last_seq.saturating_add(1), env.clock.boot_id())?;
    quarantine.keep(&path)?;
    env.fs.rename(&tmp, &path).map_err(Error::io("rename", &tmp))?;
    new.keep();
    env.fs.sync_dir(dir).map_err(Error::io("sync", dir))?;
    report.quarantined.extend(quarantine.let_go_but(&path)?);
    Ok(())
}

/// Makes the file of an empty store, as opening one does.
fn begin_anew(env: &Env, dir: &Path, options: RepairOptions) -> Result<()> {
    if options.dry_run {
        return Ok(());
    }
    let background = Background::Manual;
    Log::open(dir, LogOptions { env: env.clone(), background, ..LogOptions::default() })?.close()
}
