//! Which lines continue the event before them.
//!
//! Two things tell. An input whose events lead with time stamps or levels ([`Detected::events_lead`]) says
//! itself where one begins, and all between belongs to it. And whatever the input, some lines show by their
//! shape that they go on: indentation, `Caused by:`, the frames and last line of a traceback.
//!
//! [`Detected::events_lead`]: crate::Detected::events_lead

use duramen::Level;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What an open event has shown so far that its next lines are judged by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    None,
    /// Python's `Traceback (most recent call last):` has been seen, and not yet its last line.
    Traceback,
    /// The last line of a traceback has been seen; another may be chained to it.
    AfterTraceback,
    /// Go's `panic:` or `goroutine 1 [running]:` has been seen.
    Go,
    /// The line of MySQL's slow query log that names the client has been seen: another is of the next query.
    SlowQuery,
    /// The head of a report of Erlang's has been seen: what follows is of it, up to the next that leads.
    Report,
    /// The first line of two of java.util.logging has been seen: `Jun 01, 2024 10:00:06 AM org.x.Y start`.
    JavaUtil,
    /// `thread 'main' panicked at src/main.rs:4:5:` of Rust's has been seen; what it says may follow.
    Panic { says_next: bool },
    /// Where a script failed, as Node.js shows it, has been seen: `/srv/app.js:3`; behind it stand the line of the script, a mark
    /// below it, and what was thrown.
    Script(Script),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Place,
    Line,
    Mark,
    Thrown,
}

impl Trace {
    /// Takes note of a line of the event.
    pub fn saw(&mut self, line: &str) {
        static TRACEBACK: LazyLock<Finder<'static>> =
            LazyLock::new(|| Finder::new("Traceback (most recent call last)"));
        self.state = if TRACEBACK.find(line.as_bytes()).is_some() {
            State::Traceback
        } else if line.starts_with("panic: ")
            || line.starts_with("fatal error: ")
            || line.starts_with("goroutine ")
        {
            State::Go
        } else if line.starts_with(SLOW_QUERY) {
            State::SlowQuery
        } else if report_stamp(line).is_some() {
            State::Report
        } else if is_java_util(line) {
            State::JavaUtil
        } else if is_panic(line) {
            State::Panic { says_next: line.ends_with(':') }
        } else if is_script_place(line) {
            State::Script(Script::Place)
        } else if self.state == State::JavaUtil {
            State::None
        } else if let State::Panic { .. } = self.state {
            State::Panic { says_next: false }
        } else if let State::Script(script) = self.state {
            State::Script(script.before(line))
        } else if self.state == State::Traceback && !line.is_empty() && !is_indented(line) {
            State::AfterTraceback
        } else {
            self.state
        };
    }

    /// Whether a line that is neither indented nor blank shows by its shape that it goes on with an event.
    pub fn continues(self, line: &str) -> bool {
        if line.starts_with("Caused by: ")
            || line.starts_with("Suppressed: ")
            || line.starts_with("at ")
            || line.starts_with("... ")
            || line.starts_with(['}', ')', ']'])
            || (line.starts_with(['#', '[', 'S', '"']) && (is_php_trace(line) || self.is_slow_query(line)))
        {
            return true;
        }
        match self.state {
            State::None | State::Report => false,
            State::SlowQuery => line.starts_with("use "),
            State::JavaUtil => java_util_level(line).is_some(),
            State::Panic { says_next } => {
                says_next || line.starts_with("stack backtrace:") || line.starts_with("note: ")
            }
            // A list of places is none of what Node.js writes.
            State::Script(Script::Place) => !is_script_place(line),
            State::Script(Script::Mark) => true,
            State::Script(Script::Line) => false,
            State::Script(Script::Thrown) => {
                line.starts_with("Node.js v") || line.starts_with("Emitted 'error' event ")
            }
            State::Traceback => is_last_of_traceback(line),
            State::AfterTraceback => {
                line.starts_with("During handling of the above exception")
                    || line.starts_with("The above exception was the direct cause")
                    || line.starts_with("Traceback (most recent call last)")
            }
            State::Go => {
                line.starts_with("goroutine ")
                    || line.starts_with("created by ")
                    || line.starts_with("exit status ")
                    || line.starts_with("[signal ")
                    || (line.ends_with(')') && line.contains('('))
            }
        }
    }
}

impl Trace {
    /// The lines after the time of a slow query in MySQL's log; the client's name only once.
    fn is_slow_query(self, line: &str) -> bool {
        line.starts_with("# Query_time: ")
            || line.starts_with("SET timestamp=")
            || (line.starts_with(SLOW_QUERY) && self.state != State::SlowQuery)
    }
}

impl Trace {
    /// The level that a line says of the event that it goes on with.
    pub fn level_in(self, line: &str) -> Option<Level> {
        match self.state {
            State::JavaUtil => java_util_level(line),
            State::Script(Script::Mark) if !line.is_empty() => Some(Level::Error),
            _ => None,
        }
    }

    /// Whether the next line goes on with the event whatever it says; one with a time of its own does not even then: another
    /// thread, or another process, wrote between the two.
    pub fn takes_any(self) -> bool {
        matches!(self.state, State::Panic { says_next: true } | State::Script(Script::Place | Script::Mark))
    }

    /// Whether all lines that do not lead go on with the event.
    pub fn is_report(self) -> bool {
        self.state == State::Report
    }
}

