use crate::sandbox::Sandbox;

#[test]
fn help_has_examples_for_every_verb() {
    let sandbox = Sandbox::new();
    for verb in ["ingest", "query", "tail", "stats", "verify", "engine", "generate", "completions", "import"]
    {
        let help = sandbox.run([verb, "--help"]).expect(0).stdout;
        assert!(help.contains("Examples:\n  "), "{verb}: {help}");
        assert!(help.contains("--store <DIR>"), "{verb}: {help}");
    }
    let version = sandbox.run(["--version"]).expect(0).stdout;
    assert_eq!(version, format!("duramen {}\n", env!("CARGO_PKG_VERSION")));
    sandbox.run(["no-such-verb"]).expect(2);
}

#[test]
fn an_empty_setting_names_no_store() {
    let sandbox = Sandbox::new();
    sandbox.write("app.log", "one\n");
    let ran = sandbox.command(["ingest", "app.log"]).env("DURAMEN_STORE", "").output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(sandbox.path("duramen-data/MANIFEST").exists());
    sandbox.run(["--store", "duramen-data", "query", "one", "-e"]).expect(0);
}

#[test]
fn every_shell_has_completions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(["completions", shell]).expect(0).stdout;
        for word in ["ingest", "fail-empty", "timezone", "dry-run"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn generated_lines_go_in_and_what_was_planted_is_found() {
    let sandbox = Sandbox::new();
    let args = ["generate", "--lines", "20000", "--seed", "3", "--start", "2026-11-20", "--planted"];
    let ran = sandbox.run(args).expect(0);
    assert_eq!(ran.stdout, sandbox.run(args).expect(0).stdout, "same flags, same bytes");
    assert_eq!(ran.stdout.lines().count(), 20_000);
    sandbox.run_with_input(["ingest", "-"], ran.stdout.as_bytes()).expect(0);
    assert_eq!(sandbox.count(), 20_000);
    let planted: Vec<(usize, &str)> = ran
        .stderr
        .lines()
        .map(|line| {
            let (lines, text) = line.strip_prefix("planted on ").unwrap().split_once(" lines: ").unwrap();
            (lines.parse().unwrap(), text)
        })
        .collect();
    assert!(planted.len() >= 3, "{planted:?}");
    for (lines, text) in planted {
        let everywhere = format!("\"{text}\" or trace_id:\"{text}\" or request_id:\"{text}\"");
        assert_eq!(sandbox.find(&everywhere).len(), lines, "{text}");
    }
    let wrong = sandbox.run(["generate", "--rate", "0"]).expect(2);
    assert!(wrong.stderr.contains("the rate must be"), "{}", wrong.stderr);
}

#[test]
fn stats_add_up() {
    let sandbox = Sandbox::new();
    let text: String = (0..3000).map(|n| format!("2026-11-2{}T10:00:00Z INFO n={n}\n", n % 2)).collect();
    sandbox.ingest(&sandbox.write("app.log", &text));
    let shown = sandbox.run(["stats"]).expect(0).stdout;
    assert!(
        shown.contains("2026-11-20") && shown.contains("2026-11-21") && shown.contains("total"),
        "{shown}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.run(["stats", "--json"]).expect(0).stdout).unwrap();
    assert_eq!(json["total"]["lines"], 3000);
    assert_eq!(json["total"]["raw_bytes"], text.len());
    assert_eq!(json["days"][0]["lines"], 1500);
    assert_eq!(json["sources"], 1);
    assert!(json["fields"].as_array().unwrap().iter().any(|field| field["name"] == "_msg"));
}
