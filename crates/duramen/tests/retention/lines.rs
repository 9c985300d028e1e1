//! Lines, and the plain list of them that a store is compared with.

use duramen::{EntryBuf, Level, Retention, RetentionLines, Store, StoreOptions};
use duramen_engine::io::Env;
use std::ops::ControlFlow;
use std::time::Duration;

pub const DAY: Duration = Duration::from_secs(86_400);
pub const DAY_NS: i64 = 86_400_000_000_000;

/// A line, as a test remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub number: u64,
    pub time: i64,
    pub level: Level,
    pub app: &'static str,
}

pub fn options(env: Env) -> StoreOptions {
    StoreOptions::new().env(env).background(false).write_buffer_size(64 << 10).flush_threads(1)
}

impl Line {
    pub fn append_to(&self, store: &Store, filler: &str) -> duramen::Result<()> {
        let mut entry = EntryBuf::new(["app", "odd name"]);
        entry.start(self.time).level(self.level).message(&format!("{} {filler}", self.number));
        entry.field("app", self.app).field("odd name", "x\"y").field("n", self.number as i64);
        store.append(entry.finish()?).map(drop)
    }

    /// How old it may get.
    pub fn limit(&self, policy: &Retention) -> Option<Duration> {
        let fits = |lines: &RetentionLines| match lines {
            RetentionLines::Level(level) => *level == self.level,
            RetentionLines::Stream(selector) => {
                selector.labels().iter().all(|(name, value)| name == "app" && value == self.app)
            }
        };
        policy.rules.iter().find(|rule| fits(&rule.lines)).map_or(policy.max_age, |rule| rule.max_age)
    }

    /// Whether it may be gone.
    pub fn has_expired(&self, policy: &Retention, now: i64) -> bool {
        self.limit(policy).is_some_and(|limit| self.time < now - limit.as_nanos() as i64)
    }

    /// Whether it has to be gone, since all of its day is.
    pub fn has_to_go(&self, policy: &Retention, now: i64) -> bool {
        let end_of_day = (self.time.div_euclid(DAY_NS) + 1) * DAY_NS - 1;
        Line { time: end_of_day, ..*self }.has_expired(policy, now)
    }
}

/// The lines in a store, by number.
pub fn lines_of(store: &Store) -> Vec<Line> {
    let mut found = Vec::new();
    store
        .scan(i64::MIN, i64::MAX, &mut |row| {
            let number = row.message().split(' ').next().unwrap().parse().unwrap();
            let app = match row.field("app").as_deref() {
                Some("web") => "web",
                Some("db") => "db",
                other => panic!("{other:?}"),
            };
            assert_eq!(row.field("_stream").unwrap(), format!("{{app=\"{app}\",\"odd name\"=\"x\\\"y\"}}"));
            assert_eq!(row.field("n").unwrap(), format!("{number}"));
            let level = Level::parse(&row.field("level").unwrap_or_default()).unwrap_or_default();
            found.push(Line { number, time: row.time(), level, app });
            ControlFlow::Continue(())
        })
        .unwrap();
    found.sort();
    found
}
