//! Writes the seeds of every target, which the real encoders make, to `corpus/<target>/`. What lies there and is
//! no longer made is removed. Run it in `fuzz/` after a format has changed: `cargo run --bin seeds`.

use duramen_fuzz::TARGETS;
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut total = 0;
    for target in TARGETS {
        let dir = corpus.join(target.name);
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)?;
        let seeds = (target.seeds)();
        let bytes: usize = seeds.iter().map(|(_, bytes)| bytes.len()).sum();
        println!("{:12} {:3} seeds {bytes:7} bytes", target.name, seeds.len());
        total += bytes;
        for (name, bytes) in seeds {
            fs::write(dir.join(name), bytes)?;
        }
    }
    println!("{total} bytes");
    Ok(())
}
