//! What is done when the process ends: what loggers still hold is synced.
//!
//! A logger in a `static` is never dropped. Its lines survive the process all the same; this has them survive a loss
//! of power that follows, too, and says what was refused last.

use super::direct::Core;
use duramen_engine::io::os::{at_exit, without_fork};
use std::sync::{Mutex, Once, Weak};

/// The loggers that are open. Locked only where nobody forks, so that a child never finds it locked.
static OPEN: Mutex<Vec<Weak<Core>>> = Mutex::new(Vec::new());

/// Has a logger be synced at exit.
pub(super) fn remember(core: Weak<Core>) {
    static HOOKED: Once = Once::new();
    without_fork(|| {
        HOOKED.call_once(|| {
            // Without memory for it, lines are as safe as they are after `kill -9`.
            let _best_effort = at_exit(sync_all);
        });
        let mut open = crate::store::shared::lock(&OPEN);
        open.retain(|core| core.strong_count() > 0);
        open.push(core);
    });
}

extern "C" fn sync_all() {
    let open = without_fork(|| std::mem::take(&mut *crate::store::shared::lock(&OPEN)));
    for core in open.iter().filter_map(Weak::upgrade) {
        // Nobody is left to be told.
        let _best_effort = core.sync();
    }
}
