//! A copy of a store gets its name when everything in it is durable: what a crash leaves is not taken for a store.

use super::{EngineKind, marker};
use crate::Result;
use crate::io::{Env, InTheMaking};
use std::path::Path;

/// The mark of a checkpoint in the making.
pub(super) const MARK: &str = "CHECKPOINT";

const MAKING: InTheMaking = InTheMaking { what: "checkpoint", mark: MARK, opened: "LOCK" };

/// Makes `dir`, which must not exist, a store of this engine. `fill` puts everything but the marker into the
/// directory that it is given, durably, names in it included; the name of that comes afterwards.
///
/// # Errors
/// Those of [`InTheMaking::make`] and of `fill`. `dir` does not exist then.
pub(crate) fn checkpoint(
    env: &Env,
    dir: &Path,
    kind: EngineKind,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    MAKING.make(env, dir, |tmp| marker::claim(env, tmp, kind, false).and_then(|()| fill(tmp)))
}
