//! The level that a line shows, whatever its format.

use duramen::Level;
use duramen_formats::level::{find, of_named};
use jiter::{Jiter, JiterResult, Peek};
use memchr::{memchr2, memchr3};

/// The level of a line: of a JSON object's first member that has one, or what stands near the start of a text; of logfmt, the first
/// pair's that has one, wherever it is.
pub(crate) fn of_line(line: &str) -> Option<Level> {
    if line.starts_with('{') {
        return of_members(line).ok().flatten();
    }
    find(line).map(|(level, _)| level).or_else(|| of_pairs(line))
}

/// Of `name=value name="a value" …`, on one line or more; of no text that begins in another way.
fn of_pairs(line: &str) -> Option<Level> {
    let mut rest = line;
    loop {
        let (name, behind) = rest.split_at(memchr3(b'=', b' ', b'\n', rest.as_bytes())?);
        let is_first = rest.len() == line.len();
        let value = match behind.strip_prefix('=') {
            Some(value) if !name.is_empty() => value,
            _ if is_first => return None,
            // A word that is no pair.
            _ => {
                rest = behind.get(1..)?;
                continue;
            }
        };
        let (value, behind) = match value.strip_prefix('"') {
            None => value.split_at(memchr2(b' ', b'\n', value.as_bytes()).unwrap_or(value.len())),
            Some(quoted) => {
                let mut end = memchr2(b'"', b'\\', quoted.as_bytes())?;
                while quoted.as_bytes().get(end) == Some(&b'\\') {
                    let next = end + 2;
                    end = next + memchr2(b'"', b'\\', quoted.as_bytes().get(next..)?)?;
                }
                (quoted.get(..end)?, quoted.get(end + 1..)?)
            }
        };
        if let Some(level) = of_named(name, value.trim_end_matches('\r')) {
            return Some(level);
        }
        rest = behind.trim_start_matches([' ', '\r', '\n']);
    }
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
    fn a_pair_shows_the_level_wherever_it_is() {
        let long = "x".repeat(200);
        for (pairs, level) in [
            ("ts=1 caller={} level=error", Some(Level::Error)),
            (r#"msg="{}" lvl=warn"#, Some(Level::Warn)),
            (r#"msg="a \"{}\" level=error b\\" word  level="info" level=error"#, Some(Level::Info)),
            ("a=b c={}\nlevel=error", Some(Level::Error)),
            ("a=b c={}\r\n\r\n  level=error\r\nd=e", Some(Level::Error)),
            ("a=\"b\n{}\nlevel=info\" c\nlvl=\"warn\"\nlevel=error", Some(Level::Warn)),
            ("a=b {}\nwords and level=error", Some(Level::Error)),
            ("words\na={}\nlevel=error", None),
            (r#"msg="{} level=error" x=1"#, None),
            (r#"msg="{} level=error"#, None),
            (r#"msg="{}\"#, None),
            (r#"msg={} ä="ö" notlevel=error level="#, None),
            ("{} a=b level=error", None),
            ("={} level=error", None),
            ("a={} =error level", None),
        ] {
            let line = pairs.replace("{}", &long);
            assert_eq!(of_line(&line), level, "{line}");
        }
    }

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
