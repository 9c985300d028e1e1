//! What the machines log: one program's sequence of lines, or a stranger trying many passwords.

use super::Workload;
use crate::catalog::machines::{GUESS, SSHD};
use crate::event::{Body, Event};
use crate::options::Kind;

impl Workload {
    /// Something is logged by a program of the system now.
    pub(super) fn system(&mut self) {
        if !matches!(self.kind, Kind::Mixed | Kind::Syslog) {
            return;
        }
        let program = self.catalog.program_choice.at(self.rng.next());
        let sequence = self.rng.index(self.catalog.programs[program].sequences.len());
        let host = self.any_host();
        let app = self.any_app();
        let guessing = program == SSHD && sequence == GUESS;
        let repeats = if guessing { 1 + self.rng.below(12) } else { 1 };
        let mut time_ns = self.now_ns;
        for _ in 0..repeats {
            // All lines of one sequence share a seed, and so a process, a queue id, a user.
            let seed = self.rng.next();
            for line in 0..self.catalog.programs[program].sequences[sequence].len() {
                let level = self.catalog.programs[program].sequences[sequence][line].0;
                let body =
                    Body::System { program: program as u8, sequence: sequence as u8, line: line as u8 };
                self.push(Event { time_ns, level, app, host, took_us: 0, seed, request: None, body });
                time_ns = time_ns.saturating_add((self.rng.exponential() * 4e7) as i64 + 1000);
            }
            time_ns = time_ns.saturating_add((self.rng.exponential() * 2e9) as i64);
        }
    }
}