impl Script {
    /// What has been seen once this line was.
    fn before(self, line: &str) -> Self {
        let is_blank = line.trim_ascii().is_empty();
        match self {
            Self::Place => Self::Line,
            Self::Line if !is_blank && line.bytes().all(|b| matches!(b, b' ' | b'\t' | b'^')) => Self::Mark,
            Self::Mark if !is_blank && !is_indented(line) => Self::Thrown,
            seen => seen,
        }
    }
}

/// Whether a program begins so to tell of an exception that nobody caught: in Java, .NET, Rust.
pub(crate) fn is_uncaught(line: &str) -> bool {
    line.starts_with("Exception in thread \"")
        || line.starts_with("Unhandled exception. ")
        || line.starts_with("Unhandled Exception: ")
        || is_panic(line)
}

/// `thread 'main' panicked at src/main.rs:4:5:`, with a number behind the name since Rust 1.90.
fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

/// `/srv/app.js:3`, `node:events:497`, `node:internal/process/promises:288`: nothing but a place in a script.
pub(crate) fn is_script_place(line: &str) -> bool {
    // Most lines are not looked at further.
    if !line.as_bytes().last().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let Some((script, number)) = line.rsplit_once(':') else { return false };
    let is_script = [".js", ".mjs", ".cjs", ".ts"].iter().any(|end| script.ends_with(end))
        && (script.starts_with('/') || script.starts_with("file:///") || script.get(1..3) == Some(":\\"));
    let is_module = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'/'))
    };
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number && (is_script || script.strip_prefix("node:").is_some_and(is_module)) && !script.contains(' ')
}

/// `Jun 01, 2024 10:00:06 AM org.x.Y start`: java.util.logging says the level in the line below.
fn is_java_util(line: &str) -> bool {
    let mut words = line.split(' ');
    let date = words
        .next()
        .is_some_and(|month| month.len() == 3 && month.starts_with(|c: char| c.is_ascii_uppercase()))
        && words.next().is_some_and(|day| day.ends_with(',') && day.len() <= 3)
        && words.next().is_some_and(|year| year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit()))
        && words.next().is_some_and(|clock| clock.contains(':'))
        && words.next().is_some_and(|half| matches!(half, "AM" | "PM"));
    date && words.next().is_some_and(|class| class.contains('.'))
        && words.next().is_some()
        && words.next().is_none()
}

/// `SEVERE: message`
fn java_util_level(line: &str) -> Option<Level> {
    let (word, _) = line.split_once(": ")?;
    let known = ["SEVERE", "WARNING", "INFO", "CONFIG", "FINE", "FINER", "FINEST"].contains(&word);
    if known { Level::parse(word) } else { None }
}

/// Where the time stands in the head of a report as Erlang's programs wrote them before 2018, RabbitMQ among them:
/// `=INFO REPORT==== 16-Jan-2013::15:58:33 ===`.
pub(crate) fn report_stamp(line: &str) -> Option<usize> {
    let (kind, _) = line.strip_prefix('=')?.split_once(" REPORT==== ")?;
    let is_kind = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_uppercase() || b == b' ');
    is_kind.then_some(1 + kind.len() + " REPORT==== ".len())
}

/// How MySQL's slow query log names the client of a query.
pub(crate) const SLOW_QUERY: &str = "# User@Host: ";

/// PHP's traces: `[stacktrace]`, `Stack trace:`, `#0 /srv/a.php(7): f()`, `"}` after them.
fn is_php_trace(line: &str) -> bool {
    let frame = line.strip_prefix('#').and_then(|rest| rest.split_once(' '));
    frame.is_some_and(|(n, _)| (1..=3).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()))
        || line == "[stacktrace]"
        || line == "Stack trace:"
        || line.starts_with("[previous exception]")
        || line.starts_with("\"}")
}

/// Whether a line begins with white space.
pub(crate) fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// `ValueError: text`, `requests.exceptions.HTTPError`, `KeyboardInterrupt`
fn is_last_of_traceback(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_continue() {
        let mut trace = Trace::default();
        assert!(trace.continues("Caused by: java.lang.X"));
        assert!(trace.continues("... 12 more"));
        assert!(trace.continues("}"));
        assert!(!trace.continues("ValueError: x"));
        trace.saw("Traceback (most recent call last):");
        trace.saw("  File \"a.py\", line 1, in <module>");
        assert!(trace.continues("ValueError: x"));
        assert!(!trace.continues("and then: x"));
        trace.saw("ValueError: x");
        assert!(!trace.continues("ValueError: x"));
        trace.saw("");
        assert!(trace.continues("During handling of the above exception, another exception occurred:"));
        for line in ["[stacktrace]", "#0 /srv/a.php(7): f()", "#12 {main}", "\"} ", "Stack trace:"] {
            assert!(Trace::default().continues(line), "{line}");
        }
        assert!(!Trace::default().continues("# 1 x") && !Trace::default().continues("#a x"));
        let mut slow = Trace::default();
        assert!(slow.continues("# User@Host: a[a] @ b []"));
        slow.saw("# User@Host: a[a] @ b []");
        assert!(!slow.continues("# User@Host: a[a] @ b []"));
        assert!(slow.continues("# Query_time: 2.5") && slow.continues("SET timestamp=1717200000;"));
        let mut go = Trace::default();
        go.saw("panic: x");
        assert!(go.continues("main.main()"));
        assert!(go.continues("goroutine 1 [running]:"));
        assert!(!go.continues("done"));
    }
}
