//! `duramen ingest`: log files and streams into the store.
//!
//! | module | what it does |
//! |---|---|
//! | [`mod@feed`] | reads one source to its end |
//! | [`batch`] | gathers entries and appends them with the source's position |
//! | [`progress`] | the bar |
//! | [`summary`] | the line about each source |

mod batch;
mod feed;
mod progress;
mod summary;

use crate::args::IngestArgs;
use crate::failure::{Failure, Outcome, complain, say};
use crate::input::claim::Claims;
use crate::input::open::{self, STDIN, Source, SourceKind};
use crate::input::resume::{self, Start};
use crate::input::sniff;
use crate::interrupt::Interrupt;
use batch::Progressed;
use duramen::{SourcePosition, Store, StoreOptions};
use duramen_engine::io::Env;
use duramen_formats::{EntryReader, LineFormat, ReaderOptions};
use feed::{Fed, FeedContext, feed};
use progress::Progress;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use summary::Totals;

/// Bytes of a write buffer: with two of them, decoded columns and the reader, well below 256 MiB in all.
const WRITE_BUFFER_BYTES: usize = 16 << 20;

/// Takes every file given; those that cannot be taken are told, and the others go on.
pub(crate) fn run(args: &IngestArgs, dir: &Path, env: &Env, interrupt: &Interrupt) -> Outcome {
    let (paths, mut all_well) = expand(args, dir);
    if paths.is_empty() && !all_well {
        return Ok(ExitCode::from(1));
    }
    let store = StoreOptions::new()
        .env(env.clone())
        .durability(args.durability.into())
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .flush_threads(1) // the other core reads and parses
        .open(dir)?;
    let progress = Progress::new(total_bytes(&paths), args.quiet);
    let claims = Claims::of(env, dir)?;
    let known = store.source_positions()?;
    let mut ingest =
        Ingest { args, env, interrupt, store: &store, claims, known, progress, totals: Totals::default() };
    let mut outcome = Ok(());
    for path in &paths {
        if interrupt.requested() {
            break;
        }
        match ingest.take(path) {
            Ok(well) => all_well &= well,
            Err(failure) => {
                outcome = Err(failure);
                break;
            }
        }
    }
    ingest.finish(&paths);
    let progress = ingest.progress;
    // Whatever happened, what was taken is sealed and, if possible, put into tables.
    let (closed, incidents) = store.close_with_incidents();
    progress.clear();
    for incident in incidents.messages {
        complain(&incident);
        all_well = false;
    }
    outcome?;
    closed?;
    interrupt.check()?;
    Ok(ExitCode::from(u8::from(!all_well)))
}

/// The inputs to take, directories resolved, without the store's own files; false if some of them cannot be.
fn expand(args: &IngestArgs, store: &Path) -> (Vec<PathBuf>, bool) {
    let (mut paths, mut all_well) = (Vec::new(), true);
    for path in &args.files {
        if !args.recursive || path == Path::new(STDIN) || !open::is_directory(path) {
            paths.push(path.clone());
            continue;
        }
        for found in open::files_below(path, store) {
            match found {
                Ok(path) => paths.push(path),
                Err(why) => {
                    complain(&why);
                    all_well = false;
                }
            }
        }
    }
    (paths, all_well)
}

/// How many bytes all inputs have; `None` if one of them does not say.
fn total_bytes(paths: &[PathBuf]) -> Option<u64> {
    paths.iter().map(|path| open::input_len(path)).sum()
}

struct Ingest<'a> {
    args: &'a IngestArgs,
    env: &'a Env,
    interrupt: &'a Interrupt,
    store: &'a Store,
    claims: Claims,
    known: Vec<SourcePosition>,
    progress: Progress,
    totals: Totals,
}

