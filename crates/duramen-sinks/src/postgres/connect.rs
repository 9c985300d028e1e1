//! A connection.

use super::address::Address;
use super::client::Client;
use crate::error::{Error, Result};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// What a client may send first: whether the server speaks TLS, without a word of who asks. It answers with one letter.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Connects, or says within a while that nobody answers. The client library's own limit is for the network's part of it: a
/// server that is stopped, or away behind something that is not, is connected to and never says a word. So each server is
/// asked whether it answers at all, which can be given up, and only then connected to, on a thread that may be left behind.
pub(super) fn connect(address: &Address) -> Result<Client> {
    within_a_while(address, |address| {
        answers(&address.config, address.patience())
            .map_err(|e| Error::Database(format!("error connecting to server: {e}")))?;
        Client::open(address)
    })
}

/// Whether a server that was connected to before answers others; also if nobody can be sent to ask.
pub(super) fn answers_still(address: &Address) -> bool {
    answers_still_to(Builder::new(), address)
}

/// The same, asked on a thread that is made so.
pub(super) fn answers_still_to(thread: Builder, address: &Address) -> bool {
    let ask = |address: &Address| Ok(answers(&address.config, address.patience()).is_ok());
    begin(thread, address, ask).map_or(true, |asked| within(address, &asked).unwrap_or(false))
}

/// Does something on a thread that may be left behind.
fn within_a_while<T: Send + 'static>(
    address: &Address,
    work: impl FnOnce(&Address) -> Result<T> + Send + 'static,
) -> Result<T> {
    let made = begin(Builder::new(), address, work);
    within(address, &made.map_err(|e| Error::Database(format!("cannot start a thread: {e}")))?)
}

/// Begins something on a thread that is made so.
fn begin<T: Send + 'static>(
    thread: Builder,
    address: &Address,
    work: impl FnOnce(&Address) -> Result<T> + Send + 'static,
) -> io::Result<Receiver<Result<T>>> {
    let (send, made) = sync_channel(1);
    let address = address.clone();
    thread.name("duramen-connect".into()).spawn(move || {
        // Whoever asked may have given up.
        let _gave_up = send.send(work(&address));
    })?;
    Ok(made)
}

/// What is made of it, if it is made within a while.
fn within<T>(address: &Address, made: &Receiver<Result<T>>) -> Result<T> {
    let hosts = u32::try_from(hosts(&address.config)).unwrap_or(1);
    let longest = address.patience().saturating_mul(hosts.saturating_add(2));
    match made.recv_timeout(longest) {
        Ok(made) => made,
        Err(RecvTimeoutError::Timeout) => Err(Error::Database("the server does not answer".into())),
        Err(RecvTimeoutError::Disconnected) => {
            Err(Error::Database("connecting panicked; please report this".into()))
        }
    }
}

/// How many servers it names.
fn hosts(config: &Config) -> usize {
    config.get_hosts().len().max(config.get_hostaddrs().len())
}

/// That one of the servers answers.
fn answers(config: &Config, within: Duration) -> io::Result<()> {
    let ports = config.get_ports();
    let mut outcome = Ok(());
    for i in 0..hosts(config) {
        let port = ports.get(i).or(ports.first()).copied().unwrap_or(5432);
        outcome = match (config.get_hostaddrs().get(i), config.get_hosts().get(i)) {
            (Some(ip), _) => answers_by_tcp(&[SocketAddr::new(*ip, port)], within),
            (None, Some(Host::Tcp(name))) => (name.as_str(), port)
                .to_socket_addrs()
                .and_then(|addresses| answers_by_tcp(&addresses.collect::<Vec<_>>(), within)),
            (None, Some(Host::Unix(directory))) => {
                UnixStream::connect(directory.join(format!(".s.PGSQL.{port}"))).and_then(|mut stream| {
                    stream.set_read_timeout(Some(within))?;
                    answers_on(&mut stream)
                })
            }
            (None, None) => Ok(()),
        };
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn answers_by_tcp(addresses: &[SocketAddr], within: Duration) -> io::Result<()> {
    let mut outcome = Err(io::Error::new(io::ErrorKind::NotFound, "the server's name has no address"));
    for address in addresses {
        outcome = TcpStream::connect_timeout(address, within).and_then(|mut stream| {
            stream.set_read_timeout(Some(within))?;
            answers_on(&mut stream)
        });
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn answers_on(stream: &mut (impl Read + Write)) -> io::Result<()> {
    stream.write_all(&SSL_REQUEST)?;
    stream.read_exact(&mut [0]).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            io::Error::new(io::ErrorKind::TimedOut, "the server does not answer")
        }
        _ => e,
    })
}

/// Runs something on a thread of its own, which has no asynchronous runtime.
pub(super) fn on_own_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let thread = Builder::new().name("duramen-open".into()).spawn(work);
    let thread = thread.map_err(|e| Error::Database(format!("cannot start a thread: {e}")))?;
    thread.join().map_err(|_| Error::Database("connecting panicked; please report this".into()))
}
