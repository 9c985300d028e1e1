//! Makes any number of realistic log lines of real ones: NDJSON on standard output, the same for the same seed.
//!
//! Entries are taken from the files in runs, so that what follows each other in a real log does so here, too. The
//! variable parts of their texts are drawn anew, so that the result is no mere repetition: see [`redraw`].
//!
//! | module | what it does |
//! |---|---|
//! | [`input`] | log files to entries, each a JSON object |
//! | [`token`] | the variable parts of a text |
//! | [`stamp`] | times in a text, moved to another time |
//! | [`vocabulary`] | which values the variable parts of a file have, and how often |
//! | [`fresh`] | new values of the same shape |
//! | [`redraw`] | an entry's variable parts drawn anew |
//! | [`resample`] | runs of all files, interleaved, with times that run on |

mod fresh;
mod input;
mod redraw;
mod resample;
mod stamp;
mod token;
mod vocabulary;

use clap::Parser;
use jiff::Timestamp;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::PathBuf;

/// Anything that stops the program: a sentence for a person.
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Makes any number of log lines of real ones, as NDJSON on standard output.
///
/// Each line has `_time` and `log_file`, the name of the file it was taken from. A line of text is in `_msg`, with the
/// lines that go on with it (stack traces, indentation); a line of JSON keeps its own fields.
#[derive(Debug, Parser)]
#[command(name = "bench-resample", version)]
struct Args {
    /// Log files: text or NDJSON, plain or compressed (.zst)
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How many lines to make
    #[arg(long, default_value_t = 1_000_000)]
    lines: u64,
    /// Another seed gives other lines
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The time from which the lines run on
    #[arg(long, default_value = "2026-01-05T00:00:00Z", value_name = "TIME")]
    from: Timestamp,
    /// Over about so many days the lines are spread
    #[arg(long, default_value_t = 3.0)]
    days: f64,
    /// Add fields that can be read from a line of text: its level, an access log's status and path, and so on
    #[arg(long)]
    parse: bool,
    /// The files' entries as they are, each once and with its own time: no other option but --parse counts
    #[arg(long)]
    as_is: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut sources = Vec::new();
    for file in &args.files {
        sources.push(input::Source::read(file, args.parse)?);
    }
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let written = if args.as_is {
        sources.iter().try_for_each(|source| source.write_as_is(&mut out))
    } else {
        let plan = resample::Plan {
            lines: args.lines,
            seed: args.seed,
            from_ns: i64::try_from(args.from.as_nanosecond())?,
            span_ns: args.days.clamp(0.0, 36_500.0) * 86_400e9,
            parse: args.parse,
        };
        resample::write(&sources, plan, &mut out)
    };
    match written.and_then(|()| Ok(out.flush()?)) {
        // Whoever read has had enough.
        Err(e) if e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe) => {
            Ok(())
        }
        done => done,
    }
}
