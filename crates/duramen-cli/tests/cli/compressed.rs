use crate::sandbox::Sandbox;
use std::io::Write;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}

fn lines(range: std::ops::Range<u32>) -> String {
    range
        .map(|n| format!("2026-11-21T10:00:00Z INFO line n={n} of {}\n", n.wrapping_mul(2_654_435_761)))
        .collect()
}

#[test]
fn compression_is_known_by_content_and_all_its_parts_are_read() {
    for compress in [gzip, zstd] {
        let sandbox = Sandbox::new();
        // The name lies.
        let file =
            sandbox.write("app.log", [compress(&lines(0..3000)), compress(&lines(3000..5000))].concat());
        let said = sandbox.ingest(&file);
        assert!(said.contains("5,000 lines"), "{said}");
        assert_eq!(sandbox.count(), 5000);
        assert_eq!(sandbox.messages("\"n=4999\"").len(), 1);
        // The same, as a stream.
        let piped = Sandbox::new();
        piped.run_with_input(["ingest", "-"], &std::fs::read(&file).unwrap()).expect(0);
        assert_eq!(piped.count(), 5000);
    }
}

#[test]
fn of_a_file_cut_short_what_can_be_read_is_kept() {
    for compress in [gzip, zstd] {
        let sandbox = Sandbox::new();
        let whole = compress(&lines(0..50_000));
        let file = sandbox.write("app.log.x", &whole[..whole.len() / 2]);
        let ran = sandbox.run(["ingest", "app.log.x"]).expect(1);
        assert!(ran.stderr.contains("ends too early"), "{}", ran.stderr);
        let kept = sandbox.count();
        assert!((5_000..50_000).contains(&kept), "{kept}");
        assert_eq!(sandbox.messages("\"n=0\"").len(), 1);
        // When the rest has arrived, only the rest is taken, and the line at the cut is one.
        std::fs::write(&file, &whole).unwrap();
        sandbox.ingest(&file);
        assert_eq!(sandbox.count(), 50_000);
        let at_cut = format!("\"n={kept}\"");
        assert_eq!(sandbox.find(&at_cut)[0]["_time"], "2026-11-21T10:00:00Z");
    }
}

#[test]
fn what_stands_behind_a_whole_file_costs_no_line() {
    for (behind, code) in [(&[0; 512][..], 0), (b"x", 1), (b"no member of gzip", 1)] {
        let sandbox = Sandbox::new();
        sandbox.write("app.log.gz", [&gzip(&lines(0..100)), behind].concat());
        let ran = sandbox.run(["ingest", "app.log.gz"]).expect(code);
        assert!(!ran.stderr.contains("ends too early"), "{}", ran.stderr);
        assert_eq!(sandbox.count(), 100, "{}", ran.stderr);
    }
}

#[test]
fn damage_in_the_middle_is_told() {
    let sandbox = Sandbox::new();
    let mut bytes = zstd(&lines(0..50_000));
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xa5);
    sandbox.write("bad.zst", bytes);
    sandbox.write("good", "fine\n");
    let ran = sandbox.run(["ingest", "bad.zst", "good"]).expect(1);
    assert!(ran.stderr.contains("duramen: bad.zst is a damaged zstd file"), "{}", ran.stderr);
    assert_eq!(sandbox.messages("fine"), ["fine"]);
}
