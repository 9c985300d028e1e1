//! What happens in the fleet: requests that pass from service to service, background work, what the machines
//! log, and incidents. Everything is drawn from one seeded stream of random numbers.
//!
//! [`Workload::next`] simulates requests in the order in which they arrive. Each leaves events with times
//! from its beginning to its end, so they wait in a heap until no earlier one can come any more.

mod incidents;
mod machines;
mod rate;
mod request;

use crate::catalog::Catalog;
use crate::catalog::exceptions;
use crate::catalog::messages::Group;
use crate::catalog::services::Runtime;
use crate::event::{Body, Event, Level, Request};
use crate::options::{Kind, Options};
use crate::rng::Rng;
use incidents::Incidents;
use rate::Rate;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An event that waits for its turn.
#[derive(Clone, Debug)]
struct Waiting {
    /// When it reaches the log: a little late for some.
    arrival_ns: i64,
    number: u64,
    event: Event,
}

impl Ord for Waiting {
    /// The heap gives the greatest first, so the earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival_ns, other.number).cmp(&(self.arrival_ns, self.number))
    }
}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Waiting {}

/// The endless sequence of what happens.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) catalog: Catalog,
    kind: Kind,
    rng: Rng,
    rate: Rate,
    incidents: Incidents,
    now_ns: i64,
    waiting: BinaryHeap<Waiting>,
    /// How many events have been made, of the kind that is wanted.
    made: u64,
    requests: u64,
}

impl Workload {
    pub(crate) fn new(options: &Options, span_ns: f64) -> Self {
        let catalog = Catalog::new(options.services, options.hosts);
        let mut rng = Rng::new(options.seed);
        let incidents = if options.incidents {
            Incidents::plan(&mut rng, &catalog, options.lines, options.start_ns, span_ns)
        } else {
            Incidents::none()
        };
        Self {
            catalog,
            kind: options.kind,
            rate: Rate::new(options.seed, options.start_ns, span_ns, options.lines),
            rng,
            incidents,
            now_ns: options.start_ns,
            waiting: BinaryHeap::new(),
            made: 0,
            requests: 0,
        }
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> Event {
        loop {
            if let Some(first) = self.waiting.peek()
                && first.arrival_ns <= self.now_ns
                && let Some(waiting) = self.waiting.pop()
            {
                return waiting.event;
            }
            self.step();
        }
    }

    /// Lets time pass until the next request arrives, and lets everything happen that comes of it.
    fn step(&mut self) {
        // How many events a request leaves depends on the kind and the incidents; the mean so far tells.
        let events_per_request = (self.made as f64 + 20.0) / (self.requests as f64 + 4.0);
        let gap_ns = self.rng.exponential() * events_per_request * self.rate.event_gap_ns(self.now_ns);
        self.now_ns = self.now_ns.saturating_add(gap_ns as i64);
        self.requests += 1;
        while let Some(note) = self.incidents.next_note(self.now_ns) {
            let host = self.any_host();
            self.message(note.time_ns, note.app, host, note.group, None, 0);
        }
        self.request();
        if self.rng.chance(0.45) {
            let app = self.any_app();
            let host = self.any_host();
            self.message(self.now_ns, app, host, Group::Background, None, 0);
        }
        if self.rng.chance(0.17) {
            self.system();
        }
    }

    fn any_host(&mut self) -> u16 {
        self.rng.index(self.catalog.hosts.len()) as u16
    }

    fn any_app(&mut self) -> u16 {
        self.rng.index(self.catalog.services.len()) as u16
    }

    /// A service logs a message of the group.
    fn message(
        &mut self,
        time_ns: i64,
        app: u16,
        host: u16,
        group: Group,
        request: Option<Request>,
        took_us: u32,
    ) {
        let choice = self.rng.next();
        let seed = self.rng.next();
        let message = self.catalog.message_of(app, group, choice);
        let level = self.catalog.messages[usize::from(message)].level;
        let service = &self.catalog.services[usize::from(app)];
        let throws = level >= Level::Error
            && choice & 1 == 0
            && matches!(group, Group::Failed | Group::DependencyFailed | Group::Background);
        let trace = (throws && exceptions::choose(&self.catalog.traces, service, 0).is_some())
            .then_some((choice >> 1) as u8 & 7);
        let wanted = match self.kind {
            Kind::Mixed | Kind::App => true,
            Kind::Access | Kind::Syslog => false,
            // Enough of the rest to show what came before the trace.
            Kind::StackTraces => {
                service.runtime != Runtime::Go && (trace.is_some() || choice.is_multiple_of(31))
            }
        };
        if wanted {
            let body = Body::Message { message, trace };
            self.push(Event { time_ns, level, app, host, took_us, seed, request, body });
        }
    }

    fn push(&mut self, event: Event) {
        // A few lines come late, as they do when a sender buffers.
        let late_ns = if event.seed.is_multiple_of(256) { (event.seed >> 8) % 2_000_000_000 } else { 0 };
        let arrival_ns = event.time_ns.saturating_add(late_ns as i64);
        self.waiting.push(Waiting { arrival_ns, number: self.made, event });
        self.made += 1;
    }
}
