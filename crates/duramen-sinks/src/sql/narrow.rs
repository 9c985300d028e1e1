//! A filter as SQL that every matching row satisfies.
//!
//! The other way round need not hold: a row that the SQL lets through is tested again. So `not` can only be said of
//! what is exact, and what SQL cannot say is left out.
//!
//! Fields are searched as JSON text. A text without quotes, backslashes and control characters stands there as it
//! is, unless whoever wrote the row escaped what need not be escaped; rows with such escapes are let through.

use duramen::Level;
use duramen::block::names;
use duramen_query::STREAM_ID;
use duramen_query::filter::phrase::Phrase;
use duramen_query::filter::{Filter, Test};

/// Which SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[cfg(feature = "sqlite")]
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
}

impl Dialect {
    /// The column `fields` as text.
    fn fields_text(self) -> &'static str {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "fields",
            #[cfg(feature = "postgres")]
            Self::Postgres => "fields::text",
        }
    }

    /// The columns of [`Stored`](crate::line::Stored), in its order.
    pub fn our_row(self) -> String {
        format!("id, time_ns, level, message, {}", self.fields_text())
    }

    /// The key of a table that is called `line`, and its rows as their reader takes them: SQLite has columns, whose
    /// values say themselves what they are; PostgreSQL makes objects. There, a bare `line` would be a column of that name,
    /// if there is one.
    pub fn any_row(self, key: &str) -> String {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite => format!("{key}, *"),
            #[cfg(feature = "postgres")]
            Self::Postgres => format!("{key}::bigint, row_to_json(line.*)::text"),
        }
    }
}

/// A value bound to a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Param {
    Int(i64),
    Text(String),
}

/// SQLite takes a chain of 1,000 conditions for too deep, PostgreSQL 65,535 values for too many. A condition with more
/// values than this is left to the query engine.
const MOST_PARAMS: usize = 500;

/// A value that may be any of more texts than this is left to the query engine.
const MOST_TEXTS: usize = 100;

/// A condition being put together, and its values.
#[derive(Debug)]
pub(crate) struct Narrow {
    dialect: Dialect,
    pub params: Vec<Param>,
}

/// A condition, and whether rows that satisfy it match for certain.
struct Condition {
    sql: String,
    exact: bool,
}

impl Condition {
    fn superset(sql: String) -> Self {
        Self { sql, exact: false }
    }
}

