use crate::sandbox::Sandbox;
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_cannot_be_read_is_told_and_the_others_go_on() {
    let sandbox = Sandbox::new();
    sandbox.write("binary", b"\x7fELF\x02\x01\x01\0\0\0\0 and so on\n");
    sandbox.write("log.xz", b"\xfd7zXZ\0 and so on");
    std::fs::create_dir(sandbox.path("dir")).unwrap();
    sandbox.write("good", "fine\n");
    let ran = sandbox.run(["ingest", "missing", "binary", "log.xz", "dir", "good"]).expect(1);
    for complaint in [
        "duramen: cannot read missing: no such file or directory",
        "duramen: binary is binary (it has NUL bytes)",
        "duramen: log.xz is compressed with xz",
        "duramen: dir is a directory",
    ] {
        assert!(ran.stderr.contains(complaint), "{complaint}: {}", ran.stderr);
    }
    assert_eq!(sandbox.messages("*"), ["fine"]);
    // A stream cannot be read again, and who writes it would end, too.
    let ran = sandbox.run_with_input(["ingest", "-"], b"ab\0\0\0\0\0\0\0\0\0\0\0\0cd\nsecond\n").expect(0);
    assert!(ran.stderr.contains("stdin begins with NUL bytes"), "{}", ran.stderr);
    assert_eq!(sandbox.messages("second"), ["second"]);
    assert_eq!(sandbox.count(), 3);
}

/// As SQL Server and PowerShell write it; more of it is taken where it grows.
#[test]
fn utf16_is_read() {
    let sandbox = Sandbox::new();
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let first = utf16("\u{feff}2024-06-01 10:00:00.12 spid7s  häßlich\r\n");
    sandbox.write("errorlog", &first);
    sandbox.run(["ingest", "errorlog"]).expect(0);
    let more = utf16("2024-06-01 10:00:01.12 spid7s  more\r\n");
    sandbox.write("errorlog", [first.as_slice(), &more, b"2"].concat());
    sandbox.run(["ingest", "errorlog"]).expect(0);
    sandbox.run(["ingest", "errorlog"]).expect(0);
    assert_eq!(sandbox.count(), 2);
    assert_eq!(sandbox.messages("häßlich"), ["2024-06-01 10:00:00.12 spid7s  häßlich"]);
    let big: Vec<u8> = "\u{feff}of a pipe\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    sandbox.run_with_input(["ingest", "-"], &big).expect(0);
    assert_eq!(sandbox.messages("pipe"), ["of a pipe"]);
}

#[test]
fn a_few_nul_bytes_make_no_log_binary() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "after-power-loss",
        b"2024-06-01 00:00:00 up and running\n\0\0\0\0\n2024-06-01 00:05:00 up again\n",
    );
    sandbox.run(["ingest", "after-power-loss"]).expect(0);
    assert_eq!(sandbox.messages("again").len(), 1);
}

#[test]
fn binary_is_taken_when_told_to() {
    let sandbox = Sandbox::new();
    let lines = (b"2026-11-21 10:00:00 INFO before\n", b"\n2026-11-21 10:00:01 INFO after\n");
    sandbox.write("holes", [lines.0.as_slice(), &[0; 40], lines.1].concat());
    sandbox.run(["ingest", "holes"]).expect(1);
    sandbox.run(["ingest", "--format", "plain", "holes"]).expect(0);
    assert_eq!(sandbox.messages("before or after").len(), 2);
}

#[test]
fn a_file_that_may_not_be_read_is_told() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("secret", "x\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&file).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let ran = sandbox.run(["ingest", "secret"]).expect(1);
    assert!(ran.stderr.contains("cannot read secret: permission denied"), "{}", ran.stderr);
}

#[test]
fn an_empty_file_is_no_error() {
    let sandbox = Sandbox::new();
    sandbox.write("empty", "");
    let ran = sandbox.run(["ingest", "empty"]).expect(0);
    assert!(ran.stderr.contains("empty: empty"), "{}", ran.stderr);
    assert_eq!(sandbox.count(), 0);
    let ran = sandbox.run_with_input(["ingest", "-"], b"").expect(0);
    assert!(ran.stderr.contains("stdin: empty"), "{}", ran.stderr);
}

#[test]
fn very_long_lines_are_kept() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(5 << 20);
    sandbox.write("long", format!("short\n{long}\nend\n"));
    sandbox.run(["ingest", "long"]).expect(0);
    let kept: usize = sandbox.messages("*").iter().map(String::len).sum();
    assert_eq!(kept, long.len() + "short".len() + "end".len());
}
