//! A benchmark's outcomes, kept as lines of JSON: what they have in common first.

use crate::Result;
use crate::case::Outcome;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

/// All outcomes, and what they have in common.
#[derive(Clone, Debug)]
pub struct Kept<Header, Case> {
    /// The first line.
    pub header: Header,
    /// The others.
    pub outcomes: Vec<Outcome<Case>>,
}

impl<Header: Serialize + DeserializeOwned, Case: Serialize + DeserializeOwned> Kept<Header, Case> {
    /// Writes them to a file, whose directory is made if need be.
    ///
    /// # Errors
    /// What the file system said.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut out = serde_json::to_string(&self.header)?;
        for outcome in &self.outcomes {
            write!(out, "\n{}", serde_json::to_string(outcome)?)?;
        }
        out.push('\n');
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        Ok(std::fs::write(path, out)?)
    }

    /// What a file has; `None` if there is none.
    ///
    /// # Errors
    /// What the file system said; a line that is not what was written, with the file's name.
    pub fn load(path: &Path) -> Result<Option<Self>> {
        let text = match std::fs::read_to_string(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        Self::parse(&text).map(Some).map_err(|e| format!("{}: {e}", path.display()).into())
    }

    fn parse(text: &str) -> Result<Self> {
        let (header, lines) = text.split_once('\n').ok_or("it is empty")?;
        let outcomes = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { header: serde_json::from_str(header)?, outcomes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Figures;

    #[test]
    fn what_is_kept_is_found_again() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("a/b.jsonl");
        assert!(Kept::<u32, u32>::load(&path)?.is_none());
        let figures = Figures::from([("wall_s".to_owned(), 1.5)]);
        let outcomes = vec![
            Outcome { case: 1, figures, error: None },
            Outcome { case: 2, figures: Figures::new(), error: Some("no".to_owned()) },
        ];
        Kept { header: 7, outcomes }.save(&path)?;
        let kept = Kept::<u32, u32>::load(&path)?.ok_or("nothing")?;
        assert_eq!((kept.header, kept.outcomes.len()), (7, 2));
        assert_eq!(kept.outcomes[0].figures["wall_s"], 1.5);
        assert_eq!(kept.outcomes[1].error.as_deref(), Some("no"));

        std::fs::write(&path, "7\n{\n")?;
        let Err(e) = Kept::<u32, u32>::load(&path) else { return Err("it was taken".into()) };
        assert!(e.to_string().contains("b.jsonl"), "{e}");
        Ok(())
    }
}
