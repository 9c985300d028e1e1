//! The file of tokens: `DIR/server/tokens.json`.
//!
//! It is replaced as a whole, by `duramen token`, under a lock; a server reads it again when it has changed. A token is
//! `drm_<id>_<secret>`: the identity tells which line of the file to look at, the secret is kept only as its hash
//! (Argon2id, as a PHC string).

use super::Scope;
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use duramen_engine::io::{Env, Lock, OpenMode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const NAME: &str = "tokens.json";
/// What every token begins with, so that people, and scanners for leaked secrets, know one.
const PREFIX: &str = "drm_";
/// Most bytes of a token's name, and of a tenant's.
pub const MAX_NAME_BYTES: usize = 64;
/// Most tokens of a store.
pub const MAX_TOKENS: usize = 10_000;

/// A token, without its secret.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Token {
    /// Which one it is: eight hexadecimal digits.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The tenant whose logs it is for; `None` for the store's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// When it was made, ns since the epoch.
    pub created_ns: i64,
    /// When it ends, ns since the epoch, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ns: Option<i64>,
    /// Most bytes of bodies that may be sent with it in a second, if there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes_per_s: Option<u64>,
    /// Most bytes of one body, where that is less than the server's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_body_bytes: Option<usize>,
    /// The hash of the secret.
    hash: String,
}

/// What a new token is to be.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// As [`Token::name`].
    pub name: String,
    /// As [`Token::scopes`].
    pub scopes: Vec<Scope>,
    /// As [`Token::tenant`].
    pub tenant: Option<String>,
    /// As [`Token::expires_ns`].
    pub expires_ns: Option<i64>,
    /// As [`Token::max_bytes_per_s`].
    pub max_bytes_per_s: Option<u64>,
    /// As [`Token::max_body_bytes`].
    pub max_body_bytes: Option<usize>,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// A file of theirs.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file's text is not what is expected.
    #[error("{}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// What was asked for cannot be.
    #[error("{0}")]
    Invalid(String),
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    tokens: Vec<Token>,
}

const VERSION: u32 = 1;

/// The tokens of a store, in its directory. Every call reads the file anew.
#[derive(Clone, Debug)]
pub struct TokenFile {
    env: Env,
    dir: PathBuf,
}

impl TokenFile {
    /// Of the store in `dir`.
    pub fn of(env: Env, dir: &Path) -> Self {
        Self { env, dir: dir.join("server") }
    }

    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> TokenError {
        let path = path.to_path_buf();
        move |source| TokenError::Io { path, source }
    }

