//! A batch that is written again is there once.

#![allow(clippy::disallowed_methods)] // a real server, and real time

#[path = "../../tests/common/server.rs"]
#[allow(dead_code)] // what other tests do with a server
mod server;

use super::address::Address;
use super::backend::PostgresBackend;
use super::{connect, tables};
use crate::line::Line;
use crate::queue::{Backend, WriteError};
use duramen::Level;
use duramen_engine::io::Env;
use server::Server;
use std::io::{Read, Write};
use std::time::Duration;
use tokio_postgres::config::Host;

fn lines(messages: &[&str]) -> Vec<Line> {
    let line = |message: &&str| Line {
        time_ns: 1,
        level: Level::Info,
        message: (*message).to_owned(),
        fields: "{}".to_owned(),
    };
    messages.iter().map(line).collect()
}

fn count(server: &Server) -> i64 {
    server.connect().query_one("SELECT count(*) FROM duramen_logs", &[]).unwrap().get(0)
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    // It takes connections, as the kernel does for a program that is stopped, and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    for words in ["sslmode=disable", "sslmode=require"] {
        let address =
            Address::parse(&format!("host=127.0.0.1 port={port} user=x connect_timeout=1 {words}")).unwrap();
        let error = connect::connect(&address).err().unwrap().to_string();
        assert!(error.contains("does not answer"), "{error}");
    }
}

/// Signals a server and all its processes: first the one that makes others.
fn signal(server: &Server, name: &str) {
    let send = |process: &u32| {
        let sent = std::process::Command::new("kill").args(["-s", name, &process.to_string()]).status();
        sent.unwrap().success()
    };
    assert!(send(&server.processes()[0]));
    // One that has just ended needs none.
    server.processes()[1..].iter().for_each(|process| _ = send(process));
}

#[test]
fn whether_another_server_answers_says_nothing_of_this_one() {
    let Some(server) = Server::start() else { return };
    // It answers whether it speaks TLS, and nothing else.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in other.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = [0; 8];
            let _may_have_gone = stream.read_exact(&mut asked).and_then(|()| stream.write_all(b"N"));
        }
    });
    let its = Address::parse(&server.url()).unwrap();
    let (hosts, its_port) = (its.config.get_hosts(), its.config.get_ports()[0]);
    let host = match &hosts[0] {
        Host::Tcp(name) => name.clone(),
        Host::Unix(directory) => directory.to_str().unwrap().to_owned(),
    };
    let user = its.config.get_user().unwrap();
    let words = format!("host=127.0.0.1,{host} port={port},{its_port} user={user} dbname=postgres");
    let address = Address::parse(&format!("{words} connect_timeout=1")).unwrap();
    let reader = connect::connect(&address).unwrap();
    assert!(reader.query_one("SELECT 1", &[]).is_ok());
    signal(&server, "STOP");
    let (to, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let told = reader.query_one("SELECT 1", &[]).err().map(|e| e.to_string());
        _ = to.send(told);
        std::mem::forget(reader);
    });
    let told = told.recv_timeout(Duration::from_secs(20));
    signal(&server, "CONT");
    assert!(
        told.as_ref().is_ok_and(|told| told.as_deref().is_some_and(|t| t.contains("any more"))),
        "{told:?}"
    );
}

#[test]
fn who_cannot_ask_whether_a_server_answers_does_not_know() {
    let refuses = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = Address::parse(&format!("host=127.0.0.1 port={} user=x", refuses.port())).unwrap();
    assert!(!connect::answers_still(&address));
    // No system has room for such a thread.
    let impossible = std::thread::Builder::new().stack_size(1 << 60);
    assert!(connect::answers_still_to(impossible, &address));
}

