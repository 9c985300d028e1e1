//! Whole queries: options, filter, pipes; and queries inside queries.
//!
//! ```text
//! options(concurrency=2, time_offset=1d) filter | pipe | pipe
//! ```

use super::Parser;
use super::lexer::{TokenKind, token_at, value_end};
use crate::error::ParseError;
use crate::filter::Filter;
use crate::number::parse_duration_ns;
use crate::pipe::Pipe;
use crate::query::Query;

type Parsed<T> = Result<T, ParseError>;

/// How deep queries may be nested in each other: each runs while the one around it waits.
pub(crate) const MAX_QUERY_DEPTH: usize = 8;

const OPTIONS: &str = "concurrency, parallel_readers, ignore_global_time_filter or time_offset";

/// What stands in `options(…)`.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    max_threads: Option<usize>,
    ignore_range: bool,
    time_offset_ns: Option<i64>,
}

impl Parser<'_> {
    /// A query, up to what is no part of it.
    pub(crate) fn query(&mut self) -> Parsed<Query> {
        let options = self.options()?;
        let outer_offset = self.time_offset_ns;
        self.time_offset_ns = options.time_offset_ns.unwrap_or(outer_offset);
        let query = self.filter_and_pipes(options);
        self.time_offset_ns = outer_offset;
        query
    }

    fn filter_and_pipes(&mut self, options: Options) -> Parsed<Query> {
        let mut filter = match self.options.within {
            Some(range) if !options.ignore_range => Filter::Time(range),
            _ => Filter::All,
        };
        filter = filter.and(self.options.also.clone()).and(self.whole_filter()?);
        let mut pipes = Vec::new();
        if let Some(offset_ns) = options.time_offset_ns {
            pipes.push(Pipe::time_shift(offset_ns));
        }
        while self.eat_punct('|')? {
            self.first_pipe = pipes.is_empty();
            match self.pipe()? {
                // Filters directly behind the filter are part of it.
                Pipe::Filter(more) if pipes.is_empty() => filter = filter.and(more),
                pipe => pipes.push(pipe),
            }
        }
        for pipe in &mut pipes {
            if let Pipe::Stats(stats) = pipe {
                stats.set_seconds(filter.time_range());
            }
        }
        Ok(Query::new(filter, pipes, options.max_threads))
    }

    /// A query in parentheses that are the caller's.
    pub(crate) fn subquery(&mut self) -> Parsed<Query> {
        if self.queries == MAX_QUERY_DEPTH {
            return Err(self.error(
                format!("queries are nested more than {MAX_QUERY_DEPTH} deep"),
                "take a query out of the others",
            ));
        }
        self.queries += 1;
        let query = self.nested(Self::query);
        self.queries -= 1;
        query
    }

    fn options(&mut self) -> Parsed<Options> {
        let mut options = Options::default();
        let is_next =
            self.at_word("options") && self.following().is_some_and(|t| t.kind == TokenKind::Punct('('));
        if !is_next {
            return Ok(options);
        }
        self.advance()?;
        self.list(|p| {
            let at = p.token.start;
            let name = p.text_token("an option")?;
            p.expect_punct('=')?;
            let value_at = p.token.start;
            let wrong = |p: &Self, expected: &str| {
                let message = format!("{name} takes {expected}");
                ParseError::new(p.text, value_at, message, format!("expected {expected}"))
            };
            match &*name.to_ascii_lowercase() {
                "concurrency" | "parallel_readers" => {
                    let n = p.count("a number of threads")?;
                    if n == 0 {
                        return Err(wrong(p, "a number of threads above 0"));
                    }
                    options.max_threads = Some(options.max_threads.map_or(n, |m| m.min(n)));
                }
                "ignore_global_time_filter" => {
                    options.ignore_range = match &*p.text_token("true or false")?.to_ascii_lowercase() {
                        "true" | "1" => true,
                        "false" | "0" => false,
                        _ => return Err(wrong(p, "true or false")),
                    };
                }
                "time_offset" => {
                    let offset = parse_duration_ns(&p.text_token("a duration such as 7d")?);
                    options.time_offset_ns = Some(offset.ok_or_else(|| wrong(p, "a duration such as 7d"))?);
                }
                _ => {
                    let message = format!("unknown option `{name}`");
                    return Err(ParseError::new(p.text, at, message, format!("expected {OPTIONS}")));
                }
            }
            Ok(())
        })?;
        Ok(options)
    }

    /// Whether parentheses follow with a list of values between them, and not a query.
    pub(super) fn at_list_of_values(&self) -> bool {
        let mut at = self.token.end;
        let mut next = || {
            let token = token_at(self.text, at).ok()?;
            let is_bare = matches!(token.kind, TokenKind::Word(_));
            at = if is_bare { value_end(self.text, token.start) } else { token.end };
            Some(token.kind)
        };
        if !self.at_punct('(') {
            return false;
        }
        loop {
            match next() {
                Some(TokenKind::Punct(')')) => return true,
                Some(TokenKind::Word(_) | TokenKind::Quoted(_)) => {}
                _ => return false,
            }
            match next() {
                Some(TokenKind::Punct(',')) => {}
                Some(TokenKind::Punct(')')) => return true,
                _ => return false,
            }
        }
    }
}
