//! A stream's labels as text: `{app="web", job="a\"b"}`.

/// Calls `f` with name and value of each label.
///
/// # Errors
/// What is wrong, and at which byte of the text.
pub(crate) fn parse(text: &str, mut f: impl FnMut(&str, &str)) -> Result<(), (String, usize)> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.skip_space();
    cursor.expect('{')?;
    let mut value = String::new();
    let mut name = String::new();
    loop {
        cursor.skip_space();
        if cursor.next_is('}') {
            break;
        }
        name.clear();
        if cursor.text.as_bytes().get(cursor.at) == Some(&b'"') {
            cursor.quoted(&mut name)?;
        } else {
            name.push_str(cursor.name()?);
        }
        cursor.skip_space();
        cursor.expect('=')?;
        cursor.skip_space();
        value.clear();
        cursor.quoted(&mut value)?;
        f(&name, &value);
        cursor.skip_space();
        if !cursor.next_is(',') {
            cursor.expect('}')?;
            break;
        }
    }
    cursor.skip_space();
    if cursor.at == text.len() { Ok(()) } else { Err(cursor.wrong("something follows the labels")) }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn wrong(&self, detail: impl Into<String>) -> (String, usize) {
        (detail.into(), self.at)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        self.at += self.rest().bytes().take_while(u8::is_ascii_whitespace).count();
    }

    fn next_is(&mut self, c: char) -> bool {
        let is = self.rest().starts_with(c);
        self.at += if is { c.len_utf8() } else { 0 };
        is
    }

    fn expect(&mut self, c: char) -> Result<(), (String, usize)> {
        if self.next_is(c) { Ok(()) } else { Err(self.wrong(format!("labels lack a {c}"))) }
    }

    /// What Prometheus allows, and the dots and dashes that some clients send.
    fn name(&mut self) -> Result<&'a str, (String, usize)> {
        let rest = self.rest();
        let len = rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-' | '/')))
            .unwrap_or(rest.len());
        if len == 0 {
            return Err(self.wrong("a label has no name"));
        }
        self.at += len;
        Ok(&rest[..len])
    }

    /// A text in quotes, with the escapes of Go; or between backquotes, as it is.
    fn quoted(&mut self, value: &mut String) -> Result<(), (String, usize)> {
        if self.next_is('`') {
            let len = self.rest().find('`').ok_or_else(|| self.wrong("a value does not end"))?;
            value.push_str(&self.rest()[..len]);
            self.at += len + 1;
            return Ok(());
        }
        self.expect('"')?;
        // `\x` escapes are bytes, and only together may they be a character.
        let mut bytes = Vec::new();
        loop {
            let rest = self.rest();
            let stop = rest.find(['"', '\\']).ok_or_else(|| self.wrong("a value does not end"))?;
            bytes.extend_from_slice(&rest.as_bytes()[..stop]);
            self.at += stop + 1;
            if rest.as_bytes()[stop] == b'"' {
                value.push_str(&duramen_formats::text_of(&bytes));
                return Ok(());
            }
            let escaped = self.rest().chars().next().ok_or_else(|| self.wrong("a value does not end"))?;
            self.at += escaped.len_utf8();
            let c = match escaped {
                'a' => '\x07',
                'b' => '\x08',
                'f' => '\x0c',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\x0b',
                '\\' | '"' | '\'' => escaped,
                'u' => self.code_point(4)?,
                'U' => self.code_point(8)?,
                'x' => {
                    bytes.push(self.digits(2)? as u8);
                    continue;
                }
                _ => return Err(self.wrong("an unknown escape in a value")),
            };
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    fn code_point(&mut self, digits: usize) -> Result<char, (String, usize)> {
        let code = self.digits(digits)?;
        char::from_u32(code).ok_or_else(|| self.wrong("an escape that is no character"))
    }

    fn digits(&mut self, count: usize) -> Result<u32, (String, usize)> {
        let digits = self.rest().get(..count).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += if number.is_some() { count } else { 0 };
        number.ok_or_else(|| self.wrong("an escape without its digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, String> {
        let mut labels = Vec::new();
        parse(text, |name, value| labels.push((name.to_owned(), value.to_owned())))
            .map_err(|(detail, at)| format!("{detail} at {at}"))?;
        Ok(labels)
    }

    #[test]
    fn labels_are_read() {
        for (text, expected) in [
            ("{}", vec![]),
            (" { } ", vec![]),
            (r#"{app="web"}"#, vec![("app", "web")]),
            (r#"{app="web", job = "x",}"#, vec![("app", "web"), ("job", "x")]),
            (r#"{a="q\"\\\n\t",b=""}"#, vec![("a", "q\"\\\n\t"), ("b", "")]),
            (r#"{a="\u00e9\U0001F600\x41é"}"#, vec![("a", "é😀Aé")]),
            (r#"{a="b\xc3\xa9c\ted"}"#, vec![("a", "béc\ted")]),
            (r#"{a="\xff"}"#, vec![("a", "\\xFF")]),
            ("{a=`x\\n`}", vec![("a", "x\\n")]),
            (r#"{"service.name"="s",k8s.pod-name="p"}"#, vec![("service.name", "s"), ("k8s.pod-name", "p")]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for (text, error) in [
            ("", "labels lack a { at 0"),
            ("{a}", "labels lack a = at 2"),
            ("{a=b}", "labels lack a \" at 3"),
            ("{a=\"b}", "a value does not end at 4"),
            ("{a=\"b\"", "labels lack a } at 6"),
            ("{a=\"b\" c=\"d\"}", "labels lack a } at 7"),
            ("{=\"b\"}", "a label has no name at 1"),
            ("{a=\"\\q\"}", "an unknown escape in a value at 6"),
            ("{a=\"\\ud800\"}", "an escape that is no character at 10"),
            ("{a=\"\\x4\"}", "an escape without its digits at 6"),
            ("{} x", "something follows the labels at 3"),
        ] {
            assert_eq!(read(text), Err(error.to_owned()), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(any: String, text in "\\{([a=,]|\"|\\\\|[xuU0-9fé`} ]){0,20}") {
            let _refused_or_not = (read(&any), read(&text));
        }
    }
}