impl Ingest<'_> {
    /// Takes one input; whether all of it could be taken. Why not has been told then.
    fn take(&mut self, path: &Path) -> Result<bool, Failure> {
        self.progress.begin(&open::display_name(path));
        // Held until all of it is in the store.
        let _claim = match open::file_hash(path) {
            Some(file) => {
                let name = open::display_name(path);
                let wait = |waits: &str| self.progress.suspended(|| say(&format!("{name}: {waits}")));
                let Some(claim) = self.claims.take(file, self.interrupt, wait)? else {
                    return Ok(true);
                };
                if claim.others_were_here {
                    self.known = self.store.source_positions()?;
                }
                Some(claim)
            }
            None => None,
        };
        let start = match self.start(path) {
            Ok(Some(start)) => start,
            // Nothing has come of it yet, so nothing is left behind.
            Ok(None) => return Ok(true),
            Err(why) => {
                self.progress.suspended(|| complain(&why));
                return Ok(false);
            }
        };
        let Start { source, tracker, position, known_lines, header } = start;
        let options = self.reader_options(&source);
        let reader = if position.read_bytes > 0 {
            let detected = EntryReader::detect(&options, &source.head);
            EntryReader::resume(options, position.read_bytes, detected, None).after(header)
        } else {
            EntryReader::new(options)
        };
        let known_lines = (position.read_bytes > 0).then_some(known_lines);
        let (name, raw_len) = (source.name.clone(), file_bytes(&source));
        let progressed =
            matches!(source.kind, SourceKind::File { .. }).then_some(Progressed { tracker, position });
        let mut context =
            FeedContext { clock: &*self.env.clock, interrupt: self.interrupt, progress: &mut self.progress };
        let mut fed = feed(self.store, source, reader, progressed, &mut context)?;
        self.progress.end(raw_len, fed.read_bytes, fed.report.lines);
        self.totals.add(&fed);
        self.known.extend(fed.position.take());
        self.tell(&name, &fed, known_lines);
        Ok(fed.cut_short.is_none())
    }

    /// Opens an input and finds out where to go on reading it; `None` if a signal came first.
    fn start(&self, path: &Path) -> Result<Option<Start>, String> {
        let Some(source) = open::open_unless(path, &|| self.interrupt.requested())? else { return Ok(None) };
        // Whoever names a format knows what the file is: a log that lost power may hold runs of NUL bytes.
        let is_binary = self.args.format == LineFormat::Auto && sniff::is_binary(&source.head);
        let is_stream = matches!(source.kind, SourceKind::Stream);
        if is_binary && is_stream {
            // What it was cannot be read again, and its writer would end with us.
            self.progress.suspended(|| {
                complain(&format!("{} begins with NUL bytes: its lines are taken as they are", source.name));
            });
        } else if is_binary {
            return Err(format!(
                "{} is binary (it has NUL bytes): nothing was taken from it; `--format plain`, or its real format, \
                 takes it all the same",
                source.name
            ));
        }
        match &source.kind {
            SourceKind::File { path: file, .. } if !self.args.again => {
                let file = file.clone();
                let options = self.reader_options(&source);
                resume::start(source, path, &file, &self.known, &options).map(Some)
            }
            SourceKind::File { path: file, .. } => {
                let name = file.to_string_lossy().into_owned();
                Ok(Some(resume::fresh(source, name)))
            }
            SourceKind::Stream => {
                let name = source.name.clone();
                Ok(Some(resume::fresh(source, name)))
            }
        }
    }

    fn reader_options(&self, source: &Source) -> ReaderOptions {
        let written_ns = match source.kind {
            SourceKind::File { modified_ns, .. } => modified_ns,
            SourceKind::Stream => self.env.clock.now_unix_ns(),
        };
        let args = self.args;
        ReaderOptions {
            format: args.format,
            timezone: args.timezone.clone(),
            year: args.year,
            stream_fields: args.stream_fields.clone(),
            time_field: args.time_field.clone(),
            message_field: args.message_field.clone(),
            level_field: args.level_field.clone(),
            join_lines: !args.no_join,
            ..ReaderOptions::new(written_ns)
        }
    }

    fn tell(&self, name: &str, fed: &Fed, known_lines: Option<u64>) {
        self.progress.suspended(|| {
            if !self.args.quiet {
                say(&summary::line(name, fed, known_lines, &self.args.timezone));
            }
            if let Some(why) = &fed.cut_short {
                complain(why);
            }
        });
    }

    fn finish(&self, paths: &[PathBuf]) {
        if let Some(line) = self.totals.line().filter(|_| !self.args.quiet && paths.len() > 1) {
            self.progress.suspended(|| say(&line));
        }
        self.progress.finishing("putting it into tables");
    }
}

fn file_bytes(source: &Source) -> u64 {
    match source.kind {
        SourceKind::File { len, .. } => len,
        SourceKind::Stream => 0,
    }
}
