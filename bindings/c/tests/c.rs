//! C programs, compiled by the C compiler of this machine, and run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails as the test does")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The newest of this crate's libraries with this ending, where Cargo puts what it builds for tests.
fn library(ending: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libduramen_c") && name.ends_with(ending)
    };
    let found = std::fs::read_dir(&deps).unwrap().map(|entry| entry.unwrap().path()).filter(ours);
    found.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("a library in target/…/deps")
}

/// Compiles a program in `to`, against the library; none if there is no C compiler.
fn compile(source: &str, library: &Path, compiler: &str, flags: &[&str], to: &Path) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Command::new(compiler).arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler ({compiler}); set CC to one");
        return None;
    }
    let program = to.join("program");
    let done = Command::new(compiler)
        .args(flags)
        .args(["-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join(source))
        .arg(library)
        .arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()))
        .args(["-lpthread", "-ldl", "-lm"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

fn cc() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".into())
}

fn run(source: &str, ending: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(source, &library(ending), &cc(), &["-std=gnu11"], dir.path())?;
    let done = Command::new(program).arg(dir.path().join("logs")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8(done.stdout).unwrap())
}

#[test]
fn what_a_program_may_get_wrong_static() {
    run("tests/border.c", ".a");
}

#[test]
fn what_a_program_may_get_wrong_shared() {
    run("tests/border.c", ".so");
}

#[test]
fn the_example() {
    if let Some(said) = run("examples/shop.c", ".so") {
        let rows: Vec<&str> = said.lines().collect();
        assert_eq!(
            rows,
            [
                r#"{"level":"error","_msg":"payment refused","app":"shop"}"#,
                r#"{"level":"warn","_msg":"last words of a child","app":"shop"}"#,
                r#"{"bank":"dkb","orders":1000}"#,
                r#"{"bank":"n26","orders":1000}"#,
            ]
        );
    }
}