    /// The tokens' bytes; none where there is no file.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, TokenError> {
        self.bytes_of(NAME)
    }

    /// The bytes of a file beside the tokens; none where there is none.
    pub(super) fn bytes_of(&self, name: &str) -> Result<Vec<u8>, TokenError> {
        let path = self.path_of(name);
        let file = match self.env.fs.open(&path, OpenMode::Read) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Self::io(&path)(e)),
        };
        let len = file.len().map_err(Self::io(&path))?;
        if len == 0 && name == NAME {
            // It was cut by an accident. To be taken for one without tokens, it would have to say so.
            return Err(TokenError::Malformed { path, detail: "it is empty".into() });
        }
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX).min(64 << 20)];
        file.read_exact_at(&mut bytes, 0).map_err(Self::io(&path))?;
        Ok(bytes)
    }

    pub(super) fn parse(&self, bytes: &[u8]) -> Result<Vec<Token>, TokenError> {
        let file: Option<File> = self.parse_one(NAME, bytes, |file: &File| (file.version, VERSION))?;
        Ok(file.map(|file| file.tokens).unwrap_or_default())
    }

    /// What a file beside the tokens says, if it is there; `versions` are its own, and that which this program knows.
    pub(super) fn parse_one<T: DeserializeOwned>(
        &self,
        name: &str,
        bytes: &[u8],
        versions: impl FnOnce(&T) -> (u32, u32),
    ) -> Result<Option<T>, TokenError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let malformed = |detail| TokenError::Malformed { path: self.path_of(name), detail };
        let file = serde_json::from_slice(bytes).map_err(|e| malformed(e.to_string()))?;
        match versions(&file) {
            (its, known) if its == known => Ok(Some(file)),
            (its, known) => Err(malformed(format!("it has version {its}, this program knows {known}"))),
        }
    }

    /// All tokens, the oldest first, those that have expired included.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn list(&self) -> Result<Vec<Token>, TokenError> {
        self.parse(&self.bytes()?)
    }

    /// Makes a token, and returns it with its text, which is kept nowhere.
    ///
    /// # Errors
    /// [`TokenError::Invalid`] if a name is empty, too long, or taken, or there is no scope; and what the file system
    /// said.
    pub fn create(&self, new: NewToken) -> Result<(Token, String), TokenError> {
        check_name("the token's name", &new.name)?;
        if let Some(tenant) = &new.tenant {
            check_tenant(tenant)?;
        }
        if new.scopes.is_empty() {
            return Err(TokenError::Invalid("a token needs a scope: ingest, read or admin".into()));
        }
        let random = || format!("{:016x}", self.env.random.next_u64());
        let id = random()[..8].to_owned();
        let secret = format!("{}{}", random(), random());
        let salt = format!("{}{}", random(), random());
        let token = Token {
            id: id.clone(),
            name: new.name,
            scopes: new.scopes,
            tenant: new.tenant,
            created_ns: self.env.clock.now_unix_ns(),
            expires_ns: new.expires_ns,
            max_bytes_per_s: new.max_bytes_per_s,
            max_body_bytes: new.max_body_bytes,
            hash: hash(&secret, salt.as_bytes()).map_err(TokenError::Invalid)?,
        };
        self.change(|tokens| {
            if tokens.len() >= MAX_TOKENS {
                return Err(TokenError::Invalid(format!(
                    "there are {MAX_TOKENS} tokens already: revoke some"
                )));
            }
            if tokens.iter().any(|other| other.name == token.name || other.id == token.id) {
                return Err(TokenError::Invalid(format!("there is a token `{}` already", token.name)));
            }
            tokens.push(token.clone());
            Ok(())
        })?;
        Ok((token, format!("{PREFIX}{id}_{secret}")))
    }

    /// Revokes the token of this name or identity. Servers notice within a second.
    ///
    /// # Errors
    /// [`TokenError::Invalid`] if there is none; and what the file system said.
    pub fn revoke(&self, name_or_id: &str) -> Result<Token, TokenError> {
        let mut revoked = None;
        self.change(|tokens| {
            let at = tokens.iter().position(|token| token.name == name_or_id || token.id == name_or_id);
            let at = at.ok_or_else(|| TokenError::Invalid(format!("there is no token `{name_or_id}`")))?;
            revoked = Some(tokens.remove(at));
            Ok(())
        })?;
        revoked.ok_or_else(|| TokenError::Invalid(format!("there is no token `{name_or_id}`")))
    }

    /// Changes the file under its lock.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Token>) -> Result<(), TokenError>,
    ) -> Result<(), TokenError> {
        let _lock = self
            .try_lock("LOCK")?
            .ok_or_else(|| TokenError::Invalid("another process is changing the tokens: try again".into()))?;
        let mut tokens = self.list()?;
        change(&mut tokens)?;
        self.replace(NAME, &File { version: VERSION, tokens })
    }

    /// Locks a file beside the tokens, unless another process has.
    pub(super) fn try_lock(&self, name: &str) -> Result<Option<Box<dyn Lock>>, TokenError> {
        let (fs, path) = (&self.env.fs, self.path_of(name));
        fs.create_dir_all(&self.dir).map_err(Self::io(&self.dir))?;
        fs.try_lock(&path).map_err(Self::io(&path))
    }

    /// Replaces a file beside the tokens as a whole, durably. Its lock must be held.
    pub(super) fn replace(&self, name: &str, file: &impl Serialize) -> Result<(), TokenError> {
        let fs = &self.env.fs;
        let bytes = serde_json::to_vec_pretty(file).map_err(|e| TokenError::Invalid(e.to_string()))?;
        let temporary = self.path_of(&format!("{name}.new"));
        if fs.exists(&temporary).map_err(Self::io(&temporary))? {
            fs.remove_file(&temporary).map_err(Self::io(&temporary))?; // of a process that died
        }
        let out = fs.open(&temporary, OpenMode::CreateNew).map_err(Self::io(&temporary))?;
        out.write_all_at(&bytes, 0).and_then(|()| out.sync_data()).map_err(Self::io(&temporary))?;
        let path = self.path_of(name);
        fs.rename(&temporary, &path).and_then(|()| fs.sync_dir(&self.dir)).map_err(Self::io(&path))
    }
}

