//! A real PostgreSQL server that takes nothing but TLS, and one that presents the wrong certificate.

#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are tests, too
#![allow(clippy::disallowed_methods)] // a real server, in real time

#[path = "common/server.rs"]
#[allow(dead_code)] // what other tests do with a server
mod server;

use duramen::{Level, Record, Sink};
use duramen_sinks::import::{SqlTable, TableOptions};
use duramen_sinks::{PostgresSink, SqlLogs};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use server::Server;

/// An authority's certificate, and one for `localhost` and its key that it signed.
struct Signed {
    authority: String,
    certificate: String,
    key: String,
}

fn signed() -> Signed {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap().pem();
    Signed { authority, certificate, key: key.serialize_pem() }
}

/// Writes a line, and reads it again in both ways.
fn use_it(url: &str) -> Result<(), String> {
    let sink = PostgresSink::open(url).map_err(|e| e.to_string())?;
    let record = Record { time_ns: 1, level: Level::Error, message: "m", fields: &[] };
    sink.log(&record).map_err(|e| e.to_string())?;
    sink.close().map_err(|e| e.to_string())?;
    SqlLogs::postgres(url).map_err(|e| e.to_string())?;
    SqlTable::postgres(url, &TableOptions::new()).map_err(|e| e.to_string())?;
    Ok(())
}

#[test]
fn tls() {
    let Some(mut server) = Server::start() else { return };
    let plain = server.url();
    let Signed { authority, certificate, key } = signed();
    server.speak_tls(&certificate, &key);
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (ours, others) = (file("ours.pem", &authority), file("others.pem", &signed().authority));
    let itself = file("itself.pem", &certificate);

    let with = |mode: &str, roots: &str| {
        let roots = if roots.is_empty() { String::new() } else { format!("&sslrootcert={roots}") };
        // The certificate names `localhost`, and not the address.
        let named = plain.replace("127.0.0.1", "localhost");
        let ask = |url: &str| use_it(&format!("{url}?sslmode={mode}{roots}"));
        (ask(&named), ask(&plain))
    };
    let is_refused = |outcome: Result<(), String>, why: &str| {
        let told = outcome.unwrap_err();
        assert!(told.contains(why), "{told}");
    };
    assert_eq!(use_it(&plain), Ok(()), "prefer is the default");
    assert_eq!(with("require", ""), (Ok(()), Ok(())));
    assert_eq!(with("verify-ca", &ours), (Ok(()), Ok(())));
    assert_eq!(with("verify-full", &ours).0, Ok(()));
    assert_eq!(with("verify-full", &itself).0, Ok(()), "signed by itself, as it were");
    is_refused(with("verify-full", &ours).1, "not valid for name");
    for mode in ["require", "verify-ca", "verify-full"] {
        is_refused(with(mode, &others).0, "invalid peer certificate");
    }
    // The system's authorities, if it has any, have not heard of it.
    assert!(with("verify-full", "").0.is_err() && with("verify-ca", "system").0.is_err());
    is_refused(with("disable", "").0, "no encryption");
    is_refused(with("verify-full", &file("empty.pem", "")).0, "sslrootcert");

    // One that does not speak TLS is refused where that is asked for.
    let Some(plain_server) = Server::start() else { return };
    is_refused(use_it(&format!("{}?sslmode=require", plain_server.url())), "TLS");
}
