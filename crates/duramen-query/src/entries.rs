//! Which entries a query looks at, for what is told of them beside its answer: histograms, and frequent values.

use crate::pipe::fields::NamePattern;
use crate::pipe::{Passes, Pipe};
use crate::query::Query;
use duramen::block::names;

impl Query {
    /// The entries that the query finds, as the pipes leave them that look at each by itself, and with their times: without
    /// the first pipe that needs all entries, such as `stats`, `sort` and `limit`, and all behind it.
    #[must_use]
    pub fn entries(mut self) -> Self {
        let pipes = self.pipes_mut();
        let seen = pipes.iter().position(|pipe| pipe.passes() == Passes::All).unwrap_or(pipes.len());
        pipes.truncate(seen);
        for pipe in pipes {
            if let Pipe::Fields(fields) = pipe {
                match fields.delete {
                    true => fields.patterns.retain(|pattern| !pattern.matches(names::TIME)),
                    false => fields.patterns.push(NamePattern::exact(names::TIME)),
                }
            }
        }
        self
    }

    /// The query with these pipes behind its own.
    #[must_use]
    pub fn then(mut self, pipes: &[Pipe]) -> Self {
        self.pipes_mut().extend_from_slice(pipes);
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::{ParseOptions, Query};

    #[test]
    fn what_needs_all_entries_is_left_out_and_times_stay() {
        for (text, entries) in [
            ("error", "error"),
            (
                "a | extract \"x<y>\" | filter y:1 | stats by (y) count() n | sort by (n)",
                "a | extract \"x<y>\" | filter y:1",
            ),
            ("a | limit 1", "a"),
            ("a | sort by (_time) | fields b", "a"),
            ("a | fields b | limit 1", "a | fields b, _time"),
            ("a | delete b, _time", "a | delete b"),
        ] {
            let parsed = |text: &str| Query::parse(text, &ParseOptions::default()).unwrap();
            assert_eq!(parsed(text).entries().to_string(), parsed(entries).to_string(), "{text}");
        }
    }
}
