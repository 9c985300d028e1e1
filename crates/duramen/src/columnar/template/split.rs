//! Taking one text apart into a template and variables.

use super::super::timetext::Recent;
use super::MAX_TEXT_BYTES;
use super::pattern::{CLASS, Kind, REFERENCE, TIME, VARIABLE, tokens};

/// Texts with more variables are kept whole.
const MAX_VARIABLES: usize = 96;
/// Part of a text that is another column's value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) column: u32,
}

/// A text taken apart.
#[derive(Debug, Default)]
pub(super) struct Split {
    /// Its template.
    pub(super) pattern: Vec<u8>,
    /// Its variables: spans of the text's buffer, or for time stamps the time.
    pub(super) variables: Vec<(u32, u32)>,
    pub(super) times: Vec<i64>,
    recent: Recent,
}

impl Split {
    /// Takes `bytes[start..end]` apart; `false` if it has to be kept whole. Words that `is_rare` are variables, too.
    pub(super) fn split(
        &mut self,
        bytes: &[u8],
        span: (u32, u32),
        near: i64,
        hits: &[Hit],
        is_rare: impl Fn(&[u8]) -> bool,
    ) -> bool {
        self.pattern.clear();
        self.variables.clear();
        self.times.clear();
        let (mut at, end) = (span.0 as usize, span.1 as usize);
        if end - at > MAX_TEXT_BYTES {
            return false;
        }
        let mut literal = at;
        let mut hits = hits.iter();
        let mut hit = hits.next();
        while at < end {
            if let Some(h) = hit
                && h.start as usize == at
            {
                self.pattern.extend_from_slice(&bytes[literal..at]);
                self.pattern.push(REFERENCE);
                self.pattern.extend_from_slice(&h.column.to_le_bytes()[..3]);
                at = h.end as usize;
                literal = at;
                hit = hits.next();
                continue;
            }
            let limit = hit.map_or(end, |h| h.start as usize);
            let class = CLASS[bytes[at] as usize];
            if class == 4 {
                return false;
            }
            if class == 0 || class == 3 {
                at += 1;
                continue;
            }
            let start = at;
            let mut digits = class == 2;
            at += 1;
            while at < limit {
                match CLASS[bytes[at] as usize] {
                    1 => {}
                    2 => digits = true,
                    3 if at + 1 < limit && matches!(CLASS[bytes[at + 1] as usize], 1 | 2) => {}
                    _ => break,
                }
                at += 1;
            }
            let may_be_time =
                if class == 2 { digits } else { at - start == 3 && bytes[start].is_ascii_uppercase() };
            if may_be_time && let Some((form, len, time)) = self.recent.parse(&bytes[start..limit], near) {
                self.pattern.extend_from_slice(&bytes[literal..start]);
                self.pattern.extend_from_slice(&[
                    TIME,
                    form.shape,
                    form.point,
                    form.digits,
                    u8::from(form.zulu),
                ]);
                at = start + len;
                literal = at;
                self.variables.push((start as u32, at as u32));
                self.times.push(time);
            } else if digits || is_rare(&bytes[start..at]) {
                self.pattern.extend_from_slice(&bytes[literal..start]);
                self.pattern.push(VARIABLE);
                literal = at;
                self.variables.push((start as u32, at as u32));
                self.times.push(0);
            }
            if self.variables.len() > MAX_VARIABLES {
                return false;
            }
        }
        self.pattern.extend_from_slice(&bytes[literal..end]);
        true
    }

    /// Makes one variable of what is behind so much of the template: there the template says a word, or has a mark. The text,
    /// which was split with these references, lies in `span` of its buffer.
    pub(super) fn cut(&mut self, at: usize, span: (u32, u32), hits: &[Hit]) {
        let (mut variables, mut references) = (0, 0);
        let mut text = span.0;
        let mut pattern = 0;
        for token in tokens(&self.pattern).take_while(|token| token.start < at) {
            text += (token.start - pattern) as u32;
            pattern = token.end;
            text += match token.kind {
                Kind::Word => (token.end - token.start) as u32,
                Kind::Variable => {
                    variables += 1;
                    self.variables.get(variables - 1).map_or(0, |(start, end)| end - start)
                }
                Kind::Reference => {
                    references += 1;
                    hits.get(references - 1).map_or(0, |hit| hit.end - hit.start)
                }
            };
        }
        text += at.saturating_sub(pattern) as u32;
        self.pattern.truncate(at);
        self.pattern.push(VARIABLE);
        self.variables.truncate(variables);
        self.variables.push((text, span.1));
        self.times.truncate(variables);
        self.times.push(0);
    }
}
