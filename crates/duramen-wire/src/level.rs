//! The level that a line shows, whatever its format.

use duramen::Level;
use duramen_formats::level::{find, of_named};
use jiter::{Jiter, JiterResult, Peek};

/// The level of a line: of a JSON object's first member that has one, or what stands near the start of a text.
pub(crate) fn of_line(line: &str) -> Option<Level> {
    if line.starts_with('{') { of_members(line).ok().flatten() } else { find(line).map(|(level, _)| level) }
}

fn of_members(line: &str) -> JiterResult<Option<Level>> {
    let mut jiter = Jiter::new(line.as_bytes());
    let mut name = [0; 32];
    let mut key = jiter.next_object()?;
    while let Some(k) = key {
        // No name of a level is longer.
        let known = name.get_mut(..k.len()).map(|name| {
            name.copy_from_slice(k.as_bytes());
            &*name
        });
        let known = known.and_then(|name| std::str::from_utf8(name).ok());
        let start = jiter.current_index();
        let level = match (jiter.peek()?, known) {
            (Peek::String, Some(name)) => of_named(name, jiter.known_str()?),
            (peek, Some(name)) if peek.is_num() => {
                jiter.known_skip(peek)?;
                let number = line.get(start..jiter.current_index()).unwrap_or_default();
                of_named(name, number.trim())
            }
            (peek, _) => {
                jiter.known_skip(peek)?;
                None
            }
        };
        if level.is_some() {
            return Ok(level);
        }
        key = jiter.next_key()?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_show_their_level() {
        for (line, level) in [
            (r#"{"msg":"x","level":"error"}"#, Some(Level::Error)),
            (r#"{"level":50,"msg":"x"}"#, Some(Level::Error)),
            (r#"{"level": 50 ,"msg":"x"}"#, Some(Level::Error)),
            (r#"{"level":"none","severity":"warning"}"#, Some(Level::Warn)),
            (r#"{"a":{"level":"error"}}"#, None),
            (r#"{"level":"err"#, None),
            ("{ERROR}", None),
            ("level=warn msg=x", Some(Level::Warn)),
            ("2024-06-27 00:00:07 ERROR x", Some(Level::Error)),
            ("", None),
        ] {
            assert_eq!(of_line(line), level, "{line}");
        }
    }
}
