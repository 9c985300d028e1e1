//! The certificate and key of TLS, as the settings name them.

use super::ServeError;
use crate::settings::Settings;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;

/// Whether the certificate and key that the settings name, if they do, can be used.
///
/// # Errors
/// [`ServeError::Tls`].
pub fn check_tls(settings: &Settings) -> Result<(), ServeError> {
    tls_of(settings).map(drop)
}

/// The certificate and key, if there are to be any.
pub(super) fn tls_of(settings: &Settings) -> Result<Option<Arc<rustls::ServerConfig>>, ServeError> {
    let (Some(cert), Some(key)) = (&settings.tls_cert, &settings.tls_key) else { return Ok(None) };
    let wrong = |path: &Path| {
        let path = path.to_path_buf();
        move |e: &dyn std::fmt::Display| ServeError::Tls { path: path.clone(), detail: e.to_string() }
    };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| wrong(cert)(&e))?;
    if chain.is_empty() {
        return Err(wrong(cert)(&"there is no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key)(&e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|e| wrong(cert)(&e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Some(Arc::new(config)))
}
