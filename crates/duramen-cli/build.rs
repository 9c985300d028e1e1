//! Asks the linker to pack the command's relative relocations, where the C library can read them.
//!
//! A position-independent program has a relocation for every pointer in its constants: every virtual method, and the place in
//! the source of every check. They are 24 bytes each in the usual form, a megabyte in all, and less than two bits each packed
//! (`DT_RELR`, <https://maskray.me/blog/2021-10-31-relative-relocations-and-relr>). The C library reads that form since glibc
//! 2.36, and an older one refuses the program: so it is packed where this machine's is not older, unless
//! `DURAMEN_PACK_RELOCATIONS=0` says that the command is meant for other machines.

use std::process::Command;

/// The first glibc that reads packed relocations.
const FIRST: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DURAMEN_PACK_RELOCATIONS");
    let is_wanted = std::env::var("DURAMEN_PACK_RELOCATIONS").as_deref() != Ok("0");
    if is_wanted && is_for_this_machine() && glibc().is_some_and(|version| version >= FIRST) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

fn is_for_this_machine() -> bool {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    of("CARGO_CFG_TARGET_OS") == "linux"
        && of("CARGO_CFG_TARGET_ENV") == "gnu"
        && !of("HOST").is_empty()
        && of("HOST") == of("TARGET")
}

/// The version of this machine's glibc; `getconf` is part of it.
fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