impl Narrow {
    /// The condition `TRUE`, which more can be joined to.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, params: Vec::new() }
    }

    /// Binds a value and gives its placeholder.
    pub fn bind(&mut self, value: Param) -> String {
        self.params.push(value);
        match self.dialect {
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => format!("?{}", self.params.len()),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => format!("${}", self.params.len()),
        }
    }

    /// Binds an integer.
    pub fn int(&mut self, n: i64) -> String {
        self.bind(Param::Int(n))
    }

    /// Binds an integer that is to be compared with a column of any integer type.
    pub fn bigint(&mut self, n: i64) -> String {
        let bound = self.int(n);
        match self.dialect {
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => bound,
            #[cfg(feature = "postgres")]
            Dialect::Postgres => format!("{bound}::bigint"),
        }
    }

    /// A condition that every row satisfies that the filter matches; `None` if nothing can be said.
    pub fn filter(&mut self, filter: &Filter) -> Option<String> {
        let bound = self.params.len();
        let condition = self.condition(filter)?;
        if self.params.len() - bound > MOST_PARAMS {
            self.params.truncate(bound);
            return None;
        }
        Some(condition.sql)
    }

    fn condition(&mut self, filter: &Filter) -> Option<Condition> {
        match filter {
            Filter::All
            | Filter::AnyField { .. }
            | Filter::Pair(_)
            | Filter::Storage(_)
            | Filter::Clock(_)
            | Filter::Stream(_)
            | Filter::Subquery(_) => None,
            Filter::Time(range) => {
                let (min, max) = (self.int(range.min), self.int(range.max));
                Some(Condition { sql: format!("time_ns BETWEEN {min} AND {max}"), exact: true })
            }
            Filter::And(parts) => {
                let known: Vec<Condition> = parts.iter().filter_map(|part| self.condition(part)).collect();
                let exact = known.len() == parts.len() && known.iter().all(|c| c.exact);
                let sql: Vec<String> = known.into_iter().map(|c| c.sql).collect();
                (!sql.is_empty()).then(|| Condition { sql: format!("({})", sql.join(" AND ")), exact })
            }
            Filter::Or(parts) => {
                // Values bound for a part that is then left out would have no placeholder.
                let bound = self.params.len();
                let known: Option<Vec<Condition>> = parts.iter().map(|part| self.condition(part)).collect();
                let Some(known) = known else {
                    self.params.truncate(bound);
                    return None;
                };
                let exact = known.iter().all(|c| c.exact);
                let sql: Vec<String> = known.into_iter().map(|c| c.sql).collect();
                Some(Condition { sql: format!("({})", sql.join(" OR ")), exact })
            }
            Filter::Not(inner) => {
                let bound = self.params.len();
                match self.condition(inner) {
                    Some(Condition { sql, exact: true }) => {
                        Some(Condition { sql: format!("NOT ({sql})"), exact: true })
                    }
                    _ => {
                        self.params.truncate(bound);
                        None
                    }
                }
            }
            Filter::Field { field, test } => match &**field {
                names::TIME | names::STREAM | STREAM_ID => None,
                names::MESSAGE => self.message(test),
                names::LEVEL => self.level(test),
                name => self.field(name, test),
            },
        }
    }

    /// The message is a column of its own.
    fn message(&mut self, test: &Test) -> Option<Condition> {
        match test {
            Test::Exact(exact) if !exact.is_prefix() && !is_stored_otherwise(exact.text()) => {
                let sql = format!("message = {}", self.bind(Param::Text(exact.text().into())));
                Some(Condition { sql, exact: true })
            }
            Test::Any => Some(Condition { sql: "message <> ''".into(), exact: true }),
            test => {
                let texts = held_texts(test)?;
                self.any_of(&texts, "message").map(Condition::superset)
            }
        }
    }

    /// The level has few values, and each can be asked for; but a field of that name goes before it.
    fn level(&mut self, test: &Test) -> Option<Condition> {
        let all = [&[Level::Unknown][..], &Level::NAMED].concat();
        let passing: Vec<&str> = all.iter().map(|level| level.name()).filter(|n| test.matches(n)).collect();
        if passing.len() == all.len() {
            return None;
        }
        // Spellings of others than a sink are let through.
        let known: Vec<String> = all.iter().map(|level| format!("'{}'", level.name())).collect();
        let passing: Vec<String> = passing.iter().map(|name| format!("'{name}'")).collect();
        let own = match &*passing {
            [] => String::new(),
            some => format!("level IN ({}) OR ", some.join(", ")),
        };
        let field = self.holds("fields", "\"level\"");
        let escaped = self.escaped();
        let known = known.join(", ");
        Some(Condition::superset(format!("({own}level NOT IN ({known}) OR {field} OR {escaped})")))
    }

    /// A field is somewhere in the JSON: its name, and its value.
    fn field(&mut self, name: &str, test: &Test) -> Option<Condition> {
        // A field that is not there is the empty text.
        if test.matches("") {
            return None;
        }
        let mut parts = Vec::new();
        // `a.b` may be nested, and `a#1` is given to the first of two that are called `a`.
        if is_plain(name) && !name.contains(['.', '#', '\u{FFFD}']) {
            parts.push(self.holds("fields", &format!("\"{name}\"")));
        }
        if let Some(texts) = held_texts(test)
            && texts.iter().all(|text| is_plain(text))
        {
            parts.extend(self.any_of(&texts, "fields"));
        }
        if parts.is_empty() {
            return None;
        }
        let escaped = self.escaped();
        Some(Condition::superset(format!("(({}) OR {escaped})", parts.join(" AND "))))
    }

    /// One of these texts is in the column; of no text, nothing is.
    fn any_of(&mut self, texts: &[&str], column: &str) -> Option<String> {
        if texts.len() > MOST_TEXTS || texts.iter().any(|text| text.is_empty() || is_stored_otherwise(text)) {
            return None;
        }
        let holds: Vec<String> = texts.iter().map(|text| self.holds(column, text)).collect();
        Some(if holds.is_empty() { "1 = 0".into() } else { format!("({})", holds.join(" OR ")) })
    }

    fn holds(&mut self, column: &str, text: &str) -> String {
        let text = self.bind(Param::Text(text.into()));
        match self.dialect {
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => format!("instr({column}, {text}) > 0"),
            #[cfg(feature = "postgres")]
            Dialect::Postgres => format!("strpos({column}::text, {text}) > 0"),
        }
    }

    /// The fields have escapes that can stand for any character.
    fn escaped(&mut self) -> String {
        format!("{} OR {}", self.holds("fields", "\\u"), self.holds("fields", "\\/"))
    }
}

/// Texts one of which a value holds that passes; `None` if that is not known.
fn held_texts(test: &Test) -> Option<Vec<&str>> {
    match test {
        Test::Phrase(phrase) => Some(vec![phrase.text()]),
        Test::Exact(exact) => Some(vec![exact.text()]),
        Test::In(set) => Some(set.values().collect()),
        Test::Contains(of) if of.is_all() => of.phrases().first().map(|phrase| vec![phrase.text()]),
        Test::Contains(of) => Some(of.phrases().iter().map(Phrase::text).collect()),
        Test::Sequence(of) => of.phrases().first().map(|phrase| vec![phrase.text()]),
        Test::Any
        | Test::Fold(_)
        | Test::Compare(_)
        | Test::Regex(_)
        | Test::Pattern(_)
        | Test::Ip(_)
        | Test::Length(_)
        | Test::Level(_) => None,
    }
}

/// Whether a text stands in a JSON string as it is.
fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| c < ' ' || c == '"' || c == '\\')
}

/// Whether the column may have other bytes than a value that holds this text: a message with a NUL has U+FFFD in its
/// place, and U+FFFD is read where SQLite has bytes that are not UTF-8.
fn is_stored_otherwise(text: &str) -> bool {
    text.contains(['\0', '\u{FFFD}'])
}
