//! What goes wrong for some minutes: a deploy with a fault, or a service that stops answering.

use crate::catalog::Catalog;
use crate::catalog::messages::Group;
use crate::rng::Rng;

/// How an incident shows in a service's requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stress {
    /// The probability that a request fails here.
    pub(crate) error_rate: f64,
    /// By how much everything takes longer.
    pub(crate) slowdown: f64,
}

/// A line that tells of an incident.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    pub(crate) time_ns: i64,
    pub(crate) app: u16,
    pub(crate) group: Group,
}

#[derive(Clone, Debug)]
struct Incident {
    start_ns: i64,
    end_ns: i64,
    app: u16,
    /// Services that call it.
    dependents: Vec<u16>,
    /// Whether it stops answering; else a deploy made it faulty.
    outage: bool,
}

/// All incidents of a run.
#[derive(Clone, Debug)]
pub(crate) struct Incidents {
    incidents: Vec<Incident>,
    /// Last first.
    notes: Vec<Note>,
}

const MINUTE_NS: f64 = 60e9;
const HOUR_NS: f64 = 60.0 * MINUTE_NS;
/// How often a request fails for no reason that anybody knows.
const USUAL: Stress = Stress { error_rate: 0.014, slowdown: 1.0 };

impl Incidents {
    pub(crate) fn none() -> Self {
        Self { incidents: Vec::new(), notes: Vec::new() }
    }

    /// One incident every four hours or so, but at least two, and at most a thousand; and no more than one in
    /// two thousand lines, or the incidents' own lines would drown the rest.
    pub(crate) fn plan(rng: &mut Rng, catalog: &Catalog, lines: u64, start_ns: i64, span_ns: f64) -> Self {
        let count = (span_ns / (4.0 * HOUR_NS)).clamp(2.0, 1000.0).min(lines as f64 / 2000.0) as u64;
        let mut planned = Self::none();
        for i in 0..count {
            let begin = (i as f64 + 0.2 + 0.6 * rng.unit()) / count as f64 * span_ns;
            let length = ((3.0 + 7.0 * rng.unit()) * MINUTE_NS).min(span_ns / 12.0);
            let app = rng.below(catalog.services.len() as u64) as u16;
            // A service that others call, so that it shows: the one that was drawn, or what it calls.
            let app = catalog.services[usize::from(app)].calls.first().copied().unwrap_or(app);
            let calls_it = (0..).zip(&catalog.services).filter(|(_, s)| s.calls.contains(&app));
            let dependents = calls_it.map(|(i, _)| i).collect();
            let start_ns = start_ns.saturating_add(begin as i64);
            let end_ns = start_ns.saturating_add(length as i64);
            planned.add(Incident { start_ns, end_ns, app, dependents, outage: rng.chance(0.5) });
        }
        planned.notes.sort_by_key(|n| std::cmp::Reverse(n.time_ns));
        planned
    }

    fn add(&mut self, incident: Incident) {
        let (first, last) = if incident.outage {
            (Group::OutageBegins, Group::OutageEnds)
        } else {
            (Group::DeployBegins, Group::DeployEnds)
        };
        let app = incident.app;
        self.notes.push(Note { time_ns: incident.start_ns, app, group: first });
        if incident.outage {
            // A health check every half a minute.
            for time_ns in (incident.start_ns..incident.end_ns).step_by(30_000_000_000).skip(1) {
                self.notes.push(Note { time_ns, app, group: Group::OutageBegins });
            }
            self.notes.push(Note { time_ns: incident.start_ns, app, group: Group::Dying });
        }
        self.notes.push(Note { time_ns: incident.end_ns, app, group: last });
        self.incidents.push(incident);
    }

    /// The next line that is due, if one is.
    pub(crate) fn next_note(&mut self, now_ns: i64) -> Option<Note> {
        self.notes.pop_if(|note| note.time_ns <= now_ns)
    }

    /// How the service does at a time.
    pub(crate) fn stress(&self, app: u16, now_ns: i64) -> Stress {
        // They are planned one after another, and never overlap by more than one.
        let begun = self.incidents.partition_point(|i| i.start_ns <= now_ns);
        let current = self.incidents[begun.saturating_sub(2)..begun].iter().find(|i| now_ns < i.end_ns);
        match current {
            Some(i) if i.app == app && i.outage => Stress { error_rate: 0.7, slowdown: 12.0 },
            Some(i) if i.app == app => Stress { error_rate: 0.35, slowdown: 3.0 },
            Some(i) if i.dependents.contains(&app) => Stress { error_rate: 0.25, slowdown: 5.0 },
            _ => USUAL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_stresses_the_service_and_those_that_call_it_and_nobody_else() {
        let mut incidents = Incidents::none();
        incidents.add(Incident { start_ns: 100, end_ns: 200, app: 3, dependents: vec![4], outage: true });
        assert_eq!(incidents.stress(3, 99), USUAL);
        assert!(incidents.stress(3, 100).error_rate > 0.5);
        assert!(incidents.stress(4, 150).slowdown > 2.0);
        assert_eq!(incidents.stress(5, 150), USUAL);
        assert_eq!(incidents.stress(3, 200), USUAL);
    }

    #[test]
    fn notes_come_in_order_and_once() {
        let catalog = Catalog::new(20, 20);
        let mut incidents = Incidents::plan(&mut Rng::new(1), &catalog, 100_000, 0, 24.0 * HOUR_NS);
        let planned = incidents.notes.len();
        assert_eq!(incidents.incidents.len(), 6);
        assert!(incidents.next_note(0).is_none());
        let mut times = Vec::new();
        while let Some(note) = incidents.next_note(i64::MAX) {
            times.push(note.time_ns);
        }
        assert_eq!(times.len(), planned);
        assert!(times.is_sorted());
    }
}
