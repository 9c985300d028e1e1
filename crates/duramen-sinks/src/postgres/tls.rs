//! TLS, verified as far as libpq's `sslmode` asks for it.
//!
//! | `sslmode` | encrypted | whose certificate |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer`, the default | if the server can | anybody's |
//! | `require` | yes | anybody's; with `sslrootcert`, as `verify-ca` |
//! | `verify-ca` | yes | one that an authority of `sslrootcert` signed, or that is in there itself |
//! | `verify-full` | yes | such a one, with the server's name in it |

use crate::error::{Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is made sure of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verify {
    /// That nobody listens who does not also meddle.
    Nothing,
    /// That an authority vouches for the server.
    Chain,
    /// That it vouches for a server of this name.
    ChainAndName,
}

/// What makes TLS of a connection. The authorities are those of the file, or without one, the system's.
pub(super) fn connector(verify: Verify, roots: Option<&Path>) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let certificates = match (verify, roots) {
        (Verify::Nothing, _) => Vec::new(),
        (_, Some(file)) => of_file(file)?,
        (_, None) => of_system()?,
    };
    let mut store = RootCertStore::empty();
    // As with other programs: one of a system's many that cannot be read is no reason to trust none.
    let (added, _) = store.add_parsable_certificates(certificates.iter().cloned());
    if verify != Verify::Nothing && added == 0 {
        return Err(Error::Invalid(
            "no certificate of an authority can be read: name some by sslrootcert".into(),
        ));
    }
    let verifier = Verifier { verify, store, certificates, provider: Arc::clone(&provider) };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::Invalid(format!("TLS: {e}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn of_file(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let refused = |e| Error::Invalid(format!("sslrootcert {}: {e}", file.display()));
    CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(refused)
}

fn of_system() -> Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_native_certs();
    match found.errors.first() {
        Some(e) if found.certs.is_empty() => {
            Err(Error::Invalid(format!("the system's certificates: {e}; name some by sslrootcert")))
        }
        _ => Ok(found.certs),
    }
}

#[derive(Debug)]
struct Verifier {
    verify: Verify,
    store: RootCertStore,
    /// What is in the store, as it is.
    certificates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.verify == Verify::Nothing {
            return Ok(ServerCertVerified::assertion());
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        // One that its owner signed himself, and gave to those who are to trust it, needs no authority.
        if !self.certificates.iter().any(|known| known.as_ref() == certificate.as_ref()) {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&parsed, &self.store, intermediates, now, algorithms)?;
        }
        if self.verify == Verify::ChainAndName {
            verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
