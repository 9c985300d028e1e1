//! What a killed writer left is damaged: what is whole of it is taken, and the rest is kept, whatever was on the device.

use super::*;

/// Damages the line that says this, the first or the last that does, behind the header.
fn damage(sim: &Sim, segment: &str, bytes: &[u8], what: &[u8], is_last: bool) -> Vec<u8> {
    let mut found = (4096..bytes.len() - 2).filter(|&at| &bytes[at..at + 2] == what);
    let at = if is_last { found.next_back() } else { found.next() }.expect("a line says it");
    sim.flip_bit(Path::new(segment), at as u64 * 8).unwrap();
    sim.read_file(Path::new(segment)).unwrap()
}

/// What is there, with one file set aside, of which `verify` tells later, too.
fn check(sim: &Sim, there: &[u64], damaged: &[u8]) {
    let store = flushed(sim);
    assert_eq!(numbers(&store), there);
    let told = store.incidents().messages;
    assert!(told.iter().any(|told| told.contains("moved to quarantine")), "{told:?}");
    store.close().unwrap();
    let store = options(sim.env()).open_read_only("/logs").unwrap();
    let kept = store.verify(&mut |_| {}).unwrap().quarantined;
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(sim.read_file(&Path::new("/logs/quarantine").join(&kept[0])).unwrap(), damaged);
}

#[test]
fn a_damaged_last_record_is_no_torn_tail_when_no_power_was_lost() {
    let sim = Sim::new(1);
    let (segment, bytes) = killed(&sim);
    let damaged = damage(&sim, &segment, &bytes, b"59", true);
    check(&sim, &(0..59).collect::<Vec<_>>(), &damaged);
}

#[test]
fn what_follows_damage_is_taken_though_nothing_was_synced() {
    let sim = Sim::new(2);
    let (segment, bytes) = killed(&sim);
    let damaged = damage(&sim, &segment, &bytes, b"30", false);
    check(&sim, &(0..60).filter(|n| *n != 30).collect::<Vec<_>>(), &damaged);
}

#[test]
fn what_has_its_name_in_quarantine_is_kept_too() {
    let sim = Sim::new(3);
    let (segment, bytes) = killed(&sim);
    let writer = Path::new(&segment).parent().unwrap().file_name().unwrap().to_str().unwrap();
    let before = format!("/logs/quarantine/{writer}-00000001.wal");
    put(&sim, Path::new(&before), b"set aside before");
    let damaged = damage(&sim, &segment, &bytes, b"30", false);
    let store = flushed(&sim);
    assert_eq!(store.stats().unwrap().quarantined.len(), 2);
    assert_eq!(sim.read_file(Path::new(&before)).unwrap(), b"set aside before");
    assert_eq!(sim.read_file(Path::new(&format!("{before}.2"))).unwrap(), damaged);
}
