//! What libFuzzer calls. `scripts/fuzz.sh` builds and runs it.
#![no_main]

use duramen_fuzz::TARGETS;
use std::sync::OnceLock;

static RUN: OnceLock<fn(&[u8])> = OnceLock::new();

fn choose() {
    let name = std::env::var("DURAMEN_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|target| target.name == name) else {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("DURAMEN_FUZZ_TARGET is {name:?}; it must be one of: {}", names.join(" "));
        std::process::exit(2);
    };
    let _first = RUN.set(target.run);
}

libfuzzer_sys::fuzz_target!(init: choose(), |data: &[u8]| {
    if let Some(run) = RUN.get() {
        run(data);
    }
});