impl Token {
    /// Whether this is its secret. Takes tens of milliseconds of CPU, which is its purpose.
    pub(super) fn verify(&self, secret: &str) -> bool {
        PasswordHash::new(&self.hash)
            .is_ok_and(|hash| Argon2::default().verify_password(secret.as_bytes(), &hash).is_ok())
    }

    /// Whether it has ended.
    pub fn has_expired(&self, now_ns: i64) -> bool {
        self.expires_ns.is_some_and(|end| now_ns >= end)
    }
}

/// The identity and secret of a token's text; `None` if it is none.
pub(super) fn parts(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(PREFIX)?.split_once('_')
}

fn hash(secret: &str, salt: &[u8]) -> Result<String, String> {
    let hash: PasswordHash = Argon2::default()
        .hash_password_with_salt(secret.as_bytes(), salt)
        .map_err(|e| format!("cannot hash the token: {e}"))?;
    Ok(hash.to_string())
}

fn check_name(what: &str, name: &str) -> Result<(), TokenError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
        return Err(TokenError::Invalid(format!(
            "{what} has 1 to {MAX_NAME_BYTES} bytes, and no control characters"
        )));
    }
    Ok(())
}

/// Whether a name can be a directory's, too.
pub(crate) fn check_file_name(what: &str, name: &str) -> Result<(), TokenError> {
    let is_one = (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    let told = || format!("{what} is 1 to {MAX_NAME_BYTES} letters, digits, - and _");
    is_one.then_some(()).ok_or_else(|| TokenError::Invalid(told()))
}

/// Whether a name can be a tenant's.
pub(crate) fn check_tenant(name: &str) -> Result<(), TokenError> {
    check_file_name("a tenant's name", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, TokenFile) {
        let dir = tempfile::tempdir().unwrap();
        let file = TokenFile::of(Env::os(), dir.path());
        (dir, file)
    }

    fn new(name: &str) -> NewToken {
        NewToken { name: name.into(), scopes: vec![Scope::Read], ..NewToken::default() }
    }

    #[test]
    fn a_token_is_made_listed_and_revoked() {
        let (_dir, file) = file();
        assert_eq!(file.list().unwrap(), []);
        let (token, text) = file.create(new("grafana")).unwrap();
        let (id, secret) = parts(&text).unwrap();
        assert_eq!(id, token.id);
        assert!(token.verify(secret));
        assert!(!token.verify("another"));
        assert_eq!(file.list().unwrap(), std::slice::from_ref(&token));
        let kept = String::from_utf8(file.bytes().unwrap()).unwrap();
        assert!(!kept.contains(secret) && kept.contains("$argon2id$"), "{kept}");
        assert!(file.create(new("grafana")).is_err());
        assert_eq!(file.revoke("grafana").unwrap(), token);
        assert!(file.revoke("grafana").is_err());
        assert_eq!(file.list().unwrap(), []);
    }

    #[test]
    fn names_and_limits() {
        let (_dir, file) = file();
        assert!(file.create(new("")).is_err());
        assert!(file.create(new(&"x".repeat(MAX_NAME_BYTES + 1))).is_err());
        assert!(file.create(NewToken { scopes: vec![], ..new("a") }).is_err());
        for tenant in ["", "..", "a/b", "a b", "ü"] {
            assert!(file.create(NewToken { tenant: Some(tenant.into()), ..new("a") }).is_err(), "{tenant}");
        }
        assert!(file.create(NewToken { tenant: Some("team-1".into()), ..new("a") }).is_ok());
        assert_eq!(parts("drm_1_2"), Some(("1", "2")));
        assert_eq!((parts("drm_1"), parts("slk_1_2")), (None, None));
    }

    #[test]
    fn a_damaged_file_is_told_of() {
        let (dir, file) = file();
        std::fs::create_dir_all(dir.path().join("server")).unwrap();
        for text in ["{", "{\"version\":9,\"tokens\":[]}", "{\"version\":1,\"tokens\":[{\"id\":1}]}"] {
            std::fs::write(dir.path().join("server/tokens.json"), text).unwrap();
            assert!(file.list().unwrap_err().to_string().contains("tokens.json"));
            assert!(file.create(new("a")).is_err(), "a file that cannot be read is not replaced");
        }
    }
}
