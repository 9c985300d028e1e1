//! How a verb ends when it does not end well, and what the shell is told.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done; also when a query matched nothing |
//! | 1 | failure: something could not be read, written or trusted; what could be done was done |
//! | 2 | usage: a flag or a query that cannot be understood; nothing was done |
//! | 4 | `query --fail-empty` (`-e`) and nothing matched. Not 1, so that a script can tell it from a failure |
//! | 128 + n | stopped by signal n: 130 after Ctrl-C, 143 after SIGTERM |

use std::io;
use std::process::ExitCode;

/// A verb's result. The number is the exit code.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// [`Outcome`]'s code for `query --fail-empty`.
pub(crate) const NOTHING_MATCHED: u8 = 4;

/// Why a verb ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something failed, and this sentence says what and what to do. Exit code 1.
    Failed(String),
    /// What the user asked for cannot be understood. Exit code 2.
    Usage(String),
    /// Nobody reads the output any more (`| head`). Ends quietly, exit code 0.
    ClosedPipe,
    /// A signal asked us to stop.
    Interrupted {
        /// What to end with.
        code: u8,
    },
}

impl Failure {
    /// Says what there is to say on stderr and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Failed(text) => {
                complain(&text);
                ExitCode::from(1)
            }
            Self::Usage(text) => {
                complain(&text);
                ExitCode::from(2)
            }
            Self::ClosedPipe => ExitCode::SUCCESS,
            Self::Interrupted { code } => ExitCode::from(code),
        }
    }

    /// A failed write to stdout: a closed pipe is no error.
    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Failed(format!("cannot write the output: {error}"))
        }
    }
}

impl From<duramen::Error> for Failure {
    fn from(error: duramen::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
impl From<duramen_sinks::Error> for Failure {
    fn from(error: duramen_sinks::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<duramen_engine::Error> for Failure {
    fn from(error: duramen_engine::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// One sentence on stderr, marked as ours. Control characters (file names may have them) are escaped.
pub(crate) fn complain(text: &str) {
    use std::io::Write;
    let mut line = String::from("duramen: ");
    crate::render::escape::push_safe(&mut line, text);
    line.push('\n');
    // Where stderr is closed there is nobody to tell.
    let _nobody_listens = io::stderr().lock().write_all(line.as_bytes());
}

/// One line on stderr that is no complaint. Control characters are escaped.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    let mut line = String::new();
    crate::render::escape::push_safe(&mut line, text);
    line.push('\n');
    let _nobody_listens = io::stderr().lock().write_all(line.as_bytes());
}
