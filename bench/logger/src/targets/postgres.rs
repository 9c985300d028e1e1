//! PostgreSQL: the same table as SQLite's, on a server that is there already.

use super::logger::is_error;
use super::{BATCH, Found, Session, Target};
use crate::Result;
use crate::sample::{Line, now_ns};
use postgres::{Client, NoTls, Statement};
use std::io::Write as _;

/// When lines are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commit {
    Each,
    Batches,
    /// As `Batches`, and after each error.
    Errors,
}

struct Postgres {
    url: String,
    commit: Commit,
}

pub(super) fn open(commit: Commit) -> Result<Box<dyn Target>> {
    let url = std::env::var("BENCH_POSTGRES").map_err(|_| "no server: see --postgres")?;
    Client::connect(&url, NoTls)?.batch_execute(
        "DROP TABLE IF EXISTS bench_logger;
         CREATE TABLE bench_logger (id BIGSERIAL PRIMARY KEY, time BIGINT, level SMALLINT, message TEXT, fields TEXT)",
    )?;
    Ok(Box::new(Postgres { url, commit }))
}

impl Target for Postgres {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let mut client = Client::connect(&self.url, NoTls)?;
        let insert = "INSERT INTO bench_logger (time, level, message, fields) VALUES ($1, $2, $3, $4)";
        let insert = client.prepare(insert)?;
        Ok(Box::new(Writing { client, insert, commit: self.commit, waiting: Vec::new(), lines: 0 }))
    }

    fn close(self: Box<Self>) -> Result<Found> {
        let mut client = Client::connect(&self.url, NoTls)?;
        let all =
            "SELECT count(*), coalesce(sum((fields::json ->> 'seq')::bigint), 0)::bigint FROM bench_logger";
        let row = client.query_one(all, &[])?;
        client.batch_execute("DROP TABLE bench_logger")?;
        Ok(Found { lines: row.get::<_, i64>(0).unsigned_abs(), seq_sum: row.get(1) })
    }
}

struct Writing {
    client: Client,
    insert: Statement,
    commit: Commit,
    /// Lines that wait, in the text form of COPY.
    waiting: Vec<u8>,
    lines: u32,
}

impl Session for Writing {
    fn log(&mut self, line: &Line, seq: i64) -> Result<()> {
        let level = i16::from(line.level as u8);
        if self.commit == Commit::Each {
            let fields = serde_json::to_string(&line.json_fields(seq))?;
            self.client.execute(&self.insert, &[&now_ns(), &level, &line.message, &fields])?;
            return Ok(());
        }
        // Neither the messages nor this JSON has a tab, a line end or a backslash.
        write!(self.waiting, "{}\t{level}\t{}\t", now_ns(), line.message)?;
        serde_json::to_writer(&mut self.waiting, &line.json_fields(seq))?;
        self.waiting.push(b'\n');
        self.lines += 1;
        if self.lines == BATCH || self.commit == Commit::Errors && is_error(line.level) {
            self.finish()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if self.lines > 0 {
            let mut copy =
                self.client.copy_in("COPY bench_logger (time, level, message, fields) FROM STDIN")?;
            copy.write_all(&self.waiting)?;
            copy.finish()?;
            self.waiting.clear();
            self.lines = 0;
        }
        Ok(())
    }
}
