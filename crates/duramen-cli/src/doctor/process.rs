//! This machine: limits of a process, and the clock.

use super::Findings;
use rustix::process::{Resource, getrlimit};

/// So many descriptors are plenty for a store and a server of some hundred clients.
const ENOUGH_DESCRIPTORS: u64 = 1_024;
/// 2025-01-01T00:00:00Z: no clock that is right is before it.
const EARLIEST_NS: i64 = 1_735_689_600_000_000_000;

/// How many files a process may have open.
pub(super) fn limits(findings: &mut Findings) {
    let limit = getrlimit(Resource::Nofile).current;
    match limit {
        Some(limit) if limit < ENOUGH_DESCRIPTORS => findings.warn(
            "descriptors",
            format!("a process may have {limit} files open"),
            format!("raise the limit to {ENOUGH_DESCRIPTORS} or more: ulimit -n, or LimitNOFILE= of systemd"),
        ),
        Some(limit) => findings.ok("descriptors", format!("a process may have {limit} files open")),
        None => findings.ok("descriptors", "a process may have any number of files open"),
    }
}

/// Whether it can be now.
pub(super) fn clock(findings: &mut Findings, now_ns: i64) {
    let told = format!("it is {}", duramen_query::parse::time::format_time(now_ns));
    if now_ns < EARLIEST_NS {
        let advice = "set the clock: lines without a time get this one, and retention goes by it";
        findings.error("clock", told, advice);
    } else {
        findings.ok("clock", told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    #[test]
    fn a_clock_of_the_past_is_told() {
        let mut findings = Findings::default();
        clock(&mut findings, EARLIEST_NS);
        assert_eq!(findings.status(), Status::Ok);
        clock(&mut findings, 0);
        assert_eq!(findings.status(), Status::Error);
        assert!(findings.to_text().contains("it is 1970-01-01"));
    }
}