#[test]
fn a_server_that_is_stopped_in_the_middle_is_given_up_and_found_again() {
    let Some(server) = Server::start() else { return };
    let address = Address::parse(&format!("{}?connect_timeout=1", server.url())).unwrap();
    let client = connect::connect(&address).unwrap();
    tables::make(&client, &*Env::os().random).unwrap();
    tables::enter_writer(&client, 7).unwrap();
    let mut backend = PostgresBackend::new(address.clone(), client, 7, Duration::from_secs(60));
    backend.write(1, &lines(&["a"])).unwrap();
    let reader = connect::connect(&address).unwrap();
    signal(&server, "STOP");
    let reading = reader.query_one("SELECT 1", &[]).err().unwrap().to_string();
    let writing = backend.write(2, &lines(&["b"]));
    let again = backend.write(2, &lines(&["b"]));
    signal(&server, "CONT");
    assert!(reading.contains("does not answer any more"), "{reading}");
    for outcome in [writing, again] {
        assert!(
            matches!(&outcome, Err(WriteError::Transient(why)) if why.contains("does not answer")),
            "{outcome:?}"
        );
    }
    backend.write(2, &lines(&["b"])).unwrap();
    assert_eq!(count(&server), 2, "each once");
    // One statement that takes too long: here, because another has the table for itself.
    drop(backend);
    let client = connect::connect(&address).unwrap();
    tables::enter_writer(&client, 8).unwrap();
    let mut backend = PostgresBackend::new(address, client, 8, Duration::from_millis(300));
    let mut other = server.connect();
    let mut transaction = other.transaction().unwrap();
    transaction.batch_execute("LOCK TABLE duramen_logs").unwrap();
    let outcome = backend.write(1, &lines(&["c"]));
    assert!(matches!(&outcome, Err(WriteError::TooLong(why)) if why.contains("300 ms")), "{outcome:?}");
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let mut look = server.connect();
    while look.query_one(waits, &[]).unwrap().get::<_, i64>(0) > 0 {
        std::thread::yield_now(); // it is stopped, and waits no more
    }
    transaction.commit().unwrap();
    backend.write(1, &lines(&["c"])).unwrap();
    assert_eq!(count(&server), 3);
}

#[test]
fn a_commit_that_was_not_heard_of_is_not_repeated() {
    let Some(mut server) = Server::start() else { return };
    let address = Address::parse(&server.url()).unwrap();
    let client = connect::connect(&address).unwrap();
    tables::make(&client, &*Env::os().random).unwrap();
    tables::make(&client, &*Env::os().random).unwrap();
    tables::enter_writer(&client, 7).unwrap();
    let mut backend = PostgresBackend::new(address, client, 7, Duration::from_secs(60));
    // The queue writes a batch again with the same numbers when it does not know what came of it.
    for _ in 0..2 {
        backend.write(1, &lines(&["a", "b", "c"])).unwrap();
        assert_eq!(count(&server), 3);
    }
    // A half of a batch, after one that was refused as a whole: fields that are no JSON.
    let mut bad = lines(&["d", "e"]);
    bad[1].fields = "{".into();
    assert!(matches!(backend.write(4, &bad), Err(WriteError::Lines(_))));
    backend.write(4, &bad[..1]).unwrap();
    assert!(matches!(backend.write(5, &bad[1..]), Err(WriteError::Lines(_))));
    backend.write(6, &lines(&["f"])).unwrap();
    assert_eq!(count(&server), 5);
    // The statement of a connection that seemed broken is still at work: the second waits for it.
    let mut slow = server.connect();
    let mut transaction = slow.transaction().unwrap();
    transaction.batch_execute("UPDATE duramen_writers SET last_line = 7 WHERE writer = 7").unwrap();
    transaction
        .batch_execute("INSERT INTO duramen_logs (time_ns, level, message, fields) VALUES (1, '', 'g', '{}')")
        .unwrap();
    let second = std::thread::spawn(move || (backend.write(7, &lines(&["g"])), backend));
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let mut look = server.connect();
    while look.query_one(waits, &[]).unwrap().get::<_, i64>(0) == 0 {
        std::thread::yield_now();
    }
    transaction.commit().unwrap();
    let (outcome, mut backend) = second.join().unwrap();
    outcome.unwrap();
    assert_eq!(count(&server), 6, "once");
    // Across a crash of the server, too.
    server.kill();
    assert!(matches!(backend.write(8, &lines(&["h"])), Err(WriteError::Transient(_))));
    assert!(matches!(backend.write(8, &lines(&["h"])), Err(WriteError::Transient(_))), "still away");
    server.up();
    for _ in 0..2 {
        backend.write(8, &lines(&["h"])).unwrap();
        assert_eq!(count(&server), 7);
    }
    server.connect().execute("DELETE FROM duramen_writers", &[]).unwrap();
    assert!(matches!(backend.write(9, &lines(&["i"])), Err(WriteError::Permanent(_))));
}
