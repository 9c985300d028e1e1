//! Writes generated lines to standard output: `generate LINES [mixed|app|access|syslog|stacktraces] [native]`.

use duramen_generate::{Format, Generator, Kind, Options};
use std::io::Write as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options::default();
    for argument in std::env::args().skip(1) {
        match &*argument {
            "mixed" => options.kind = Kind::Mixed,
            "app" => options.kind = Kind::App,
            "access" => options.kind = Kind::Access,
            "syslog" => options.kind = Kind::Syslog,
            "stacktraces" => options.kind = Kind::StackTraces,
            "native" => options.format = Format::Native,
            lines => options.lines = lines.parse()?,
        }
    }
    let mut generator = Generator::new(options)?;
    let mut out = Vec::new();
    let mut stdout = std::io::stdout().lock();
    while generator.write_line(&mut out) {
        if out.len() > 1 << 16 {
            stdout.write_all(&out)?;
            out.clear();
        }
    }
    stdout.write_all(&out)?;
    Ok(())
}
