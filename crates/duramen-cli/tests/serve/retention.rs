//! Retention by flags and file: set in the manifest at the start, for the store and for tenants.

use crate::server::{Server, duramen, store};
use duramen::{Level, Retention, RetentionRule, Store};
use std::path::Path;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

fn policy(dir: &Path) -> Retention {
    Store::open_read_only(dir).unwrap().retention().unwrap()
}

#[test]
fn flags_make_the_policy_and_without_them_it_stays() {
    let (_dir, store) = store();
    let args = ["--retention-max-age", "30d", "--retention-level", "debug=3d,error=forever"];
    let more = ["--retention-stream", r#"{app="a",env="b"}=7d"#, "--retention-max-bytes", "50GB"];
    let server = Server::start_with(&store, &[args, more].concat());
    let wanted = Retention {
        max_age: Some(30 * DAY),
        max_bytes: Some(50_000_000_000),
        rules: vec![
            RetentionRule::stream(r#"{app="a",env="b"}"#.parse().unwrap(), Some(7 * DAY)),
            RetentionRule::level(Level::Debug, Some(3 * DAY)),
            RetentionRule::level(Level::Error, None),
        ],
        ..Retention::default()
    };
    assert_eq!(policy(&store), wanted);
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(Server::start(&store).stop().0, Some(0));
    assert_eq!(policy(&store), wanted, "nothing was said of it");
    let server = Server::start_with(&store, &["--retention-min-free-bytes", "1GiB"]);
    let wanted = Retention { min_free_bytes: Some(1 << 30), ..Retention::default() };
    assert_eq!(policy(&store), wanted, "what is said is all of it");
    // It is enforced while it runs: a line that is too old when it comes to a table is not taken.
    drop(server);
    let server = Server::start_with(&store, &["--retention-max-age", "1h"]);
    let lines = "{\"_time\":\"2020-01-01T00:00:00Z\",\"_msg\":\"old\"}\n{\"_msg\":\"new\"}\n";
    assert_eq!(server.post("/insert/jsonline", lines).status, 200);
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(Store::open_read_only(&store).unwrap().snapshot().unwrap().rows(), 1);
}

#[test]
fn tenants_have_theirs_in_the_file() {
    let (dir, store) = store();
    let file = dir.path().join("duramen.toml");
    let text = "[retention]\nmax_age = '30d'\n[tenants.shop.retention]\nlevel = ['debug=3d']\n";
    std::fs::write(&file, text).unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let printed = duramen(&store).args(["serve", "--print-config"]).args(config).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    for part in ["[retention]\nmax_age = \"30d\"", "[tenants.shop.retention]\nlevel = [\"debug=3d\"]"] {
        assert!(printed.contains(part), "{printed}");
    }
    let server = Server::start_with(&store, &config);
    assert_eq!(policy(&store).max_age, Some(30 * DAY));
    let shop = policy(&store.join("tenants/shop"));
    assert_eq!(shop.rules, [RetentionRule::level(Level::Debug, Some(3 * DAY))]);
    assert_eq!(shop.max_age, None);
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn what_cannot_be_meant_is_told() {
    let (dir, store) = store();
    let file = dir.path().join("duramen.toml");
    std::fs::write(&file, "[tenants.'a/b'.retention]\nmax_age = '1d'\n").unwrap();
    for (args, told) in [
        (&["--retention-max-age", "3"][..], "an age such as"),
        (&["--retention-max-age", "1ms"], "at least 1 s"),
        (&["--retention-level", "loud=3d"], "is no level"),
        (&["--config", file.to_str().unwrap()], "a/b"),
    ] {
        let output = duramen(&store).args(["serve", "--listen", "127.0.0.1:0"]).args(args).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains(told), "{args:?}: {error}");
    }
}
