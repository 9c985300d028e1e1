//! The tables, in both databases.
//!
//! ```text
//! duramen_meta     name, value        schema_version, and database_id, which tells one database from another
//! duramen_logs     id, time_ns, level, message, fields
//! duramen_writers  writer, last_line  PostgreSQL only: up to which of its lines each sink is committed
//! ```
//!
//! They are made when a sink is opened, in one transaction, and carry the version of their shape. There has been
//! one version so far. An older one is migrated when there is an older one; a newer one is refused.

use crate::error::{Error, Result};

/// The version of the tables that this crate makes.
pub const SCHEMA_VERSION: i64 = 1;

/// The table with the lines.
pub const LOG_TABLE: &str = "duramen_logs";

/// Refuses a version that is not ours.
pub(crate) fn check_version(text: &str) -> Result<()> {
    match text.parse::<i64>() {
        Ok(SCHEMA_VERSION) => Ok(()),
        Ok(found) if found > SCHEMA_VERSION => Err(Error::NewerSchema { found, known: SCHEMA_VERSION }),
        _ => {
            Err(Error::Database(format!("duramen_meta has the schema version {text:?}, which never was one")))
        }
    }
}

/// The identity of a database that is being made.
pub(crate) fn new_database_id(random: &dyn duramen_engine::io::Random) -> String {
    format!("{:016x}", random.next_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_version_is_taken() {
        assert_eq!(check_version("1"), Ok(()));
        assert_eq!(check_version("2"), Err(Error::NewerSchema { found: 2, known: 1 }));
        for text in ["0", "-1", "", "x"] {
            assert!(matches!(check_version(text), Err(Error::Database(_))), "{text}");
        }
    }
}
