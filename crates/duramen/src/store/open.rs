//! Opening a store, making it if need be.

use super::Store;
use super::background::{self, Background, KeeperSlot, Signal};
use super::keeper::refuse_tables_without_manifest;
use super::layout::Layout;
use super::options::StoreOptions;
use super::shared::Shared;
use super::snapshot::Snapshots;
use crate::error::{Error, Result};
use duramen_engine::Error as EngineError;
use duramen_engine::io::Env;
use duramen_engine::kv::MARKER_FILE_NAME;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long to wait for another process that is just making the store.
const WAIT_FOR_MAKER: Duration = Duration::from_secs(10);

pub(super) fn read_only(dir: &Path, options: StoreOptions) -> Result<Store> {
    let layout = Layout::new(dir);
    refuse_key_value_store(&options.env, &layout)?;
    if !manifest_exists(&options.env, &layout)? {
        check_not_foreign(&options.env, &layout)?;
        return Err(Error::NoStore { path: dir.to_path_buf() });
    }
    let layout = Layout::new(&options.env.fs.absolute(dir));
    assemble(Shared::new(options.env.clone(), layout, options), true)
}

pub(super) fn read_write(dir: &Path, options: StoreOptions) -> Result<Store> {
    // The WAL is made with the first line: by then a program counts on its store.
    options.wal().check()?;
    let env = options.env.clone();
    let layout = Layout::new(dir);
    refuse_key_value_store(&env, &layout)?;
    if !manifest_exists(&env, &layout)? {
        check_not_foreign(&env, &layout)?;
        env.fs.create_dir_all(dir).map_err(EngineError::io("create", dir))?;
    }
    // A program that goes elsewhere, as daemons do, is to go on writing here.
    let layout = Layout::new(&env.fs.absolute(dir));
    let shared = Arc::new(Shared::new(env, layout, options));
    let keeper = KeeperSlot::default();
    let started = shared.env.clock.monotonic();
    loop {
        if shared.options.keeper || !manifest_exists(&shared.env, &shared.layout)? {
            background::become_keeper(&shared, &keeper)?;
        }
        if manifest_exists(&shared.env, &shared.layout)? {
            break;
        }
        if shared.env.clock.monotonic() - started > WAIT_FOR_MAKER {
            return Err(EngineError::Locked { path: shared.layout.keeper_lock() }.into());
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    if !shared.options.keeper {
        *super::shared::lock(&keeper) = None;
    }
    let store = assemble_with(shared, false, keeper)?;
    if store.shared.options.background && store.shared.options.keeper {
        let background = Background::start(store.shared.clone(), store.keeper.clone(), store.signal.clone())
            .map_err(EngineError::io("start a thread for", dir))?;
        *super::shared::lock(&store.background) = Some(background);
    }
    Ok(store)
}

fn assemble(shared: Shared, read_only: bool) -> Result<Store> {
    assemble_with(Arc::new(shared), read_only, KeeperSlot::default())
}

fn assemble_with(shared: Arc<Shared>, read_only: bool, keeper: KeeperSlot) -> Result<Store> {
    let snapshots = Arc::new(Snapshots::new(shared.clone())?);
    Ok(Store {
        shared,
        snapshots,
        keeper,
        signal: Arc::new(Signal::default()),
        background: Mutex::new(None),
        making_wal: Mutex::new(()),
        closed: AtomicBool::new(false),
        read_only,
    })
}

fn manifest_exists(env: &Env, layout: &Layout) -> Result<bool> {
    let path = layout.manifest();
    match env.fs.exists(&path) {
        // The directory is a file: `check_not_foreign` says so better.
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        other => Ok(other.map_err(EngineError::io("look for", &path))?),
    }
}

/// Refuses a directory of the engine's key-value stores: its manifest and WAL are of the same form, and would be taken for
/// a store's own, whose keeper flushes segments and removes tables.
fn refuse_key_value_store(env: &Env, layout: &Layout) -> Result<()> {
    let marker = layout.root().join(MARKER_FILE_NAME);
    // What cannot be looked for is told below.
    if !env.fs.exists(&marker).unwrap_or(false) {
        return Ok(());
    }
    let detail = "it holds a key-value store of the engine, as its file ENGINE says: open it with `duramen_engine`, or \
                  look into it with `duramen engine dump`";
    Err(Error::NotAStore { path: layout.root().into(), detail: detail.into() })
}

/// Refuses a directory without a manifest that holds tables, or anything that is not a store's: it would be a mistyped path.
fn check_not_foreign(env: &Env, layout: &Layout) -> Result<()> {
    match refuse_tables_without_manifest(env, layout) {
        // Unless somebody has just made it.
        Err(e) if e.is_corruption() => return if manifest_exists(env, layout)? { Ok(()) } else { Err(e) },
        // What cannot be listed is told below.
        _ => {}
    }
    let entries = match env.fs.read_dir(layout.root()) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(Error::NotAStore { path: layout.root().into(), detail: "it is a file".into() });
        }
        other => other.map_err(EngineError::io("list", layout.root()))?,
    };
    match entries.iter().find(|entry| !Layout::is_ours_before_manifest(&entry.name)) {
        None => Ok(()),
        Some(foreign) => {
            let detail =
                format!("it has no MANIFEST, but `{}`; give an empty or new directory", foreign.name);
            Err(Error::NotAStore { path: layout.root().into(), detail })
        }
    }
}
