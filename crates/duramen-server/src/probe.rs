//! Asking a server that runs on this machine whether it is well: for supervisors, from the same binary.
//!
//! Over TLS, the certificate is not verified as the world would verify it, but must be the one of the settings: the probe
//! asks at `127.0.0.1`, for which no certificate is made.

use crate::settings::Settings;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of an answer.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// Asks `/health` of the server that these settings are for, at the first address it listens on, and waits at most
/// `timeout` for each step. Gives the answer's status and body.
///
/// # Errors
/// Nobody listens there, or what answers is no Duramen server, or has another certificate.
pub fn health(settings: &Settings, timeout: Duration) -> io::Result<(u16, String)> {
    let settings = settings.clone().complete();
    let address = settings.listen.first().copied().ok_or_else(|| wrong("there is no address to ask at"))?;
    let stream = TcpStream::connect_timeout(&here(address), timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let Some(path) = &settings.tls_cert else { return ask(stream) };
    let cert = CertificateDer::from_pem_file(path).map_err(|e| wrong(format!("{}: {e}", path.display())))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(Pinned { cert, provider: provider.clone() });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let name = ServerName::from(address.ip());
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    ask(StreamOwned::new(connection, stream))
}

/// The same address as this machine reaches it.
fn here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn ask(mut stream: impl Read + Write) -> io::Result<(u16, String)> {
    stream.write_all(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = Vec::new();
    match stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer) {
        // Over TLS some close without saying so; whether the answer is whole is seen below.
        Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => Err(e),
        _ => parsed(&answer),
    }
}

fn parsed(answer: &[u8]) -> io::Result<(u16, String)> {
    let answer = String::from_utf8_lossy(answer);
    let read = || {
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.trim_end().to_owned()))
    };
    read().ok_or_else(|| wrong("what answers there speaks no HTTP"))
}

fn wrong(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// Trusts one certificate, whatever its name and age.
#[derive(Debug)]
struct Pinned {
    cert: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *end_entity == self.cert {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General("the server has another certificate than tls_cert".into()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everywhere_is_here() {
        for (listens, asks) in
            [("0.0.0.0:1", "127.0.0.1:1"), ("[::]:1", "[::1]:1"), ("10.0.0.1:1", "10.0.0.1:1")]
        {
            assert_eq!(here(listens.parse().unwrap()), asks.parse().unwrap());
        }
    }

    #[test]
    fn an_answer_is_read() {
        assert_eq!(parsed(b"HTTP/1.0 503 x\r\na: b\r\n\r\nno\n").unwrap(), (503, "no".to_owned()));
        for wrong in [&b""[..], b"SSH-2.0", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.0 x\r\n\r\n", &[0xff; 9]] {
            assert!(parsed(wrong).is_err());
        }
    }
}
